"""Compiled loops over pairs of instances: blocks of the matrix of distances; for a table in parts,
neighbours and their differences.

Every kernel of the matrix adds its part of the distance into ``out[r, j]`` for the target rows
``rows[r]`` and the columns ``j >= first``; a block of the matrix belongs to one call, so nothing
depends on the number of threads. Sums over features may be reassociated, always in the same way for
a pair.

Distances to blocks of rows of a table in parts are sums over the columns in their order, whatever
block a row comes in, so that the same two rows have the same distance, to the bit, in every pass.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsframe.kernels.bit_counts import LANES, at, count_differences, popcount
from fsframe.kernels.compiled import njit
from fsframe_relief.engine.neighbour_kernels import TIE, keep_smallest

Floats = NDArray[np.float64]
Places = NDArray[np.int64]
Words = NDArray[np.uint64]

# Sums may be reordered and fused; NaN and infinities keep their meaning.
FAST = {"reassoc", "contract", "nsz"}
TILE = 64
CHUNK = 512


@njit(fastmath=FAST)
def plain_distances(Z: Floats, rows: Places, first: int, out: Floats) -> None:
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
                        # an odd last row or column is written to the spare cell of the tile
                        tile[r - r0, j - j0] += s00
                        tile[r - r0, j - j0 + 1] += s01
                        tile[r - r0 + 1, j - j0] += s10
                        tile[r - r0 + 1, j - j0 + 1] += s11
            for r in range(r0, r1):
                for j in range(j0, j1):
                    out[r, j] += tile[r - r0, j - j0]


@njit(fastmath=FAST)
def special_distances(special: Any, rows: Places, first: int, out: Floats, shared: Floats) -> None:
    """Add weighted diffs over the `columns.Special` known in both, and their weight."""
    Z, n_real, weight = special.values, special.n_real, special.weight
    floor, slope = special.floor, special.slope
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
def _count_mismatches(
    planes: Words, bits: int, start: int, words: int, rows: Places, first: int, out: Floats
) -> None:
    """Add the number of columns that differ in one segment of one or two bits without gaps.

    Tiles of instances are transposed, so that eight lie side by side in the lanes of a register,
    and compared with all targets.
    """
    b, n, width = rows.shape[0], planes.shape[0], bits * words
    targets = np.empty((b, width), np.uint64)
    for r in range(b):
        targets[r] = planes[rows[r], start : start + width]
    lanes = np.zeros((TILE // LANES, width, LANES), np.uint64)
    differing = np.empty((TILE, LANES), np.uint64)
    for j0 in range(first, n, TILE):
        j1 = min(n, j0 + TILE)
        for j in range(j0, j1):
            for w in range(width):
                lanes[(j - j0) // LANES, w, (j - j0) % LANES] = planes[j, start + w]
        for r0 in range(0, b, TILE):
            size = min(b - r0, TILE)
            theirs = at(targets, r0 * width)
            for k0 in range(j0, j1, LANES):
                mine = at(lanes, ((k0 - j0) // LANES) * width * LANES)
                count_differences(mine, theirs, size, width, bits, words, at(differing, 0))
                if k0 + LANES <= j1:
                    for r in range(size):
                        for lane in range(LANES):
                            out[r0 + r, k0 + lane] += differing[r, lane]
                else:
                    for r in range(size):
                        for lane in range(j1 - k0):
                            out[r0 + r, k0 + lane] += differing[r, lane]


@njit()
def mismatch_distances(
    levelled: Any, rows: Places, first: int, out: Floats, shared: Floats
) -> None:
    """Add the number of `columns.Levelled` that differ, from bit planes of 64 columns a word.

    Without gaps, `shared` is not written.
    """
    planes, known, segments = levelled.planes, levelled.known, levelled.segments
    b, n = rows.shape[0], planes.shape[0]
    gaps = known.shape[1] > 0
    for s in range(segments.shape[0]):
        bits, start, words, place = segments[s]
        if bits <= 2 and not gaps:
            _count_mismatches(planes, bits, start, words, rows, first, out)
            continue
        for r0 in range(0, b, TILE):
            r1 = min(b, r0 + TILE)
            for j0 in range(first, n, TILE):
                j1 = min(n, j0 + TILE)
                for r in range(r0, r1):
                    i = rows[r]
                    for j in range(j0, j1):
                        count = np.uint64(0)
                        both = np.uint64(0)
                        for w in range(words):
                            m = np.uint64(0)
                            for q in range(bits):
                                at_q = start + q * words + w
                                m |= planes[i, at_q] ^ planes[j, at_q]
                            if gaps:
                                k = known[i, place + w] & known[j, place + w]
                                m &= k
                                both += popcount(k)
                            count += popcount(m)
                        out[r, j] += count
                        if gaps:
                            shared[r, j] += both


@njit(fastmath=FAST)
def probability_distances(gapped: Any, rows: Places, first: int, out: Floats) -> None:
    """Add diffs of columns with gaps; a gap has the distribution of values in its class.

    `gapped` is a `columns.Probability`: ``state[i, a]`` is the index of a value's code (or bin), or
    of the class of a gap, in the table that `fill_differences` makes for a target. The first
    `n_real` columns are continuous: where both values are known, diff = clip((|d| - floor) * slope,
    0, 1).
    """
    Z, state, n_real = gapped.values, gapped.state, gapped.n_real
    floor, slope = gapped.floor, gapped.slope
    b, n, p = rows.shape[0], Z.shape[0], Z.shape[1]
    table = np.empty(gapped.first_state[p])
    for r in range(b):
        fill_differences(rows[r], gapped, table)
        x = Z[rows[r]]
        for j in range(first, n):
            z = Z[j]
            s = state[j]
            total = 0.0
            for a in range(n_real):
                d = abs(x[a] - z[a])
                # looked up in any case: a branch would prevent vectorisation
                t = table[s[a]]
                total += min(max((d - floor) * slope, 0.0), 1.0) if d == d else t
            for a in range(n_real, p):
                total += table[s[a]]
            out[r, j] += total


@njit()
def fill_differences(i: int, gapped: Any, table: Floats) -> None:
    """Write the diffs of instance i to every state of a column: each value, a gap in each class.

    `gapped` is a `columns.Probability`, whose ``chance[k]`` is P(value | class),
    k = first_state[a] * n_classes + class * n_levels + value.
    """
    first_state, chance = gapped.first_state, gapped.chance
    n_classes = chance.shape[0] // first_state[-1]
    for a in range(first_state.shape[0] - 1):
        at = first_state[a]
        n_levels = first_state[a + 1] - at - n_classes
        u = gapped.level[i, a]
        mine = at * n_classes + gapped.y[i] * n_levels
        for v in range(n_levels):
            if u >= 0:
                table[at + v] = 1.0 if u != v else 0.0
            else:
                table[at + v] = 1.0 - chance[mine + v]
        for c in range(n_classes):
            other = at * n_classes + c * n_levels
            if u >= 0:
                table[at + n_levels + c] = 1.0 - chance[other + u]
            else:
                equal = 0.0
                for v in range(n_levels):
                    equal += chance[mine + v] * chance[other + v]
                table[at + n_levels + c] = 1.0 - equal


Values = NDArray[np.float64] | NDArray[np.uint8]

UNIT = 2.0**60
"""Sums are of integers, in units of 1/UNIT, so that their order does not matter."""

MOST_TOGETHER = 1024
"""Most rows of a tile, with which all targets are compared before the next."""

CACHED = 1 << 16
"""Values of a tile, so that they stay in the processor's cache."""


