"""The features or pairs that are tested, and which of them a base selects, as sorted codes.

A feature's code is its column; the code of the pair of columns a < b among p is ``a·p + b``.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.errors import RequestError
from fsframe.method.selection import Selection, rank_by_score
from fsframe.table.dataset import Dataset

# A column in which d rows differ from the mode is constant in a bootstrap with probability about
# exp(-d); above this d that never happens in practice.
_FRAGILE_ROWS = 40
# More than twice as many, so that the mode of a fragile column is the median of so many rows.
_CHECKED_ROWS = 128


@attrs.frozen(eq=False)
class FragileColumns:
    """Columns that are constant in a table, and those that may be constant in a resample.

    Parameters
    ----------
    usable : (p,) bool
        Columns with at least two different values.
    columns : (m,) int
        Usable columns in which few rows differ from the mode.
    rows : (r,) int
        The rows that differ from the mode, column by column.
    starts : (m,) int
        First position of each column's rows in `rows`.
    """

    usable: NDArray[np.bool_]
    columns: NDArray[np.intp]
    rows: NDArray[np.intp]
    starts: NDArray[np.intp]

    @classmethod
    def find(cls, data: Dataset) -> FragileColumns:
        """Find constant and fragile columns of a table, block by block; a gap equals any value.

        Notes
        -----
        A value that more than half of the rows have is the median. If at most 40 rows of a column
        differ from its mode, the mode is also the median of any 128 rows, and at most 40 of those
        differ from it. Columns that fail this check on the first 128 rows are not fragile; the
        others are read whole, O(n) each.
        """
        usable = np.ones(data.n_features, dtype=bool)
        columns: list[int] = []
        rows: list[NDArray[np.intp]] = []
        for start, stop in data.column_blocks():
            block = np.asarray(data.columns(start, stop), dtype=np.float64)
            close = _candidate_columns(block)
            other = _differs_from_median(block[:, close])
            apart = other.sum(axis=0)
            usable[start + close[apart == 0]] = False
            for place in np.flatnonzero((apart > 0) & (apart <= _FRAGILE_ROWS)):
                columns.append(start + int(close[place]))
                rows.append(np.flatnonzero(other[:, place]))
        sizes = np.array([r.size for r in rows], dtype=np.intp)
        return cls(
            usable,
            np.array(columns, dtype=np.intp),
            np.concatenate(rows) if rows else np.zeros(0, dtype=np.intp),
            np.concatenate(([0], np.cumsum(sizes)))[:-1].astype(np.intp),
        )

    def usable_in(self, counts: NDArray[np.int64] | None) -> NDArray[np.bool_]:
        """Columns with at least two different values in a resample.

        `counts` may be None if no column is fragile.
        """
        if not self.columns.size:
            return self.usable
        assert counts is not None
        varying = np.logical_or.reduceat(counts[self.rows] > 0, self.starts)
        usable = self.usable.copy()
        usable[self.columns[~varying]] = False
        return usable


def _candidate_columns(block: NDArray[np.float64]) -> NDArray[np.intp]:
    """Columns that may be fragile, judged by their first rows."""
    some = block[:_CHECKED_ROWS]
    apart = _differs_from_median(some).sum(axis=0)
    unclear = (apart <= _FRAGILE_ROWS) | np.isnan(some).any(axis=0)
    return np.flatnonzero(unclear)


def _differs_from_median(block: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Mask of the values that are neither missing nor equal to their column's median, (n, p)."""
    if not np.isnan(block.sum()):
        middle = block.shape[0] // 2
        return np.asarray(block != np.partition(block, middle, axis=0)[middle])
    known = ~np.isnan(block)
    # Sorting puts NaN last; a column without any value has none in the middle.
    middles = np.maximum(known.sum(axis=0), 1) // 2
    medians = np.sort(block, axis=0)[middles, np.arange(block.shape[1])]
    return (block != medians) & known


