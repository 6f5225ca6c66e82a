"""Compiled loops over masks of instances: who has which code, and how many neighbours differ."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fsframe.contracts.bit_counts import popcount
from fsframe.contracts.compiled import njit
from fsframe_relief.engine.score_kernels import settle

__all__ = ["count_scores", "level_masks"]

Floats = NDArray[np.float64]
Places = NDArray[np.int64]
Codes = NDArray[np.uint8] | NDArray[np.uint32]
Words = NDArray[np.uint64]

CHUNK = 256


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
    """Add the part of discrete columns where all weights of a group of neighbours are equal.

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
    for r in range(b):
        own = y[rows[r]]
        for j in range(n):
            w = C[r, j]
            if w != 0.0:
                g = 2 * y[j] + (1 if (w > 0.0) == (y[j] == own) else 0)
                mask[r, g, j >> 6] |= np.uint64(1) << np.uint64(j & 63)
                total[r, g] += w
                size[r, g] += 1.0
    for a0 in range(0, p, CHUNK):
        a1 = min(p, a0 + CHUNK)
        for r in range(b):
            i = rows[r]
            for g in range(groups):
                if size[r, g] == 0.0:
                    continue
                m = mask[r, g]
                rate = total[r, g] / size[r, g]
                for a in range(a0, min(a1, n_whole)):
                    here = levels[start[a] + codes[i, a]]
                    equal = np.uint64(0)
                    for w in range(words):
                        equal += popcount(here[w] & m[w])
                    out[a] += rate * (size[r, g] - np.float64(equal))
            for a in range(max(a0, n_whole), a1):
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
                    equal = np.uint64(0)
                    filled = np.uint64(0)
                    for w in range(words):
                        equal += popcount(here[w] & m[w])
                        filled += popcount(there[w] & m[w])
                    seen[g] = filled > 0
                    if seen[g]:
                        mean[g] = 1.0 - np.float64(equal) / np.float64(filled)
                out[a] += settle(total[r], mean, seen, y[i], n_classes)
