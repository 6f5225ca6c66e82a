"""Continuous columns on the scale of their range."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["SLICE", "scaled"]

SLICE = 1 << 20
"""Values converted at a time: bounds temporaries to some 10 MB."""


def scaled(
    X: NDArray[np.float64],
    columns: NDArray[np.intp],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    order: NDArray[np.intp],
) -> NDArray[np.float64]:
    """(x - low) / (high - low) of some columns; a column of one value gives zeros."""
    n = X.shape[0]
    if columns.size == X.shape[1]:
        Z = X[order]
    else:
        Z = np.empty((n, columns.size))
        step = max(1, SLICE // max(1, columns.size))
        for r in range(0, n, step):
            Z[r : r + step] = X[np.ix_(order[r : r + step], columns)]
    lo, hi = low[columns], high[columns]
    with np.errstate(over="ignore"):
        width = hi - lo
    # Values near the largest double: the range overflows, half of everything does not.
    huge = np.isinf(width)
    if huge.any():
        Z[:, huge] /= 2
        lo, width = np.where(huge, lo / 2, lo), np.where(huge, hi / 2 - lo / 2, width)
    width = np.where(width > 0, width, 1.0)
    Z -= lo
    Z /= width
    return Z
