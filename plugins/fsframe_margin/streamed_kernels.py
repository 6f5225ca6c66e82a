"""The same sums with measurements formed row by row, for tables whose N × N array would not fit."""

from __future__ import annotations

import numpy as np

from fsframe.compiled import njit
from fsframe_margin.pair_kernels import (
    BLOCK,
    _add_weighted,
    _block_quadratics,
    _block_scatter,
    _coefficients,
    _distances,
    _row_log_sums,
    _scaled,
    _smallest,
    _terms,
    _total,
    _weighted_difference,
)

__all__ = ["cross_measures", "expectations", "streamed_log_sums", "streamed_scatter"]


@njit()
def _one_to_many(own, others, U, linear, D, T, q):  # type: ignore[no-untyped-def]
    """q(own, others[:, j]) for every j, in blocks; for linear weights U is (1, A)."""
    A, N = others.shape
    if linear:
        for j in range(N):
            q[j] = 0.0
        for a in range(A):
            if U[0, a] != 0.0:
                _add_weighted(own[a], others[a], U[0, a], q)
        return
    for j in range(0, N, BLOCK):
        n = min(BLOCK, N - j)
        for a in range(A):
            _distances(own[a], others[a, j : j + n], D[a, :n])
        _block_quadratics(D, U, n, q[j : j + n], T)


@njit()
def cross_measures(rows, XT, U, linear, q, start, stop):  # type: ignore[no-untyped-def]
    """Write q(row, x_j) of new rows start ≤ i < stop, held as (rows, A), into q (rows, N)."""
    A = XT.shape[0]
    D = np.empty((A, BLOCK))
    T = np.empty((4, BLOCK))
    for i in range(start, stop):
        _one_to_many(rows[i], XT, U, linear, D, T, q[i])


@njit()
def streamed_log_sums(  # type: ignore[no-untyped-def]
    XT, U, linear, inverse, count, begin, end, log_hits, log_misses, start, stop
):
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
        _scaled(q, q, inverse, 0.0, z)
        _row_log_sums(z, i, count, begin, end, log_hits, log_misses)


@njit()
def streamed_scatter(  # type: ignore[no-untyped-def]
    XT, U, linear, outer, count, log_hits, log_misses, end, inverse, S, start, stop
):
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
        _coefficients(q, i, i + 1, rest, outer, count, log_hits, log_misses, end, inverse, c, 0)
        if linear:
            for a in range(A):
                S[0, a] += _weighted_difference(own[a], XT[a, i + 1 :], c[:rest])
            continue
        for j in range(i + 1, N, BLOCK):
            n = min(BLOCK, N - j)
            for a in range(A):
                _distances(own[a], XT[a, j : j + n], D[a, :n])
            _block_scatter(D, c[j - i - 1 : j - i - 1 + n], n, S, E)


@njit(fastmath={"reassoc", "contract", "nsz"})
def _product(a, b):  # type: ignore[no-untyped-def]
    total = 0.0
    for p in range(a.size):
        total += a[p] * b[p]
    return total


@njit()
def expectations(q, scale, count, bounds, skip, out):  # type: ignore[no-untyped-def]
    """Write Σ_j α_j^c q_j of eq. 3.18 for every row of q and every class into out.

    Columns of q are sorted by class, class c being bounds[c] … bounds[c+1]; q·scale is q/σ;
    column skip[i] (−1: none) has no part, which makes training rows leave-one-out. A class
    without members is infinitely far.
    """
    z = np.empty(q.shape[1])
    for i in range(q.shape[0]):
        _scaled(q[i], q[i], scale, 0.0, z)
        if skip[i] >= 0:
            z[skip[i]] = np.inf
        for c in range(bounds.size - 1):
            first, last = bounds[c], bounds[c + 1]
            members = last - first - (1 if first <= skip[i] < last else 0)
            if members == 0:
                out[i, c] = np.inf
                continue
            shares = z[first:last]
            _terms(shares, _smallest(shares), count[first:last])
            out[i, c] = _product(shares, q[i, first:last]) / _total(shares)
