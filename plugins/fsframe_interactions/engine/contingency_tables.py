"""Contingency tables of pairs from bit rows: of listed pairs one by one, of tiles together."""

from __future__ import annotations

import numpy as np

from fsframe.kernels.bit_counts import LANES, at, count_rows, popcount
from fsframe.kernels.compiled import njit

__all__ = [
    "complete_tables",
    "count_block",
    "count_pairs",
    "gather_rows",
    "row_starts",
    "tile_cells",
    "tile_counts",
]


@njit()
def row_starts(first, last, stored, starts):
    """Write the first bit row of each column of one block; return their number."""
    starts[0] = 0
    for column in range(first, last):
        starts[column - first + 1] = starts[column - first] + stored[column]
    return starts[last - first]


@njit()
def gather_rows(lanes, offset, n_words, first, last, stored, rows, starts):
    """Write the bit rows of the columns of one block contiguously; return their number."""
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
def count_pairs(lanes, offsets, words, stored, pairs, tables):
    """Add the joint counts of `pairs` of columns, for levels with bit rows.

    `tables` is (m, most levels, most levels, n_classes).
    """
    n_words = words[words.size - 1]
    for pair in range(len(pairs)):
        a, b = pairs[pair]
        for i in range(stored[a]):
            mine = offsets[a // LANES] + i * n_words * LANES + a % LANES
            for j in range(stored[b]):
                theirs = offsets[b // LANES] + j * n_words * LANES + b % LANES
                for k in range(words.size - 1):
                    count = np.uint64(0)
                    for word in range(words[k], words[k + 1]):
                        count += popcount(lanes[mine + word * LANES] & lanes[theirs + word * LANES])
                    tables[pair, i, j, k] += np.int64(count)


@njit()
def complete_tables(levels, stored, margins, pairs, tables):
    """Fill in the last levels of tables that `count_pairs` has counted."""
    for pair in range(len(pairs)):
        a, b = pairs[pair]
        table = tables[pair, : levels[a], : levels[b]]
        complete_table(table, stored[a], stored[b], margins[a], margins[b])


@njit()
def tile_cells(depth, stored, classes, row_block, first_block, last_block):
    """Number of counts that `tile_counts` writes for a tile."""
    n_rows = 0
    for column in range(row_block * LANES, min((row_block + 1) * LANES, stored.size)):
        n_rows += stored[column]
    deepest = 0
    for block in range(first_block, last_block):
        deepest += depth[block]
    return deepest * classes * n_rows * LANES


@njit()
def tile_counts(lanes, offsets, depth, words, stored, row_block, first_block, last_block, counts):
    """Add the common bits of the columns of one block with those of some blocks.

    `counts` has the (depth, n_classes, n_rows, 8) of each block, one after the other.
    """
    classes, n_words = words.size - 1, words[words.size - 1]
    first = row_block * LANES
    last = min(first + LANES, stored.size)
    starts = np.empty(LANES + 1, np.int64)
    n_rows = row_starts(first, last, stored, starts)
    if not n_rows:
        return
    rows = np.empty((n_rows, n_words), np.uint64)
    gather_rows(lanes, offsets[row_block], n_words, first, last, stored, rows, starts)
    largest = 0
    for block in range(first_block, last_block):
        largest = max(largest, depth[block])
    cells = np.empty(largest * classes * n_rows * LANES, np.uint64)
    into = 0
    for block in range(first_block, last_block):
        count_block(rows, n_rows, lanes, offsets[block], depth[block], words, n_words, cells)
        size = depth[block] * classes * n_rows * LANES
        for place in range(size):
            counts[into + place] += cells[place]
        into += size
