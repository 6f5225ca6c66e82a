"""Kernels over raw columns: their range, their distinct values, and their codes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsframe.kernels.compiled import njit

WIDE = 512
"""Columns read together: 4 kB of a row of doubles."""


def as_flat(block: NDArray[Any]) -> tuple[NDArray[Any], int, int]:
    """A table as (flat read-only array, distance between rows, distance between columns).

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
    return flat, strides[0], strides[1]


@njit()
def write_bytes(flat, by_row, by_column, first, n, base, usable, raw):
    """Write columns whose values are whole and near their `base` as bytes, rows in order.

    Parameters
    ----------
    first : int
        Column of the table that is the first of the m columns.
    n : int
        Number of rows.
    base : (m,) float64
        A value x becomes x − base, if that is whole and in 0 … 253; NaN becomes 254.
    usable : (m,) bool
        Set false for columns with any other value; their bytes are undefined.
    raw : (m, n) uint8

    Notes
    -----
    One of the two distances is 1, see `as_flat`. Rows are read in long pieces and transposed in the
    cache: reading single columns of a large table in row order would miss the cache at every value.
    Contiguous columns are read one by one.
    """
    if by_row == 1:
        for k in range(base.size):
            origin = (first + k) * by_column
            column = flat[origin : origin + n]
            zero = base[k]
            wrong = False
            for i in range(n):
                value = np.float64(column[i])
                x = value - zero
                inside = x if (x >= 0.0) & (x <= 253.0) else 254.0
                byte = np.int32(inside)
                raw[k, i] = np.uint8(byte)
                # Back to the value: a difference may round a value below 1e-15 to a whole number.
                # Byte 254 stands for no value.
                wrong |= ((np.float64(byte) + zero != value) | (byte == 254)) & (x == x)
            usable[k] = usable[k] and not wrong
        return
    turned = np.empty((64, WIDE), np.uint8)
    shift = np.empty(WIDE)
    broken = np.empty(WIDE, np.uint8)
    for tile in range(0, base.size, WIDE):
        width = min(WIDE, base.size - tile)
        shift[:width] = base[tile : tile + width]
        broken[:] = 0
        for start in range(0, n, 64):
            height = min(64, n - start)
            for i in range(height):
                origin = (start + i) * by_row + first + tile
                row = flat[origin : origin + width]
                into = turned[i]
                for k in range(width):
                    value = np.float64(row[k])
                    x = value - shift[k]
                    inside = x if (x >= 0.0) & (x <= 253.0) else 254.0
                    byte = np.int32(inside)
                    into[k] = np.uint8(byte)
                    other = (np.float64(byte) + shift[k] != value) | (byte == 254)
                    broken[k] |= np.uint8(other & (x == x))
            # Unsigned indices avoid the test for negative ones.
            for k in range(width):
                column = raw[tile + k, start : start + height]
                for i in range(height):
                    column[np.uintp(i)] = turned[np.uintp(i), np.uintp(k)]
        for k in range(width):
            usable[tile + k] = usable[tile + k] and broken[k] == 0


@njit()
def scan_columns(flat, by_row, by_column, columns, n_rows, low, high, whole, missing):
    """Write each column's least and greatest value, whether all are whole, and how many are NaN."""
    for tile in range(0, columns.size, 64):
        last = min(tile + 64, columns.size)
        for j in range(tile, last):
            low[j] = np.inf
            high[j] = -np.inf
            whole[j] = True
            missing[j] = 0
        for row in range(n_rows):
            for j in range(tile, last):
                x = np.float64(flat[row * by_row + columns[j] * by_column])
                if x != x:
                    missing[j] += 1
                else:
                    low[j] = min(low[j], x)
                    high[j] = max(high[j], x)
                    if x != np.floor(x):
                        whole[j] = False


@njit()
def mark_present(flat, by_row, by_column, columns, n_rows, low, offsets, present):
    """Set ``present[offsets[k] + value − low[k]]`` for each value of whole-numbered `columns`."""
    for tile in range(0, columns.size, 64):
        last = min(tile + 64, columns.size)
        for row in range(n_rows):
            for k in range(tile, last):
                x = np.float64(flat[row * by_row + columns[k] * by_column])
                if x == x:
                    present[offsets[k] + np.int64(x - low[k])] = 1


@njit()
def write_codes(
    flat,
    by_row,
    by_column,
    columns,
    order,
    places,
    low,
    table_starts,
    table,
    bin_starts,
    bins,
    missing_code,
    into,
    codes,
):
    """Write the codes of some columns of some samples into ``codes[into[k], places[i]]``.

    Parameters
    ----------
    columns : (m,) int64
        Columns of the table.
    order : (n,) int64
        Row of the table behind each sample.
    places : (n,) int64
        Position of each sample in `codes`.
    low, table_starts, table : (m,) float64, (m + 1,) int64, int64
        The code of a whole value x is ``table[table_starts[k] + x − low[k]]`` where column k has
        entries in the table.
    bin_starts, bins : (m + 1,) int64, float64
        Else it is the number of ``bins[bin_starts[k] : bin_starts[k + 1]]`` that are ≤ x.
    missing_code : (m,) int64
        Code of NaN.
    into : (m,) int64
        Row of `codes` for each column.
    """
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
                    x = np.float64(flat[order[i] * by_row + column])
                    if x != x:
                        code = missing_code[k]
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
                    codes[into[k], places[i]] = code
