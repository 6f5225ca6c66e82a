"""Compiled sums over pairs: the contribution of a block of targets to every feature's score."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsframe.kernels.bit_counts import (
    LANES,
    at,
    common_bits,
    common_bits_of_four,
    popcount,
)
from fsframe.kernels.compiled import njit
from fsframe_relief.engine.distance_kernels import fill_differences

Floats = NDArray[np.float64]
Places = NDArray[np.int64]
Codes = NDArray[np.uint8] | NDArray[np.uint32]

FAST = {"reassoc", "contract", "nsz"}
CHUNK = 256
FOLD = 64


@njit()
def folded_lists(C: Floats, i0: int, i1: int, lists: Any) -> None:
    """For each row i of i0..i1 list the columns j > i where ``C[i, j] + C[j, i]`` is not zero.

    `lists` are `feature_scores.Lists`, here and below.
    """
    index, weight, length = lists
    n = C.shape[0]
    for j0 in range(i0, n, FOLD):
        # The part below the diagonal is read by rows and transposed in the cache.
        for j in range(j0, min(n, j0 + FOLD)):
            below = C[j, i0:i1]
            for r in range(i1 - i0):
                weight[r, j] = below[r]
    for r in range(i1 - i0):
        row = C[i0 + r]
        m = 0
        for j in range(i0 + r + 1, n):
            # written in any case and kept if not zero: a branch would be mispredicted half the
            # time
            w = weight[r, j] + row[j]
            index[r, m] = j
            weight[r, m] = w
            m += w != 0.0
        length[r] = m


@njit()
def row_lists(C: Floats, lists: Any) -> None:
    """For each row list the columns of non-zero weight."""
    index, weight, length = lists
    for r in range(C.shape[0]):
        m = 0
        for j in range(C.shape[1]):
            w = C[r, j]
            index[r, m] = j
            weight[r, m] = w
            m += w != 0.0
        length[r] = m


@njit(fastmath=FAST)
def plain_scores(plain: Any, rows: Places, lists: Any, out: Floats) -> None:
    """Add sum over listed pairs of weight |z_ia - z_ja|, for `columns.Plain`."""
    Z = plain.values
    index, weight, length = lists
    p = Z.shape[1]
    for a0 in range(0, p, CHUNK):
        a1 = min(p, a0 + CHUNK)
        o = out[a0:a1]
        for r in range(rows.shape[0]):
            x = Z[rows[r], a0:a1]
            m = length[r]
            in_fours = m - m % 4
            for q in range(0, in_fours, 4):
                y0 = Z[index[r, q], a0:a1]
                y1 = Z[index[r, q + 1], a0:a1]
                y2 = Z[index[r, q + 2], a0:a1]
                y3 = Z[index[r, q + 3], a0:a1]
                w0 = weight[r, q]
                w1 = weight[r, q + 1]
                w2 = weight[r, q + 2]
                w3 = weight[r, q + 3]
                for a in range(o.shape[0]):
                    u = x[a]
                    o[a] += (w0 * abs(u - y0[a]) + w1 * abs(u - y1[a])) + (
                        w2 * abs(u - y2[a]) + w3 * abs(u - y3[a])
                    )
            for q in range(in_fours, m):
                y0 = Z[index[r, q], a0:a1]
                w0 = weight[r, q]
                for a in range(o.shape[0]):
                    o[a] += w0 * abs(x[a] - y0[a])


@njit(fastmath=FAST)
def level_scores(levelled: Any, rows: Places, lists: Any, out: Floats) -> None:
    """Add sum over listed pairs of weight [code_ia != code_ja], for complete `Levelled`."""
    codes, stop = levelled.codes, levelled.n_whole
    index, weight, length = lists
    for a0 in range(0, stop, 4 * CHUNK):
        a1 = min(stop, a0 + 4 * CHUNK)
        o = out[a0:a1]
        for r in range(rows.shape[0]):
            x = codes[rows[r], a0:a1]
            for q in range(length[r]):
                z = codes[index[r, q], a0:a1]
                w = weight[r, q]
                for a in range(o.shape[0]):
                    o[a] += w if x[a] != z[a] else 0.0


@njit()
def probability_scores(gapped: Any, rows: Places, lists: Any, out: Floats) -> None:
    """Add sum over listed pairs of weight times diff, for `columns.Probability`."""
    index, weight, length = lists
    floor, slope = gapped.floor, gapped.slope
    Z, state, n_real = gapped.values, gapped.state, gapped.n_real
    p = Z.shape[1]
    table = np.empty(gapped.first_state[p])
    for r in range(rows.shape[0]):
        fill_differences(rows[r], gapped, table)
        x = Z[rows[r]]
        for q in range(length[r]):
            z = Z[index[r, q]]
            s = state[index[r, q]]
            w = weight[r, q]
            for a in range(n_real):
                d = abs(x[a] - z[a])
                t = table[s[a]]
                out[a] += w * (min(max((d - floor) * slope, 0.0), 1.0) if d == d else t)
            for a in range(n_real, p):
                out[a] += w * table[s[a]]


@njit()
def combine_groups(
    total: Floats,
    mean: Floats,
    known: NDArray[np.bool_],
    own_class: int,
    n_classes: int,
) -> float:
    """The contribution of a target to the score of a column, from the means of its groups.

    Group 2c has the near, 2c + 1 the far instances of class c; `total` is the weight of a group.
    Shares of miss classes are renormalised over those with a known value.
    """
    score = 0.0
    for side in range(2):
        g = 2 * own_class + side
        if known[g]:
            score += total[g] * mean[g]
        all_misses = 0.0
        usable = 0.0
        part = 0.0
        for c in range(n_classes):
            if c != own_class:
                g = 2 * c + side
                all_misses += total[g]
                if known[g]:
                    usable += total[g]
                    part += total[g] * mean[g]
        if usable != 0.0:
            score += part * (all_misses / usable)
    return score


@njit()
def gap_scores(
    gapped: Any, rows: Places, C: Floats, y: Places, n_classes: int, out: Floats
) -> None:
    """Add the contribution of `feature_scores.Gapped`: means over neighbours with a value.

    A target whose own value is missing contributes nothing. ``C[r]`` are the signed weights of
    target ``rows[r]``; near hits and far misses are negative, near misses and far hits positive.
    """
    values, coded, gap, floor, slope, first = gapped
    n, p = values.shape
    groups = 2 * n_classes
    top = np.empty((groups, CHUNK))
    base = np.empty((groups, CHUNK))
    total = np.empty(groups)
    mean = np.empty(groups)
    known = np.empty(groups, np.bool_)
    for a0 in range(first, p, CHUNK):
        a1 = min(p, a0 + CHUNK)
        for r in range(rows.shape[0]):
            i = rows[r]
            own_class = y[i]
            top[:, :] = 0.0
            base[:, :] = 0.0
            total[:] = 0.0
            x = values[i, a0:a1]
            for j in range(n):
                w = C[r, j]
                if w == 0.0:
                    continue
                g = 2 * y[j] + (1 if (w > 0.0) == (y[j] == own_class) else 0)
                total[g] += w
                z = values[j, a0:a1]
                t = top[g]
                b = base[g]
                if coded:
                    for a in range(a1 - a0):
                        t[a] += w if (z[a] != gap) & (x[a] != z[a]) else 0.0
                        b[a] += w if z[a] != gap else 0.0
                else:
                    for a in range(a1 - a0):
                        d = abs(x[a] - z[a])
                        v = min(max((d - floor) * slope, 0.0), 1.0)
                        t[a] += w * v if d == d else 0.0
                        b[a] += w if d == d else 0.0
            for a in range(a1 - a0):
                if coded and x[a] == gap:
                    continue
                for g in range(groups):
                    known[g] = base[g, a] != 0.0
                    mean[g] = top[g, a] / base[g, a] if known[g] else 0.0
                out[a0 + a] += combine_groups(total, mean, known, own_class, n_classes)


@njit()
def pair_weights(
    A: Floats,
    first: Places,
    second: Places,
    labels: Places,
    near: Floats,
    far: Floats,
    out: Floats,
) -> None:
    """Write the weights of pairs under each labelling.

    ``A[i, j]`` is the unsigned weight of j for target i, negative if j is far. ``near[t, i, c]``
    is the factor of near weights in class c for target i under labelling t, `far` that of far
    weights. ``out[t, q]`` adds both directions of pair q.
    """
    for t in range(labels.shape[0]):
        y = labels[t]
        for q in range(first.shape[0]):
            i = first[q]
            j = second[q]
            a = A[i, j]
            b = A[j, i]
            s = a * (near[t, i, y[j]] if a > 0.0 else far[t, i, y[j]])
            out[t, q] = s + b * (near[t, j, y[i]] if b > 0.0 else far[t, j, y[i]])


Words = NDArray[np.uint64]

MASK_WORDS = 1 << 10
"""Words of a mask at a time: with those of four levels they stay in the nearest cache."""

TOGETHER = 64
"""Sums that are computed at a time."""

CACHED = 1 << 17
"""Words of level masks compared with all targets before the next: 1 MB, within a core's cache."""


