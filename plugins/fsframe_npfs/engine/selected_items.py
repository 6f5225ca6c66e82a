"""What one resample marks: which features, or which pairs, the base picked; as sorted codes.

A feature's code is its column; the code of the pair of columns a < b among p is ``a·p + b``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import blake2b
from typing import ClassVar, Protocol

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.contracts.dataset import Dataset
from fsframe.contracts.selection import Selection, rank_by_score
from fsframe.errors import RequestError

__all__ = [
    "FeatureMarks",
    "FragileColumns",
    "Marker",
    "PairMarks",
    "ScoredMarks",
    "equal_columns",
    "tally",
]

# A column whose commonest value is missing from d rows is constant in a bootstrap with probability
# about exp(-d); above this d that never happens in practice.
_FRAGILE_ROWS = 40
# Of these many rows, fewer than half can be among so few.
_LOOKED_AT = 128


@attrs.frozen(eq=False)
class FragileColumns:
    """Columns that are constant in a table, and those that may become so in a resample.

    Parameters
    ----------
    usable : (p,) bool
        Columns with two different values at least.
    columns : (m,) int
        Usable columns whose commonest value is missing from few rows.
    rows : (r,) int
        Those rows, column after column.
    starts : (m,) int
        Where each column's rows begin in `rows`.
    """

    usable: NDArray[np.bool_]
    columns: NDArray[np.intp]
    rows: NDArray[np.intp]
    starts: NDArray[np.intp]

    @classmethod
    def find(cls, data: Dataset) -> FragileColumns:
        """Those of a table, read in column blocks; missing values count as equal to any value.

        Notes
        -----
        A value held by more than half of the rows is the median. In a column that lacks its
        commonest value in at most 40 rows, it is also the median of any 128 rows, and missing in at
        most 40 of those; where that is not so the column is left alone after a look at these. The
        others are looked at as a whole: O(n) each.
        """
        usable = np.ones(data.n_features, dtype=bool)
        columns: list[int] = []
        rows: list[NDArray[np.intp]] = []
        for start, stop in data.column_blocks():
            block = np.asarray(data.columns(start, stop), dtype=np.float64)
            close = _worth_a_look(block)
            other = _apart_from_median(block[:, close])
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
        """The columns with two different values among the rows of a resample.

        Without fragile columns its counts do not matter.
        """
        if not self.columns.size:
            return self.usable
        assert counts is not None
        alive = np.logical_or.reduceat(counts[self.rows] > 0, self.starts)
        usable = self.usable.copy()
        usable[self.columns[~alive]] = False
        return usable


def _worth_a_look(block: NDArray[np.float64]) -> NDArray[np.intp]:
    """Columns that may lack their commonest value in few rows, as far as some rows can tell."""
    some = block[:_LOOKED_AT]
    apart = _apart_from_median(some).sum(axis=0)
    unclear = (apart <= _FRAGILE_ROWS) | np.isnan(some).any(axis=0)
    return np.flatnonzero(unclear)


def _apart_from_median(block: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which values are neither their column's median nor missing, as (n, p)."""
    return (block != _medians(block)) & ~np.isnan(block)


