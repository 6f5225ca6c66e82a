"""A look at all columns: ranges, gaps, and which columns hold few distinct values."""

from __future__ import annotations

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe_relief.blocks import run_blocks

__all__ = ["ColumnSummary", "few_levels", "summarise"]

SLICE = 1 << 20
"""Values sorted in one go: bounds temporaries to some 10 MB."""
CACHED = 1 << 16
"""Values passed over several times, while they are in the cache."""


@attrs.frozen(eq=False)
class ColumnSummary:
    """Per column: least and greatest known value, missing values, whether all values are whole.

    A column without any value has low > high.
    """

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    missing: NDArray[np.int64]
    whole: NDArray[np.bool_]

    @property
    def infinite(self) -> NDArray[np.bool_]:
        """Columns that hold an infinite value."""
        found: NDArray[np.bool_] = (self.high >= self.low) & (
            np.isinf(self.low) | np.isinf(self.high)
        )
        return found

    def take(self, columns: NDArray[np.intp]) -> ColumnSummary:
        """The summary of some of the columns."""
        return ColumnSummary(
            self.low[columns], self.high[columns], self.missing[columns], self.whole[columns]
        )


def summarise(X: NDArray[np.float64], threads: int = 1) -> ColumnSummary:
    """The summary of a table, in blocks of rows.

    Examples
    --------
    >>> found = summarise(np.array([[0.0, 0.5], [2.0, np.nan]]))
    >>> found.low.tolist(), found.high.tolist(), found.missing.tolist(), found.whole.tolist()
    ([0.0, 0.5], [2.0, 0.5], [0, 1], [True, False])
    """
    n, p = X.shape
    low, high = np.full(p, np.inf), np.full(p, -np.inf)
    missing, whole = np.zeros(p, dtype=np.int64), np.ones(p, dtype=bool)
    step = max(1, CACHED // p)

    def look(start: int) -> ColumnSummary:
        return _of_block(X[start : start + step], whole)

    for found in run_blocks(look, range(0, n, step), threads):
        np.minimum(low, found.low, out=low)
        np.maximum(high, found.high, out=high)
        missing += found.missing
        whole &= found.whole
    return ColumnSummary(low, high, missing, whole)


def _of_block(block: NDArray[np.float64], open_: NDArray[np.bool_]) -> ColumnSummary:
    """The summary of some rows; whether values are whole is asked of the `open_` columns only."""
    p = block.shape[1]
    # A sum is NaN if any term is, so that complete columns need no mask of missing values.
    with np.errstate(invalid="ignore", over="ignore"):
        unsure = np.isnan(block.sum(axis=0))
    missing = np.zeros(p, dtype=np.int64)
    if unsure.any():
        missing = np.isnan(block).sum(axis=0)
        low = np.fmin.reduce(block, axis=0, initial=np.inf)
        high = np.fmax.reduce(block, axis=0, initial=-np.inf)
    else:
        low, high = block.min(axis=0), block.max(axis=0)
    # one row tells most columns that are not whole
    asked = np.flatnonzero(open_)
    asked = asked[_whole(block[0, asked])]
    whole = np.zeros(p, dtype=bool)
    whole[asked] = _whole(block if asked.size == p else block[:, asked]).all(axis=0)
    return ColumnSummary(low, high, missing, whole)


def _whole(values: NDArray[np.float64]) -> NDArray[np.bool_]:
    return (np.floor(values) == values) | np.isnan(values)


def few_levels(
    X: NDArray[np.float64], summary: ColumnSummary, limit: int = 10
) -> NDArray[np.bool_]:
    """Columns with at most `limit` distinct known values, as (n_features,) bool.

    Notes
    -----
    No two of the first rows are equal in nearly all continuous columns, which settles those, and
    whole numbers in a short range need no look at all; only what is left is sorted, in blocks of
    columns. O(n p) for usual tables.

    Examples
    --------
    >>> X = np.array([[0.0, 0.1], [1.0, 0.2], [0.0, 0.3]])
    >>> few_levels(X, summarise(X), limit=2).tolist()
    [True, False]
    """
    n = X.shape[0]
    known = summary.high >= summary.low
    with np.errstate(invalid="ignore"):
        few = known & summary.whole & (summary.high - summary.low < limit)
        open_ = np.flatnonzero(known & ~few)
        first = X[: limit + 1]
        if open_.size < X.shape[1]:
            first = np.take(first, open_, axis=1)
        open_ = open_[~_all_differ(first, limit)]
        for rows in (X[: 4 * limit], X):
            step = max(1, SLICE // len(rows))
            for start in range(0, open_.size, step):
                part = open_[start : start + step]
                levels = (np.diff(np.sort(rows[:, part], axis=0), axis=0) > 0).sum(axis=0) + 1
                few[part] = levels <= limit
            open_ = open_[few[open_]]
            if n <= len(rows):
                break
    return few


def _all_differ(rows: NDArray[np.float64], limit: int) -> NDArray[np.bool_]:
    """Columns in which more than `limit` rows hold as many known values, no two of them equal."""
    equal = np.isnan(rows).any(axis=0) | (len(rows) <= limit)
    for i in range(1, len(rows)):
        equal |= (rows[:i] == rows[i]).any(axis=0)
    return ~equal
