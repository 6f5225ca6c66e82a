"""Joint counts of few-levelled features, from bit rows: 64 samples per word, 8 features at a time.

A feature with L levels is L−1 rows of bits, one per level but the last; samples are sorted by
class and every class starts on a new word, so that a count within a class is a population count
over a range of words. The last level of each row and column of a table follows by subtraction
from the margins. All counts are exact integers.
"""

from __future__ import annotations

import numpy as np

from fsframe.compiled import njit
from fsframe_infotheory.popcount import (
    LANES,
    at,
    count_common_1,
    count_common_2,
    count_common_4,
    equal_bits,
    popcount,
    shifted,
)

__all__ = [
    "joint_block",
    "joint_scratch",
    "joint_sums",
    "level_rows",
    "pack_blocks",
    "unpack_feature",
]


@njit()
def pack_blocks(  # type: ignore[no-untyped-def]
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
        As in `joint_sums`; planes and margins are given as zeros.
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
            held = level < block_levels[block] - 1
            for c in range(n_classes):
                size = np.int64(0)
                for word in range(words[c], words[c + 1]):
                    bits = equal_bits(turned, word * 64, byte)
                    size += np.int64(popcount(bits))
                    if held:
                        planes[at_plane + word * LANES] = bits
                margins[at_margin + c * LANES] = size


@njit()
def unpack_feature(planes, lane, levels, starts, words, out):  # type: ignore[no-untyped-def]
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
def level_rows(codes, starts, words, rows):  # type: ignore[no-untyped-def]
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


@njit()
def joint_scratch(n_classes, partner_levels):  # type: ignore[no-untyped-def]
    """Memory for `joint_block`, for partners of so many levels."""
    return (
        np.empty((n_classes, partner_levels, LANES), np.int64),
        np.empty((partner_levels, LANES), np.int64),
        np.empty(LANES, np.int64),
        np.empty(max(4, partner_levels) * LANES, np.uint64),
    )


@njit()
def joint_block(  # type: ignore[no-untyped-def]
    planes,
    levels,
    margins,
    rows,
    row_margins,
    words,
    n_words,
    n_classes,
    table,
    per_class,
    scratch,
    js,
    jsy,
):
    """`joint_sums` of one block, whose bit rows begin at the address `planes`.

    Bit rows are read from first to last, class by class within a level, which is how they lie in
    memory: large tables come from there as fast as it allows.
    """
    left, totals, rest, cells = scratch
    partner_levels = row_margins.shape[0]
    n_parts = n_classes if per_class else 1
    js[:] = 0.0
    jsy[:] = 0.0
    for c in range(n_parts):
        for b in range(partner_levels):
            left[c, b] = row_margins[b, c] if per_class else row_margins[b].sum()
    for a in range(levels - 1):
        totals[:partner_levels] = 0
        for c in range(n_parts):
            first = words[c] if per_class else 0
            length = words[c + 1] - first if per_class else n_words
            for lane in range(LANES):
                size = np.int64(0)
                if per_class:
                    size = margins[(a * n_classes + c) * LANES + lane]
                else:
                    for d in range(n_classes):
                        size += margins[(a * n_classes + d) * LANES + lane]
                rest[lane] = size
            mine = shifted(planes, (a * n_words + first) * LANES)
            b = 0
            while b + 4 <= partner_levels - 1:
                theirs = at(rows, b * n_words + first)
                count_common_4(mine, theirs, n_words, length, at(cells, b * LANES))
                b += 4
            if b + 2 <= partner_levels - 1:
                theirs = at(rows, b * n_words + first)
                count_common_2(mine, theirs, n_words, length, at(cells, b * LANES))
                b += 2
            if b < partner_levels - 1:
                theirs = at(rows, b * n_words + first)
                count_common_1(mine, theirs, n_words, length, at(cells, b * LANES))
            for b in range(partner_levels):
                for lane in range(LANES):
                    if b < partner_levels - 1:
                        size = np.int64(cells[b * LANES + lane])
                        rest[lane] -= size
                    else:
                        size = rest[lane]
                    left[c, b, lane] -= size
                    totals[b, lane] += size
                    jsy[lane] += table[np.uintp(size)]
        for b in range(partner_levels):
            for lane in range(LANES):
                js[lane] += table[np.uintp(totals[b, lane])]
    for b in range(partner_levels):
        for lane in range(LANES):
            total = np.int64(0)
            for c in range(n_parts):
                size = left[c, b, lane]
                jsy[lane] += table[np.uintp(size)]
                total += size
            js[lane] += table[np.uintp(total)]


@njit()
def joint_sums(  # type: ignore[no-untyped-def]
    planes,
    offsets,
    block_levels,
    margins,
    margin_offsets,
    rows,
    row_margins,
    words,
    table,
    per_class,
    start,
    stop,
    sums_js,
    sums_jsy,
):
    """Write Σ c·log₂c over the joint counts with one partner, for blocks of 8 features.

    Parameters
    ----------
    planes : (…,) uint64
        Bit rows of all blocks; block k has (block_levels[k] − 1, n_words, 8) from `offsets[k]`.
    margins : (…,) int64
        Counts of all blocks; block k has (block_levels[k], n_classes, 8) from `margin_offsets[k]`.
    rows : (partner levels − 1, n_words) uint64
        Bit rows of the partner.
    row_margins : (partner levels, n_classes) int64
        Counts of the partner.
    words : (n_classes + 1,) int64
        First word of each class.
    table : (n + 1,) float64
        c·log₂c for c = 0 … n.
    per_class : bool
        Whether to count within classes too; if not, `sums_jsy` means nothing.
    start, stop : int
        Blocks to do.
    sums_js, sums_jsy : (n_blocks · 8,) float64
        Results: over (feature, partner) and over (feature, partner, class).

    Notes
    -----
    (L_j − 1)(L_s − 1)·n/64 words per pair; every block writes its own results, in an order that
    does not depend on who runs it.
    """
    n_words = words[words.size - 1]
    n_classes = words.size - 1
    scratch = joint_scratch(n_classes, row_margins.shape[0])
    for block in range(start, stop):
        joint_block(
            at(planes, offsets[block]),
            block_levels[block],
            margins[margin_offsets[block] :],
            rows,
            row_margins,
            words,
            n_words,
            n_classes,
            table,
            per_class,
            scratch,
            sums_js[block * LANES : (block + 1) * LANES],
            sums_jsy[block * LANES : (block + 1) * LANES],
        )
