"""Compiled loops that turn discrete values into codes, bit planes, and masks of instances."""

from __future__ import annotations

import numpy as np

from fsframe.compiled import njit

__all__ = ["level_masks", "pack_planes", "short_codes"]


@njit()
def short_codes(X, order, columns, low, gap, codes):  # type: ignore[no-untyped-def]
    """Fill ``codes[r, k]`` with value - low of column ``columns[k]``, `gap` where missing."""
    for r in range(order.shape[0]):
        x = X[order[r]]
        for k in range(columns.shape[0]):
            v = x[columns[k]]
            codes[r, k] = gap if v != v else int(v - low[columns[k]])


@njit()
def pack_planes(codes, members, bits, gap, planes, first, words, known, at):  # type: ignore[no-untyped-def]
    """Put bit b of the codes of `members` into words ``first + b * words …``, 64 to a word.

    Where `known` has words, those from `at` on get a bit for each code that is not `gap`.
    """
    gaps = known.shape[1] > 0
    for i in range(codes.shape[0]):
        row = codes[i]
        for w in range(words):
            stop = min(64, members.shape[0] - 64 * w)
            for b in range(bits):
                word = np.uint64(0)
                for q in range(stop):
                    bit = (np.uint64(row[members[64 * w + q]]) >> np.uint64(b)) & np.uint64(1)
                    word |= bit << np.uint64(q)
                planes[i, first + b * words + w] = word
            if gaps:
                word = np.uint64(0)
                for q in range(stop):
                    there = np.uint64(row[members[64 * w + q]] != gap)
                    word |= there << np.uint64(q)
                known[i, at + w] = word


@njit()
def level_masks(codes, gap, start, levels, n_whole, known):  # type: ignore[no-untyped-def]
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
