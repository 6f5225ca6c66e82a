"""Logistic regression on expected margin vectors, alternated with the expectations (LOGO)."""

from __future__ import annotations

import numpy as np
import scipy
from numpy.typing import NDArray
from scipy.special import expit

from fsframe_margin.engine import margin_vector_kernels
from fsframe_margin.engine.margins import PairSpace

__all__ = ["expected_margins", "solve_logistic"]

Floats = NDArray[np.float64]


def expected_margins(space: PairSpace, w: Floats, sigma: float) -> Floats:
    """z̄_n = E|x_n − miss| − E|x_n − hit| for every row, (n, A), rows sorted by class.

    Zero for a row without a hit. N² A operations; rows in chunks.
    """
    point = space.point(w, sigma)
    z = np.zeros((space.n_rows, space.width))
    hits = np.where(space.alone, np.inf, point.log_hits)
    for start, stop in space.chunks:
        margin_vector_kernels.expected_margin_vectors(
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
