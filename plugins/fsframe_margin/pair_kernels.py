"""Fused loops over pairs of rows: quadratic-Manhattan measurements and their scatter matrix.

Every kernel works on blocks of up to `BLOCK` pairs whose differences |x_i − x_j| are
formed in a buffer that stays in the first cache; features are padded to a multiple of
four, and the work per block goes through 4 × 4 tiles of the upper triangle, so that each
loaded difference is used four times. Nothing of size N × N × A exists.
"""

from __future__ import annotations

import numpy as np

from fsframe.compiled import njit
from fsframe_margin.exponential import exp_nonpositive

__all__ = [
    "BLOCK",
    "log_sums",
    "pair_coefficients",
    "pair_differences",
    "pair_manhattan",
    "pair_means",
    "pair_quadratics",
    "pair_scatter",
    "pair_square_means",
    "pair_squares",
    "row_products",
    "spread_pairs",
]

BLOCK = 128
"""Pairs per buffer: 128 × 36 doubles are 36 kB."""

_SUM = {"reassoc", "contract", "nsz"}
_ELEMENTWISE = {"contract"}


# Loops run over slices from zero: an index with an offset would be checked for being
# negative at every element, and such loops do not vectorise.


@njit(fastmath=_ELEMENTWISE)
def _distances(own, row, out):  # type: ignore[no-untyped-def]
    for p in range(out.size):
        out[p] = abs(own - row[p])


@njit()
def _fill(XT, i, j, n, D, at):  # type: ignore[no-untyped-def]
    for a in range(XT.shape[0]):
        _distances(XT[a, i], XT[a, j : j + n], D[a, at : at + n])


@njit(fastmath=_SUM)
def _block_quadratics(D, U, n, q, T):  # type: ignore[no-untyped-def]
    """q_p = Σ_ab W_ab d_ap d_bp with U the upper triangle, off-diagonal tiles doubled."""
    for p in range(n):
        q[p] = 0.0
    for a in range(0, D.shape[0], 4):
        t0, t1, t2, t3 = T[0], T[1], T[2], T[3]
        for p in range(n):
            t0[p] = 0.0
            t1[p] = 0.0
            t2[p] = 0.0
            t3[p] = 0.0
        for b in range(a, D.shape[0], 4):
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
                continue
            for p in range(n):
                x0, x1, x2, x3 = d0[p], d1[p], d2[p], d3[p]
                t0[p] += u00 * x0 + u01 * x1 + u02 * x2 + u03 * x3
                t1[p] += u10 * x0 + u11 * x1 + u12 * x2 + u13 * x3
                t2[p] += u20 * x0 + u21 * x1 + u22 * x2 + u23 * x3
                t3[p] += u30 * x0 + u31 * x1 + u32 * x2 + u33 * x3
        e0, e1, e2, e3 = D[a], D[a + 1], D[a + 2], D[a + 3]
        for p in range(n):
            q[p] += e0[p] * t0[p] + e1[p] * t1[p] + e2[p] * t2[p] + e3[p] * t3[p]


@njit(fastmath=_SUM)
def _block_scatter(D, c, n, S, E):  # type: ignore[no-untyped-def]
    """S_ab += Σ_p c_p d_ap d_bp over the 4 × 4 tiles with a ≤ b."""
    for a in range(0, D.shape[0], 4):
        e0, e1, e2, e3 = E[0], E[1], E[2], E[3]
        f0, f1, f2, f3 = D[a], D[a + 1], D[a + 2], D[a + 3]
        for p in range(n):
            e0[p] = c[p] * f0[p]
            e1[p] = c[p] * f1[p]
            e2[p] = c[p] * f2[p]
            e3[p] = c[p] * f3[p]
        for b in range(a, D.shape[0], 4):
            d0, d1, d2, d3 = D[b], D[b + 1], D[b + 2], D[b + 3]
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


@njit()
def _spread(q, first_i, first_j, n, buffer):  # type: ignore[no-untyped-def]
    """Write a block of pair values into both triangles of q."""
    N = q.shape[0]
    i, j = first_i, first_j
    for p in range(n):
        q[i, j] = buffer[p]
        q[j, i] = buffer[p]
        j += 1
        if j == N:
            i += 1
            j = i + 1


@njit()
def pair_quadratics(XT, U, q, start, stop):  # type: ignore[no-untyped-def]
    """Write q(x_i, x_j) of rows start ≤ i < stop, j > i, into both triangles of q."""
    A, N = XT.shape
    D = np.empty((A, BLOCK))
    T = np.empty((4, BLOCK))
    buffer = np.empty(BLOCK)
    i, j = start, start + 1
    while i < stop and i < N - 1:
        first_i, first_j, n = i, j, 0
        while n < BLOCK and i < stop and i < N - 1:
            m = min(BLOCK - n, N - j)
            _fill(XT, i, j, m, D, n)
            n += m
            j += m
            if j == N:
                i += 1
                j = i + 1
        _block_quadratics(D, U, n, buffer, T)
        _spread(q, first_i, first_j, n, buffer)