@attrs.frozen(eq=False)
class CandidateFeatures:
    """Features as candidates: a resample selects the columns that the base keeps, if not constant.

    Parameters
    ----------
    columns : FragileColumns
    parts : tuple of str
        Other parts of the base's result that are needed: ``("scores",)`` if scores are compared.

    Notes
    -----
    A column that is constant in the resample carries no information there. A base that keeps it has
    filled up its list with ties, lowest column first, and counting it would make noise look stable.
    """

    columns: FragileColumns
    parts: tuple[str, ...] = ()

    @property
    def n_items(self) -> int:
        """K: number of features that can be selected."""
        return int(self.columns.usable.sum())

    def selected(self, selection: Selection, counts: NDArray[np.int64] | None) -> NDArray[np.int64]:
        """Sorted columns that the base kept in one resample."""
        kept = selection.selected.astype(np.int64)
        kept.sort()
        return kept[self.columns.usable_in(counts)[kept]]


@attrs.frozen(eq=False)
class CandidatePairs:
    """Pairs as candidates: a resample selects the pairs of columns with the largest weights.

    Parameters
    ----------
    columns : FragileColumns
        Pairs with a constant column are excluded.
    n_pairs : int
        Number of pairs selected in a resample; fewer if fewer have a positive weight.
    """

    parts: ClassVar[tuple[str, ...]] = ("pair_weights",)
    columns: FragileColumns
    n_pairs: int

    @property
    def n_items(self) -> int:
        """K(K − 1)/2: number of pairs that can be selected."""
        usable = int(self.columns.usable.sum())
        return usable * (usable - 1) // 2

    def selected(self, selection: Selection, counts: NDArray[np.int64] | None) -> NDArray[np.int64]:
        """Sorted codes of the pairs selected in one resample, ties by column."""
        if selection.pair_weights is None:
            raise RequestError(
                "npfs: of=pairs needs a base that returns pair weights, such as interactions, "
                "`mim:pairs=synergy` or immigrate; this one returns none"
            )
        i, j, weight = selection.pair_weights.triplets()
        first, second = selection.pair_weights.columns[i], selection.pair_weights.columns[j]
        a, b = np.minimum(first, second), np.maximum(first, second)
        usable = self.columns.usable_in(counts)
        live = np.flatnonzero((weight > 0) & usable[a] & usable[b])
        code = a[live].astype(np.int64) * usable.size + b[live]
        by_code = np.argsort(code, kind="stable")
        order = by_code[rank_by_score(weight[live][by_code], self.n_pairs)]
        return np.sort(code[order])


Candidates = CandidateFeatures | CandidatePairs


def count_codes(
    selected: Sequence[NDArray[np.int64]],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Codes selected at least once, ascending, and the count of each.

    >>> [a.tolist() for a in count_codes([np.array([1, 4]), np.array([4])])]
    [[1, 4], [1, 2]]
    """
    all_codes = np.concatenate([*selected, np.zeros(0, np.int64)])
    # Codes of features are small numbers; those of pairs need not be.
    if all_codes.max(initial=0) <= all_codes.size:
        counts = np.bincount(all_codes)
        codes = np.flatnonzero(counts)
        return codes, counts[codes]
    codes, counts = np.unique(all_codes, return_counts=True)
    return codes.astype(np.int64), counts.astype(np.int64)


def equal_columns(data: Dataset, wanted: NDArray[np.intp]) -> list[list[int]]:
    """Groups of identical columns that contain at least one of `wanted`.

    One pass over the table compares the bytes of the first rows, and those of all rows only where
    the first equal those of a column in `wanted`.
    """
    columns = (data.columns(column, column + 1)[:_CHECKED_ROWS, 0] for column in wanted.tolist())
    first = {_bytes(np.asarray(column, dtype=np.float64)) for column in columns}
    groups: dict[bytes, list[int]] = {}
    for start, stop in data.column_blocks():
        block = np.asarray(data.columns(start, stop), dtype=np.float64)
        for offset, column in enumerate(block.T):
            if _bytes(column[:_CHECKED_ROWS]) in first:
                digest = blake2b(_bytes(column), digest_size=16).digest()
                groups.setdefault(digest, []).append(start + offset)
    required = set(wanted.tolist())
    return [group for group in groups.values() if len(group) > 1 and required & set(group)]


def _bytes(column: NDArray[np.float64]) -> bytes:
    return (column + 0.0).tobytes()  # -0.0 and 0.0 are one value
