"""Passes over pairs of rows for measurements that are linear in one weight per feature."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fsframe.kernels.compiled import njit
from fsframe_margin.engine.neighbour_shares import ELEMENTWISE, SUM, Shares, row_coefficients
from fsframe_margin.engine.pair_blocks import BLOCK

__all__ = [
    "add_means",
    "add_weighted",
    "later_manhattan",
    "pair_manhattan",
    "pair_means",
    "pair_square_means",
    "pair_squares",
]

Floats = NDArray[np.float64]


@njit(fastmath=ELEMENTWISE)
def add_weighted(own: float, row: Floats, weight: float, buffer: Floats) -> None:
    for p in range(buffer.size):
        buffer[p] += weight * abs(own - row[p])


@njit(fastmath=SUM)
def weighted_difference(own: float, row: Floats, c: Floats) -> float:
    total = 0.0
    for p in range(c.size):
        total += c[p] * abs(own - row[p])
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
    """Write wᵀ|x_i − x_j| of rows start ≤ i < stop, j > i, into the upper triangle
    of q."""
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


@njit(fastmath=ELEMENTWISE)
def _add_weighted_squares(own: float, row: Floats, weight: float, buffer: Floats) -> None:
    for p in range(buffer.size):
        z = own - row[p]
        buffer[p] += weight * z * z


@njit(fastmath=SUM)
def _weighted_square(own: float, row: Floats, c: Floats) -> float:
    total = 0.0
    for p in range(c.size):
        z = own - row[p]
        total += c[p] * z * z
    return total


@njit()
def pair_squares(XT: Floats, v: Floats, q: Floats, start: int, stop: int) -> None:
    """Add Σ_r v_r (x_ir − x_jr)² of rows start ≤ i < stop, j > i, to the upper triangle of q."""
    A, N = XT.shape
    for i in range(start, min(stop, N - 1)):
        for a in range(A):
            if v[a] != 0.0:
                _add_weighted_squares(XT[a, i], XT[a, i + 1 :], v[a], q[i, i + 1 :])


@njit()
def pair_square_means(XT: Floats, q: Floats, by: Shares, u: Floats, start: int, stop: int) -> None:
    """Add Σ c_ij (x_i − x_j)² over rows start ≤ i < stop, j > i, to u."""
    A, N = XT.shape
    c = np.empty(N)
    for i in range(start, min(stop, N - 1)):
        m = N - i - 1
        row_coefficients(q[i], i, i + 1, m, by, c)
        for a in range(A):
            u[a] += _weighted_square(XT[a, i], XT[a, i + 1 :], c[:m])
