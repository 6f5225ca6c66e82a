"""Logistic regression on expected margin vectors, alternated with the expectations (LOGO)."""

from __future__ import annotations

import numpy as np
import scipy
from numpy.typing import NDArray
from scipy.special import expit

from fsframe.kernels.compiled import njit
from fsframe_margin.engine.exponential import exp_nonpositive
from fsframe_margin.engine.linear_kernels import add_weighted, weighted_difference
from fsframe_margin.engine.margins import PairSpace
from fsframe_margin.engine.neighbour_shares import ELEMENTWISE

__all__ = ["expected_margins", "solve_logistic"]

Floats = NDArray[np.float64]
Places = NDArray[np.intp]


def expected_margins(space: PairSpace, w: Floats, sigma: float) -> Floats:
    """z̄_n = E|x_n − miss| − E|x_n − hit| for every row, (n, A), rows sorted by class.

    Zero for a row without a hit. N² A operations; rows in chunks.
    """
    point = space.point(w, sigma)
    z = np.zeros((space.n_rows, space.width))
    hits = np.where(space.alone, np.inf, point.log_hits)
    for start, stop in space.chunks:
        _expected_margin_vectors(
            space.XT, np.ascontiguousarray(space.expanded(w)), space.count, hits, point.log_misses,
            space.begin, space.end, 1.0 / sigma, z, start, stop,
        )  # fmt: skip
    z[space.alone] = 0.0
    return z if space.indicators is None else space.indicators.sum_blocks(z, (1,))


def solve_logistic(z: Floats, outer: Floats, penalty: float, start: Floats) -> tuple[Floats, float]:
    """argmin over w ≥ 0 of Σ_n o_n log(1 + exp(−wᵀz_n)) + λ Σ w, and the value there.

    Convex, with the penalty linear on w ≥ 0: solved by L-BFGS-B to a projected gradient of 1e-7
    per unit of weight.
    """

    def value(w: Floats) -> tuple[float, Floats]:
        margin = z @ w
        loss = outer @ np.logaddexp(0.0, -margin) + penalty * w.sum()
        return float(loss), penalty - (outer * expit(-margin)) @ z

    found = scipy.optimize.minimize(
        value,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.0, None)] * len(start),
        options={"gtol": 1e-7 * max(1.0, float(outer.sum())), "ftol": 1e-13, "maxiter": 1000},
    )
    return np.maximum(found.x, 0.0), float(found.fun)


@njit(fastmath=ELEMENTWISE)
def _shares(
    q: Floats, inverse: float, count: Floats, log_total: float, sign: float, c: Floats
) -> None:
    for p in range(c.size):
        c[p] = sign * count[p] * exp_nonpositive(-q[p] * inverse - log_total)


@njit()
def _expected_margin_vectors(
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
