"""Passes over pairs of rows, for one weight per feature, and without stored distances.

The latter serve tables whose N × N array would not fit, and rows to be classified.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fsframe.kernels.compiled import njit
from fsframe_margin.engine.neighbour_shares import (
    ELEMENTWISE,
    SUM,
    ClassRanges,
    Shares,
    product_sum,
    row_coefficients,
    row_log_sums,
    row_sums,
    scaled,
    smallest,
    terms,
    total,
)
from fsframe_margin.engine.pair_blocks import (
    BLOCK,
    all_distances,
    block_quadratics,
    block_scatter,
    copy,
    distances,
    keep_large,
)

Floats = NDArray[np.float64]


@njit(fastmath=ELEMENTWISE)
def add_weighted(value: float, row: Floats, weight: float, buffer: Floats) -> None:
    for p in range(buffer.size):
        buffer[p] += weight * abs(value - row[p])


@njit(fastmath=SUM)
def weighted_difference(value: float, row: Floats, c: Floats) -> float:
    total = 0.0
    for p in range(c.size):
        total += c[p] * abs(value - row[p])
    return total


@njit()
def later_manhattan(XT: Floats, i: int, w: Floats, q: Floats) -> None:
    """Write wᵀ|x_i − x_j| of every row j > i into q[j]."""
    A, N = XT.shape
    for j in range(i + 1, N, BLOCK):
        block = q[j : min(j + BLOCK, N)]
        for p in range(block.size):
            block[p] = 0.0
        for a in range(A):
            if w[a] != 0.0:
                add_weighted(XT[a, i], XT[a, j : j + block.size], w[a], block)


@njit()
def pair_manhattan(XT: Floats, w: Floats, q: Floats, start: int, stop: int) -> None:
    """Write wᵀ|x_i − x_j| of rows start ≤ i < stop, j > i, into the upper triangle of q."""
    N = XT.shape[1]
    for i in range(start, min(stop, N - 1)):
        later_manhattan(XT, i, w, q[i])


@njit()
def add_means(XT: Floats, i: int, c: Floats, u: Floats) -> None:
    """u += Σ_j c_j |x_i − x_j| over the rows j > i; c[0] belongs to row i + 1."""
    A, N = XT.shape
    for j in range(i + 1, N, BLOCK):
        n = min(BLOCK, N - j)
        shares = c[j - i - 1 : j - i - 1 + n]
        for a in range(A):
            u[a] += weighted_difference(XT[a, i], XT[a, j : j + n], shares)


@njit()
def pair_means(XT: Floats, q: Floats, by: Shares, u: Floats, start: int, stop: int) -> None:
    """Add u = Σ c_ij |x_i − x_j| over rows start ≤ i < stop, j > i, to u."""
    N = XT.shape[1]
    c = np.empty(N)
    for i in range(start, min(stop, N - 1)):
        m = N - i - 1
        row_coefficients(q[i], i, i + 1, m, by, c)
        add_means(XT, i, c, u)


Places = NDArray[np.intp]


class Measure(NamedTuple):
    """Rows as columns (A, N), and the weights of q: w as (1, A) if `linear`, else W's tiles."""

    XT: Floats
    U: Floats
    linear: bool


@njit()
def _one_to_many(one: Floats, measure: Measure, D: Floats, T: Floats, q: Floats) -> None:
    """q(one, XT[:, j]) for every j, in blocks."""
    others, U, linear = measure
    A, N = others.shape
    if linear:
        for j in range(N):
            q[j] = 0.0
        for a in range(A):
            if U[0, a] != 0.0:
                add_weighted(one[a], others[a], U[0, a], q)
        return
    for j in range(0, N, BLOCK):
        n = min(BLOCK, N - j)
        for a in range(A):
            distances(one[a], others[a, j : j + n], D[a, :n])
        block_quadratics(D, np.intp(0), U, n, q[j : j + n], T)


@njit()
def cross_measures(rows: Floats, measure: Measure, q: Floats) -> None:
    """Write q(row, x_j) of new rows, (rows, A), into q (rows, N)."""
    A = measure.XT.shape[0]
    D = np.empty((A, BLOCK))
    T = np.empty((4, BLOCK))
    for i in range(rows.shape[0]):
        _one_to_many(rows[i], measure, D, T, q[i])


@njit()
def streamed_log_sums(
    measure: Measure, inverse: float, rows: ClassRanges, logs: Floats, some: Places
) -> None:
    """As `log_sums` for some rows, with q to all others recomputed and not stored."""
    XT = measure.XT
    A, N = XT.shape
    D = np.empty((A, BLOCK))
    T = np.empty((4, BLOCK))
    one = np.empty(A)
    q = np.empty(N)
    z = np.empty(N)
    for i in some:
        for a in range(A):
            one[a] = XT[a, i]
        _one_to_many(one, measure, D, T, q)
        scaled(q, q, inverse, 0.0, z)
        row_log_sums(z, i, rows, logs)


