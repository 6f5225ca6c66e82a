"""The same sums with measurements formed row by row, for tables whose N × N array would not fit."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fsframe.compiled import njit
from fsframe_margin.linear_kernels import add_weighted, weighted_difference
from fsframe_margin.neighbour_shares import (
    SUM,
    Shares,
    row_coefficients,
    row_log_sums,
    scaled,
    smallest,
    terms,
    total,
)
from fsframe_margin.pair_blocks import BLOCK, block_quadratics, block_scatter, distances

__all__ = ["cross_measures", "expectations", "streamed_log_sums", "streamed_scatter"]

Floats = NDArray[np.float64]
Places = NDArray[np.intp]


@njit()
def _one_to_many(
    own: Floats, others: Floats, U: Floats, linear: bool, D: Floats, T: Floats, q: Floats
) -> None:
    """q(own, others[:, j]) for every j, in blocks; for linear weights U is (1, A)."""
    A, N = others.shape
    if linear:
        for j in range(N):
            q[j] = 0.0
        for a in range(A):
            if U[0, a] != 0.0:
                add_weighted(own[a], others[a], U[0, a], q)
        return
    for j in range(0, N, BLOCK):
        n = min(BLOCK, N - j)
        for a in range(A):
            distances(own[a], others[a, j : j + n], D[a, :n])
        block_quadratics(D, U, n, q[j : j + n], T)


@njit()
def cross_measures(
    rows: Floats, XT: Floats, U: Floats, linear: bool, q: Floats, start: int, stop: int
) -> None:
    """Write q(row, x_j) of new rows start ≤ i < stop, held as (rows, A), into q (rows, N)."""
    A = XT.shape[0]
    D = np.empty((A, BLOCK))
    T = np.empty((4, BLOCK))
    for i in range(start, stop):
        _one_to_many(rows[i], XT, U, linear, D, T, q[i])


@njit()
def streamed_log_sums(
    XT: Floats,
    U: Floats,
    linear: bool,
    inverse: float,
    count: Floats,
    begin: Places,
    end: Places,
    log_hits: Floats,
    log_misses: Floats,
    start: int,
    stop: int,
) -> None:
    """As `log_sums`, with q formed for one row at a time and thrown away."""
    A, N = XT.shape
    D = np.empty((A, BLOCK))
    T = np.empty((4, BLOCK))
    own = np.empty(A)
    q = np.empty(N)
    z = np.empty(N)
    for i in range(start, stop):
        for a in range(A):
            own[a] = XT[a, i]
        _one_to_many(own, XT, U, linear, D, T, q)
        scaled(q, q, inverse, 0.0, z)
        row_log_sums(z, i, count, begin, end, log_hits, log_misses)


@njit()
def streamed_scatter(
    XT: Floats, U: Floats, linear: bool, by: Shares, S: Floats, start: int, stop: int
) -> None:
    """As `pair_scatter` (or, for linear weights, `pair_means`), with q formed again from U."""
    A, N = XT.shape
    D = np.empty((A, BLOCK))
    T = np.empty((4, BLOCK))
    E = np.empty((4, BLOCK))
    own = np.empty(A)
    q = np.empty(N)
    c = np.empty(N)
    for i in range(start, min(stop, N - 1)):
        for a in range(A):
            own[a] = XT[a, i]
        rest = N - i - 1
        _one_to_many(own, XT[:, i + 1 :], U, linear, D, T, q[i + 1 :])
        row_coefficients(q, i, i + 1, rest, by, c)
        if linear:
            for a in range(A):
                S[0, a] += weighted_difference(own[a], XT[a, i + 1 :], c[:rest])
            continue
        for j in range(i + 1, N, BLOCK):
            n = min(BLOCK, N - j)
            for a in range(A):
                distances(own[a], XT[a, j : j + n], D[a, :n])
            block_scatter(D, c[j - i - 1 : j - i - 1 + n], n, S, E)


@njit(fastmath=SUM)
def _product(a: Floats, b: Floats) -> float:
    found = 0.0
    for p in range(a.size):
        found += a[p] * b[p]
    return found


@njit()
def expectations(
    q: Floats, scale: float, count: Floats, bounds: Places, skip: Places, out: Floats
) -> None:
    """Write Σ_j α_j^c q_j of eq. 3.18 for every row of q and every class into out.

    Columns of q are sorted by class, class c being bounds[c] … bounds[c+1]; q·scale is q/σ;
    column skip[i] (−1: none) has no part, which makes training rows leave-one-out. A class
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
            out[i, c] = _product(shares, q[i, first:last]) / total(shares)
