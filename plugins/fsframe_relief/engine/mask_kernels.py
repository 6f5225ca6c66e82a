"""Compiled loops over bit masks of instances: masks of codes, and neighbours that differ."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fsframe.contracts.bit_counts import LANES, at, common_bits, popcount
from fsframe.contracts.compiled import njit
from fsframe_relief.engine.score_kernels import combine_groups

__all__ = ["count_scores", "level_masks"]

Floats = NDArray[np.float64]
Places = NDArray[np.int64]
Codes = NDArray[np.uint8] | NDArray[np.uint32]
Words = NDArray[np.uint64]

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
def _group_masks(
    weights: Floats, members: Words, own: int, mask: Words, total: Floats, size: Floats
) -> None:
    """The neighbours of one target by class and sign: their bits, number and sum of weights.

    Group 2 c + 1 has those of class c whose weight is above zero if c is the target's own class,
    below zero if not; group 2 c the others.
    """
    n = weights.shape[0]
    for word in range((n + 63) // 64):
        positive = np.uint64(0)
        negative = np.uint64(0)
        for j in range(word * 64, min(n, word * 64 + 64)):
            bit = np.uint64(j & 63)
            positive |= np.uint64(weights[j] > 0.0) << bit
            negative |= np.uint64(weights[j] < 0.0) << bit
        for c in range(members.shape[0]):
            mask[2 * c + 1, word] = members[c, word] & (positive if c == own else negative)
            mask[2 * c, word] = members[c, word] & (negative if c == own else positive)
    for g in range(mask.shape[0]):
        common = np.uint64(0)
        last = -1
        for word in range(mask.shape[1]):
            common += popcount(mask[g, word])
            last = word if mask[g, word] != np.uint64(0) else last
        size[g] = np.float64(common)
        if last < 0:
            continue
        one = last * 64
        while not (mask[g, last] >> np.uint64(one & 63)) & np.uint64(1):
            one += 1
        # Added one by one, as a sum over the neighbours would be: all their weights are equal.
        weight = weights[one]
        for _ in range(np.int64(common)):
            total[g] += weight


@njit()
def count_scores(
    codes: Codes,
    gap: int,
    levels: Words,
    start: Places,
    known: Words,
    n_whole: int,
    rows: Places,
    C: Floats,
    y: Places,
    n_classes: int,
    out: Floats,
) -> None:
    """Add the contribution of discrete columns if all weights of a group of neighbours are equal.

    A group is a bit mask over the instances, and ``levels[start[a] + v]`` the instances with code
    v in column a: the number of neighbours that differ is one popcount of their intersection. The
    first `n_whole` columns are complete; ``known[a - n_whole]`` masks the instances with a value in
    column a.
    """
    n, p = codes.shape
    words = levels.shape[1]
    groups = 2 * n_classes
    b = rows.shape[0]
    mask = np.zeros((b, groups, words), np.uint64)
    total = np.zeros((b, groups))
    size = np.zeros((b, groups))
    mean = np.empty(groups)
    seen = np.empty(groups, np.bool_)
    equal = np.empty(2, np.uint64)
    members = np.zeros((n_classes, words), np.uint64)
    for j in range(n):
        members[y[j], j >> 6] |= np.uint64(1) << np.uint64(j & 63)
    for r in range(b):
        _group_masks(C[r], members, y[rows[r]], mask[r], total[r], size[r])
    width = max(1, CACHED * n_whole // max(1, int(start[n_whole - 1]) * words) if n_whole else 1)
    for a0 in range(0, n_whole, width):
        a1 = min(n_whole, a0 + width)
        for r in range(b):
            i = rows[r]
            g = 0
            while g < groups:
                if size[r, g] == 0.0:
                    g += 1
                    continue
                # Two groups at a time: the level's words are then read once for both.
                h = g + 1
                while h < groups and size[r, h] == 0.0:
                    h += 1
                both = 2 if h < groups else 1
                here = at(mask, (r * groups + g) * words)
                rate = total[r, g] / size[r, g]
                for a in range(a0, a1):
                    level = at(levels, (start[a] + codes[i, a]) * words)
                    common_bits(level, here, both, (h - g) * words, words // LANES, at(equal, 0))
                    out[a] += rate * (size[r, g] - np.float64(equal[0]))
                    if both == 2:
                        out[a] += total[r, h] / size[r, h] * (size[r, h] - np.float64(equal[1]))
                g = h + 1
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
            out[a] += combine_groups(total[r], mean, seen, y[i], n_classes)