@njit()
def streamed_sums(
    measure: Measure, inverse: float, rows: ClassRanges, sums: Floats, start: int, stop: int
) -> None:
    """As `direct_sums`, with q computed for one row at a time and not stored."""
    XT, U, linear = measure
    A, N = XT.shape
    D, T = np.empty((A, BLOCK)), np.empty((4, BLOCK))
    q, buffer = np.empty(N), np.empty(N)
    for i in range(start, min(stop, N - 1)):
        if linear:
            later_manhattan(XT, i, U[0], q)
        else:
            for j in range(i + 1, N, BLOCK):
                n = min(BLOCK, N - j)
                all_distances(XT, i, j, D, 0, n)
                block_quadratics(D, np.intp(0), U, n, q[j : j + n], T)
        row_sums(q, q, inverse, 0.0, i, rows, sums, buffer)


@njit()
def _gather(D: Floats, places: Places, n: int, out: Floats) -> None:
    for a in range(D.shape[0]):
        chosen, row = out[a], D[a]
        for p in range(n):
            chosen[p] = row[places[p]]


@njit()
def streamed_scatter(
    measure: Measure, by: Shares, negligible: float, S: Floats, start: int, stop: int
) -> None:
    """As `pair_scatter`, with q recomputed from W; q and Σ share the computed differences."""
    XT, U, _ = measure
    A, N = XT.shape
    D, T = np.empty((A, BLOCK)), np.empty((4, 2 * BLOCK))
    held, coefficients, at = np.empty((A, 2 * BLOCK)), np.empty(2 * BLOCK), 0
    q, c, places = np.empty(N), np.empty(BLOCK), np.empty(BLOCK, dtype=np.intp)
    for i in range(start, min(stop, N - 1)):
        for j in range(i + 1, N, BLOCK):
            n = min(BLOCK, N - j)
            all_distances(XT, i, j, D, 0, n)
            block_quadratics(D, np.intp(0), U, n, q[j : j + n], T)
            row_coefficients(q, i, j, n, by, c)
            kept = keep_large(c[:n], negligible, places)
            if kept == n:
                block_scatter(D, np.intp(0), c, n, S, T)
                continue
            _gather(D, places, kept, held[:, at:])
            copy(c[:kept], coefficients[at : at + kept])
            at += kept
            if at >= BLOCK:
                block_scatter(held, np.intp(0), coefficients, at, S, T)
                at = 0
    if at:
        block_scatter(held, np.intp(0), coefficients, at, S, T)


@njit()
def streamed_means(XT: Floats, w: Floats, by: Shares, u: Floats, start: int, stop: int) -> None:
    """As `pair_means`, with q recomputed from w."""
    N = XT.shape[1]
    q, c = np.empty(N), np.empty(N)
    for i in range(start, min(stop, N - 1)):
        later_manhattan(XT, i, w, q)
        row_coefficients(q, i, i + 1, N - i - 1, by, c)
        add_means(XT, i, c, u)


@njit()
def expectations(
    q: Floats, scale: float, count: Floats, bounds: Places, skip: Places, out: Floats
) -> None:
    """Write Σ_j α_j^c q_j of eq. 3.18 for every row of q and every class into out.

    Columns of q are sorted by class, class c being bounds[c] … bounds[c+1]; q·scale is q/σ;
    column skip[i] (−1: none) is left out, for leave-one-out predictions of training rows. A class
    without members is infinitely far.
    """
    z = np.empty(q.shape[1])
    for i in range(q.shape[0]):
        scaled(q[i], q[i], scale, 0.0, z)
        if skip[i] >= 0:
            z[skip[i]] = np.inf
        for c in range(bounds.size - 1):
            first, last = bounds[c], bounds[c + 1]
            members = last - first - (1 if first <= skip[i] < last else 0)
            if members == 0:
                out[i, c] = np.inf
                continue
            shares = z[first:last]
            terms(shares, smallest(shares), count[first:last])
            out[i, c] = product_sum(shares, q[i, first:last]) / total(shares)


@njit()
def add_rows(rows: NDArray[Any], size: Floats, done: int, mean: Floats, squares: Floats) -> None:
    """Update mean and sum of squared deviations of `done` rows by new rows (r, p) / size."""
    for i in range(rows.shape[0]):
        share = 1.0 / (done + i + 1)
        for a in range(rows.shape[1]):
            x = rows[i, a] / size[a]
            off = x - mean[a]
            mean[a] += off * share
            squares[a] += off * (x - mean[a])
