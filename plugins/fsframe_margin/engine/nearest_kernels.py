"""Loops over nearest hits and misses under a weighted Euclidean norm: Simba, MBIW, G-flip, LFE."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fsframe.kernels.compiled import njit
from fsframe_margin.engine.neighbour_shares import ELEMENTWISE, add_squares
from fsframe_margin.engine.training import Training

TIE = 1e-9
"""Relative tolerance within which squared distances are ties.

Standardised columns carry rounding errors of 1e-16 times their offset in standard deviations.
Between instances on a grid (whole numbers, ratings) distances are equal up to these errors, and a
change of units must not choose other neighbours.
"""


Floats = NDArray[np.float64]
Labels = NDArray[np.integer]


class Rows(NamedTuple):
    """Training rows as columns (A, n), and their classes.

    `steps` (A,) are the steps between different levels of nominal columns, which hold codes; 0 for
    columns of numbers.
    """

    XT: Floats
    steps: Floats
    label: Labels

    @classmethod
    def of(cls, training: Training) -> Rows:
        """The rows of `training`, copied.

        Classes too: kernels are compiled anew for arrays that cannot be written to.
        """
        return cls(np.ascontiguousarray(training.X.T), training.steps, training.y.copy())


@njit(fastmath=ELEMENTWISE)
def _add_step(value: float, row: Floats, weight: float, step: float, out: Floats) -> None:
    square = weight * step * step
    for p in range(out.size):
        if value != row[p]:
            out[p] += square


@njit()
def _distances(row: Floats, XT: Floats, steps: Floats, squares: Floats, distance: Floats) -> None:
    """Σ_a squares_a z_a² of `row` (A,) to all rows."""
    distance[:] = 0.0
    for a in range(XT.shape[0]):
        if squares[a] != 0.0:
            if steps[a] > 0.0:
                _add_step(row[a], XT[a], squares[a], steps[a], distance)
            else:
                add_squares(row[a], XT[a], squares[a], distance)


@njit()
def _difference(value: float, other: float, step: float) -> float:
    """value − other, or the step where levels differ."""
    if step > 0.0:
        return step if value != other else 0.0
    return value - other


@njit()
def nearest_pair(rows: Rows, squares: Floats, i: int, distance: Floats) -> tuple[int, int]:
    """Nearest hit and nearest miss of row i (−1: none) under Σ_a squares_a z_a².

    The first of the rows within `TIE` of the nearest is taken. `distance` receives the squared
    distances to all rows.
    """
    XT, steps, label = rows
    _distances(XT[:, i], XT, steps, squares, distance)
    to_hit, to_miss = np.inf, np.inf
    for j in range(distance.size):
        if label[j] != label[i]:
            to_miss = min(to_miss, distance[j])
        elif j != i:
            to_hit = min(to_hit, distance[j])
    to_hit *= 1.0 + TIE
    to_miss *= 1.0 + TIE
    hit, miss = -1, -1
    for j in range(distance.size):
        if label[j] != label[i]:
            if miss < 0 and distance[j] <= to_miss:
                miss = j
        elif j != i and hit < 0 and distance[j] <= to_hit:
            hit = j
    return hit, miss


@njit()
def simba_visits(rows: Rows, importance: Floats, order: Labels, slope: float, w: Floats) -> None:
    """Visit rows in `order` and move w by importance · u′(θ) · Δ each time (Simba, Algorithm 1).

    `slope` is β of the sigmoid utility, or 0 for the linear one. A row without a hit or a miss
    leaves w as it is; a neighbour at distance zero has no gradient and contributes nothing.
    """
    XT, steps, _ = rows
    A, N = XT.shape
    distance = np.empty(N)
    for i in order:
        hit, miss = nearest_pair(rows, w * w, i, distance)
        if hit < 0 or miss < 0:
            continue
        to_hit, to_miss = np.sqrt(distance[hit]), np.sqrt(distance[miss])
        factor = 0.5 * importance[i]
        if slope > 0.0:
            e = np.exp(-abs(slope * 0.5 * (to_miss - to_hit)))
            factor *= slope * e / ((1.0 + e) * (1.0 + e))
        for a in range(A):
            change = 0.0
            if to_miss > 0.0:
                change += _difference(XT[a, i], XT[a, miss], steps[a]) ** 2 / to_miss
            if to_hit > 0.0:
                change -= _difference(XT[a, i], XT[a, hit], steps[a]) ** 2 / to_hit
            w[a] += factor * change * w[a]


@njit()
def margin_sum(rows: Rows, outer: Floats, squares: Floats) -> float:
    """Σ_n outer_n ½(‖x − miss‖ − ‖x − hit‖), nearest under Σ_a squares_a z_a².

    Rows without a hit or a miss have no margin.
    """
    n = rows.XT.shape[1]
    distance = np.empty(n)
    total = 0.0
    for i in range(n):
        hit, miss = nearest_pair(rows, squares, i, distance)
        if hit >= 0 and miss >= 0:
            total += outer[i] * 0.5 * (np.sqrt(distance[miss]) - np.sqrt(distance[hit]))
    return total


@njit()
def margin_vectors(rows: Rows, w: Floats, out: Floats, nearest: Labels) -> None:
    """Write |x − miss| − |x − hit| of every row into out (N, A), and hits and misses (2, N).

    They are nearest under Σ w² z²; `out` is zero where a row has no hit or no miss.
    """
    XT, steps, _ = rows
    A, N = XT.shape
    distance = np.empty(N)
    for i in range(N):
        hit, miss = nearest_pair(rows, w * w, i, distance)
        nearest[0, i], nearest[1, i] = hit, miss
        for a in range(A):
            if hit < 0 or miss < 0:
                out[i, a] = 0.0
            else:
                to_miss = abs(_difference(XT[a, i], XT[a, miss], steps[a]))
                out[i, a] = to_miss - abs(_difference(XT[a, i], XT[a, hit], steps[a]))


@njit()
def flip_margins(
    squared: Floats, row: Floats, step: float, sign: float, label: Labels, margins: Floats
) -> None:
    """Write the hypothesis-margins under squared + sign·(x_i − x_j)², `row` being one feature x.

    They are ½(‖x − miss‖ − ‖x − hit‖), NaN where a row has no hit or no miss.
    """
    N = row.size
    for i in range(N):
        to_hit, to_miss = np.inf, np.inf
        for j in range(N):
            if j == i:
                continue
            z = _difference(row[i], row[j], step)
            # Removing a feature may leave a rounding error below zero.
            d = max(squared[i, j] + sign * z * z, 0.0)
            if label[j] == label[i]:
                to_hit = min(to_hit, d)
            else:
                to_miss = min(to_miss, d)
        if np.isinf(to_hit) or np.isinf(to_miss):
            margins[i] = np.nan
        else:
            margins[i] = 0.5 * (np.sqrt(to_miss) - np.sqrt(to_hit))


@njit()
def add_nearest(
    XT: Floats, steps: Floats, rows: Floats, squares: Floats, k: int, share: bool,
    place: Labels, amounts: Floats, sums: Floats,
) -> None:  # fmt: skip
    """Add the amounts (q, N) of the k columns of XT that are nearest to every row to its sums.

    Amount a of column j is added to column place[j] + a of sums (m, ·), the nearest first. A group
    of ties begins with the nearest remaining column and includes all within `TIE` of it (as in
    `ranking`). Of the last group, all columns share the places that are left, or, without `share`,
    those of lower index take them.
    """
    N, q = XT.shape[1], amounts.shape[0]
    k = min(k, N)
    distance = np.empty(N)
    nearest = np.empty(k)
    near = np.empty(N, np.int64)
    for i in range(rows.shape[0]):
        _distances(rows[i], XT, steps, squares, distance)
        held = 0
        for j in range(N):
            if held == k and not distance[j] < nearest[held - 1]:
                continue
            at = held if held < k else k - 1
            while at > 0 and distance[j] < nearest[at - 1]:
                nearest[at] = nearest[at - 1]
                at -= 1
            nearest[at] = distance[j]
            held = min(held + 1, k)
        # The k nearest are among those as near as the k-th, in groups from the nearest outwards.
        last = nearest[held - 1] * (1.0 + TIE) if held > 0 else 0.0
        many = 0
        for j in range(N):
            if distance[j] <= last:
                near[many] = j
                many += 1
        left = k
        while left > 0:
            least = np.inf
            for e in range(many):
                least = min(least, distance[near[e]])
            reach = least * (1.0 + TIE)
            size = 0
            for e in range(many):
                size += distance[near[e]] <= reach
            if size == 0:
                # Distances that are not numbers, of differences beyond float64, are near nothing.
                break
            part = left / size if share and left < size else 1.0
            taken = kept = 0
            for e in range(many):
                j = near[e]
                if not distance[j] <= reach:
                    near[kept] = j
                    kept += 1
                elif share or taken < left:
                    taken += 1
                    for a in range(q):
                        sums[i, place[j] + a] += part * amounts[a, j]
            left -= size
            many = kept


_ROWS = 256


_VALUES = 1 << 17
"""Maximum number of profile values in temporaries."""


def margin_profiles(rows: Rows, w: Floats) -> Floats:
    """Margin profiles x′ (text of eq. 2): |x − miss| − |x − hit| per feature, nearest by ‖·‖_w.

    ‖z‖_w² = Σ w² z²; the profiles are (n, A), zero for the only row of a class.
    """
    out = np.empty(rows.XT.T.shape)
    margin_vectors(rows, w, out, np.empty((2, len(out)), dtype=np.intp))
    return out


def instance_weights(profiles: Floats, counts: Floats) -> Floats:
    """ω of eq. 2: proportional to one over the mean distance to the other profiles; sum one.

    Parameters
    ----------
    profiles : (n, A) float64
        Margin profiles x′.
    counts : (n,) float64
        How often each row was drawn.

    Returns
    -------
    (n,) float64
        Positive, Σ counts·ω = 1.

    Notes
    -----
    N² A operations in blocks of 256 rows. A profile equal to x′ adds distance zero, so leaving it
    out of the sum, as eq. 2 says, changes nothing; the divisor is N − 1 either way. If all profiles
    are equal, so are all weights; a mean distance of zero is replaced by the smallest positive one.
    """
    n = len(profiles)
    few = max(1, _VALUES // profiles.shape[1])
    square = np.concatenate(
        [(profiles[start : start + few] ** 2).sum(axis=1) for start in range(0, n, few)]
    )
    mean = np.empty(n)
    for start in range(0, n, _ROWS):
        block = slice(start, start + _ROWS)
        distance = square[block, None] + square[None, :] - 2.0 * profiles[block] @ profiles.T
        # The expanded square loses half the digits near zero: recompute nearly equal pairs.
        near_i, near_j = np.nonzero(distance < 1e-6 * (square[block, None] + square[None, :]))
        for first in range(0, near_i.size, few):
            i, j = near_i[first : first + few], near_j[first : first + few]
            exact = ((profiles[start + i] - profiles[j]) ** 2).sum(axis=1)
            distance[i, j] = exact
        mean[block] = np.sqrt(np.maximum(distance, 0.0)) @ counts
    mean /= max(counts.sum() - 1.0, 1.0)
    if not mean.any():
        return np.full(n, 1.0 / counts.sum())
    mean = np.maximum(mean, mean[mean > 0].min())
    weights = 1.0 / mean
    return weights / (weights @ counts)
