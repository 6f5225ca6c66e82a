"""Compiled loops over blocks of rows of a table in parts: neighbours and their differences.

Distances are sums over the columns in their order, whatever block a row comes in, so that the same
two rows have the same distance, to the bit, in every pass.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsframe.kernels.compiled import njit
from fsframe_relief.engine.neighbour_kernels import TIE, keep_smallest

Floats = NDArray[np.float64]
Places = NDArray[np.int64]
Values = NDArray[np.float64] | NDArray[np.uint8]

UNIT = 2.0**60
"""Sums are of integers, in units of 1/UNIT, so that their order does not matter."""

TILE = 1024
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
    tile = max(64, min(TILE, CACHED // max(p, 1)))
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
