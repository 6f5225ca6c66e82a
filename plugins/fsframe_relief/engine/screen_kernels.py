"""Compiled loops that find nearest neighbours by distances in short integers, then exactly.

Differences of integers of 12 or 8 bits take a quarter of the time of those of doubles, or less,
with a bounded error. They exclude instances that cannot be neighbours; distances of the few others
are computed in doubles.
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
    "likely_neighbours",
    "listed_distances",
    "whole_distances",
]

Floats = NDArray[np.float64]
Places = NDArray[np.int64]
Listed = NDArray[np.int32]

FAST = {"reassoc", "contract", "nsz"}
TILE = 1024
STRIP = 16
BYTE_TILE = 1 << 15
"""Bytes of rows that stay in the first-level cache while targets are compared with them."""
FAR = np.int32(2**31 - 1)
"""Distance of an instance to itself, so that it is no neighbour."""
_NO_LIMIT = np.int64(FAR)


@njit()
def _gap(a: np.int16, b: np.int16) -> np.int16:
    # every step is truncated to 16 bits, so that the compiler uses 16-bit arithmetic
    d = np.int16(a - b)
    return d if d > 0 else np.int16(-d)


@njit()
def whole_distances(across: NDArray[np.int16], rows: Places, out: Listed) -> None:
    """Write sum |q_ia - q_ja| into ``out[r, j]`` for the targets ``rows[r]``.

    ``across[a]`` are the values of column a as whole numbers 0 … 4095, the number of columns a
    multiple of 8: eight differences sum to less than 2^15.
    """
    p, n = across.shape
    b = rows.shape[0]
    mine = np.empty((b, p), np.int16)
    for a in range(p):
        for r in range(b):
            mine[r, a] = across[a, rows[r]]
    out[:, :] = 0
    for j0 in range(0, n, TILE):
        j1 = min(n, j0 + TILE)
        for a in range(0, p, 8):
            y0 = across[a, j0:j1]
            y1 = across[a + 1, j0:j1]
            y2 = across[a + 2, j0:j1]
            y3 = across[a + 3, j0:j1]
            y4 = across[a + 4, j0:j1]
            y5 = across[a + 5, j0:j1]
            y6 = across[a + 6, j0:j1]
            y7 = across[a + 7, j0:j1]
            for r in range(b):
                o = out[r, j0:j1]
                x = mine[r, a : a + 8]
                x0 = x[0]
                x1 = x[1]
                x2 = x[2]
                x3 = x[3]
                x4 = x[4]
                x5 = x[5]
                x6 = x[6]
                x7 = x[7]
                for j in range(j1 - j0):
                    s = np.int16(_gap(x0, y0[j]) + _gap(x1, y1[j]))
                    s = np.int16(s + _gap(x2, y2[j]))
                    s = np.int16(s + _gap(x3, y3[j]))
                    s = np.int16(s + _gap(x4, y4[j]))
                    s = np.int16(s + _gap(x5, y5[j]))
                    s = np.int16(s + _gap(x6, y6[j]))
                    s = np.int16(s + _gap(x7, y7[j]))
                    o[j] += s


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


@njit()
def likely_neighbours(
    W: Listed,
    rows: Places,
    bounds: Places,
    k: int,
    slack: Places,
    index: Listed,
    starts: Places,
) -> None:
    """List, class by class, all instances at most ``slack[r]`` beyond the k-th smallest distance.

    ``index[r, starts[r, c] : starts[r, c + 1]]`` are those of class c, in ascending order. The k-th
    smallest minimum of a strip is no less than the k-th smallest distance, so that few strips are
    searched: O(n) plus some k strips per class.
    """
    b, n = W.shape
    lowest = np.empty(n // STRIP + 1, np.int32)
    best = np.empty(k, np.int32)
    for r in range(b):
        W[r, rows[r]] = FAR
        found = 0
        for c in range(bounds.shape[0] - 1):
            starts[r, c] = found
            part = W[r, bounds[c] : bounds[c + 1]]
            size = part.shape[0]
            n_strips = -(-size // STRIP)
            for s in range(size // STRIP):
                strip = part[s * STRIP : s * STRIP + STRIP]
                low = strip[0]
                for e in range(1, STRIP):
                    low = min(low, strip[e])
                lowest[s] = low
            if size % STRIP:
                low = FAR
                for e in range(size // STRIP * STRIP, size):
                    low = min(low, part[e])
                lowest[n_strips - 1] = low
            m = 0
            for s in range(n_strips):
                if m < k or lowest[s] < best[k - 1]:
                    m = keep_smallest(best, m, lowest[s])
            edge = best[k - 1] if m == k else FAR
            m = 0
            for s in range(n_strips):
                if lowest[s] <= edge:
                    for e in range(s * STRIP, min(s * STRIP + STRIP, size)):
                        if part[e] <= edge and (m < k or part[e] < best[k - 1]):
                            m = keep_smallest(best, m, part[e])
            edge = best[k - 1] if m == k else FAR
            most = min(np.int64(edge) + slack[r], FAR - 1)
            for s in range(n_strips):
                if lowest[s] <= most:
                    for e in range(s * STRIP, min(s * STRIP + STRIP, size)):
                        if part[e] <= most:
                            index[r, found] = bounds[c] + e
                            found += 1
        starts[r, bounds.shape[0] - 1] = found


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
