"""Greedy selection by least conditional relevance, with lazy evaluation of the candidates."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fsframe.kernels.bit_counts import LANES, at
from fsframe.kernels.compiled import njit
from fsframe.method.ranking import TIE
from fsframe_infotheory.engine.encode import Encoded
from fsframe_infotheory.engine.entropy import joint_block, joint_scratch
from fsframe_infotheory.engine.layout import pack_blocks
from fsframe_infotheory.engine.packing import PACKED_LEVELS, blocks_of

_GROUP = np.minimum(np.array([0, 0, 0, 1, 1, 2, 2, 2, 2] + 8 * [3]), 3)
"""Group of features that share blocks, by number of levels up to 16: blocks waste few rows."""


@njit()
def _upper(open_, bound, block):
    """Largest bound of the candidates of one block."""
    upper = -np.inf
    for lane in range(block * LANES, (block + 1) * LANES):
        if open_[lane] and bound[lane] > upper:
            upper = bound[lane]
    return upper


@njit()
def _choose(
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
    table,
    sums_j,
    sums_jy,
    total,
    given,
    open_,
    bound,
    tolerance,
    rows,
    row_margins,
    chosen,
    scores,
):
    """Write the chosen features in order, and their scores; return their number.

    Parameters
    ----------
    raw, lanes, level_starts, level_bytes, order, starts, words, block_levels, offsets, \
    margin_offsets, planes, margins
        As in `pack_blocks`; blocks are packed when they are first needed.
    table : (n + 1,) float64
    sums_j, sums_jy : (n_features,) float64
    total : float
    given : (m,) int64
        Lanes of features that are given partners.
    open_ : (n_lanes,) bool
        Candidates; chosen ones are closed.
    bound : (n_lanes,) float64
        The relevance; becomes the least over the partners counted so far.
    tolerance : float
    rows : (capacity,) uint64
    row_margins : (m + k, most levels, n_classes) int64
        Memory for bit rows and counts of all partners.
    chosen, scores : (k,) int64, float64
        Results.
    """
    n_words = words[words.size - 1]
    n_classes = words.size - 1
    n_blocks = block_levels.size
    n_given = given.size
    capacity = n_given + chosen.size
    packed = np.zeros(n_blocks, np.bool_)
    seen = np.zeros(n_blocks, np.int64)
    uppers = np.empty(n_blocks)
    for block in range(n_blocks):
        uppers[block] = _upper(open_, bound, block)
    row_starts = np.zeros(capacity + 1, np.int64)
    of_s = np.empty(capacity)
    of_sy = np.empty(capacity)
    partner_levels = np.empty(capacity, np.int64)
    most = np.int64(1)
    for block in range(n_blocks):
        most = max(most, block_levels[block])
    scratch = joint_scratch(n_classes, most)
    js, jsy = np.empty(LANES), np.empty(LANES)
    n_chosen = 0
    n_partners = 0
    while True:
        # The next partner: a given feature, or the best of the candidates.
        lane = np.int64(-1)
        if n_partners < n_given:
            lane = given[n_partners]
        else:
            if n_chosen == chosen.size:
                break
            first = 0
            for other in range(n_blocks):
                if uppers[other] > uppers[first]:
                    first = other
            if uppers[first] == -np.inf:
                break
            mark = -np.inf
            # The block of the largest bound first: a high mark early saves counting the others.
            for step in range(n_blocks + 1):
                block = first if step == 0 else step - 1
                while uppers[block] >= mark - tolerance and uppers[block] > -np.inf:
                    s = seen[block]
                    if s == n_partners:
                        mark = max(mark, uppers[block])
                        break
                    if not packed[block]:
                        part = slice(block, block + 1)
                        pack_blocks(
                            raw, lanes[block * LANES : (block + 1) * LANES], level_starts,
                            level_bytes, order, starts, words, block_levels[part], offsets[part],
                            margin_offsets[part], planes, margins,
                        )  # fmt: skip
                        packed[block] = True
                    n_rows = partner_levels[s] - 1
                    joint_block(
                        at(planes, offsets[block]),
                        block_levels[block],
                        margins[margin_offsets[block] :],
                        rows[row_starts[s] : row_starts[s] + n_rows * n_words].reshape(
                            (n_rows, n_words)
                        ),
                        row_margins[s, : n_rows + 1],
                        words,
                        n_words,
                        n_classes,
                        table,
                        scratch,
                        js,
                        jsy,
                    )
                    for k in range(LANES):
                        value = (jsy[k] - js[k] - of_sy[s] + of_s[s]) / total
                        if value < bound[block * LANES + k]:
                            bound[block * LANES + k] = value
                    seen[block] += 1
                    uppers[block] = _upper(open_, bound, block)
            for block in range(n_blocks):
                if uppers[block] < mark - tolerance:
                    continue
                for other in range(block * LANES, (block + 1) * LANES):
                    lower = lane < 0 or lanes[other] < lanes[lane]
                    if open_[other] and bound[other] >= mark - tolerance and lower:
                        lane = np.int64(other)
            chosen[n_chosen] = lanes[lane]
            scores[n_chosen] = bound[lane]
            n_chosen += 1
            open_[lane] = False
            uppers[lane // LANES] = _upper(open_, bound, lane // LANES)
            if n_chosen == chosen.size:
                break
        home, k = int(lane) // LANES, int(lane) % LANES
        if not packed[home]:
            part = slice(home, home + 1)
            pack_blocks(
                raw, lanes[home * LANES : (home + 1) * LANES], level_starts, level_bytes, order,
                starts, words, block_levels[part], offsets[part], margin_offsets[part], planes,
                margins,
            )  # fmt: skip
            packed[home] = True
        s = n_partners
        levels = level_starts[lanes[lane] + 1] - level_starts[lanes[lane]]
        partner_levels[s] = levels
        row_starts[s + 1] = row_starts[s] + (levels - 1) * n_words
        for i in range((levels - 1) * n_words):
            rows[row_starts[s] + i] = planes[offsets[home] + i * LANES + k]
        for i in range(levels):
            for c in range(n_classes):
                size = margins[margin_offsets[home] + (i * n_classes + c) * LANES + k]
                row_margins[s, i, c] = size
        of_s[s] = sums_j[lanes[lane]]
        of_sy[s] = sums_jy[lanes[lane]]
        n_partners += 1
    return n_chosen


def least_conditional_relevance(
    encoded: Encoded,
    count: int,
    given: NDArray[np.intp],
    candidates: NDArray[np.bool_],
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """The greedy selection by min(I(X_j; Y), min_s I(X_j; Y | X_s)), as features and scores.

    At most `count` of the `candidates` (n_features,) bool are chosen, `given` (m,) int are partners
    from the start; `encoded` has `coded`.

    Notes
    -----
    The score of a candidate can only fall as features are selected, so one whose bound is below
    the best complete candidate needs no more counting (Fleuret's idea), and one that is never
    reached is not even packed. Blocks of 8 features are counted together; features of similar
    relevance share a block, so that few blocks are reached. All candidates within the tolerance
    of the best are completed in any case, so that the result does not depend on their order.
    """
    layout, coded = encoded.layout, encoded.coded
    assert coded is not None
    relevance = encoded.relevance
    group = _GROUP[np.minimum(encoded.n_levels, PACKED_LEVELS)]
    # 64 bits are more than any relevance.
    features = np.argsort(group * 64.0 - relevance)
    sizes = np.bincount(group, minlength=4)
    blocks = -(-sizes // LANES)
    ends = np.cumsum(blocks) * LANES
    lanes = np.full(int(ends[-1]), -1, np.int64)
    shift = np.repeat(ends - blocks * LANES - (np.cumsum(sizes) - sizes), sizes)
    lane_of = np.empty(encoded.n_features, np.int64)
    lane_of[features] = np.arange(encoded.n_features) + shift
    lanes[lane_of] = np.arange(encoded.n_features)
    block_levels, offsets, margin_offsets = blocks_of(encoded.n_levels, lanes, layout)
    bound = np.full(lanes.size, -np.inf)
    bound[lane_of] = relevance
    open_ = np.zeros(lanes.size, bool)
    open_[lane_of] = candidates
    most = int(block_levels.max())
    chosen, scores = np.empty(count, np.int64), np.empty(count)
    capacity = count + given.size
    found = _choose(
        coded.raw, lanes, coded.starts, coded.levels, layout.short_order, layout.starts,
        layout.words, block_levels, offsets, margin_offsets,
        np.zeros(int(offsets[-1]), np.uint64), np.zeros(int(margin_offsets[-1]), np.int64),
        layout.table, encoded.sum_j, encoded.sum_jy, layout.total, lane_of[given], open_, bound,
        TIE, np.empty(capacity * (most - 1) * layout.n_words, np.uint64),
        np.empty((capacity, most, layout.n_classes), np.int64), chosen, scores,
    )  # fmt: skip
    return chosen[:found], scores[:found]
