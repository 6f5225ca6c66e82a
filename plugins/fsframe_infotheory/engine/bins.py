"""Levels or bin edges of each column, and the kernels that code raw columns by them, or as bytes if
their values are few enough.

Levels of bytes are counted by class in one pass over rows in any order: 64 rows at once are
compared with a level, and population counts of the resulting bits, masked by the rows of a class,
give its counts. This needs neither sorting nor codes, and counts are exact integers.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import attrs
import numpy as np
from numpy.typing import ArrayLike, NDArray

from fsframe.kernels.bit_counts import equal_bits, popcount
from fsframe.kernels.compiled import njit
from fsframe.method.run import Run
from fsframe.table.dataset import Dataset
from fsframe_infotheory.engine.entropy import Layout

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


TOGETHER = 64
"""Columns that are transposed together, unless they are contiguous."""

MOST_TABLES = 2
"""Largest number of tables in the cache; the least recently used is dropped."""


class TableBytes:
    """A table as bytes; each group of columns is converted on first use.

    Independent of labels, bootstraps and bins: columns of whole numbers in a short range have
    the same bytes for all of them.

    Parameters
    ----------
    n_rows, n_columns : int
        Shape of the table; one byte per value.
    block : (n_rows, n_columns) uint8, columns contiguous, optional
        The table itself if its values are bytes; then nothing is copied.
    """

    def __init__(self, n_rows: int, n_columns: int, block: NDArray[np.uint8] | None = None) -> None:
        self.block = block
        if block is None:
            self.raw = np.empty((n_columns, n_rows), np.uint8)
            self.base, self.usable = np.empty(n_columns), np.empty(n_columns, bool)
        else:
            self.raw, self.base, self.usable = fill(block, 0, n_columns)
        self._filled: set[int] = set()

    def of(
        self, bound: tuple[int, int], source: NDArray[Any], first: int
    ) -> tuple[NDArray[np.uint8], NDArray[np.float64], NDArray[np.bool_]]:
        """Columns start … stop−1, which begin at column `first` of `source`; see `fill`."""
        start, stop = bound
        part = slice(start, stop)
        if self.block is None and start not in self._filled:
            filled = fill(source, first, stop - start, self.raw[part])
            self.base[part], self.usable[part] = filled[1:]
            self._filled.add(start)
        return _frozen(self.raw[part]), self.base[part], self.usable[part]

    @classmethod
    def once(cls, data: Dataset, most: int) -> TableBytes | None:
        """Uncached bytes for one call; None if they would exceed `most`."""
        if data.n_features * data.n_samples > most:
            return None
        if data.matrix.dtype != np.uint8:
            return cls(data.n_samples, data.n_features)
        return cls(data.n_samples, data.n_features, data.columns(0, data.n_features))


_tables: list[tuple[weakref.ref[Any], TableBytes]] = []
_lock = threading.Lock()


def cached_bytes(data: Dataset, run: Run) -> TableBytes | None:
    """The cached bytes of a table in memory; None if they would take too much memory.

    Notes
    -----
    The key is the table's array, which is frozen and shared by bootstraps and permuted labels. At
    most `MOST_TABLES` are cached, each of at most an eighth of the memory allowed; an entry is
    dropped with its array.
    """
    if not data.nbytes or data.n_features * data.n_samples > run.memory // 8:
        return None
    with _lock:
        _tables[:] = [entry for entry in _tables if entry[0]() is not None]
        for position, (array, cached) in enumerate(_tables):
            if array() is data.matrix:
                _tables.append(_tables.pop(position))
                return cached
        cached = TableBytes(data.n_samples, data.n_features)
        _tables.append((weakref.ref(data.matrix, _drop), cached))
        del _tables[:-MOST_TABLES]
        return cached


def _drop(
    array: weakref.ref[Any], tables: list[tuple[weakref.ref[Any], TableBytes]] = _tables
) -> None:
    # A default, since the names of a module are gone when arrays are collected as Python ends.
    # Without the lock: an array may be collected while this thread holds it.
    for entry in list(tables):
        if entry[0] is array:
            tables.remove(entry)


def forget() -> None:
    """Empty the cache."""
    with _lock:
        _tables.clear()


def fill(
    source: NDArray[Any], first: int, m: int, into: NDArray[np.uint8] | None = None
) -> tuple[NDArray[np.uint8], NDArray[np.float64], NDArray[np.bool_]]:
    """Columns from `first` on as bytes, the value of byte 0 in each, and which columns fit.

    Parameters
    ----------
    source : (n, …) uint8 or float64
    into : (m, n) uint8, optional
        Where to write; by default the table itself is returned where possible.
    """
    if source.dtype == np.uint8:
        columns = source[:, first : first + m].T
        if into is None:
            into = np.ascontiguousarray(columns)
        else:
            into[:] = columns
        return _frozen(into), np.zeros(m), np.ones(m, bool)
    into = np.empty((m, len(source)), np.uint8) if into is None else into
    base = _bases(source[:64, first : first + m])
    usable = ~np.isnan(base)
    for start in range(0, m, TOGETHER):
        some = slice(start, min(m, start + TOGETHER))
        columns = np.ascontiguousarray(
            source[:, first + some.start : first + some.stop].T, dtype=np.float64
        )
        write_bytes(_frozen(columns), base[some], usable[some], into[some])
    return _frozen(into), base, usable


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    """A read-only view, so that kernels are compiled for one array type only."""
    view = array.view()
    view.setflags(write=False)
    return view


def _bases(head: NDArray[Any]) -> NDArray[np.float64]:
    """The value of byte 0 of each column, which centres its first values in the range of bytes."""
    low = np.fmin.reduce(head, axis=0).astype(np.float64)
    span = np.fmax.reduce(head, axis=0) - low
    return np.where(span <= 253, np.floor(low - (253 - span) // 2), np.nan)


MISSING_BYTE = 254
"""Byte of a missing value; 255 is not used."""

FEW = 32
"""Longest range of bytes that are counted in 64 rows at once; longer ones row by row."""


def class_masks(layout: Layout, n_rows: int) -> NDArray[np.uint64]:
    """How often each row counts, as bit rows in the order of the table; whole counts only.

    Returns
    -------
    (n_classes, n_planes, ceil(n_rows / 64)) uint64
        Bit r of ``masks[c, i]`` is bit i of the count of row r, if that is of class c.
    """
    counts = np.bincount(layout.order, minlength=n_rows)
    n_planes = max(1, int(counts.max(initial=1)).bit_length())
    n_words = -(-n_rows // 64)
    bits = np.zeros((layout.n_classes, n_planes, n_words * 64), np.uint8)
    for c, (first, stop) in enumerate(zip(layout.starts[:-1], layout.starts[1:], strict=True)):
        rows = layout.order[first:stop]
        for plane in range(n_planes):
            bits[c, plane, rows] = (counts[rows] >> plane) & 1
    packed = np.packbits(bits, axis=2, bitorder="little").view("<u8")
    return packed.astype(np.uint64, copy=False)


@njit()
def tally(raw, usable, masks, sizes, table, n_levels, holes, top, values, sums_j, sums_jy):
    """Write the bytes that occur in columns of `raw`, and Σ c·log₂c over them and over classes.

    Parameters
    ----------
    raw : (m, n_rows) uint8
        Columns of bytes, one after the other in memory.
    usable : (m,) bool
        Which columns; the results of the others are zeros.
    masks : (n_classes, n_planes, n_words) uint64
        See `class_masks`; every row of the table counts at least once.
    sizes : (n_classes,) int64
        Samples of each class.
    table : (n + 1,) float64
        c·log₂c.
    n_levels, holes, top : (m,) int64
        Results: how many different bytes occur, the one for missing values included; whether that
        one occurs; and the largest byte.
    values : (m · 256,) uint8
        Result: the bytes that occur, ascending, one column after the other without gaps.
    sums_j, sums_jy : (m,) float64
        Results.

    Notes
    -----
    O(n levels / 64) per column up to 32 neighbouring bytes, O(n) beyond.
    """
    n_classes, n_planes, n_words = masks.shape
    n_rows = raw.shape[1]
    n_whole = n_rows // 64
    # The last rows of a column, if they do not fill a word: no read beyond the array.
    tail = np.zeros(64, np.uint8)
    counts = np.zeros((256, n_classes), np.int64)
    left = np.zeros(n_classes, np.int64)
    bits = np.empty(n_words, np.uint64)
    position = 0
    for k in range(usable.size):
        n_levels[k] = holes[k] = top[k] = 0
        sums_j[k] = sums_jy[k] = 0.0
        if not usable[k]:
            continue
        column = raw[k]
        lowest, highest, largest = np.uint8(255), np.uint8(0), np.uint8(0)
        for i in range(n_rows):
            byte = column[i]
            lowest = min(lowest, byte)
            largest = max(largest, byte)
            highest = max(highest, byte if byte < MISSING_BYTE else np.uint8(0))
        top[k] = largest
        for i in range(64 * n_whole, n_rows):
            tail[i - 64 * n_whole] = column[i]
        first, last = np.int64(lowest), np.int64(highest)
        if first > last:
            # Nothing but missing values.
            first, last = np.int64(0), np.int64(-1)
        few = last - first < FEW
        if few:
            for c in range(n_classes):
                left[c] = sizes[c]
            for value in range(first, last + 1):
                level = np.int64(value)
                for word in range(n_whole):
                    bits[word] = equal_bits(raw, k * n_rows + word * 64, np.uint8(level))
                if n_whole < n_words:
                    bits[n_whole] = equal_bits(tail, 0, np.uint8(level))
                for c in range(n_classes):
                    count = np.int64(0)
                    for plane in range(n_planes):
                        size = np.int64(0)
                        mask = masks[c, plane]
                        for word in range(n_words):
                            size += np.int64(popcount(bits[word] & mask[word]))
                        count += size << plane
                    counts[level, c] = count
                    left[c] -= count
            for c in range(n_classes):
                counts[MISSING_BYTE, c] = left[c]
        else:
            counts[:] = 0
            for c in range(n_classes):
                for plane in range(n_planes):
                    for word in range(n_words):
                        mask_word = masks[c, plane, word]
                        i = word * 64
                        while mask_word:
                            if mask_word & np.uint64(1):
                                counts[column[i], c] += 1 << plane
                            mask_word >>= np.uint64(1)
                            i += 1
        j = 0.0
        jy = 0.0
        begin = position
        for step in range(last - first + 2):
            level = np.int64(first + step)
            if step > last - first:
                level = np.int64(MISSING_BYTE)
            total = np.int64(0)
            for c in range(n_classes):
                total += counts[level, c]
            if total > 0:
                for c in range(n_classes):
                    jy += table[counts[level, c]]
                j += table[total]
                values[position] = level
                position += 1
        n_levels[k] = position - begin
        holes[k] = position > begin and values[position - 1] == MISSING_BYTE
        sums_j[k] = j
        sums_jy[k] = jy


@attrs.frozen(kw_only=True, eq=False)
class ByteLevels:
    """The values that occur in columns of whole numbers of a short range, as bytes.

    Parameters
    ----------
    base : (m,) float64
        The value of byte 0.
    usable : (m,) bool
        Columns with such values; the other entries are undefined for the rest.
    starts : (m + 1,) int64
        Column k has the bytes ``values[starts[k] : starts[k + 1]]``.
    values : uint8
        Bytes that occur, ascending; byte 254, the last, stands for a missing value.
    missing : (m,) bool
        Whether there are missing values.
    sums : (2, m) float64
        Σ c·log₂c over bytes, and over bytes and classes.
    """

    base: NDArray[np.float64]
    usable: NDArray[np.bool_]
    starts: NDArray[np.int64]
    values: NDArray[np.uint8]
    missing: NDArray[np.bool_]
    sums: NDArray[np.float64]

    @classmethod
    def of(
        cls,
        raw: NDArray[np.uint8],
        base: NDArray[np.float64],
        usable: NDArray[np.bool_],
        layout: Layout,
        masks: NDArray[np.uint64],
        most: int = MISSING_BYTE,
    ) -> ByteLevels:
        """The `tally` of columns as bytes, with the `class_masks` of the layout.

        Columns with bytes above `most` are not usable.
        """
        m = len(raw)
        n_levels, holes, top = np.empty((3, m), np.int64)
        values = np.empty(256 * np.count_nonzero(usable), np.uint8)
        sums = np.empty((2, m))
        sizes = np.diff(layout.starts)
        tally(raw, usable, masks, sizes, layout.table, n_levels, holes, top, values, *sums)
        starts = np.concatenate([[0], np.cumsum(n_levels)])
        return cls(
            base=base, usable=usable & (top <= most), starts=starts, values=values[: starts[-1]],
            missing=holes > 0, sums=sums,
        )  # fmt: skip

    @property
    def distinct(self) -> NDArray[np.int64]:
        """Number of distinct values of each column, as (m,)."""
        return np.diff(self.starts) - self.missing

    def levels(self, columns: NDArray[np.bool_]) -> NDArray[np.float64]:
        """The values of the columns marked in an (m,) mask, column by column, ascending."""
        kept = np.repeat(columns, np.diff(self.starts))
        kept[self.starts[1:][self.missing] - 1] = False
        return np.add(self.values[kept], np.repeat(self.base[columns], self.distinct[columns]))


@attrs.frozen(kw_only=True, eq=False)
class RawColumns:
    """Some adjacent columns as stored, and as bytes if they fit.

    Parameters
    ----------
    start : int
        The first column.
    source, first
        ``source[:, first + k]`` is column k.
    raw : (m, n_samples) uint8
        Bytes, read-only; empty if they were not requested.
    seen : ByteLevels or None
        Values that occur in the columns that fit into bytes.
    """

    start: int
    source: NDArray[Any]
    first: int
    raw: NDArray[np.uint8] = attrs.field(factory=lambda: np.empty((0, 0), np.uint8))
    seen: ByteLevels | None = None

    @classmethod
    def read(
        cls,
        data: Dataset,
        bound: tuple[int, int],
        layout: Layout,
        masks: NDArray[np.uint64] | None,
        table: TableBytes | None,
    ) -> RawColumns:
        """Columns of a table; without `masks` (counts are not whole) no bytes are made."""
        start, stop = bound
        block, first = (data.matrix, start) if data.in_memory else (None, 0)
        if block is None and table is not None and table.block is not None:
            block, first = table.block, start
        if block is None:
            block = data.columns(start, stop)
        if masks is None:
            return cls(start=start, source=block, first=first)
        if table is None:
            raw, base, usable = fill(block, first, stop - start)
        else:
            raw, base, usable = table.of(bound, block, first)
        # In a table of bytes 254 and 255 are values; here they are reserved.
        most = MISSING_BYTE - (block.dtype == np.uint8)
        seen = ByteLevels.of(raw, base, usable, layout, masks, most)
        return cls(start=start, source=block, first=first, raw=raw, seen=seen)
