"""Levels or bin edges of each column, and the kernels that code raw columns by them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import attrs
import numpy as np
from numpy.typing import ArrayLike, NDArray

from fsframe.kernels.compiled import njit

LONGEST_TABLE = 4096
"""Longest range of whole numbers coded by a lookup table; longer ones by binary search."""

_STORED = {"as_levels": bool, "offsets": np.int64, "thresholds": np.float64, "missing": bool}


@attrs.frozen(kw_only=True, eq=False)
class Bins:
    """The rules by which each column's values become codes 0, 1, 2, …

    Parameters
    ----------
    as_levels : (n_features,) bool
        Whether the thresholds of a column are its levels themselves (code = position among them)
        or edges of bins (code = number of edges ≤ value).
    offsets : (n_features + 1,) int64
        Column j owns ``thresholds[offsets[j] : offsets[j + 1]]``.
    thresholds : float64
        Ascending within a column.
    missing : (n_features,) bool
        Columns with missing values in training; the last level of such a column is "missing".
    binned_by_default : tuple of int
        Columns of numbers that were binned because no rule was named.
    """

    as_levels: NDArray[np.bool_]
    offsets: NDArray[np.int64]
    thresholds: NDArray[np.float64]
    missing: NDArray[np.bool_]
    binned_by_default: tuple[int, ...] = ()

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return len(self.as_levels)

    @property
    def n_values(self) -> NDArray[np.int64]:
        """Number of levels of each column without the one for missing values, as (n_features,)."""
        return np.diff(self.offsets) + ~self.as_levels

    @property
    def n_levels(self) -> NDArray[np.int64]:
        """Number of levels of each column with the one for missing values, as (n_features,)."""
        return self.n_values + self.missing

    def of(self, column: int) -> NDArray[np.float64]:
        """Levels or edges of one column."""
        return self.thresholds[self.offsets[column] : self.offsets[column + 1]]

    def apply(self, X: ArrayLike) -> NDArray[np.int64]:
        """Codes of new rows.

        Parameters
        ----------
        X : (n, n_features) float64
            NaN is a missing value.

        Returns
        -------
        (n, n_features) int64
            ``0 … n_values − 1`` for known values, ``n_values`` for missing ones, and
            ``n_values + 1`` for a value that is none of the training levels of a column kept as
            levels. A number beyond the training range falls into the first or last bin.
        """
        table = np.asarray(X, dtype=np.float64)
        codes = np.empty(table.shape, dtype=np.int64)
        for j in range(self.n_features):
            x, bounds = table[:, j], self.of(j)
            if self.as_levels[j]:
                place = np.searchsorted(bounds, x)
                known = np.append(bounds, np.nan)[place] == x
                codes[:, j] = np.where(known, place, bounds.size + 1)
                codes[np.isnan(x), j] = bounds.size
            else:
                codes[:, j] = np.searchsorted(bounds, x, side="right")
                codes[np.isnan(x), j] = bounds.size + 1
        return codes

    def tables(self) -> dict[str, NDArray[Any]]:
        """The arrays that `from_tables` reads, named for a run file."""
        return {f"bins_{name}": getattr(self, name) for name in _STORED}

    @classmethod
    def from_tables(cls, tables: Mapping[str, NDArray[Any]]) -> Bins:
        """The bins that a run stored, from its tables."""
        stored: dict[str, Any] = {
            name: np.asarray(tables[f"bins_{name}"], dtype=kind) for name, kind in _STORED.items()
        }
        return cls(**stored)

    def part(self, start: int, stop: int) -> Bins:
        """The bins of columns ``start … stop−1``."""
        first, last = self.offsets[start], self.offsets[stop]
        return Bins(
            as_levels=self.as_levels[start:stop],
            offsets=self.offsets[start : stop + 1] - first,
            thresholds=self.thresholds[first:last],
            missing=self.missing[start:stop],
        )

    @classmethod
    def joined(cls, parts: Sequence[Bins]) -> Bins:
        """Bins of neighbouring groups of columns as one."""
        if len(parts) == 1:
            return parts[0]
        starts = np.cumsum([0, *(part.n_features for part in parts)])
        sizes = np.concatenate([np.diff(part.offsets) for part in parts])
        return cls(
            as_levels=np.concatenate([part.as_levels for part in parts]),
            offsets=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            thresholds=np.concatenate([part.thresholds for part in parts]),
            missing=np.concatenate([part.missing for part in parts]),
            binned_by_default=tuple(
                int(start) + column
                for start, part in zip(starts, parts, strict=False)
                for column in part.binned_by_default
            ),
        )


class BinsBuilder:
    """Collects the thresholds of a group of columns, in any order."""

    def __init__(self, n_columns: int) -> None:
        self.done = np.zeros(n_columns, dtype=bool)
        self.as_levels = np.zeros(n_columns, dtype=bool)
        self.sizes = np.zeros(n_columns, dtype=np.int64)
        self.pieces: list[tuple[NDArray[np.intp], NDArray[np.float64]]] = []

    def add(
        self,
        columns: NDArray[np.intp],
        sizes: NDArray[np.int64],
        thresholds: NDArray[np.float64],
        as_levels: bool,
    ) -> None:
        self.done[columns] = True
        self.as_levels[columns] = as_levels
        self.sizes[columns] = sizes
        self.pieces.append((columns, thresholds))

    def add_one(self, column: int, as_levels: bool, thresholds: NDArray[np.float64]) -> None:
        self.add(np.array([column]), np.array([thresholds.size]), thresholds, as_levels)

    def bins(self, missing: NDArray[np.bool_], default: bool) -> Bins:
        offsets = np.concatenate([[0], np.cumsum(self.sizes)])
        thresholds = np.empty(offsets[-1])
        for columns, values in self.pieces:
            sizes = self.sizes[columns]
            within = np.arange(values.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
            thresholds[np.repeat(offsets[columns], sizes) + within] = values
        binned = np.flatnonzero(~self.as_levels & (self.sizes > 0)) if default else ()
        return Bins(
            as_levels=self.as_levels,
            offsets=offsets,
            thresholds=thresholds,
            missing=missing,
            binned_by_default=tuple(int(j) for j in binned),
        )


class Flat(NamedTuple):
    """A table as one read-only array: row i of column j is at i·by_row + j·by_column."""

    values: NDArray[Any]
    by_row: int
    by_column: int


class Lookup(NamedTuple):
    """Tables by which the values of m columns become codes.

    The code of a whole value x is ``table[table_starts[k] + x − low[k]]`` if column k has
    entries in the table, else the number of ``bins[bin_starts[k] : bin_starts[k + 1]]`` that are
    ≤ x; that of NaN is ``missing[k]``.
    """

    low: NDArray[np.float64]
    table_starts: NDArray[np.int64]
    table: NDArray[np.int64]
    bin_starts: NDArray[np.int64]
    bins: NDArray[np.float64]
    missing: NDArray[np.int64]


def as_flat(block: NDArray[Any]) -> Flat:
    """A table for kernels; its rows or columns are contiguous.

    One array type for every memory layout, so that each kernel is compiled once per dtype: uint8
    stays as it is, everything else becomes float64. Only non-contiguous tables are copied.
    """
    if block.dtype != np.uint8 and block.dtype != np.float64:
        block = block.astype(np.float64)
    if block.flags.c_contiguous:
        flat, strides = block.reshape(-1), (block.shape[1], 1)
    elif block.flags.f_contiguous:
        flat, strides = block.T.reshape(-1), (1, block.shape[0])
    else:
        return as_flat(np.ascontiguousarray(block))
    flat = flat.view()
    flat.setflags(write=False)
    return Flat(flat, *strides)


@njit()
def write_bytes(columns, base, usable, raw):
    """Write columns whose values are whole and near their `base` as bytes.

    Parameters
    ----------
    columns : (m, n) float64
    base : (m,) float64
        A value x becomes x − base, if that is whole and in 0 … 253; NaN becomes 254.
    usable : (m,) bool
        Set false for columns with any other value; their bytes are undefined.
    raw : (m, n) uint8
    """
    for k in range(base.size):
        column = columns[k]
        zero = base[k]
        wrong = False
        for i in range(column.size):
            value = column[i]
            x = value - zero
            inside = x if (x >= 0.0) & (x <= 253.0) else 254.0
            byte = np.int32(inside)
            raw[k, i] = np.uint8(byte)
            # Converted back, because a difference may round a value below 1e-15 to a whole number.
            # Byte 254 stands for no value.
            wrong |= ((np.float64(byte) + zero != value) | (byte == 254)) & (x == x)
        usable[k] = usable[k] and not wrong


@njit()
def write_codes(flat, columns, order, lookup, into, codes):
    """Write the codes of some columns of some samples into ``codes[into[k], i]``.

    Parameters
    ----------
    columns : (m,) int64
        Columns of the table.
    order : (n,) int64
        Row of the table for each sample.
    lookup : Lookup
    into : (m,) int64
        Row of `codes` for each column.
    """
    values, by_row, by_column = flat
    low, table_starts, table, bin_starts, bins, missing = lookup
    n = order.size
    for tile in range(0, columns.size, 8):
        last = min(tile + 8, columns.size)
        for first in range(0, n, 64):
            end = min(first + 64, n)
            for k in range(tile, last):
                column = columns[k] * by_column
                looked_up = table_starts[k + 1] > table_starts[k]
                shift = table_starts[k]
                least = low[k]
                lower, upper = bin_starts[k], bin_starts[k + 1]
                for i in range(first, end):
                    x = np.float64(values[order[i] * by_row + column])
                    if x != x:
                        code = missing[k]
                    elif looked_up:
                        code = table[shift + np.int64(x - least)]
                    else:
                        begin, length = lower, upper - lower
                        # Branch-free binary search.
                        while length > 0:
                            half = (length + 1) // 2
                            begin += half if bins[begin + half - 1] <= x else 0
                            length -= half
                        code = begin - lower
                    codes[into[k], i] = code
