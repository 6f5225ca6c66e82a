"""Continuous columns on the scale of their range."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsframe_relief.engine.blocks import run_blocks
from fsframe_relief.engine.byte_table import ByteTable

__all__ = ["scaled"]

CACHED = 1 << 16
"""Values converted at a time: several passes find them in the cache."""


def scaled(
    X: NDArray[Any] | ByteTable,
    columns: NDArray[np.intp],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    order: NDArray[np.intp],
    threads: int = 1,
) -> NDArray[np.float64]:
    """(x - low) / (high - low) of some columns; a column of one value gives zeros."""
    n = X.shape[0]
    lo, hi = low[columns], high[columns]
    with np.errstate(over="ignore"):
        width = hi - lo
    # Values near the largest double: the range overflows, half of everything does not.
    huge = np.isinf(width)
    if huge.any():
        lo, width = np.where(huge, lo / 2, lo), np.where(huge, hi / 2 - lo / 2, width)
    width = np.where(width > 0, width, 1.0)
    every = np.array_equal(columns, np.arange(X.shape[1]))
    Z = np.empty((n, columns.size))
    step = max(1, CACHED // max(1, columns.size))

    def convert(r: int) -> None:
        rows = order[r : r + step]
        part = Z[r : r + step]
        part[:] = X[rows] if every else X[np.ix_(rows, columns)]
        if huge.any():
            part[:, huge] /= 2
        part -= lo
        part /= width

    for _ in run_blocks(convert, range(0, n, step), threads):
        pass
    return Z
