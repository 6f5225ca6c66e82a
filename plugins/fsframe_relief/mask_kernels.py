"""A compiled loop that turns codes into masks of the instances that have them."""

from __future__ import annotations

import numpy as np

from fsframe.compiled import njit

__all__ = ["level_masks"]


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
