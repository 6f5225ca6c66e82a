"""Kernels over the stored values of a sparse table, column by column."""

from __future__ import annotations

import numpy as np

from fsframe.kernels.compiled import njit
from fsframe_infotheory.engine.code_counts import class_terms, sum_of

__all__ = ["class_sums", "joint_sparse", "list_levels", "scan_sparse", "write_levels"]


@njit()
def scan_sparse(values, starts, n_rows, start, stop, low, high, whole, missing):
    """Write least and greatest value of columns, whether all are whole, and how many are NaN.

    Zero is included for columns with fewer stored values than rows.
    """
    for j in range(start, stop):
        first, last = starts[j], starts[j + 1]
        zeros = last - first < n_rows
        low[j] = 0.0 if zeros else np.inf
        high[j] = 0.0 if zeros else -np.inf
        whole[j] = True
        missing[j] = 0
        for i in range(first, last):
            x = np.float64(values[i])
            if x != x:
                missing[j] += 1
                continue
            low[j] = min(low[j], x)
            high[j] = max(high[j], x)
            if x != np.floor(x):
                whole[j] = False


@njit()
def list_levels(values, starts, n_rows, columns, low, high, sizes, places, levels):
    """Write the number of distinct values of columns of whole numbers, and optionally the values.

    Parameters
    ----------
    columns : (k,) int64
        Columns of a short range.
    sizes, places : (k,) int64
        The number, and the offset of each column's values in `levels`.
    levels : float64
        Ascending in each column; of length 0 to count only.
    """
    present = np.zeros(1, np.uint8)
    for k in range(columns.size):
        j = columns[k]
        width = np.int64(high[j] - low[j]) + 1
        if width > present.size:
            present = np.zeros(width, np.uint8)
        if starts[j + 1] - starts[j] < n_rows:
            present[np.int64(-low[j])] = 1
        for i in range(starts[j], starts[j + 1]):
            x = np.float64(values[i])
            if x == x:
                present[np.int64(x - low[j])] = 1
        size = 0
        for v in range(width):
            if present[v]:
                if levels.size:
                    levels[places[k] + size] = low[j] + v
                size += 1
                present[v] = 0
        sizes[k] = size


@njit()
def write_levels(
    values, starts, start, stop, as_levels, offsets, thresholds, n_values, codes, zero
):
    """Write the level of each stored value, and that of zero; NaN is the last."""
    for j in range(start, stop):
        first, last = offsets[j], offsets[j + 1]
        # A level's code is the number of levels at or below it, less one.
        less = 1 if as_levels[j] else 0
        for i in range(starts[j] - 1, starts[j + 1]):
            x = 0.0 if i < starts[j] else np.float64(values[i])
            if x != x:
                codes[i] = n_values[j]
                continue
            code = -less
            for t in range(first, last):
                code += thresholds[t] <= x
            if i < starts[j]:
                zero[j] = max(0, code)
            else:
                codes[i] = code


@njit()
def class_sums(
    codes, rows, starts, start, stop, zero, n_levels, labels, sizes, table, sum_j, sum_jy
):
    """Write Σ c·log₂c over the levels of columns, and over levels and classes."""
    n_classes = sizes.size
    counts = np.zeros((256, n_classes), np.int64)
    for j in range(start, stop):
        left = counts[zero[j]]
        left[:] = sizes
        for i in range(starts[j], starts[j + 1]):
            c = labels[rows[i]]
            left[c] -= 1
            counts[codes[i], c] += 1
        sum_j[j], sum_jy[j] = class_terms(counts, n_levels[j], table)
        counts[: max(n_levels[j], zero[j] + 1)] = 0


@njit()
def joint_sparse(
    codes, rows, starts, start, stop, zero, n_levels, partner, margins, table, packed, js
):
    """Write Σ c·log₂c over the joint levels of columns and a partner.

    Parameters
    ----------
    partner : (n_rows,) uint8
        The partner's level in each row.
    margins : (partner levels,) int64
        How often each occurs.
    packed : int
        Most levels of columns that are summed in the order of bit rows, level by level; others
        are summed in the order of dense tables.
    js : (n_features,) float64
        Result.

    Notes
    -----
    Rows without a stored value have the level of zero, whose counts are the partner's minus those
    of the other levels. One step for each stored value, and one for each cell.
    """
    width = margins.size
    most = np.int64(1)
    for j in range(start, stop):
        most = max(most, n_levels[j], zero[j] + 1)
    counts = np.zeros(most * width, np.int64)
    for j in range(start, stop):
        own = zero[j] * width
        for b in range(width):
            counts[own + b] = margins[b]
        for i in range(starts[j], starts[j + 1]):
            at = np.int64(partner[rows[i]])
            counts[own + at] -= 1
            counts[np.int64(codes[i]) * width + at] += 1
        size = n_levels[j] * width
        if n_levels[j] <= packed:
            found = 0.0
            for cell in range(size):
                count = counts[cell]
                if count:
                    found += table[count]
        else:
            found = sum_of(counts, size, table)
        js[j] = found
        counts[: max(size, own + width)] = 0
