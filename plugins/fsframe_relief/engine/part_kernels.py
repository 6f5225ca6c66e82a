"""Compiled loops over blocks of rows: nearest distances of some targets, and their differences.

Distances are sums over the columns in their order, whatever block a row comes in, so that the same
two rows have the same distance, to the bit, in every pass.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fsframe.kernels.compiled import njit
from fsframe_relief.engine.neighbour_kernels import TIE
from fsframe_relief.engine.screen_kernels import keep_smallest

__all__ = ["UNIT", "add_differences", "count_tied", "group_of", "keep_nearest"]

Floats = NDArray[np.float64]
Places = NDArray[np.int64]

UNIT = 2.0**60
"""Sums are of integers, in units of 1/UNIT, so that their order does not matter."""

TILE = 512


@njit()
def _distances(
    target: Floats, across: Floats, n_real: int, first: int, last: int, d: Floats
) -> None:
    # Of one target to the rows first … last − 1, stored by column.
    for j in range(last - first):
        d[j] = 0.0
    for a in range(n_real):
        x = target[a]
        column = across[a, first:last]
        for j in range(last - first):
            d[j] += abs(x - column[j])
    for a in range(n_real, across.shape[0]):
        x = target[a]
        column = across[a, first:last]
        for j in range(last - first):
            d[j] += 1.0 if x != column[j] else 0.0


@njit()
def group_of(of_row: int, of_target: int, pooled: bool) -> int:
    """The group of neighbours of a row."""
    if pooled:
        return 0 if of_row == of_target else 1
    return of_row


@njit()
def keep_nearest(
    targets: Floats, own: Places, across: Floats, n_real: int, numbers: Places,
    classes: Places, mine: Places, pooled: bool,
    best: Floats,
) -> None:  # fmt: skip
    """Insert the distances of some rows into the smallest of each target and group.

    Parameters
    ----------
    targets : (b, p) float64
        Continuous columns scaled to 0 … 1, `n_real` of them, then codes of discrete ones.
    own : (b,) int64
        Numbers of the targets' rows, which are no neighbours of themselves.
    across : (p, r) float64
        The same of the rows.
    n_real : int
    numbers : (r,) int64
        Numbers of the rows.
    classes : (r,) int64
        Of the rows.
    mine : (b,) int64
        Classes of the targets.
    pooled : bool
        Whether there are two groups of neighbours, hits and misses, in place of one for each class.
    best : (b, n_groups, k) float64
        Ascending; ∞ in empty places.
    """
    r = across.shape[1]
    k = best.shape[2]
    d = np.empty(TILE)
    for first in range(0, r, TILE):
        last = min(r, first + TILE)
        for t in range(targets.shape[0]):
            _distances(targets[t], across, n_real, first, last, d)
            for j in range(last - first):
                near = best[t, group_of(classes[first + j], mine[t], pooled)]
                x = d[j]
                if x < near[k - 1] and numbers[first + j] != own[t]:
                    keep_smallest(near, k, x)


@njit()
def count_tied(
    targets: Floats, own: Places, across: Floats, n_real: int, numbers: Places,
    classes: Places, mine: Places, pooled: bool,
    edge: Floats, tied: Places,
) -> None:  # fmt: skip
    """Count the rows tied with the k-th nearest of each target and group, (b, n_groups)."""
    r = across.shape[1]
    d = np.empty(TILE)
    for first in range(0, r, TILE):
        last = min(r, first + TILE)
        for t in range(targets.shape[0]):
            _distances(targets[t], across, n_real, first, last, d)
            for j in range(last - first):
                g = group_of(classes[first + j], mine[t], pooled)
                e = edge[t, g]
                if e * (1.0 - TIE) <= d[j] <= e * (1.0 + TIE) and numbers[first + j] != own[t]:
                    tied[t, g] += 1


@njit()
def add_differences(
    targets: Floats, own: Places, across: Floats, n_real: int, numbers: Places,
    classes: Places, mine: Places, pooled: bool,
    edge: Floats, best: Floats, weight: Floats, at_edge: Floats, out: Places,
) -> None:  # fmt: skip
    """Add weight times difference of the neighbours among some rows, in integers of 1/UNIT.

    Parameters
    ----------
    targets, own, across, n_real, numbers, classes, mine, pooled
        As in `keep_nearest`.
    edge : (b, n_groups) float64
        Distance of the k-th nearest.
    best, weight : (b, n_groups, k) float64
        The smallest distances, ascending, and the weight of a row at each.
    at_edge : (b, n_groups) float64
        The weight of a row tied with the k-th.
    out : (p,) int64
    """
    p, r = across.shape
    d = np.empty(TILE)
    for first in range(0, r, TILE):
        last = min(r, first + TILE)
        for t in range(targets.shape[0]):
            _distances(targets[t], across, n_real, first, last, d)
            for j in range(last - first):
                g = group_of(classes[first + j], mine[t], pooled)
                e = edge[t, g]
                x = d[j]
                if x > e * (1.0 + TIE) or numbers[first + j] == own[t]:
                    continue
                w = at_edge[t, g]
                if x < e * (1.0 - TIE):
                    q = 0
                    while best[t, g, q] < x:
                        q += 1
                    w = weight[t, g, q]
                if w == 0.0:
                    continue
                for a in range(n_real):
                    out[a] += np.int64(
                        np.rint(w * abs(targets[t, a] - across[a, first + j]) * UNIT)
                    )
                for a in range(n_real, p):
                    if targets[t, a] != across[a, first + j]:
                        out[a] += np.int64(np.rint(w * UNIT))
