"""Expected margin vector of every row under a weighted Manhattan distance."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fsframe.contracts.compiled import njit
from fsframe_margin.engine.exponential import exp_nonpositive
from fsframe_margin.engine.linear_kernels import add_weighted, weighted_difference
from fsframe_margin.engine.neighbour_shares import ELEMENTWISE

__all__ = ["expected_margin_vectors"]

Floats = NDArray[np.float64]
Places = NDArray[np.intp]


@njit(fastmath=ELEMENTWISE)
def _shares(
    q: Floats, inverse: float, count: Floats, log_total: float, sign: float, c: Floats
) -> None:
    for p in range(c.size):
        c[p] = sign * count[p] * exp_nonpositive(-q[p] * inverse - log_total)


@njit()
def expected_margin_vectors(
    XT: Floats,
    w: Floats,
    count: Floats,
    log_hits: Floats,
    log_misses: Floats,
    begin: Places,
    end: Places,
    inverse: float,
    out: Floats,
    start: int,
    stop: int,
) -> None:
    """Write Σ_m β_m |x − x_m| − Σ_h α_h |x − x_h| of rows start ≤ i < stop into out (N, A)."""
    A, N = XT.shape
    q, c = np.empty(N), np.empty(N)
    for i in range(start, stop):
        q[:] = 0.0
        for a in range(A):
            if w[a] != 0.0:
                add_weighted(XT[a, i], XT[a], w[a], q)
        b, e = begin[i], end[i]
        _shares(q[:b], inverse, count[:b], log_misses[i], 1.0, c[:b])
        _shares(q[b:e], inverse, count[b:e], log_hits[i], -1.0, c[b:e])
        _shares(q[e:], inverse, count[e:], log_misses[i], 1.0, c[e:])
        c[i] = 0.0  # a row is not its own hit
        for a in range(A):
            out[i, a] = weighted_difference(XT[a, i], XT[a], c)