@njit(fastmath=_ELEMENTWISE)
def _both_shares(q, inverse, outer, count, logs, own_outer, own_count, own_log, sign, c):  # type: ignore[no-untyped-def]
    for p in range(c.size):
        z = -q[p] * inverse
        c[p] = sign * (
            own_outer * count[p] * exp_nonpositive(z - own_log)
            + outer[p] * own_count * exp_nonpositive(z - logs[p])
        )


@njit()
def _coefficients(q, i, j, n, outer, count, log_hits, log_misses, end, inverse, c, at):  # type: ignore[no-untyped-def]
    """c_ij + c_ji of eq. 3.5: outer_i α_ij + outer_j α_ji for hits, minus the same in β for misses.

    Rows are sorted by class and j > i: hits come first, up to end[i].
    """
    middle = min(max(end[i], j), j + n)
    first, last = at + middle - j, at + n
    _both_shares(
        q[j:middle], inverse, outer[j:middle], count[j:middle], log_hits[j:middle],
        outer[i], count[i], log_hits[i], 1.0, c[at:first],
    )  # fmt: skip
    _both_shares(
        q[middle : j + n], inverse, outer[middle : j + n], count[middle : j + n],
        log_misses[middle : j + n], outer[i], count[i], log_misses[i], -1.0, c[first:last],
    )  # fmt: skip


@njit()
def pair_scatter(  # type: ignore[no-untyped-def]
    XT, q, outer, count, log_hits, log_misses, end, inverse, S, start, stop
):
    """Add Σ of Theorem 3.1 over rows start ≤ i < stop, j > i, to the upper tiles of S."""
    A, N = XT.shape
    D = np.empty((A, BLOCK))
    E = np.empty((4, BLOCK))
    c = np.empty(BLOCK)
    i, j = start, start + 1
    while i < stop and i < N - 1:
        n = 0
        while n < BLOCK and i < stop and i < N - 1:
            m = min(BLOCK - n, N - j)
            _fill(XT, i, j, m, D, n)
            _coefficients(q[i], i, j, m, outer, count, log_hits, log_misses, end, inverse, c, n)
            n += m
            j += m
            if j == N:
                i += 1
                j = i + 1
        _block_scatter(D, c, n, S, E)


@njit()
def pair_manhattan(XT, w, q, start, stop):  # type: ignore[no-untyped-def]
    """Write wᵀ|x_i − x_j| of rows start ≤ i < stop, j > i, into both triangles of q."""
    A, N = XT.shape
    buffer = np.empty(N)
    for i in range(start, min(stop, N - 1)):
        m = N - i - 1
        for p in range(m):
            buffer[p] = 0.0
        for a in range(A):
            if w[a] != 0.0:
                _add_weighted(XT[a, i], XT[a, i + 1 :], w[a], buffer[:m])
        _spread(q, i, i + 1, m, buffer)


@njit(fastmath=_ELEMENTWISE)
def _add_weighted(own, row, weight, buffer):  # type: ignore[no-untyped-def]
    for p in range(buffer.size):
        buffer[p] += weight * abs(own - row[p])


@njit()
def pair_means(  # type: ignore[no-untyped-def]
    XT, q, outer, count, log_hits, log_misses, end, inverse, u, start, stop
):
    """Add u = Σ c_ij |x_i − x_j| over rows start ≤ i < stop, j > i, to u."""
    A, N = XT.shape
    c = np.empty(N)
    for i in range(start, min(stop, N - 1)):
        m = N - i - 1
        _coefficients(q[i], i, i + 1, m, outer, count, log_hits, log_misses, end, inverse, c, 0)
        for a in range(A):
            u[a] += _weighted_difference(XT[a, i], XT[a, i + 1 :], c[:m])


@njit(fastmath=_SUM)
def _weighted_difference(own, row, c):  # type: ignore[no-untyped-def]
    total = 0.0
    for p in range(c.size):
        total += c[p] * abs(own - row[p])
    return total


@njit(fastmath=_ELEMENTWISE)
def _scaled(first, second, a, b, out):  # type: ignore[no-untyped-def]
    for p in range(out.size):
        out[p] = a * first[p] + b * second[p]


@njit(fastmath={"nsz", "nnan"})
def _smallest(z):  # type: ignore[no-untyped-def]
    # eight running minima: one alone waits for each comparison before the next
    m0 = m1 = m2 = m3 = m4 = m5 = m6 = m7 = np.inf
    whole = z.size // 8
    for k in range(whole):
        p = 8 * k
        m0 = min(m0, z[p])
        m1 = min(m1, z[p + 1])
        m2 = min(m2, z[p + 2])
        m3 = min(m3, z[p + 3])
        m4 = min(m4, z[p + 4])
        m5 = min(m5, z[p + 5])
        m6 = min(m6, z[p + 6])
        m7 = min(m7, z[p + 7])
    for p in range(8 * whole, z.size):
        m0 = min(m0, z[p])
    return min(min(min(m0, m1), min(m2, m3)), min(min(m4, m5), min(m6, m7)))


