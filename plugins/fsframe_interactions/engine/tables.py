"""Contingency tables of pairs from bit rows: of listed pairs one by one, of tiles together."""

from __future__ import annotations

import numpy as np

from fsframe.contracts.bit_counts import LANES, at, count_rows, popcount
from fsframe.contracts.compiled import njit

__all__ = ["complete_table", "count_block", "gather_rows", "pair_counts"]


@njit()
def gather_rows(lanes, offset, n_words, first, last, stored, rows, starts):
    """Write the bit rows of the columns of one block one after the other; how many they are."""
    written = 0
    for column in range(first, last):
        starts[column - first] = written
        for level in range(stored[column]):
            for word in range(n_words):
                place = offset + (level * n_words + word) * LANES + column - first
                rows[written, word] = lanes[place]
            written += 1
    starts[last - first] = written
    return written


@njit()
def count_block(rows, n_rows, lanes, offset, depth, words, n_words, cells):
    """Common bits of each row with each bit row of a block, class by class.

    `cells` is (depth, n_classes, n_rows, 8) uint64.
    """
    for level in range(depth):
        for k in range(words.size - 1):
            first = words[k]
            length = words[k + 1] - first
            mine = at(lanes, offset + (level * n_words + first) * LANES)
            into = at(cells, (level * (words.size - 1) + k) * n_rows * LANES)
            count_rows(mine, rows, n_rows, n_words, first, length, into)


@njit()
def complete_table(table, stored_a, stored_b, of_a, of_b):
    """Fill in the last level of columns without missing values from the other's margin."""
    levels_a, levels_b, classes = table.shape
    if stored_b < levels_b:
        for i in range(stored_a):
            for k in range(classes):
                rest = of_a[i, k]
                for j in range(stored_b):
                    rest -= table[i, j, k]
                table[i, stored_b, k] = rest
    if stored_a < levels_a:
        for j in range(levels_b):
            for k in range(classes):
                rest = of_b[j, k]
                for i in range(stored_a):
                    rest -= table[i, j, k]
                table[stored_a, j, k] = rest


@njit()
def pair_counts(lanes, offsets, words, stored, levels, margins, a, b, table):
    """Write the table of the columns a and b, (levels of a, levels of b, n_classes)."""
    n_words = words[words.size - 1]
    for i in range(stored[a]):
        mine = offsets[a // LANES] + i * n_words * LANES + a % LANES
        for j in range(stored[b]):
            theirs = offsets[b // LANES] + j * n_words * LANES + b % LANES
            for k in range(words.size - 1):
                count = np.uint64(0)
                for word in range(words[k], words[k + 1]):
                    count += popcount(lanes[mine + word * LANES] & lanes[theirs + word * LANES])
                table[i, j, k] = np.float64(count)
    complete_table(table, stored[a], stored[b], margins[a], margins[b])