@njit()
def level_masks(levelled: Any, masks: Any) -> None:
    """Set bit i of ``levels[start[a] + code]``, and of `known`, for every value but gaps."""
    codes, gap, n_whole = levelled.codes, levelled.gap, levelled.n_whole
    levels, start, known = masks
    n, p = codes.shape
    for i in range(n):
        word = i >> 6
        bit = np.uint64(1) << np.uint64(i & 63)
        row = codes[i]
        for a in range(p):
            v = row[a]
            if v != gap:
                levels[start[a] + v, word] |= bit
                if a >= n_whole:
                    known[a - n_whole, word] |= bit


@njit()
def weight_groups(C: Floats, rows: Places, y: Places, bounds: Places, groups: Any) -> None:
    """Group the neighbours of each target by class and sign of their weights.

    Group 2 c + 1 has those of class c whose weight is above zero if c is the target's own class,
    below zero if not; group 2 c the others. All weights of a group are equal.

    Parameters
    ----------
    C : (b, n) float64
        Signed weights of the neighbours of the targets `rows`.
    y, bounds : (n,) int64, (n_classes + 1,) int64
        Classes; class c is the instances ``bounds[c] … bounds[c + 1] - 1``.
    groups : `feature_scores.Groups`
        Written.
    """
    mask, total, size = groups
    weight = np.zeros(size.shape)
    for r in range(rows.shape[0]):
        for c in range(bounds.shape[0] - 1):
            sign = 1.0 if c == y[rows[r]] else -1.0
            for g in range(2 * c, 2 * c + 2):
                sign = -sign
                common = np.uint64(0)
                for word in range(bounds[c] >> 6, (bounds[c + 1] + 63) >> 6):
                    first, last = max(word * 64, bounds[c]), min(word * 64 + 64, bounds[c + 1])
                    bits = np.uint64(0)
                    for j in range(first, last):
                        bits |= np.uint64(sign * C[r, j] > 0.0) << np.uint64(j & 63)
                    mask[r, g, word] = bits
                    common += popcount(bits)
                    if bits != np.uint64(0) and weight[r, g] == 0.0:
                        while not (bits >> np.uint64(first & 63)) & np.uint64(1):
                            first += 1
                        weight[r, g] = C[r, first]
                size[r, g] = np.float64(common)
    _add_repeatedly(weight.ravel(), size.ravel(), total.ravel())