@njit(fastmath=_ELEMENTWISE)
def _terms(z, least, count):  # type: ignore[no-untyped-def]
    for p in range(z.size):
        z[p] = count[p] * exp_nonpositive(least - z[p])


@njit(fastmath=_SUM)
def _total(z):  # type: ignore[no-untyped-def]
    total = 0.0
    for p in range(z.size):
        total += z[p]
    return total


@njit()
def _row_log_sums(z, i, count, begin, end, log_hits, log_misses):  # type: ignore[no-untyped-def]
    z[i] = np.inf  # a row is not its own neighbour
    before, hits, after = z[: begin[i]], z[begin[i] : end[i]], z[end[i] :]
    low = min(_smallest(before), _smallest(after))
    _terms(before, low, count[: begin[i]])
    _terms(after, low, count[end[i] :])
    log_misses[i] = np.log(_total(before) + _total(after)) - low
    if end[i] - begin[i] < 2:
        log_hits[i] = -np.inf
        return
    low = _smallest(hits)
    _terms(hits, low, count[begin[i] : end[i]])
    log_hits[i] = np.log(_total(hits)) - low


@njit()
def log_sums(  # type: ignore[no-untyped-def]
    first, second, a, b, count, begin, end, log_hits, log_misses, start, stop
):
    """Write log Σ count·exp(−q/σ) over hits and over misses of rows start ≤ i < stop.

    q/σ = a·first + b·second: a trial point of the line search costs exponentials only.
    Rows are sorted by class; begin and end bound the class of each row. A row without a
    hit gets −inf.
    """
    z = np.empty(first.shape[1])
    for i in range(start, stop):
        _scaled(first[i], second[i], a, b, z)
        _row_log_sums(z, i, count, begin, end, log_hits, log_misses)


@njit(fastmath=_ELEMENTWISE)
def pair_differences(X, i, j, D):  # type: ignore[no-untyped-def]
    """Write |x_i − x_j| of consecutive pairs from (i, j) on into the rows of D; the pair after."""
    N, A = X.shape
    for p in range(D.shape[0]):
        for a in range(A):
            D[p, a] = abs(X[i, a] - X[j, a])
        j += 1
        if j == N:
            i += 1
            j = i + 1
    return i, j


@njit(fastmath=_SUM)
def row_products(T, D):  # type: ignore[no-untyped-def]
    """Σ_a T_pa D_pa for every row."""
    out = np.empty(T.shape[0])
    for p in range(T.shape[0]):
        total = 0.0
        for a in range(T.shape[1]):
            total += T[p, a] * D[p, a]
        out[p] = total
    return out


@njit()
def spread_pairs(q, i, j, values):  # type: ignore[no-untyped-def]
    """Write values of consecutive pairs from (i, j) on into both triangles of q."""
    _spread(q, i, j, values.size, values)


@njit()
def pair_coefficients(  # type: ignore[no-untyped-def]
    q, outer, count, log_hits, log_misses, end, inverse, i, j, c
):
    """Write the coefficients c_ij + c_ji of consecutive pairs from (i, j) on into c."""
    N, at = q.shape[0], 0
    while at < c.size:
        m = min(c.size - at, N - j)
        _coefficients(q[i], i, j, m, outer, count, log_hits, log_misses, end, inverse, c, at)
        at += m
        j += m
        if j == N:
            i += 1
            j = i + 1


@njit(fastmath=_ELEMENTWISE)
def _add_weighted_squares(own, row, weight, buffer):  # type: ignore[no-untyped-def]
    for p in range(buffer.size):
        z = own - row[p]
        buffer[p] += weight * z * z


@njit(fastmath=_SUM)
def _weighted_square(own, row, c):  # type: ignore[no-untyped-def]
    total = 0.0
    for p in range(c.size):
        z = own - row[p]
        total += c[p] * z * z
    return total


@njit()
def pair_squares(XT, v, q, start, stop):  # type: ignore[no-untyped-def]
    """Write Σ_r v_r (x_ir − x_jr)² of rows start ≤ i < stop, j > i, into both triangles of q."""
    A, N = XT.shape
    buffer = np.empty(N)
    for i in range(start, min(stop, N - 1)):
        m = N - i - 1
        for p in range(m):
            buffer[p] = 0.0
        for a in range(A):
            if v[a] != 0.0:
                _add_weighted_squares(XT[a, i], XT[a, i + 1 :], v[a], buffer[:m])
        _spread(q, i, i + 1, m, buffer)


@njit()
def pair_square_means(  # type: ignore[no-untyped-def]
    XT, q, outer, count, log_hits, log_misses, end, inverse, u, start, stop
):
    """Add Σ c_ij (x_i − x_j)² over rows start ≤ i < stop, j > i, to u."""
    A, N = XT.shape
    c = np.empty(N)
    for i in range(start, min(stop, N - 1)):
        m = N - i - 1
        _coefficients(q[i], i, i + 1, m, outer, count, log_hits, log_misses, end, inverse, c, 0)
        for a in range(A):
            u[a] += _weighted_square(XT[a, i], XT[a, i + 1 :], c[:m])
