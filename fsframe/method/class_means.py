"""Direction of the association of features with the label: class means, or correlations."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsframe.table.dataset import Dataset

__all__ = ["class_means"]


def class_means(data: Dataset) -> list[tuple[str, NDArray[Any]]]:
    """Direction of association of each feature with the label, and its mean in every class.

    Rows are weighted. Missing values are left out; nominal columns have no mean.
    """
    n, numeric = data.n_features, ~np.asarray(data.categorical, dtype=bool)
    weight = _row_weights(data)
    if data.task == "survival":
        return []
    if data.task == "regression":
        return _correlations(data, numeric)
    means = np.full((data.n_classes, n), np.nan)
    rows = [np.flatnonzero(data.y == code) for code in range(data.n_classes)]
    for start, stop in data.column_blocks():
        block = np.asarray(data.columns(start, stop), dtype=np.float64)
        for code, members in enumerate(rows):
            part = block[members]
            known = ~np.isnan(part) * weight[members]
            total = (np.where(known > 0, part, 0.0) * known).sum(axis=0)
            count = known.sum(axis=0)
            means[code, start:stop] = np.divide(
                total, count, out=np.full(stop - start, np.nan), where=count > 0
            )
    means[:, ~numeric] = np.nan
    direction = np.full(n, None, dtype=object)
    complete = np.flatnonzero(~np.isnan(means).any(axis=0))
    word = "higher" if data.n_classes == 2 else "highest"
    for column in complete:
        best = int(np.argmax(means[:, column]))
        if means[:, column].min() < means[best, column]:
            direction[column] = f"{word} in {data.classes[best]}"
    of_classes = [(f"mean_{label}", means[code]) for code, label in enumerate(data.classes)]
    return [("direction", direction), *of_classes]


def _row_weights(data: Dataset) -> NDArray[np.float64]:
    """Row weights, (n, 1)."""
    counts = np.ones(data.n_samples) if data.counts is None else data.counts.astype(np.float64)
    return counts[:, None]


def _correlations(data: Dataset, numeric: NDArray[np.bool_]) -> list[tuple[str, NDArray[Any]]]:
    r = np.full(data.n_features, np.nan)
    for start, stop in data.column_blocks():
        block = np.asarray(data.columns(start, stop), dtype=np.float64)
        weight = ~np.isnan(block) * _row_weights(data)
        known = weight > 0
        count = np.maximum(weight.sum(axis=0), 1)
        mean = (np.where(known, block, 0.0) * weight).sum(axis=0) / count
        x = np.where(known, block - mean, 0.0)
        y = np.where(known, data.y[:, None], 0.0)
        y = np.where(known, y - (y * weight).sum(axis=0) / count, 0.0)
        size = np.sqrt((weight * x**2).sum(axis=0) * (weight * y**2).sum(axis=0))
        r[start:stop] = np.divide(
            (weight * x * y).sum(axis=0), size, out=np.full(stop - start, np.nan), where=size > 0
        )
    r[~numeric] = np.nan
    direction = np.full(data.n_features, None, dtype=object)
    direction[r > 0] = f"rises with {data.label_name}"
    direction[r < 0] = f"falls with {data.label_name}"
    return [("direction", direction), ("correlation", np.clip(r, -1.0, 1.0))]