@njit()
def _add_repeatedly(weight: Floats, times: Floats, total: Floats) -> None:
    """Write to ``total[g]`` the sum of ``times[g]`` terms ``weight[g]``, rounded at each addition.

    Many sums at a time, since each addition waits for the one before it.
    """
    each, left, sums = np.empty(TOGETHER), np.empty(TOGETHER), np.empty(TOGETHER)
    for first in range(0, weight.shape[0], TOGETHER):
        size = min(TOGETHER, weight.shape[0] - first)
        each[:], left[:], sums[:] = 0.0, 0.0, 0.0
        each[:size], left[:size] = weight[first : first + size], times[first : first + size]
        for step in range(np.int64(left.max())):
            for g in range(TOGETHER):
                sums[g] += each[g] if step < left[g] else 0.0
        total[first : first + size] = sums[:size]


@njit()
def _common_counts(
    codes: Codes, masks: Any, rows: Places, mask: Words, size: Floats, bounds: Places, a0: int,
    a1: int, out: Words,
) -> None:  # fmt: skip
    """Count the members of each group that have their target's code in columns a0 ≤ a < a1.

    Only the words of the group's class are read. ``out[r, g, a - a0]`` is written.
    """
    levels, start = masks.levels, masks.start
    b, _, words = mask.shape
    equal = np.empty(4, np.uint64)
    out[:] = 0
    for c in range(bounds.shape[0] - 1):
        end = min(words, -(-bounds[c + 1] // (64 * LANES)) * LANES)
        for w in range(bounds[c] // (64 * LANES) * LANES, end, MASK_WORDS):
            vectors = min(end - w, MASK_WORDS) // LANES
            for r in range(b):
                mine = codes[rows[r]]
                for g in range(2 * c, 2 * c + 2):
                    if size[r, g] == 0.0:
                        continue
                    here = at(mask, (r * mask.shape[1] + g) * words + w)
                    a = a0
                    while a + 4 <= a1:
                        common_bits_of_four(
                            here,
                            at(levels, (start[a] + mine[a]) * words + w),
                            at(levels, (start[a + 1] + mine[a + 1]) * words + w),
                            at(levels, (start[a + 2] + mine[a + 2]) * words + w),
                            at(levels, (start[a + 3] + mine[a + 3]) * words + w),
                            vectors,
                            at(equal, 0),
                        )
                        for k in range(4):
                            out[r, g, a - a0 + k] += equal[k]
                        a += 4
                    while a < a1:
                        level = at(levels, (start[a] + mine[a]) * words + w)
                        common_bits(level, here, vectors, at(equal, 0))
                        out[r, g, a - a0] += equal[0]
                        a += 1


@njit()
def count_scores(
    levelled: Any, masks: Any, rows: Places, y: Places, bounds: Places, neighbours: Any, out: Floats
) -> None:
    """Add the contribution of discrete columns if all weights of a group of neighbours are equal.

    A group is a bit mask over the instances, which are sorted by class (`neighbours`, from
    `weight_groups`), and ``levels[start[a] + v]`` of `masks` (`feature_scores.Masks`) the instances
    with code v in column a: the number of neighbours that differ is one popcount of their
    intersection.
    ``known[a - n_whole]`` masks the instances with a value in column a, which has gaps.
    """
    codes, gap, n_whole = levelled.codes, levelled.gap, levelled.n_whole
    levels, start, known = masks
    mask, total, size = neighbours
    p = codes.shape[1]
    b, groups, words = mask.shape
    mean = np.empty(groups)
    seen = np.empty(groups, np.bool_)
    width = CACHED * n_whole // max(1, int(start[n_whole - 1]) * MASK_WORDS)
    width = max(1, min(n_whole, max(4, width - width % 4)))
    equals = np.empty((b, groups, width), np.uint64)
    for a0 in range(0, n_whole, width):
        a1 = min(n_whole, a0 + width)
        _common_counts(codes, masks, rows, mask, size, bounds, a0, a1, equals)
        for r in range(b):
            for g in range(groups):
                if size[r, g] != 0.0:
                    rate = total[r, g] / size[r, g]
                    for a in range(a0, a1):
                        out[a] += rate * (size[r, g] - np.float64(equals[r, g, a - a0]))
    for r in range(b):
        i = rows[r]
        for a in range(n_whole, p):
            v = codes[i, a]
            if v == gap:
                continue
            here = levels[start[a] + v]
            present = known[a - n_whole]
            for g in range(groups):
                seen[g] = False
                if size[r, g] == 0.0:
                    continue
                m = mask[r, g]
                common = np.uint64(0)
                filled = np.uint64(0)
                for w in range(words):
                    common += popcount(here[w] & m[w])
                    filled += popcount(present[w] & m[w])
                seen[g] = filled > 0
                if seen[g]:
                    mean[g] = 1.0 - np.float64(common) / np.float64(filled)
            out[a] += combine_groups(total[r], mean, seen, y[i], groups // 2)
