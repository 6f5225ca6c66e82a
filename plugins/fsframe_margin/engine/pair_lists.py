"""Consecutive pairs of rows as rows of an array, for passes that are matrix products."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fsframe.contracts.compiled import njit
from fsframe_margin.engine.neighbour_shares import ELEMENTWISE, SUM
from fsframe_margin.engine.pair_blocks import spread

__all__ = ["pair_differences", "row_products", "spread_pairs"]

Floats = NDArray[np.float64]


@njit(fastmath=ELEMENTWISE)
def pair_differences(X: Floats, i: int, j: int, D: Floats) -> tuple[int, int]:
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


@njit()
def spread_pairs(q: Floats, i: int, j: int, values: Floats) -> None:
    """Write values of consecutive pairs from (i, j) on into the upper triangle of q."""
    spread(q, i, j, values.size, values)