def _medians(block: NDArray[np.float64]) -> NDArray[np.float64]:
    """Per column a middle value of those that are not missing (NaN where all are)."""
    if not np.isnan(block.sum()):
        middle = block.shape[0] // 2
        return np.partition(block, middle, axis=0)[middle]
    present = (~np.isnan(block)).sum(axis=0)
    # Sorting puts NaN last, so the middle of what is present is at half of that number.
    return np.sort(block, axis=0)[present // 2 - (present == 0), np.arange(block.shape[1])]


class Marker(Protocol):
    """How a Selection becomes codes, from which of its parts, and how many codes there are."""

    parts: ClassVar[tuple[str, ...]]

    @property
    def columns(self) -> FragileColumns: ...

    @property
    def cells(self) -> int: ...

    def marks(self, found: Selection, counts: NDArray[np.int64] | None) -> NDArray[np.int64]: ...


@attrs.frozen(eq=False)
class FeatureMarks:
    """Marks the columns that the base kept, constant ones apart.

    Notes
    -----
    A column that is constant in the resample holds no information there; where a base keeps it, it
    has filled up its list, the lowest column first, and a mark would make noise look stable.
    """

    parts: ClassVar[tuple[str, ...]] = ()
    columns: FragileColumns

    @property
    def cells(self) -> int:
        """K: how many features can be marked."""
        return int(self.columns.usable.sum())

    def marks(self, found: Selection, counts: NDArray[np.int64] | None) -> NDArray[np.int64]:
        """Sorted columns that the base kept in one resample."""
        kept = found.selected.astype(np.int64)
        kept.sort()
        return kept[self.columns.usable_in(counts)[kept]]


@attrs.frozen(eq=False)
class ScoredMarks(FeatureMarks):
    """The same marks, of a base whose scores are wanted as well."""

    parts: ClassVar[tuple[str, ...]] = ("scores",)


@attrs.frozen(eq=False)
class PairMarks:
    """Marks the pairs of columns with the largest pair weights.

    Parameters
    ----------
    columns : FragileColumns
        Pairs with a constant column are left out.
    n_pairs : int
        How many pairs one resample marks, fewer where fewer have a weight above zero.
    """

    parts: ClassVar[tuple[str, ...]] = ("pair_weights",)
    columns: FragileColumns
    n_pairs: int

    @property
    def cells(self) -> int:
        """K(K − 1)/2: how many pairs can be marked."""
        usable = int(self.columns.usable.sum())
        return usable * (usable - 1) // 2

    def marks(self, found: Selection, counts: NDArray[np.int64] | None) -> NDArray[np.int64]:
        """Sorted codes of the pairs that one resample marks, ties by column."""
        if found.pair_weights is None:
            raise RequestError(
                "npfs: of=pairs needs a base that weighs pairs of features, such as "
                "interactions, `mim:pairs=synergy` or immigrate; this one gives none"
            )
        i, j, weight = found.pair_weights.triplets()
        first, second = found.pair_weights.columns[i], found.pair_weights.columns[j]
        a, b = np.minimum(first, second), np.maximum(first, second)
        usable = self.columns.usable_in(counts)
        live = np.flatnonzero((weight > 0) & usable[a] & usable[b])
        code = a[live].astype(np.int64) * usable.size + b[live]
        by_code = np.argsort(code, kind="stable")
        order = by_code[rank_by_score(weight[live][by_code], self.n_pairs)]
        return np.sort(code[order])


def tally(marks: Sequence[NDArray[np.int64]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The codes that were marked at least once, ascending, and how often each was.

    >>> [a.tolist() for a in tally([np.array([1, 4]), np.array([4])])]
    [[1, 4], [1, 2]]
    """
    found = np.concatenate([*marks, np.zeros(0, np.int64)])
    # Codes of features are few and small, those of pairs may be neither.
    if found.max(initial=0) <= found.size:
        counts = np.bincount(found)
        codes = np.flatnonzero(counts)
        return codes, counts[codes]
    codes, counts = np.unique(found, return_counts=True)
    return codes.astype(np.int64), counts.astype(np.int64)


def equal_columns(data: Dataset, wanted: NDArray[np.intp]) -> list[list[int]]:
    """Groups of columns that are exact copies of each other and hold at least one of `wanted`.

    Notes
    -----
    One pass over the table, comparing the bytes of the first rows, and of all rows where these are
    equal to those of a column in `wanted`.
    """
    first = {_bytes(column[:_LOOKED_AT]) for column in _columns_at(data, wanted)}
    groups: dict[bytes, list[int]] = {}
    for start, stop in data.column_blocks():
        block = np.asarray(data.columns(start, stop), dtype=np.float64)
        for offset, column in enumerate(block.T):
            if _bytes(column[:_LOOKED_AT]) in first:
                digest = blake2b(_bytes(column), digest_size=16).digest()
                groups.setdefault(digest, []).append(start + offset)
    asked = {int(column) for column in wanted}
    return [group for group in groups.values() if len(group) > 1 and asked & set(group)]


def _columns_at(data: Dataset, wanted: NDArray[np.intp]) -> Iterator[NDArray[np.float64]]:
    for column in wanted:
        yield np.asarray(data.columns(int(column), int(column) + 1), dtype=np.float64)[:, 0]


def _bytes(column: NDArray[np.float64]) -> bytes:
    return (column + 0.0).tobytes()  # -0.0 and 0.0 are one value
