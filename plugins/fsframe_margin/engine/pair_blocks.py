"""Fused loops over pairs of rows: quadratic-Manhattan distances and their scatter matrix.

They work on blocks of up to `BLOCK` pairs, whose differences |x_i − x_j| are computed in a buffer
that stays in the cache, with features padded to an even number. No array of size N × N × A is
made.

Quadratic forms and scatter matrices of a block are computed by tiles of the upper triangle; only
the upper part of diagonal tiles is computed. A tile of a quadratic form is 4 × 4, so that each
loaded difference is used four times, and two remaining features have separate loops. A tile of a
scatter matrix is 4 × 2, since the sums of 4 × 4 do not fit into the sixteen registers of AVX2. The
loops are inlined: calling them as functions takes a tenth longer.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsframe.kernels.compiled import njit
from fsframe_margin.engine.neighbour_shares import ELEMENTWISE, SUM, Shares, row_coefficients

Floats = NDArray[np.float64]
Places = NDArray[np.intp]
Place = int | np.intp
"""A position: loops of compiled code count in intp, callers in int."""


BLOCK = 384
"""Pairs per buffer: 384 × 36 doubles are 108 kB.

Chosen by measurements between 64 and 1024: smaller blocks have loop overhead, larger ones do not
fit the cache, and rows whose size is a power of two (4 kB) conflict in it.
"""


@njit(fastmath=ELEMENTWISE, inline="always")
def _products_on_diagonal(D: Floats, at: Place, U: Floats, a: int, n: int, T: Floats) -> None:
    """t_a = Σ_b U_ab d_b over the diagonal tile, into T."""
    t0, t1, t2, t3 = T[0], T[1], T[2], T[3]
    d0, d1, d2, d3 = D[a, at:], D[a + 1, at:], D[a + 2, at:], D[a + 3, at:]
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
def _add_products(D: Floats, at: Place, U: Floats, a: int, b: int, n: int, T: Floats) -> None:
    """t_a += Σ_b U_ab d_b over an off-diagonal tile."""
    t0, t1, t2, t3 = T[0], T[1], T[2], T[3]
    d0, d1, d2, d3 = D[b, at:], D[b + 1, at:], D[b + 2, at:], D[b + 3, at:]
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
def _add_last_two(D: Floats, at: Place, U: Floats, a: int, b: int, n: int, T: Floats) -> None:
    """t_a += Σ_b U_ab d_b over the two remaining columns b."""
    t0, t1, t2, t3 = T[0], T[1], T[2], T[3]
    d0, d1 = D[b, at:], D[b + 1, at:]
    u00, u01, u10, u11 = U[a, b], U[a, b + 1], U[a + 1, b], U[a + 1, b + 1]
    u20, u21, u30, u31 = U[a + 2, b], U[a + 2, b + 1], U[a + 3, b], U[a + 3, b + 1]
    for p in range(n):
        x0, x1 = d0[p], d1[p]
        t0[p] = t0[p] + u00 * x0 + u01 * x1
        t1[p] = t1[p] + u10 * x0 + u11 * x1
        t2[p] = t2[p] + u20 * x0 + u21 * x1
        t3[p] = t3[p] + u30 * x0 + u31 * x1


@njit(fastmath=ELEMENTWISE, inline="always")
def _add_rows(D: Floats, at: Place, a: int, n: int, T: Floats, q: Floats) -> None:
    """q += Σ_a d_a t_a over four features."""
    t0, t1, t2, t3 = T[0], T[1], T[2], T[3]
    d0, d1, d2, d3 = D[a, at:], D[a + 1, at:], D[a + 2, at:], D[a + 3, at:]
    for p in range(n):
        q[p] = q[p] + d0[p] * t0[p] + d1[p] * t1[p] + d2[p] * t2[p] + d3[p] * t3[p]


@njit(fastmath=ELEMENTWISE)
def block_quadratics(D: Floats, at: Place, U: Floats, n: int, q: Floats, T: Floats) -> None:
    """q_p = Σ_ab W_ab d_ap d_bp, U being the upper triangle of W with off-diagonal entries doubled.

    The differences are the n columns of D from `at` on. The number of features is even: four at a
    time, and two if they remain.
    """
    tiled = D.shape[0] // 4 * 4
    if tiled < D.shape[0]:
        d0, d1 = D[tiled, at:], D[tiled + 1, at:]
        u00, u01, u11 = U[tiled, tiled], U[tiled, tiled + 1], U[tiled + 1, tiled + 1]
        for p in range(n):
            q[p] = d0[p] * (u00 * d0[p] + u01 * d1[p]) + u11 * d1[p] * d1[p]
    else:
        for p in range(n):
            q[p] = 0.0
    for a in range(0, tiled, 4):
        _products_on_diagonal(D, at, U, a, n, T)
        for b in range(a + 4, tiled, 4):
            _add_products(D, at, U, a, b, n, T)
        if tiled < D.shape[0]:
            _add_last_two(D, at, U, a, tiled, n, T)
        _add_rows(D, at, a, n, T, q)


@njit(fastmath=SUM, inline="always")
def _sum_on_diagonal(D: Floats, at: Place, a: int, n: int, E: Floats, S: Floats) -> None:
    """S_ab += Σ_p e_ap d_bp over the upper triangle of the diagonal tile."""
    d0, d1, d2, d3 = D[a, at:], D[a + 1, at:], D[a + 2, at:], D[a + 3, at:]
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
def _sum_of_two(D: Floats, at: Place, a: int, b: int, n: int, E: Floats, S: Floats) -> None:
    """S_ab += Σ_p e_ap d_bp over four features a and two features b off the diagonal tile."""
    d0, d1 = D[b, at:], D[b + 1, at:]
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
def _sum_of_corner(D: Floats, at: Place, a: int, c: Floats, n: int, S: Floats) -> None:
    """S_ab += Σ_p c_p d_ap d_bp over the last two features, which make no tile."""
    d0, d1 = D[a, at:], D[a + 1, at:]
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
def _weigh(D: Floats, at: Place, a: int, c: Floats, n: int, E: Floats) -> None:
    e0, e1, e2, e3 = E[0], E[1], E[2], E[3]
    d0, d1, d2, d3 = D[a, at:], D[a + 1, at:], D[a + 2, at:], D[a + 3, at:]
    for p in range(n):
        e0[p] = c[p] * d0[p]
        e1[p] = c[p] * d1[p]
        e2[p] = c[p] * d2[p]
        e3[p] = c[p] * d3[p]


@njit(fastmath=SUM)
def block_scatter(D: Floats, at: Place, c: Floats, n: int, S: Floats, E: Floats) -> None:
    """S_ab += Σ_p c_p d_ap d_bp over a ≤ b and n columns of D from `at` on; A is even."""
    tiled = D.shape[0] // 4 * 4
    for a in range(0, tiled, 4):
        _weigh(D, at, a, c, n, E)
        _sum_on_diagonal(D, at, a, n, E, S)
        for b in range(a + 4, D.shape[0], 2):
            _sum_of_two(D, at, a, b, n, E, S)
    if tiled < D.shape[0]:
        _sum_of_corner(D, at, tiled, c, n, S)


@njit(fastmath=ELEMENTWISE)
def distances(value: float, row: Floats, out: Floats) -> None:
    for p in range(out.size):
        out[p] = abs(value - row[p])


@njit(fastmath=ELEMENTWISE)
def _four_distances(XT: Floats, a: int, i: int, first: int, D: Floats, at: int, m: int) -> None:
    """|x_i − x_j| of features a … a+3 and m rows j from `first` on, into D from `at` on."""
    own0, own1, own2, own3 = XT[a, i], XT[a + 1, i], XT[a + 2, i], XT[a + 3, i]
    row0, row1 = XT[a, first : first + m], XT[a + 1, first : first + m]
    row2, row3 = XT[a + 2, first : first + m], XT[a + 3, first : first + m]
    out0, out1, out2, out3 = D[a, at:], D[a + 1, at:], D[a + 2, at:], D[a + 3, at:]
    for p in range(m):
        out0[p] = abs(own0 - row0[p])
        out1[p] = abs(own1 - row1[p])
        out2[p] = abs(own2 - row2[p])
        out3[p] = abs(own3 - row3[p])


@njit()
def all_distances(XT: Floats, i: int, first: int, D: Floats, at: int, m: int) -> None:
    fours = XT.shape[0] // 4 * 4
    for a in range(0, fours, 4):
        _four_distances(XT, a, i, first, D, at, m)
    for a in range(fours, XT.shape[0]):
        distances(XT[a, i], XT[a, first : first + m], D[a, at : at + m])


@njit(fastmath=ELEMENTWISE)
def _distances_to(value: float, row: Floats, places: Places, out: Floats) -> None:
    for p in range(out.size):
        out[p] = abs(value - row[places[p]])


@njit()
def copy(source: Floats, target: Floats) -> None:
    """Copy source to target; assigning a slice would take seconds to compile its error message."""
    for p in range(target.size):
        target[p] = source[p]


@njit()
def _fill_pairs(XT: Floats, i: int, j: int, stop: int, D: Floats) -> tuple[int, int, int]:
    """Write the differences of n ≤ `BLOCK` pairs from (i, j) on; return n and the next pair.

    Only pairs of rows i < `stop` are included.
    """
    # Not the literal 0, for which numba would compile the called functions separately.
    N = XT.shape[1]
    n: Any = np.intp(0)
    while n < BLOCK and i < stop and i < N - 1:
        m = min(BLOCK - n, N - j)
        all_distances(XT, i, j, D, n, m)
        n += m
        j += m
        if j == N:
            i += 1
            j = i + 1
    return n, i, j


@njit()
def spread(q: Floats, i: int, j: int, n: int, values: Floats) -> None:
    """Write values of n consecutive pairs from (i, j) on into the upper triangle of q."""
    done = 0
    while done < n:
        m = min(n - done, q.shape[0] - j)
        copy(values[done : done + m], q[i, j : j + m])
        done += m
        i += 1
        j = i + 1


@njit()
def all_differences(XT: Floats) -> Floats:
    """|x_i − x_j| of all pairs of rows j > i, as (A, N (N − 1) / 2)."""
    A, N = XT.shape
    D = np.empty((A, N * (N - 1) // 2))
    at: Any = np.intp(0)
    for i in range(N - 1):
        all_distances(XT, i, i + 1, D, at, N - i - 1)
        at += N - i - 1
    return D


@njit()
def quadratics_of(D: Floats, U: Floats, q: Floats) -> None:
    """As `pair_quadratics` of all rows, from `all_differences`."""
    pairs = D.shape[1]
    T, values = np.empty((4, BLOCK)), np.empty(pairs)
    for at in range(0, pairs, BLOCK):
        n = min(BLOCK, pairs - at)
        block_quadratics(D, at, U, n, values[at:], T)
    spread(q, 0, 1, pairs, values)


@njit()
def pair_quadratics(XT: Floats, U: Floats, q: Floats, start: int, stop: int) -> None:
    """Write q(x_i, x_j) of rows start ≤ i < stop, j > i, into the upper triangle of q."""
    A, N = XT.shape
    D, T, buffer = np.empty((A, BLOCK)), np.empty((4, BLOCK)), np.empty(BLOCK)
    i, j = start, start + 1
    while i < stop and i < N - 1:
        first_i, first_j = i, j
        n, i, j = _fill_pairs(XT, i, j, stop, D)
        block_quadratics(D, np.intp(0), U, n, buffer, T)
        spread(q, first_i, first_j, n, buffer)


_MOST = 0.7
"""If more of the coefficients than this share are large, none is left out."""


@njit()
def keep_large(c: Floats, negligible: float, places: Places) -> int:
    """Move the n entries beyond ±negligible to the front of c; write their places; return n.

    If that is most of them, all are kept and nothing is moved, because reading differences in order
    is several times as fast as by index.
    """
    n = 0
    for p in range(c.size):
        places[n] = p
        n += abs(c[p]) > negligible
    if n > _MOST * c.size:
        return c.size
    for k in range(n):
        c[k] = c[places[k]]
    return n


@njit()
def pair_scatter(
    XT: Floats, q: Floats, by: Shares, negligible: float, S: Floats, start: int, stop: int
) -> None:
    """Add Σ of Theorem 3.1 over rows start ≤ i < stop, j > i, to the upper tiles of S.

    Pairs whose coefficient is not beyond ±negligible may be left out.
    """
    A, N = XT.shape
    D, E, c = np.empty((A, BLOCK)), np.empty((4, BLOCK)), np.empty(BLOCK)
    row, places = np.empty(N), np.empty(N, dtype=np.intp)
    # Neither 0 nor BLOCK as a literal; see `_fill_pairs`.
    at: Any = np.intp(0)
    block = c.size
    for i in range(start, min(stop, N - 1)):
        m = N - i - 1
        row_coefficients(q[i], i, i + 1, m, by, row)
        kept = keep_large(row[:m], negligible, places)
        done = 0
        while done < kept:
            n = min(block - at, kept - done)
            if kept == m:
                all_distances(XT, i, i + 1 + done, D, at, n)
            else:
                for a in range(A):
                    others, chosen = XT[a, i + 1 :], places[done : done + n]
                    _distances_to(XT[a, i], others, chosen, D[a, at : at + n])
            copy(row[done : done + n], c[at : at + n])
            at += n
            done += n
            if at == block:
                block_scatter(D, np.intp(0), c, block, S, E)
                at = np.intp(0)
    if at:
        block_scatter(D, np.intp(0), c, at, S, E)


@njit()
def scatter_of(
    D: Floats, XT: Floats, q: Floats, by: Shares, negligible: float, S: Floats, start: int,
    stop: int,
) -> None:  # fmt: skip
    """As `pair_scatter`, start and stop being the first and the last of all rows.

    From `all_differences` D (A, pairs), unless few coefficients matter.
    """
    N, pairs = q.shape[0], D.shape[1]
    c, E = np.empty(pairs), np.empty((4, BLOCK))
    at = large = 0
    for i in range(N - 1):
        m = N - i - 1
        row_coefficients(q[i], i, i + 1, m, by, c[at:])
        at += m
    for p in range(pairs):
        large += abs(c[p]) > negligible
    if large <= _MOST * pairs:
        pair_scatter(XT, q, by, negligible, S, start, stop)
        return
    for at in range(0, pairs, BLOCK):
        block_scatter(D, at, c[at:], min(BLOCK, pairs - at), S, E)


@njit()
def weighted_columns(W: Floats) -> Places:
    """The columns that have a weight, and one more if their number is odd, in order.

    None if there are none, or if they are more than half.
    """
    size = W.shape[0]
    weighted = np.zeros(size, dtype=np.bool_)
    count = 0
    for b in range(size):
        for a in range(size):
            if W[a, b] != 0.0:
                weighted[b] = True
                count += 1
                break
        if 2 * count > size:
            return np.empty(0, dtype=np.intp)
    spare = count % 2
    for b in range(size):
        if spare and not weighted[b]:
            weighted[b] = True
            spare = 0
    return np.flatnonzero(weighted) if count else np.empty(0, dtype=np.intp)


@njit()
def upper_tiles(W: Floats, padded: int) -> Floats:
    """The upper triangle of W, with off-diagonal entries doubled, as (padded, padded).

    Then q is a sum over a ≤ b, half the products of the full matrix.
    """
    upper = np.zeros((padded, padded))
    for a in range(W.shape[0]):
        upper[a, a] = W[a, a]
        for b in range(a + 1, W.shape[1]):
            upper[a, b] = 2.0 * W[a, b]
    return upper


@njit()
def mirrored(upper: Floats, size: int) -> Floats:
    """The symmetric (size, size) matrix whose upper triangle is that of `upper`."""
    square = np.empty((size, size))
    for a in range(size):
        square[a, a] = upper[a, a]
        for b in range(a + 1, size):
            square[a, b] = square[b, a] = upper[a, b]
    return square
