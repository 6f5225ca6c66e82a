"""Nominal columns as indicator columns of 0 and 1, for models that take only numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsframe.table.dataset import Dataset
from fsframe.table.nominal import level_places

__all__ = ["Levels", "indicators", "learn_levels"]

Levels = dict[int, NDArray[np.float64]]


def learn_levels(data: Dataset) -> Levels:
    """Levels of each nominal column, by column, in order of first occurrence."""
    found = {}
    for column in np.flatnonzero(data.categorical).tolist():
        values = data.columns(column, column + 1)[:, 0].astype(np.float64)
        found[column] = level_places(values)[1]
    return found


def indicators(X: NDArray[Any], levels: Levels) -> NDArray[Any]:
    """Rows with each nominal column replaced by an indicator column for each of its levels.

    A level that was not learned has 0 in all of them.

    Examples
    --------
    >>> indicators(np.array([[5.0, 2.0], [7.0, 1.0]]), {1: np.array([1.0, 2.0])}).tolist()
    [[5.0, 0.0, 1.0], [7.0, 1.0, 0.0]]
    """
    if not levels:
        return X
    parts = [
        (X[:, column, None] == levels[column]).astype(X.dtype)
        if column in levels
        else X[:, column, None]
        for column in range(X.shape[1])
    ]
    return np.concatenate(parts, axis=1)
