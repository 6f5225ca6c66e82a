"""Compiled loops that find nearest neighbours by distances of bytes, then exactly.

Differences of bytes take an eighth of the time of those of doubles, or less, with a bounded error.
They exclude instances that cannot be neighbours; distances of the few others are computed in
doubles.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsframe.kernels.compiled import njit
from fsframe_relief.engine.byte_distances import TOGETHER, near_rows_of_four

__all__ = [
    "byte_neighbours",
    "keep_smallest",
    "keep_weighted",
    "listed_distances",
]

Floats = NDArray[np.float64]
Places = NDArray[np.int64]
Listed = NDArray[np.int32]

FAST = {"reassoc", "contract", "nsz"}
BYTE_TILE = 1 << 15
"""Bytes of rows that stay in the first-level cache while targets are compared with them."""
_NO_LIMIT = np.int64(2**31 - 1)


@njit()
def keep_smallest(best: Any, m: int, d: Any) -> int:
    """Insert d into the ascending list `best`, of which m are filled; return the new m."""
    k = best.shape[0]
    q = m if m < k else k - 1
    while q > 0 and best[q - 1] > d:
        best[q] = best[q - 1]
        q -= 1
    best[q] = d
    return min(m + 1, k)


@njit(fastmath=FAST)
def listed_distances(Z: Floats, rows: Places, index: Listed, starts: Places, out: Floats) -> None:
    """Write sum |z_ia - z_ja| into ``out[r, q]`` for the listed instances j = ``index[r, q]``."""
    for r in range(rows.shape[0]):
        x = Z[rows[r]]
        for q in range(starts[r, -1]):
            z = Z[index[r, q]]
            s = 0.0
            for a in range(x.shape[0]):
                s += abs(x[a] - z[a])
            out[r, q] = s


@njit()
def keep_weighted(index: Listed, weight: Floats, starts: Places, length: Places) -> None:
    """Move the listed instances of non-zero weight to the front of their lists."""
    for r in range(index.shape[0]):
        m = 0
        for q in range(starts[r, -1]):
            w = weight[r, q]
            index[r, m] = index[r, q]
            weight[r, m] = w
            m += w != 0.0
        length[r] = m


@njit()
def _shortened(index: Any, near: Any, length: int, k: int, slack: int, best: Any) -> Any:
    # Keep the candidates within the limit set by the k-th smallest distance so far; returns their
    # number and the limit.
    m = 0
    for e in range(length):
        if m < k or near[e] < best[k - 1]:
            m = keep_smallest(best, m, near[e])
    if m < k:
        return length, _NO_LIMIT
    limit = np.int64(best[k - 1]) + slack
    kept = 0
    for e in range(length):
        if near[e] <= limit:
            index[kept] = index[e]
            near[kept] = near[e]
            kept += 1
    return kept, limit


@njit()
def byte_neighbours(
    mine: NDArray[np.uint64], packed: NDArray[np.uint64], first: Places, words: int, rows: Places,
    bounds: Places, k: int, slack: Places, capacity: int, index: NDArray[np.int32], starts: Places,
    settled: NDArray[np.bool_],
) -> None:  # fmt: skip
    """List, class by class, all rows within `slack` of the k-th smallest distance of bytes.

    Parameters
    ----------
    mine : (b or a little more, words) uint64
        The targets' bytes, eight to a word; as many as a multiple of four.
    packed : uint64
        The rows' bytes, class by class from `first[c]` on, eight rows at a time: all their first
        words, then all their second ones, and so on.
    rows : (b,) int64
        The targets, which are not listed.
    bounds : (n_classes + 1,) int64
    k : int
    slack : (b,) int64
    capacity : int
        Maximum number of candidates in a class; a target with more is not `settled`.
    index, starts, settled
        Written: ``index[r, starts[r, c] : starts[r, c + 1]]`` are those of class c, ascending.
    """
    b, full = rows.shape[0], mine.shape[0]
    together = max(1, BYTE_TILE // (64 * words))
    found = np.empty((full, capacity), np.int32)
    near = np.empty((full, capacity), np.int32)
    length = np.zeros(full, np.int64)
    limits = np.empty(full, np.int64)
    best = np.empty(k, np.int32)
    distances = np.empty(8 * TOGETHER, np.int64)
    for c in range(bounds.shape[0] - 1):
        begin, end = bounds[c], bounds[c + 1]
        n_blocks = -(-(end - begin) // 8)
        length[:] = 0
        limits[:] = _NO_LIMIT
        limits[b:] = -1
        for tile in range(0, n_blocks, together):
            for t0 in range(0, full, TOGETHER):
                for block in range(tile, min(n_blocks, tile + together)):
                    at = first[c] + block * 8 * words
                    mask = near_rows_of_four(mine, t0, packed, at, words, limits, distances)
                    if mask == 0:
                        continue
                    for e in range(8 * TOGETHER):
                        if not (mask >> e) & 1:
                            continue
                        t, row = t0 + (e >> 3), begin + 8 * block + (e & 7)
                        if row >= end or row == rows[t] or distances[e] > limits[t]:
                            continue
                        q = length[t]
                        found[t, q] = row
                        near[t, q] = distances[e]
                        length[t] = q + 1
                        if q + 1 == capacity:
                            kept, limit = _shortened(
                                found[t], near[t], q + 1, k, slack[t], best
                            )  # fmt: skip
                            if kept > capacity // 2:
                                settled[t] = False
                                kept, limit = 0, np.int64(-1)
                            length[t], limits[t] = kept, limit
        for t in range(b):
            q = length[t]
            if settled[t] and q > k:
                q, _ = _shortened(found[t], near[t], q, k, slack[t], best)
            at = starts[t, c]
            for e in range(q):
                index[t, at + e] = found[t, e]
            starts[t, c + 1] = at + q
