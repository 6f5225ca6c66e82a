"""Expected margin vector of every row under a weighted Manhattan distance."""

from __future__ import annotations

import numpy as np

from fsframe.compiled import njit
from fsframe_margin.exponential import exp_nonpositive
from fsframe_margin.pair_kernels import _add_weighted, _weighted_difference

__all__ = ["expected_margin_vectors"]


@njit(fastmath={"contract"})
def _shares(q, inverse, count, log_total, sign, c):  # type: ignore[no-untyped-def]
    for p in range(c.size):
        c[p] = sign * count[p] * exp_nonpositive(-q[p] * inverse - log_total)


@njit()
def expected_margin_vectors(  # type: ignore[no-untyped-def]
    XT, w, count, log_hits, log_misses, begin, end, inverse, out, start, stop
):
    """Write Σ_m β_m |x − x_m| − Σ_h α_h |x − x_h| of rows start ≤ i < stop into out (N, A)."""
    A, N = XT.shape
    q, c = np.empty(N), np.empty(N)
    for i in range(start, stop):
        q[:] = 0.0
        for a in range(A):
            if w[a] != 0.0:
                _add_weighted(XT[a, i], XT[a], w[a], q)
        b, e = begin[i], end[i]
        _shares(q[:b], inverse, count[:b], log_misses[i], 1.0, c[:b])
        _shares(q[b:e], inverse, count[b:e], log_hits[i], -1.0, c[b:e])
        _shares(q[e:], inverse, count[e:], log_misses[i], 1.0, c[e:])
        c[i] = 0.0  # a row is not its own hit
        for a in range(A):
            out[i, a] = _weighted_difference(XT[a, i], XT[a], c)
