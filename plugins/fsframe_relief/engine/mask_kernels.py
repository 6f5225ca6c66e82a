"""Compiled loops over bit masks of instances: masks of codes, and neighbours that differ."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fsframe.contracts.bit_counts import LANES, at, common_bits, popcount
from fsframe.contracts.compiled import njit
from fsframe_relief.engine.neighbour_kernels import TIE, class_factors
from fsframe_relief.engine.score_kernels import combine_groups

__all__ = ["count_scores", "level_masks", "radius_groups", "weight_groups"]

Floats = NDArray[np.float64]
Places = NDArray[np.int64]
Codes = NDArray[np.uint8] | NDArray[np.uint32]
Words = NDArray[np.uint64]
Short = NDArray[np.uint16]

CHUNK = 1 << 10
"""Words of a mask at a time: two groups of one target, and a level, stay in the nearest cache."""

CACHED = 1 << 17
"""Words of level masks that are met by all targets before the next: 1 MB, within a core's cache."""


@njit()
def level_masks(
    codes: Codes,
    gap: int,
    start: Places,
    levels: Words,
    n_whole: int,
    known: Words,
) -> None:
    """Set bit i of ``levels[start[a] + code]``, and of `known`, for every value but `gap`."""
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
def weight_groups(
    C: Floats, rows: Places, y: Places, bounds: Places, mask: Words, total: Floats, size: Floats
) -> None:
    """The neighbours of each target by class and sign of their weights: bits, number, whole weight.

    Group 2 c + 1 has those of class c whose weight is above zero if c is the target's own class,
    below zero if not; group 2 c the others. All weights of a group are equal.

    Parameters
    ----------
    C : (b, n) float64
        Signed weights of the neighbours of the targets `rows`.
    y, bounds : (n,) int64, (n_classes + 1,) int64
        Classes; class c is the instances ``bounds[c] … bounds[c + 1] - 1``.
    mask : (b, 2 n_classes, words) uint64, zeros
        Written: bit j of a group's words is set for its member j.
    total, size : (b, 2 n_classes) float64
        Written: sum of weights, and number of members.
    """
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
def radius_groups(
    D: Short, rows: Places, y: Places, bounds: Places, middle: float, own: bool, star: bool,
    prior: Floats, omega: Floats, mask: Words, total: Floats, size: Floats,
) -> None:  # fmt: skip
    """The groups that `weight_groups` finds in the weights of a radius, from whole distances.

    Parameters
    ----------
    D : (b, n) uint16
        Distances of the targets `rows`: numbers of columns that differ.
    middle : float
        The bound of all targets; with `own` each has its mean distance less, and for the far ones
        of `star` plus, half its standard deviation instead.
    prior : (n_classes,) float64
    omega : (b,) float64
        Weights of the targets.
    y, bounds, mask, total, size
        As there.

    Notes
    -----
    Sums of distances and of their squares are exact, and so is n times the one less the square of
    the other; (n p)² has to be below 2⁶³.
    """
    n, n_classes = D.shape[1], bounds.shape[0] - 1
    inner, outer = np.empty(n_classes), np.empty(n_classes)
    inside, outside = np.empty(n_classes), np.empty(n_classes)
    weight = np.zeros(size.shape)
    for r in range(rows.shape[0]):
        near = far = middle
        if own:
            s, q = np.int64(0), np.int64(0)
            for j in range(n):
                d = np.int64(D[r, j])
                s += d
                q += d * d
            others = n - 1
            mean = s / others
            spread = np.sqrt(np.float64(others * q - s * s)) / others
            near, far = mean - spread / 2, mean + spread / 2
        # d < near and d > far, apart from ties, in whole numbers
        low = np.int64(np.ceil(near - TIE * abs(near))) - 1
        high = np.int64(np.floor(far + TIE * abs(far))) + 1 if star else np.int64(1 << 16)
        for c in range(n_classes):
            for word in range(bounds[c] >> 6, (bounds[c + 1] + 63) >> 6):
                first, last = max(word * 64, bounds[c]), min(word * 64 + 64, bounds[c + 1])
                bits = np.uint64(0)
                for j in range(first, last):
                    bits |= np.uint64(D[r, j] <= low) << np.uint64(j & 63)
                mask[r, 2 * c, word] = bits
                if star:
                    bits = np.uint64(0)
                    for j in range(first, last):
                        bits |= np.uint64(D[r, j] >= high) << np.uint64(j & 63)
                    mask[r, 2 * c + 1, word] = bits
        i, mine = rows[r], y[rows[r]]
        itself = ~(np.uint64(1) << np.uint64(i & 63))
        mask[r, 2 * mine, i >> 6] &= itself
        mask[r, 2 * mine + 1, i >> 6] &= itself
        for c in range(n_classes):
            for side in range(2):
                common = np.uint64(0)
                for word in range(bounds[c] >> 6, (bounds[c + 1] + 63) >> 6):
                    common += popcount(mask[r, 2 * c + side, word])
                size[r, 2 * c + side] = np.float64(common)
            inner[c], outer[c] = size[r, 2 * c], size[r, 2 * c + 1]
        class_factors(inner, mine, prior, True, omega[r], inside)
        class_factors(outer, mine, prior, True, omega[r], outside)
        for c in range(n_classes):
            weight[r, 2 * c], weight[r, 2 * c + 1] = inside[c], -outside[c]
            for g in range(2 * c, 2 * c + 2):
                if weight[r, g] == 0.0:
                    # misses that weigh nothing are no neighbours
                    size[r, g] = 0.0
    _add_repeatedly(weight.ravel(), size.ravel(), total.ravel())


