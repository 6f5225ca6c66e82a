"""Fused loops over pairs of rows: quadratic-Manhattan distances and their scatter matrix.

They work on blocks of up to `BLOCK` pairs, whose differences |x_i − x_j| are computed in a buffer
that stays in the cache, with features padded to an even number, by tiles (`tile_kernels`). No
array of size N × N × A is made. `row_products` serves passes that are matrix products.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsframe.kernels.compiled import njit
from fsframe_margin.engine.neighbour_shares import ELEMENTWISE, SUM, Shares, row_coefficients
from fsframe_margin.engine.tile_kernels import block_quadratics, block_scatter

Floats = NDArray[np.float64]


Places = NDArray[np.intp]


BLOCK = 384
"""Pairs per buffer: 384 × 36 doubles are 108 kB.

Chosen by measurements between 64 and 1024: smaller blocks have loop overhead, larger ones do not
fit the cache, and rows whose size is a power of two (4 kB) conflict in it.
"""


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
    """Differences of up to `BLOCK` pairs from (i, j) on, rows below `stop`, and the next pair."""
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
def pair_quadratics(XT: Floats, U: Floats, q: Floats, start: int, stop: int) -> None:
    """Write q(x_i, x_j) of rows start ≤ i < stop, j > i, into the upper triangle of q."""
    A, N = XT.shape
    D, T, buffer = np.empty((A, BLOCK)), np.empty((4, BLOCK)), np.empty(BLOCK)
    i, j = start, start + 1
    while i < stop and i < N - 1:
        first_i, first_j = i, j
        n, i, j = _fill_pairs(XT, i, j, stop, D)
        block_quadratics(D, U, n, buffer, T)
        spread(q, first_i, first_j, n, buffer)


@njit()
def keep_large(c: Floats, negligible: float, places: Places) -> int:
    """Move entries beyond ±negligible to the front of c, in order; write their places; return n.

    If that is most of them, all are kept and nothing is moved: reading differences in order is
    several times as fast as by index.
    """
    n = 0
    for p in range(c.size):
        places[n] = p
        n += abs(c[p]) > negligible
    if n > 0.7 * c.size:
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
                block_scatter(D, c, block, S, E)
                at = np.intp(0)
    if at:
        block_scatter(D, c, at, S, E)


@njit(fastmath=SUM)
def row_products(T: Floats, D: Floats) -> Floats:
    """Σ_a T_pa D_pa for every row."""
    out = np.empty(T.shape[0])
    for p in range(T.shape[0]):
        total = 0.0
        for a in range(T.shape[1]):
            total += T[p, a] * D[p, a]
        out[p] = total
    return out


def upper_tiles(W: Floats, padded: int) -> Floats:
    """The upper triangle of W, with off-diagonal entries doubled, as (padded, padded).

    Then q is a sum over a ≤ b, half the products of the full matrix.
    """
    return _upper_tiles(np.ascontiguousarray(W), padded)


@njit()
def _upper_tiles(W: Floats, padded: int) -> Floats:
    upper = np.zeros((padded, padded))
    for a in range(W.shape[0]):
        upper[a, a] = W[a, a]
        for b in range(a + 1, W.shape[1]):
            upper[a, b] = 2.0 * W[a, b]
    return upper


@njit()
def mirrored(upper: Floats, size: int) -> Floats:
    """The symmetric (size, size) matrix whose upper triangle is that of `upper`."""
    whole = np.empty((size, size))
    for a in range(size):
        whole[a, a] = upper[a, a]
        for b in range(a + 1, size):
            whole[a, b] = whole[b, a] = upper[a, b]
    return whole
