"""Quadratic forms and scatter matrices of a block of differences, by tiles of the upper triangle.

A tile is 4 × 4, so that each loaded difference is used four times; only the upper part of diagonal
tiles is computed, and two remaining features have separate loops. The loops are inlined: calling
them as functions takes a tenth longer, and tiles of 2 × 6, which need fewer registers, are not
faster (measured at 8 to 200 features).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fsframe.kernels.compiled import njit
from fsframe_margin.engine.neighbour_shares import ELEMENTWISE, SUM

Floats = NDArray[np.float64]


@njit(fastmath=ELEMENTWISE, inline="always")
def _products_on_diagonal(D: Floats, U: Floats, a: int, n: int, T: Floats) -> None:
    """t_a = Σ_b U_ab d_b over the diagonal tile, into T."""
    t0, t1, t2, t3 = T[0], T[1], T[2], T[3]
    d0, d1, d2, d3 = D[a], D[a + 1], D[a + 2], D[a + 3]
    u00, u01, u02, u03 = U[a, a], U[a, a + 1], U[a, a + 2], U[a, a + 3]
    u11, u12, u13 = U[a + 1, a + 1], U[a + 1, a + 2], U[a + 1, a + 3]
    u22, u23, u33 = U[a + 2, a + 2], U[a + 2, a + 3], U[a + 3, a + 3]
    for p in range(n):
        x0, x1, x2, x3 = d0[p], d1[p], d2[p], d3[p]
        t0[p] = u00 * x0 + u01 * x1 + u02 * x2 + u03 * x3
        t1[p] = u11 * x1 + u12 * x2 + u13 * x3
        t2[p] = u22 * x2 + u23 * x3
        t3[p] = u33 * x3


@njit(fastmath=ELEMENTWISE, inline="always")
def _add_products(D: Floats, U: Floats, a: int, b: int, n: int, T: Floats) -> None:
    """t_a += Σ_b U_ab d_b over an off-diagonal tile."""
    t0, t1, t2, t3 = T[0], T[1], T[2], T[3]
    d0, d1, d2, d3 = D[b], D[b + 1], D[b + 2], D[b + 3]
    u00, u01, u02, u03 = U[a, b], U[a, b + 1], U[a, b + 2], U[a, b + 3]
    u10, u11, u12, u13 = U[a + 1, b], U[a + 1, b + 1], U[a + 1, b + 2], U[a + 1, b + 3]
    u20, u21, u22, u23 = U[a + 2, b], U[a + 2, b + 1], U[a + 2, b + 2], U[a + 2, b + 3]
    u30, u31, u32, u33 = U[a + 3, b], U[a + 3, b + 1], U[a + 3, b + 2], U[a + 3, b + 3]
    # pruned and penalised weights leave most tiles empty
    if not (
        u00 != 0.0 or u01 != 0.0 or u02 != 0.0 or u03 != 0.0
        or u10 != 0.0 or u11 != 0.0 or u12 != 0.0 or u13 != 0.0
        or u20 != 0.0 or u21 != 0.0 or u22 != 0.0 or u23 != 0.0
        or u30 != 0.0 or u31 != 0.0 or u32 != 0.0 or u33 != 0.0
    ):  # fmt: skip
        return
    for p in range(n):
        x0, x1, x2, x3 = d0[p], d1[p], d2[p], d3[p]
        t0[p] = t0[p] + u00 * x0 + u01 * x1 + u02 * x2 + u03 * x3
        t1[p] = t1[p] + u10 * x0 + u11 * x1 + u12 * x2 + u13 * x3
        t2[p] = t2[p] + u20 * x0 + u21 * x1 + u22 * x2 + u23 * x3
        t3[p] = t3[p] + u30 * x0 + u31 * x1 + u32 * x2 + u33 * x3


@njit(fastmath=ELEMENTWISE, inline="always")
def _add_last_two(D: Floats, U: Floats, a: int, b: int, n: int, T: Floats) -> None:
    """t_a += Σ_b U_ab d_b over the two remaining columns b."""
    t0, t1, t2, t3 = T[0], T[1], T[2], T[3]
    d0, d1 = D[b], D[b + 1]
    u00, u01, u10, u11 = U[a, b], U[a, b + 1], U[a + 1, b], U[a + 1, b + 1]
    u20, u21, u30, u31 = U[a + 2, b], U[a + 2, b + 1], U[a + 3, b], U[a + 3, b + 1]
    for p in range(n):
        x0, x1 = d0[p], d1[p]
        t0[p] = t0[p] + u00 * x0 + u01 * x1
        t1[p] = t1[p] + u10 * x0 + u11 * x1
        t2[p] = t2[p] + u20 * x0 + u21 * x1
        t3[p] = t3[p] + u30 * x0 + u31 * x1


@njit(fastmath=ELEMENTWISE, inline="always")
def _add_rows(D: Floats, a: int, n: int, T: Floats, q: Floats) -> None:
    """q += Σ_a d_a t_a over four features."""
    t0, t1, t2, t3 = T[0], T[1], T[2], T[3]
    d0, d1, d2, d3 = D[a], D[a + 1], D[a + 2], D[a + 3]
    for p in range(n):
        q[p] = q[p] + d0[p] * t0[p] + d1[p] * t1[p] + d2[p] * t2[p] + d3[p] * t3[p]


@njit(fastmath=ELEMENTWISE)
def block_quadratics(D: Floats, U: Floats, n: int, q: Floats, T: Floats) -> None:
    """q_p = Σ_ab W_ab d_ap d_bp, U being the upper triangle of W with off-diagonal entries doubled.

    The number of features is even: four at a time, and two if they remain.
    """
    tiled = D.shape[0] // 4 * 4
    if tiled < D.shape[0]:
        d0, d1 = D[tiled], D[tiled + 1]
        u00, u01, u11 = U[tiled, tiled], U[tiled, tiled + 1], U[tiled + 1, tiled + 1]
        for p in range(n):
            q[p] = d0[p] * (u00 * d0[p] + u01 * d1[p]) + u11 * d1[p] * d1[p]
    else:
        for p in range(n):
            q[p] = 0.0
    for a in range(0, tiled, 4):
        _products_on_diagonal(D, U, a, n, T)
        for b in range(a + 4, tiled, 4):
            _add_products(D, U, a, b, n, T)
        if tiled < D.shape[0]:
            _add_last_two(D, U, a, tiled, n, T)
        _add_rows(D, a, n, T, q)


@njit(fastmath=SUM, inline="always")
def _sum_on_diagonal(D: Floats, a: int, n: int, E: Floats, S: Floats) -> None:
    """S_ab += Σ_p e_ap d_bp over the upper triangle of the diagonal tile."""
    d0, d1, d2, d3 = D[a], D[a + 1], D[a + 2], D[a + 3]
    e0, e1, e2, e3 = E[0], E[1], E[2], E[3]
    s00 = s01 = s02 = s03 = s11 = s12 = s13 = s22 = s23 = s33 = 0.0
    for p in range(n):
        x0, x1, x2, x3 = d0[p], d1[p], d2[p], d3[p]
        s00 += e0[p] * x0
        s01 += e0[p] * x1
        s02 += e0[p] * x2
        s03 += e0[p] * x3
        s11 += e1[p] * x1
        s12 += e1[p] * x2
        s13 += e1[p] * x3
        s22 += e2[p] * x2
        s23 += e2[p] * x3
        s33 += e3[p] * x3
    S[a, a] += s00
    S[a, a + 1] += s01
    S[a, a + 2] += s02
    S[a, a + 3] += s03
    S[a + 1, a + 1] += s11
    S[a + 1, a + 2] += s12
    S[a + 1, a + 3] += s13
    S[a + 2, a + 2] += s22
    S[a + 2, a + 3] += s23
    S[a + 3, a + 3] += s33


@njit(fastmath=SUM, inline="always")
def _sum_of_tile(D: Floats, a: int, b: int, n: int, E: Floats, S: Floats) -> None:
    """S_ab += Σ_p e_ap d_bp over an off-diagonal tile."""
    d0, d1, d2, d3 = D[b], D[b + 1], D[b + 2], D[b + 3]
    e0, e1, e2, e3 = E[0], E[1], E[2], E[3]
    s00 = s01 = s02 = s03 = 0.0
    s10 = s11 = s12 = s13 = 0.0
    s20 = s21 = s22 = s23 = 0.0
    s30 = s31 = s32 = s33 = 0.0
    for p in range(n):
        x0, x1, x2, x3 = d0[p], d1[p], d2[p], d3[p]
        y0, y1, y2, y3 = e0[p], e1[p], e2[p], e3[p]
        s00 += y0 * x0
        s01 += y0 * x1
        s02 += y0 * x2
        s03 += y0 * x3
        s10 += y1 * x0
        s11 += y1 * x1
        s12 += y1 * x2
        s13 += y1 * x3
        s20 += y2 * x0
        s21 += y2 * x1
        s22 += y2 * x2
        s23 += y2 * x3
        s30 += y3 * x0
        s31 += y3 * x1
        s32 += y3 * x2
        s33 += y3 * x3
    S[a, b] += s00
    S[a, b + 1] += s01
    S[a, b + 2] += s02
    S[a, b + 3] += s03
    S[a + 1, b] += s10
    S[a + 1, b + 1] += s11
    S[a + 1, b + 2] += s12
    S[a + 1, b + 3] += s13
    S[a + 2, b] += s20
    S[a + 2, b + 1] += s21
    S[a + 2, b + 2] += s22
    S[a + 2, b + 3] += s23
    S[a + 3, b] += s30
    S[a + 3, b + 1] += s31
    S[a + 3, b + 2] += s32
    S[a + 3, b + 3] += s33


@njit(fastmath=SUM, inline="always")
def _sum_of_last_two(D: Floats, a: int, b: int, n: int, E: Floats, S: Floats) -> None:
    """S_ab += Σ_p e_ap d_bp over the two remaining columns b."""
    d0, d1 = D[b], D[b + 1]
    e0, e1, e2, e3 = E[0], E[1], E[2], E[3]
    s00 = s01 = s10 = s11 = s20 = s21 = s30 = s31 = 0.0
    for p in range(n):
        x0, x1 = d0[p], d1[p]
        s00 += e0[p] * x0
        s01 += e0[p] * x1
        s10 += e1[p] * x0
        s11 += e1[p] * x1
        s20 += e2[p] * x0
        s21 += e2[p] * x1
        s30 += e3[p] * x0
        s31 += e3[p] * x1
    S[a, b] += s00
    S[a, b + 1] += s01
    S[a + 1, b] += s10
    S[a + 1, b + 1] += s11
    S[a + 2, b] += s20
    S[a + 2, b + 1] += s21
    S[a + 3, b] += s30
    S[a + 3, b + 1] += s31


@njit(fastmath=SUM, inline="always")
def _sum_of_corner(D: Floats, a: int, c: Floats, n: int, S: Floats) -> None:
    """S_ab += Σ_p c_p d_ap d_bp over the two features that make no tile."""
    d0, d1 = D[a], D[a + 1]
    s00 = s01 = s11 = 0.0
    for p in range(n):
        e0, e1 = c[p] * d0[p], c[p] * d1[p]
        s00 += e0 * d0[p]
        s01 += e0 * d1[p]
        s11 += e1 * d1[p]
    S[a, a] += s00
    S[a, a + 1] += s01
    S[a + 1, a + 1] += s11


@njit(fastmath=ELEMENTWISE, inline="always")
def _weigh(D: Floats, a: int, c: Floats, n: int, E: Floats) -> None:
    e0, e1, e2, e3 = E[0], E[1], E[2], E[3]
    d0, d1, d2, d3 = D[a], D[a + 1], D[a + 2], D[a + 3]
    for p in range(n):
        e0[p] = c[p] * d0[p]
        e1[p] = c[p] * d1[p]
        e2[p] = c[p] * d2[p]
        e3[p] = c[p] * d3[p]


@njit(fastmath=SUM)
def block_scatter(D: Floats, c: Floats, n: int, S: Floats, E: Floats) -> None:
    """S_ab += Σ_p c_p d_ap d_bp over a ≤ b, for an even number of features."""
    tiled = D.shape[0] // 4 * 4
    for a in range(0, tiled, 4):
        _weigh(D, a, c, n, E)
        _sum_on_diagonal(D, a, n, E, S)
        for b in range(a + 4, tiled, 4):
            _sum_of_tile(D, a, b, n, E, S)
        if tiled < D.shape[0]:
            _sum_of_last_two(D, a, tiled, n, E, S)
    if tiled < D.shape[0]:
        _sum_of_corner(D, tiled, c, n, S)
