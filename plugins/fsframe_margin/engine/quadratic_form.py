"""W in the form of the compiled loops: by tiles, or entry by entry if it is sparse."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fsframe_margin.engine.pair_blocks import Quadratic

__all__ = ["by_entries", "has_few_entries", "upper_entries", "upper_tiles"]

Floats = NDArray[np.float64]

_SPARSE = 0.4
"""W is sparse if it has fewer entries than this share of those of its tiles (measured)."""


def has_few_entries(W: Floats) -> bool:
    """Whether W (A, A) is so sparse that loops over its entries are faster."""
    held, size = np.triu(W != 0.0), -(-len(W) // 4)
    held = np.pad(held, (0, 4 * size - len(W)))
    tiles_in_use = int(np.count_nonzero(held.reshape(size, 4, size, 4).any(axis=(1, 3))))
    return bool(np.count_nonzero(W) < 2 * _SPARSE * 16 * tiles_in_use)


def by_entries(W: Floats) -> Quadratic:
    """W (A, A) entry by entry; at least one entry is nonzero."""
    return Quadratic(np.empty((0, 0)), *upper_entries(W))


def upper_tiles(W: Floats, padded: int) -> Floats:
    """The upper triangle of W, with off-diagonal entries doubled, as (padded, padded).

    Then q is a sum over a ≤ b, half the products of the full matrix.
    """
    upper = np.zeros((padded, padded))
    upper[: W.shape[0], : W.shape[1]] = 2.0 * np.triu(W) - np.diag(np.diag(W))
    return upper


def upper_entries(W: Floats) -> tuple[NDArray[np.intp], NDArray[np.intp], Floats]:
    """Entries of W's upper triangle four at a time: their row (m,), columns and values (m, 4).

    Off-diagonal entries are doubled, so that q is a sum over the upper triangle; rows are padded
    with zeros.

    >>> rows, columns, values = upper_entries(np.array([[1.0, 0.5], [0.5, 0.0]]))
    >>> rows.tolist(), columns.tolist(), values.tolist()
    ([0], [[0, 1, 0, 0]], [[1.0, 1.0, 0.0, 0.0]])
    """
    upper = np.triu(W)
    i, j = np.nonzero(upper)
    fours = -(-np.bincount(i, minlength=len(W)) // 4)
    rows = np.repeat(np.arange(len(W)), fours)
    first = np.searchsorted(i, np.arange(len(W)))
    place = 4 * (np.cumsum(fours) - fours)[i] + np.arange(len(i)) - first[i]
    columns = np.repeat(rows, 4)
    columns[place] = j
    values = np.zeros(len(columns))
    values[place] = upper[i, j] * np.where(i == j, 1.0, 2.0)
    return rows, columns.reshape(-1, 4), values.reshape(-1, 4)
