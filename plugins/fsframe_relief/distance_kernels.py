"""Compiled loops over pairs of instances: a look at all columns, and distances by blocks.

Every kernel adds its part of the distance into ``out[r, j]`` for the target rows ``rows[r]``
and the columns ``j >= first``; a block of the matrix belongs to one call, so nothing depends on
the number of threads. Sums over features may be reassociated, always in the same way for a pair.
"""

from __future__ import annotations

import numpy as np

from fsframe.compiled import njit

__all__ = [
    "column_summary",
    "mirror",
    "mismatch_distances",
    "plain_distances",
    "probability_distances",
    "share_distances",
    "special_distances",
]

# Sums may be reordered and fused; NaN and infinities keep their meaning.
FAST = {"reassoc", "contract", "nsz"}
TILE = 64
CHUNK = 512


@njit()
def column_summary(X, low, high, missing, whole, infinite):
    """Fill, per column: least and greatest known value, gaps, whether whole, whether infinite."""
    n, p = X.shape
    for a in range(p):
        low[a] = np.inf
        high[a] = -np.inf
        missing[a] = 0
        whole[a] = True
        infinite[a] = False
    for i in range(n):
        for a in range(p):
            x = X[i, a]
            if x != x:
                missing[a] += 1
            else:
                low[a] = min(low[a], x)
                high[a] = max(high[a], x)
                whole[a] &= np.floor(x) == x
    for a in range(p):
        infinite[a] = missing[a] < n and (np.isinf(low[a]) or np.isinf(high[a]))


@njit(fastmath=FAST)
def plain_distances(Z, rows, first, out):
    """Add sum |z_ia - z_ja| for complete continuous columns, four pairs at a time."""
    b, n, p = rows.shape[0], Z.shape[0], Z.shape[1]
    tile = np.empty((TILE + 1, TILE + 1))
    for r0 in range(0, b, TILE):
        r1 = min(b, r0 + TILE)
        for j0 in range(first, n, TILE):
            j1 = min(n, j0 + TILE)
            tile[:, :] = 0.0
            for a0 in range(0, p, CHUNK):
                a1 = min(p, a0 + CHUNK)
                for r in range(r0, r1, 2):
                    x0 = Z[rows[r], a0:a1]
                    x1 = Z[rows[min(r + 1, r1 - 1)], a0:a1]
                    for j in range(j0, j1, 2):
                        y0 = Z[j, a0:a1]
                        y1 = Z[min(j + 1, j1 - 1), a0:a1]
                        s00 = 0.0
                        s01 = 0.0
                        s10 = 0.0
                        s11 = 0.0
                        for a in range(x0.shape[0]):
                            u = x0[a]
                            v = x1[a]
                            s = y0[a]
                            t = y1[a]
                            s00 += abs(u - s)
                            s01 += abs(u - t)
                            s10 += abs(v - s)
                            s11 += abs(v - t)
                        # an odd last row or column lands in the spare cell of the tile
                        tile[r - r0, j - j0] += s00
                        tile[r - r0, j - j0 + 1] += s01
                        tile[r - r0 + 1, j - j0] += s10
                        tile[r - r0 + 1, j - j0 + 1] += s11
            for r in range(r0, r1):
                for j in range(j0, j1):
                    out[r, j] += tile[r - r0, j - j0]


@njit(fastmath=FAST)
def special_distances(Z, n_real, weight, floor, slope, rows, first, out, shared):
    """Add weighted diffs over the columns known in both, and the weight of those columns.

    The first `n_real` columns are continuous: diff = clip((|d| - floor) * slope, 0, 1);
    the others are discrete codes. NaN is a missing value.
    """
    b, n, p = rows.shape[0], Z.shape[0], Z.shape[1]
    for r0 in range(0, b, TILE):
        r1 = min(b, r0 + TILE)
        for j0 in range(first, n, TILE):
            j1 = min(n, j0 + TILE)
            for r in range(r0, r1):
                x = Z[rows[r]]
                for j in range(j0, j1):
                    y = Z[j]
                    total = 0.0
                    known = 0.0
                    for a in range(n_real):
                        d = abs(x[a] - y[a])
                        w = weight[a] if d == d else 0.0
                        v = min(max((d - floor) * slope, 0.0), 1.0) if d == d else 0.0
                        total += w * v
                        known += w
                    for a in range(n_real, p):
                        u = x[a]
                        t = y[a]
                        w = weight[a] if (u == u) & (t == t) else 0.0
                        total += w if u != t else 0.0
                        known += w
                    out[r, j] += total
                    shared[r, j] += known


