"""Compiled loops over blocks of rows of a table in parts: neighbours and their differences.

Rows are screened by distances of bytes where these suffice. Exact distances are sums over the
columns in their order, whatever block a row comes in, so that the same two rows have the same
distance, to the bit, in every pass.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fsframe.kernels.compiled import njit
from fsframe_relief.engine.neighbour_kernels import TIE, keep_smallest

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
    targets: Floats, own_numbers: Places, across: Floats, n_real: int, numbers: Places,
    classes: Places, mine: Places, pooled: bool,
    best: Floats,
) -> None:  # fmt: skip
    """Insert the distances of some rows into the smallest of each target and group.

    Parameters
    ----------
    targets : (b, p) float64
        Continuous columns scaled to 0 … 1, `n_real` of them, then codes of discrete ones.
    own_numbers : (b,) int64
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
                if x < near[k - 1] and numbers[first + j] != own_numbers[t]:
                    keep_smallest(near, k, x)


@njit()
def count_tied(
    targets: Floats, own_numbers: Places, across: Floats, n_real: int, numbers: Places,
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
                if (
                    e * (1.0 - TIE) <= d[j] <= e * (1.0 + TIE)
                    and numbers[first + j] != own_numbers[t]
                ):
                    tied[t, g] += 1


@njit()
def add_differences(
    targets: Floats, own_numbers: Places, across: Floats, n_real: int, numbers: Places,
    classes: Places, mine: Places, pooled: bool,
    edge: Floats, best: Floats, weight: Floats, at_edge: Floats, out: Places,
) -> None:  # fmt: skip
    """Add weight times difference of the neighbours among some rows, in integers of 1/UNIT.

    Parameters
    ----------
    targets, own_numbers, across, n_real, numbers, classes, mine, pooled
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
                if x > e * (1.0 + TIE) or numbers[first + j] == own_numbers[t]:
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


Bytes = NDArray[np.uint8]
Shorts = NDArray[np.int32]
Flags = NDArray[np.bool_]

BYTE_TILE = 1024
FAR = 1 << 30


@njit()
def _byte_distances(
    target: Bytes, across: Bytes, n_real: int, first: int, last: int, narrow: Bytes,
    wide: NDArray[np.uint16], d: Shorts,
) -> None:  # fmt: skip
    # Of one target to the rows first … last − 1; sums use the shortest integers, so that
    # an instruction takes many.
    n = last - first
    p = across.shape[0]
    for j in range(n):
        d[j] = 0
    for start in range(0, n_real, 256):
        for j in range(n):
            wide[j] = 0
        for a in range(start, min(n_real, start + 256)):
            x = np.int16(target[a])
            column = across[a, first:last]
            for j in range(n):
                wide[j] += np.uint16(abs(np.int16(x - np.int16(column[j]))))
        for j in range(n):
            d[j] += np.int32(wide[j])
    for start in range(n_real, p, 255):
        for j in range(n):
            narrow[j] = 0
        for a in range(start, min(p, start + 255)):
            code = target[a]
            column = across[a, first:last]
            for j in range(n):
                narrow[j] += np.uint8(code != column[j])
        for j in range(n):
            d[j] += 255 * np.int32(narrow[j])


@njit()
def screen(
    targets: Bytes, own_numbers: Places, across: Bytes, n_real: int, at: int, classes: Places,
    mine: Places, pooled: bool, slack: Shorts, error: Shorts, top: Shorts, lost: Flags,
    listed: Shorts, counts: Places,
) -> None:  # fmt: skip
    """List the rows of a block that may be near each target.

    Parameters
    ----------
    targets : (b, p) uint8
    own_numbers : (b,) int64
        Numbers of the targets' rows.
    across : (p, r) uint8
    n_real : int
        Number of continuous columns; discrete ones count 255 where they differ.
    at : int
        Number of the block's first row.
    classes, mine : (r,), (b,) int64
    pooled : bool
    slack, error : (b,), (r,) int32
        Twice the rounding error of a target's distances, and that of a row's.
    top : (b, n_groups, k) int32
        The smallest upper bounds of distances so far, ascending.
    lost : (b,) bool
        Set when the list of a target is full; such targets are skipped.
    listed : (b, m) int32, counts : (b,) int64
        Results: rows within the block, and their number.
    """
    r = across.shape[1]
    k = top.shape[2]
    narrow, wide, d = (
        np.empty(BYTE_TILE, np.uint8),
        np.empty(BYTE_TILE, np.uint16),
        np.empty(BYTE_TILE, np.int32),
    )
    for first in range(0, r, BYTE_TILE):
        last = min(r, first + BYTE_TILE)
        for t in range(targets.shape[0]):
            if lost[t]:
                continue
            _byte_distances(targets[t], across, n_real, first, last, narrow, wide, d)
            for j in range(last - first):
                row = first + j
                best = top[t, group_of(classes[row], mine[t], pooled)]
                if d[j] - error[row] > best[k - 1] + slack[t] or at + row == own_numbers[t]:
                    continue
                if counts[t] == listed.shape[1]:
                    lost[t] = True
                    counts[t] = 0
                    break
                listed[t, counts[t]] = row
                counts[t] += 1
                x = d[j] + error[row]
                if x < best[k - 1]:
                    keep_smallest(best, k, x)


@njit()
def add_exact_distances(
    targets: Floats, n_real: int, at: int, classes: Places, mine: Places, pooled: bool, k: int,
    listed: Shorts, counts: Places, place: Places, values: Floats, numbers: Places,
    distances: Floats, sizes: Places, lost: Flags,
) -> None:  # fmt: skip
    """Add exact distances of the listed rows; full lists of neighbours drop rows beyond the k-th.

    Parameters
    ----------
    targets : (b, p) float64
    n_real, at, classes, mine, pooled, listed, counts
        As in `screen`.
    k : int
    place : (r,) int64
        Index in `values` of each row.
    values : (m, p) float64
    numbers, distances : (b, n_groups, capacity) int64, float64
    sizes : (b, n_groups) int64
    lost : (b,) bool
    """
    capacity = numbers.shape[2]
    p = targets.shape[1]
    for t in range(targets.shape[0]):
        for i in range(counts[t]):
            if lost[t]:
                break
            row = listed[t, i]
            target, theirs = targets[t], values[place[row]]
            # In the order of the columns, as in every other kernel.
            d = 0.0
            for a in range(n_real):
                d += abs(target[a] - theirs[a])
            for a in range(n_real, p):
                d += 1.0 if target[a] != theirs[a] else 0.0
            g = group_of(classes[row], mine[t], pooled)
            size = sizes[t, g]
            if size == capacity:
                most = np.partition(distances[t, g], k - 1)[k - 1] * (1.0 + TIE)
                size = 0
                for e in range(capacity):
                    if distances[t, g, e] <= most:
                        distances[t, g, size] = distances[t, g, e]
                        numbers[t, g, size] = numbers[t, g, e]
                        size += 1
                if size == capacity:
                    lost[t] = True
                    break
            distances[t, g, size] = d
            numbers[t, g, size] = at + row
            sizes[t, g] = size + 1


@njit()
def listed_weights(
    numbers: Places, distances: Floats, sizes: Places, best: Floats, edge: Floats, weight: Floats,
    at_edge: Floats,
) -> tuple[Places, Places, Floats]:  # fmt: skip
    """Targets, rows and weights of all listed neighbours of non-zero weight.

    Parameters are as in `add_exact_distances`, and as in `part_kernels.add_differences`.
    """
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
    targets: Floats, owners: Places, values: Floats, places: Places, weights: Floats, n_real: int,
    out: Places,
) -> None:  # fmt: skip
    """Add weight times difference of pairs of a target and a row, in units of 1/UNIT."""
    for i in range(owners.size):
        target, theirs, w = targets[owners[i]], values[places[i]], weights[i]
        for a in range(n_real):
            out[a] += np.int64(np.rint(w * abs(target[a] - theirs[a]) * UNIT))
        for a in range(n_real, target.size):
            if target[a] != theirs[a]:
                out[a] += np.int64(np.rint(w * UNIT))
