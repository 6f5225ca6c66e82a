"""Column statistics from one pass over the rows of a table, in blocks of any size."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsframe.kernels import in_threads
from fsframe.kernels.compiled import njit

_WINDOW = 8192
"""How many consecutive whole numbers are tracked: twice the longest range of levels, so that the
range fits whichever of its values comes first."""

_MOST = 1 << 25
"""Maximum bytes of the windows of all columns, one bit per number; wider tables have shorter
windows."""


@njit()
def _see(
    flat: Any, n_rows: int, n_columns: int, start: int, stop: int, base: Any, low: Any, high: Any,
    whole: Any, outside: Any, holes: Any, bad: Any, level_bits: Any,
) -> None:  # fmt: skip
    """Add columns start … stop−1 of rows that are consecutive in `flat`."""
    width = 8 * level_bits.shape[1]
    for row in range(n_rows):
        at = row * n_columns
        for j in range(start, stop):
            x = np.float64(flat[at + j])
            if x != x:
                holes[j] += 1
                continue
            if not (-np.inf < x < np.inf):
                bad[j] += 1
                continue
            low[j] = min(low[j], x)
            high[j] = max(high[j], x)
            floor = np.floor(x)
            if x != floor:
                whole[j] = False
                continue
            if base[j] != base[j]:
                base[j] = floor - width // 2
            k = floor - base[j]
            if (k >= 0.0) & (k < width):
                level_bits[j, np.int64(k) >> 3] |= np.uint8(1 << (np.int64(k) & 7))
            else:
                outside[j] = True


@njit()
def _see_bytes(
    flat: Any, n_rows: int, n_columns: int, start: int, stop: int, low: Any, high: Any,
    level_bits: Any,
) -> None:  # fmt: skip
    """As `_see`, for bytes, all of which are in the window."""
    if start == stop:
        # More threads than columns.
        return
    if n_columns == 1:
        # Independent stores are faster than bits, each of which waits for the one before it.
        present = np.zeros(256, np.uint8)
        for row in range(n_rows):
            present[flat[row]] = 1
        for k in range(256):
            level_bits[0, k >> 3] |= np.uint8(present[k] << (k & 7))
    else:
        # A word of bits per column, for values up to 63: eight columns at a time in a register.
        bits, every = np.zeros(stop - start, np.uint64), np.zeros(stop - start, np.uint8)
        one, most = np.uint64(1), np.uint64(63)
        for row in range(n_rows):
            values = flat[row * n_columns + start : row * n_columns + stop]
            for j in range(values.size):
                bits[j] |= one << (np.uint64(values[j]) & most)
                every[j] |= values[j]
        if every.max() <= most:
            for j in range(start, stop):
                for k in range(8):
                    level_bits[j, k] |= np.uint8(bits[j - start] >> np.uint64(8 * k) & 255)
        else:
            for row in range(n_rows):
                at = row * n_columns
                for j in range(start, stop):
                    x = flat[at + j]
                    level_bits[j, x >> 3] |= np.uint8(1 << (x & 7))
    for j in range(start, stop):
        for k in range(256):
            if level_bits[j, k >> 3] >> (k & 7) & 1:
                low[j] = min(low[j], k)
                high[j] = max(high[j], k)


@njit()
def copy_transposed(source: Any, target: Any) -> None:
    """Set ``target[i, j] = source[j, i]``.

    Parameters
    ----------
    source : (m, n) array
    target : (n, m) array

    Notes
    -----
    In tiles of 64 × 16, whose lines stay in the processor's first cache: eight times as fast as an
    assignment by numpy.
    """
    m, n = source.shape
    for first in range(0, n, 64):
        height = min(64, n - first)
        for k in range(0, m - 15, 16):
            tile = source[k : k + 16, first : first + height]
            into = target[first : first + height, k : k + 16]
            for i in range(height):
                for j in range(16):
                    into[i, j] = tile[j, i]
        for k in range(m - m % 16, m):
            for i in range(first, first + height):
                target[i, k] = source[k, i]


def _blocks(columns: NDArray[np.intp]) -> list[NDArray[np.intp]]:
    """The columns, 1024 at a time, to limit memory: each takes a kilobyte of bits."""
    return [columns[at : at + 1024] for at in range(0, len(columns), 1024)]


class ColumnsSeen:
    """Range, wholeness, missing values and levels of columns, from blocks of rows in any order.

    Parameters
    ----------
    n_columns : int
    small : bool
        Whether all values are bytes (uint8).

    Attributes
    ----------
    low, high : (n_columns,) float64
        Least and greatest value; ∞ and −∞ without any.
    whole : (n_columns,) bool
        Whether all values are whole numbers.
    missing, infinite : (n_columns,) int64
        How many values are NaN, and how many infinite.
    level_bits : (n_columns, n_bytes) uint8
        One bit for each whole number from `base` on, set if it occurs.
    """

    def __init__(self, n_columns: int, small: bool) -> None:
        m = n_columns
        width = 256 if small else int(min(_WINDOW, max(256, 8 * (_MOST // max(1, m)))))
        self.low, self.high = np.full(m, np.inf), np.full(m, -np.inf)
        self.whole, self.outside = np.ones(m, bool), np.zeros(m, bool)
        self.missing, self.infinite = np.zeros(m, np.int64), np.zeros(m, np.int64)
        self.base = np.zeros(m) if small else np.full(m, np.nan)
        self.level_bits = np.zeros((m, width // 8), np.uint8)

    @classmethod
    def of(cls, values: NDArray[Any], threads: int = 1) -> ColumnsSeen:
        """The facts of a table in memory, (n, n_columns); other types than uint8 become float64."""
        small = values.dtype == np.uint8
        block = np.ascontiguousarray(values, dtype=np.uint8 if small else np.float64)
        seen = cls(values.shape[1], small)
        seen.add(block, partial(in_threads, threads), threads)
        return seen

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return sum(values.nbytes for values in self.arrays().values())

    def add(self, block: NDArray[Any], in_turn: Callable[..., Any] = map, parts: int = 1) -> None:
        """Add a block of rows, (k, n_columns) uint8 or float64, in C or in Fortran order.

        `in_turn` replaces `map` over the columns in `parts` pieces, for example in threads.
        """
        n, m = block.shape
        small = block.dtype == np.uint8
        by_row = block.flags.c_contiguous
        cuts = np.linspace(0, m, parts + 1).astype(int)
        arrays = (self.low, self.high, self.level_bits) if small else (
            self.base, self.low, self.high, self.whole, self.outside, self.missing, self.infinite,
            self.level_bits,
        )  # fmt: skip
        see = _see_bytes if small else _see

        def work(bound: tuple[int, int]) -> None:
            if by_row:
                see(block.reshape(-1), n, m, *bound, *arrays)
                return
            for j in range(*bound):
                # A contiguous column is a table of one column.
                see(block[:, j], n, 1, 0, 1, *(each[j : j + 1] for each in arrays))

        for _ in in_turn(work, list(zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True))):
            pass

    def n_levels_of(self, columns: NDArray[np.intp]) -> NDArray[np.int64]:
        """Number of distinct values of some columns, −1 if not known."""
        sizes = np.full(len(columns), -1, np.int64)
        for some in _blocks(np.flatnonzero(self.whole[columns] & ~self.outside[columns])):
            bits = np.bitwise_count(self.level_bits[columns[some]])
            sizes[some] = bits.sum(axis=1, dtype=np.int64)
        return sizes

    def levels_of(self, columns: NDArray[np.intp]) -> NDArray[np.float64]:
        """The distinct values of columns for which all are known, ascending within each column."""
        found = [np.empty(0)]
        for some in _blocks(columns):
            owner, place = np.nonzero(self.level_bits[some])
            bits = self.level_bits[some[owner], place][:, None]
            at, bit = np.nonzero(np.unpackbits(bits, axis=1, bitorder="little"))
            found.append(8 * place[at] + bit + self.base[some[owner[at]]])
        return np.concatenate(found)

    def take(self, columns: NDArray[np.intp]) -> ColumnsSeen:
        """The facts of these columns, in this order."""
        taken = {name: values[columns] for name, values in self.arrays().items()}
        return ColumnsSeen.from_arrays(taken)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Everything, by name, for `from_arrays`."""
        return dict(vars(self))

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]]) -> ColumnsSeen:
        """Restore stored facts."""
        seen = cls.__new__(cls)
        vars(seen).update(arrays)
        return seen