@njit()
def _ones(x):
    # Counts the bits of a word; compilers turn this form into one instruction where there is one.
    x = x - ((x >> np.uint64(1)) & np.uint64(0x5555555555555555))
    x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (x * np.uint64(0x0101010101010101)) >> np.uint64(56)


@njit()
def mismatch_distances(planes, known, segments, rows, first, out, shared):
    """Add the number of discrete columns that differ, from bit planes of 64 columns a word.

    Segment s = (bits per code, first word in `planes`, words per plane, first word in `known`).
    `known` has no words when nothing is missing; then `shared` is left alone.
    """
    b, n = rows.shape[0], planes.shape[0]
    gaps = known.shape[1] > 0
    for r0 in range(0, b, TILE):
        r1 = min(b, r0 + TILE)
        for j0 in range(first, n, TILE):
            j1 = min(n, j0 + TILE)
            for s in range(segments.shape[0]):
                bits, start, words, at = segments[s]
                for r in range(r0, r1):
                    i = rows[r]
                    for j in range(j0, j1):
                        count = np.uint64(0)
                        both = np.uint64(0)
                        if gaps:
                            ki = known[i, at : at + words]
                            kj = known[j, at : at + words]
                            for w in range(words):
                                m = np.uint64(0)
                                for q in range(bits):
                                    m |= (
                                        planes[i, start + q * words + w]
                                        ^ planes[j, start + q * words + w]
                                    )
                                k = ki[w] & kj[w]
                                count += _ones(m & k)
                                both += _ones(k)
                            shared[r, j] += both
                        elif bits == 2:
                            p0 = planes[i, start : start + words]
                            q0 = planes[j, start : start + words]
                            p1 = planes[i, start + words : start + 2 * words]
                            q1 = planes[j, start + words : start + 2 * words]
                            for w in range(words):
                                count += _ones((p0[w] ^ q0[w]) | (p1[w] ^ q1[w]))
                        else:
                            for w in range(words):
                                m = np.uint64(0)
                                for q in range(bits):
                                    m |= (
                                        planes[i, start + q * words + w]
                                        ^ planes[j, start + q * words + w]
                                    )
                                count += _ones(m)
                        out[r, j] += count


@njit()
def probability_distances(Z, level, real, table, start, both, y, rows, first, out):
    """Add diffs of columns with gaps, a gap standing for its class's distribution of values.

    `level[i, a]` is the code or bin of a value, -1 where missing. With n_levels of column a,
    ``table[start[a] + c * n_levels + v]`` = 1 - P(v | c) and ``both[a, c, d]`` = 1 - sum_v P(v|c)
    P(v|d).
    """
    b, n, p = rows.shape[0], Z.shape[0], Z.shape[1]
    for r in range(b):
        i = rows[r]
        for j in range(first, n):
            total = 0.0
            for a in range(p):
                total += pair_probability(Z, level, real, table, start, both, y, i, j, a)
            out[r, j] += total


@njit()
def pair_probability(Z, level, real, table, start, both, y, i, j, a):
    """The diff of one pair in one column under the probability rule."""
    u = level[i, a]
    v = level[j, a]
    if u >= 0 and v >= 0:
        if real[a]:
            return abs(Z[i, a] - Z[j, a])
        return 1.0 if u != v else 0.0
    if u < 0 and v < 0:
        return both[a, y[i], y[j]]
    n_levels = (start[a + 1] - start[a]) // both.shape[1]
    if u < 0:
        return table[start[a] + y[i] * n_levels + v]
    return table[start[a] + y[j] * n_levels + u]


@njit()
def share_distances(out, shared, always, features, first):
    """Turn sums over shared columns into means times `features`; NaN where none is shared."""
    for r in range(out.shape[0]):
        for j in range(first, out.shape[1]):
            known = shared[r, j] + always
            out[r, j] = out[r, j] / known * features if known > 0.0 else np.nan


@njit()
def mirror(D, i0, i1):
    """Copy the block of rows i0..i1 right of the diagonal to the columns below it."""
    n = D.shape[0]
    for j0 in range(i0, n, TILE):
        for j in range(max(j0, i0), min(n, j0 + TILE)):
            for i in range(i0, min(i1, j)):
                D[j, i] = D[i, j]