@njit()
def _distances(
    target: Values, across: Values, n_real: int, first: int, last: int,
    differing: NDArray[np.uint8], d: Floats,
) -> None:  # fmt: skip
    """Write the distances of a target to the rows first … last − 1, which are stored by column."""
    n, p = last - first, across.shape[0]
    for j in range(n):
        d[j] = 0.0
    for a in range(n_real):
        x = target[a]
        column = across[a, first:last]
        for j in range(n):
            d[j] += abs(x - column[j])
    if n_real:
        for a in range(n_real, p):
            x = target[a]
            column = across[a, first:last]
            for j in range(n):
                d[j] += 1.0 if x != column[j] else 0.0
        return
    # Counts of differing codes are exact in any order; one instruction counts many in bytes.
    for start in range(0, p, 255):
        for j in range(n):
            differing[j] = 0
        for a in range(start, min(p, start + 255)):
            x = target[a]
            column = across[a, first:last]
            for j in range(n):
                differing[j] += np.uint8(x != column[j])
        for j in range(n):
            d[j] += differing[j]


@njit()
def group_of(of_row: int, of_target: int, pooled: bool) -> int:
    """The group of neighbours to which a row of that class belongs."""
    if pooled:
        return 0 if of_row == of_target else 1
    return of_row


@njit()
def _add_to_list(near: Any, t: int, g: int, d: float, number: int) -> None:
    """Add a row to a list; a full list drops rows beyond the k-th, or its target is lost."""
    numbers, distances, sizes = near.numbers, near.distances, near.sizes
    best = near.smallest[t, g]
    k = best.shape[0]
    if d < best[k - 1]:
        keep_smallest(best, k, d)
    capacity = numbers.shape[2]
    size = sizes[t, g]
    if size == capacity:
        size = 0
        for e in range(capacity):
            if distances[t, g, e] <= best[k - 1] * (1.0 + TIE):
                distances[t, g, size] = distances[t, g, e]
                numbers[t, g, size] = numbers[t, g, e]
                size += 1
        if size == capacity:
            near.lost[t] = True
            return
    distances[t, g, size] = d
    numbers[t, g, size] = number
    sizes[t, g] = size + 1


