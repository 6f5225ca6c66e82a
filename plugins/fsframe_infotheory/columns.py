"""Passes over raw columns: their range, their distinct values, and their codes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsframe.compiled import njit

__all__ = ["as_flat", "mark_present", "scan_columns", "write_codes"]


def as_flat(block: NDArray[Any]) -> tuple[NDArray[Any], int, int]:
    """A table as (flat read-only array, distance between rows, distance between columns).

    One array type for every memory layout, so that each kernel is compiled once per dtype: uint8
    stays as it is, everything else becomes float64. Only odd layouts are copied.
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
def scan_columns(  # type: ignore[no-untyped-def]
    flat, by_row, by_column, first, n_rows, low, high, whole, missing
):
    """Write each column's least and greatest value, whether all are whole, and how many are NaN."""
    n_columns = low.size
    low[:] = np.inf
    high[:] = -np.inf
    whole[:] = True
    missing[:] = 0
    for tile in range(0, n_columns, 64):
        last = min(tile + 64, n_columns)
        for row in range(n_rows):
            base = row * by_row + first * by_column
            for j in range(tile, last):
                x = np.float64(flat[base + j * by_column])
                if x != x:
                    missing[j] += 1
                else:
                    low[j] = min(low[j], x)
                    high[j] = max(high[j], x)
                    if x != np.floor(x):
                        whole[j] = False


@njit()
def mark_present(  # type: ignore[no-untyped-def]
    flat, by_row, by_column, first, n_rows, columns, low, offsets, present
):
    """Set ``present[offsets[k] + value − low[k]]`` for each value of whole-numbered `columns`."""
    for tile in range(0, columns.size, 64):
        last = min(tile + 64, columns.size)
        for row in range(n_rows):
            base = row * by_row + first * by_column
            for k in range(tile, last):
                x = np.float64(flat[base + columns[k] * by_column])
                if x == x:
                    present[offsets[k] + np.int64(x - low[k])] = 1


@njit()
def write_codes(  # type: ignore[no-untyped-def]
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
    codes,
):
    """Write the codes of some columns of some samples into ``codes[k, places[i]]``.

    Parameters
    ----------
    columns : (m,) int64
        Columns of the table.
    order : (n,) int64
        Row of the table behind each sample.
    places : (n,) int64
        Where each sample stands in `codes`.
    low, table_starts, table : (m,) float64, (m + 1,) int64, int64
        The code of a whole value x is ``table[table_starts[k] + x − low[k]]`` where column k has
        a part of the table.
    bin_starts, bins : (m + 1,) int64, float64
        Else it is the number of ``bins[bin_starts[k] : bin_starts[k + 1]]`` that are ≤ x.
    missing_code : (m,) int64
        Code of NaN.
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
                        # Binary search without a branch on the data: halves until one is left.
                        while length > 0:
                            half = (length + 1) // 2
                            begin += half if bins[begin + half - 1] <= x else 0
                            length -= half
                        code = begin - lower
                    codes[k, places[i]] = code
