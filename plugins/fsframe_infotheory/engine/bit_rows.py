"""Features of few levels as bit rows: 64 samples per word, 8 features interleaved.

A feature with L levels takes L−1 rows of bits, one per level except the last; samples are sorted by
class and every class starts on a new word, so that a count within a class is a population count
over a range of words. The last level of each row and column of a table follows by subtraction
from the margins. All counts are exact integers.
"""

from __future__ import annotations

import numpy as np

from fsframe.kernels.bit_counts import LANES, equal_bits, popcount
from fsframe.kernels.compiled import njit

__all__ = ["level_rows", "pack_blocks", "unpack_feature"]


@njit()
def pack_blocks(
    raw,
    lanes,
    level_starts,
    level_bytes,
    order,
    starts,
    words,
    block_levels,
    offsets,
    margin_offsets,
    planes,
    margins,
):
    """Write the bit rows and the margins of all blocks.

    Parameters
    ----------
    raw : (n_columns, n_rows) uint8
        Columns of bytes, in the order of the table's rows.
    lanes : (n_blocks · 8,) int64
        Row of `raw` for each lane; −1 where a block is short of features.
    level_starts, level_bytes : (n_columns + 1,) int64, uint8
        Level a of row k is the byte ``level_bytes[level_starts[k] + a]``.
    order : (n,) uint32
        Row of the table behind each sample, sorted by class.
    starts, words : (n_classes + 1,) int64
        First sample of each class, and first word of each class.
    block_levels, offsets, margin_offsets, planes, margins
        As in `joint_counts.joint_sums`; planes and margins are given as zeros.
    """
    n_words = words[words.size - 1]
    n_classes = words.size - 1
    # Padding after each class stays 255, which is no level's byte.
    turned = np.full(n_words * 64, 255, np.uint8)
    for k in range(lanes.size):
        row = lanes[k]
        if row < 0:
            continue
        column = raw[row]
        for c in range(n_classes):
            size = starts[c + 1] - starts[c]
            rows = order[starts[c] : starts[c + 1]]
            into = turned[64 * words[c] : 64 * words[c] + size]
            for i in range(size):
                into[i] = column[rows[i]]
        block, lane = k // LANES, k % LANES
        for level in range(level_starts[row + 1] - level_starts[row]):
            byte = level_bytes[level_starts[row] + level]
            at_plane = offsets[block] + level * n_words * LANES + lane
            at_margin = margin_offsets[block] + level * n_classes * LANES + lane
            stored = level < block_levels[block] - 1
            for c in range(n_classes):
                size = np.int64(0)
                for word in range(words[c], words[c + 1]):
                    bits = equal_bits(turned, word * 64, byte)
                    size += np.int64(popcount(bits))
                    if stored:
                        planes[at_plane + word * LANES] = bits
                margins[at_margin + c * LANES] = size


@njit()
def unpack_feature(planes, lane, levels, starts, words, out):
    """Write the levels of one packed feature, samples sorted by class, into `out`."""
    one = np.uint64(1)
    out[:] = levels - 1
    for level in range(levels - 1):
        for c in range(starts.size - 1):
            word = words[c]
            for first in range(starts[c], starts[c + 1], 64):
                bits = planes[level, word, lane]
                if bits:
                    last = min(first + 64, starts[c + 1])
                    for sample in range(first, last):
                        if bits & one:
                            out[sample] = level
                        bits >>= one
                word += 1


@njit()
def level_rows(codes, starts, words, rows):
    """Write bit rows of one feature's levels but the last into ``rows[(level, word)]``, zeros."""
    one = np.uint64(1)
    for c in range(starts.size - 1):
        word = words[c]
        for first in range(starts[c], starts[c + 1], 64):
            last = min(first + 64, starts[c + 1])
            bit = one
            for sample in range(first, last):
                level = codes[sample]
                if level < rows.shape[0]:
                    rows[level, word] |= bit
                bit <<= one
            word += 1