@njit()
def add_near_rows(
    targets: Values, own_numbers: Places, across: Values, n_real: int, at: int, classes: Places,
    mine: Places, pooled: bool, near: Any,
) -> None:  # fmt: skip
    """Add the rows of a block that may be near to the lists of each target and group.

    Parameters
    ----------
    targets : (b, p) float64 or uint8
        The `n_real` continuous columns, scaled to 0 … 1, then codes of discrete ones; bytes only
        without continuous ones.
    own_numbers : (b,) int64
        Numbers of the targets' rows, which are no neighbours of themselves.
    across : (p, r), as `targets`
        The rows of the block, stored by column.
    n_real : int
    at : int
        Number of the block's first row.
    classes, mine : (r,), (b,) int64
        Classes of the rows, and of the targets.
    pooled : bool
        Whether there are two groups of neighbours, hits and misses, instead of one per class.
    near : `part_scores.NearRows`
        The lists.
    """
    lost, k = near.lost, near.smallest.shape[2]
    p, r = across.shape
    tile = max(64, min(MOST_TOGETHER, CACHED // max(p, 1)))
    differing, d = np.empty(tile, np.uint8), np.empty(tile)
    for first in range(0, r, tile):
        last = min(r, first + tile)
        for t in range(targets.shape[0]):
            if lost[t]:
                continue
            _distances(targets[t], across, n_real, first, last, differing, d)
            for j in range(last - first):
                number = at + first + j
                g = group_of(classes[first + j], mine[t], pooled)
                if d[j] > near.smallest[t, g, k - 1] * (1.0 + TIE) or number == own_numbers[t]:
                    continue
                _add_to_list(near, t, g, d[j], number)
                if lost[t]:
                    break


@njit()
def listed_weights(
    near: Any, best: Floats, edge: Floats, weight: Floats, at_edge: Floats
) -> tuple[Places, Places, Floats]:
    """Targets, rows and weights of all listed neighbours of non-zero weight.

    Parameters
    ----------
    near : `part_scores.NearRows`
    best, weight : (b, n_groups, k) float64
        The smallest distances, ascending, and the weight of a row at each.
    edge, at_edge : (b, n_groups) float64
        Distance of the k-th nearest, and the weight of a row tied with it.
    """
    numbers, distances, sizes = near.numbers, near.distances, near.sizes
    total = sizes.sum()
    owners, rows, weights = np.empty(total, np.int64), np.empty(total, np.int64), np.empty(total)
    n = 0
    for t in range(sizes.shape[0]):
        for g in range(sizes.shape[1]):
            e = edge[t, g]
            for i in range(sizes[t, g]):
                x = distances[t, g, i]
                if x > e * (1.0 + TIE):
                    continue
                w = at_edge[t, g]
                if x < e * (1.0 - TIE):
                    q = 0
                    while best[t, g, q] < x:
                        q += 1
                    w = weight[t, g, q]
                if w == 0.0:
                    continue
                owners[n], rows[n], weights[n] = t, numbers[t, g, i], w
                n += 1
    return owners[:n], rows[:n], weights[:n]


@njit()
def add_listed(
    targets: Values, owners: Places, values: Values, places: Places, weights: Floats, n_real: int,
    out: Places,
) -> None:  # fmt: skip
    """Add weight times difference, in units of 1/UNIT, for pairs of a target and a row."""
    for i in range(owners.size):
        target, theirs, w = targets[owners[i]], values[places[i]], weights[i]
        for a in range(n_real):
            out[a] += np.int64(np.rint(w * abs(target[a] - theirs[a]) * UNIT))
        for a in range(n_real, target.size):
            if target[a] != theirs[a]:
                out[a] += np.int64(np.rint(w * UNIT))