@njit()
def _add_repeatedly(weight: Floats, times: Floats, total: Floats) -> None:
    """``total[g]``: zero plus ``weight[g]``, `times` times, as a sum over equal neighbours is."""
    for first in range(0, weight.shape[0], LANES):
        last = min(first + LANES, weight.shape[0])
        most = 0.0
        for g in range(first, last):
            most = max(most, times[g])
            total[g] = 0.0
        for step in range(np.int64(most)):
            for g in range(first, last):
                total[g] += weight[g] if step < times[g] else 0.0


@njit()
def _common_counts(
    codes: Codes, levels: Words, start: Places, rows: Places, mask: Words, size: Floats,
    bounds: Places, a0: int, a1: int, out: Words,
) -> None:  # fmt: skip
    """Members of each group of each target that have its code in columns a0 ≤ a < a1.

    Only the words of the group's class are looked at. ``out[r, g, a - a0]`` is written.
    """
    b, _, words = mask.shape
    equal = np.empty(2, np.uint64)
    out[:] = 0
    for c in range(bounds.shape[0] - 1):
        end = min(words, -(-bounds[c + 1] // (64 * LANES)) * LANES)
        for w in range(bounds[c] // (64 * LANES) * LANES, end, CHUNK):
            vectors = min(end - w, CHUNK) // LANES
            for r in range(b):
                g = 2 * c + (1 if size[r, 2 * c] == 0.0 else 0)
                if size[r, g] == 0.0:
                    continue
                # Near and far ones together: the level's words are then read once for both.
                both = 2 if g == 2 * c and size[r, g + 1] != 0.0 else 1
                here = at(mask, (r * mask.shape[1] + g) * words + w)
                for a in range(a0, a1):
                    level = at(levels, (start[a] + codes[rows[r], a]) * words + w)
                    common_bits(level, here, both, words, vectors, at(equal, 0))
                    out[r, g, a - a0] += equal[0]
                    if both == 2:
                        out[r, g + 1, a - a0] += equal[1]


@njit()
def count_scores(
    codes: Codes, gap: int, levels: Words, start: Places, known: Words, n_whole: int, rows: Places,
    y: Places, bounds: Places, mask: Words, total: Floats, size: Floats, out: Floats,
) -> None:  # fmt: skip
    """Add the contribution of discrete columns if all weights of a group of neighbours are equal.

    A group is a bit mask over the instances (`weight_groups`), which are sorted by class, and
    ``levels[start[a] + v]`` the instances with code v in column a: the number of neighbours that
    differ is one popcount of their intersection. The first `n_whole` columns are complete;
    ``known[a - n_whole]`` masks the instances with a value in column a.
    """
    p = codes.shape[1]
    b, groups, words = mask.shape
    mean = np.empty(groups)
    seen = np.empty(groups, np.bool_)
    width = max(1, min(n_whole, CACHED * n_whole // max(1, int(start[n_whole - 1]) * CHUNK)))
    equals = np.empty((b, groups, width), np.uint64)
    for a0 in range(0, n_whole, width):
        a1 = min(n_whole, a0 + width)
        _common_counts(codes, levels, start, rows, mask, size, bounds, a0, a1, equals)
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
            there = known[a - n_whole]
            for g in range(groups):
                seen[g] = False
                if size[r, g] == 0.0:
                    continue
                m = mask[r, g]
                common = np.uint64(0)
                filled = np.uint64(0)
                for w in range(words):
                    common += popcount(here[w] & m[w])
                    filled += popcount(there[w] & m[w])
                seen[g] = filled > 0
                if seen[g]:
                    mean[g] = 1.0 - np.float64(common) / np.float64(filled)
            out[a] += combine_groups(total[r], mean, seen, y[i], groups // 2)
