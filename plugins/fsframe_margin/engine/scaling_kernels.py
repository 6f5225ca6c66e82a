"""Sums of the columns of a table in parts; compiled, and imported when a table is read so."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsframe.kernels.compiled import njit

__all__ = ["add_rows"]

Floats = NDArray[np.float64]


@njit()
def add_rows(rows: NDArray[Any], size: Floats, done: int, mean: Floats, squares: Floats) -> None:
    """Update mean and sum of squared deviations of `done` rows with rows (r, p) over `size`."""
    for i in range(rows.shape[0]):
        share = 1.0 / (done + i + 1)
        for a in range(rows.shape[1]):
            x = rows[i, a] / size[a]
            off = x - mean[a]
            mean[a] += off * share
            squares[a] += off * (x - mean[a])
