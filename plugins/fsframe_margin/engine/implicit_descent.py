"""Algorithm 2 with the line search where W is too large to hold: same steps, W by its terms."""

from __future__ import annotations

from collections.abc import Callable

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe_margin.engine import neighbour_shares
from fsframe_margin.engine.descent import _SMALLEST_STEP, _SUFFICIENT, Descent
from fsframe_margin.engine.implicit_weights import ImplicitPairs, ImplicitWeights

__all__ = ["descend_implicit"]

Floats = NDArray[np.float64]


def descend_implicit(
    pairs: ImplicitPairs,
    start: ImplicitWeights,
    sigma: float,
    *,
    line_search: bool = True,
    max_iter: int = 50,
    tol: float = 1e-5,
    penalty: float = 0.0,
    keep_best: bool = True,
    progress: Callable[[int], None] = lambda done: None,
) -> Descent:
    """As `fsframe_margin.engine.descent.descend` with the element-wise rule; `weights` is implicit.

    `start` has Frobenius norm one. <Σ, W> is Σ_p c_p q_p(W), so that only <W, U> needs tiles of W,
    and that only as long as W is a mixture.
    """
    space = pairs.space
    rate = penalty * space.total
    weights, total = start, float(start.main.sum())
    point = space.between(start.main, pairs.measure(start), None, 1.0, 0.0, sigma)
    costs, gaps, steps = [point.cost + rate * total], [], []
    best, best_cost = weights, costs[0]
    converged, stopped = False, f"the limit of {max_iter} updates was reached"
    for iteration in range(max_iter):
        measured = point.measured
        assert measured is not None
        c = np.empty(pairs.pairs)
        neighbour_shares.pair_coefficients(measured, space.shares(point, sigma), 0, 1, c)
        target = pairs.direction(c, weights, rate)
        if target is None:
            converged, stopped = True, "no weights lower the cost: (−Σ)⁺ is zero"
            break
        upper = pairs.first, pairs.second
        here = float((c * measured[upper]).sum()) + rate * total
        along = float((c * target.measured[upper]).sum()) + rate * target.total
        gaps.append(here - along)
        slope = along - here - here * (target.overlap - 1.0)
        if line_search and not slope < -1e-14 * (abs(along) + abs(here)):
            converged, stopped = True, "no step lowers the cost"
            steps.append(0.0)
            break
        t, found = 1.0, None
        while t >= _SMALLEST_STEP:
            norm = float(np.sqrt((1 - t) ** 2 + 2 * t * (1 - t) * target.overlap + t * t))
            a, b = (1 - t) / norm, t / norm
            trial = space.between(start.main, measured, target.measured, a, b, sigma)
            trial_total = a * total + b * target.total
            cost = trial.cost + rate * trial_total
            if not line_search or (
                cost <= costs[-1] + _SUFFICIENT * t * slope and cost < costs[-1]
            ):
                found = trial
                break
            t /= 2
        if found is None:
            converged, stopped = True, "no step lowers the cost"
            steps.append(0.0)
            break
        measured *= a
        target.measured[...] *= b
        measured += target.measured
        point = attrs.evolve(found, measured=measured)
        weights, total = pairs.moved(weights, a, target, b), trial_total
        previous = costs[-1]
        costs.append(cost)
        steps.append(t)
        progress(iteration + 1)
        if cost < best_cost or not keep_best:
            best, best_cost = weights, cost
        if tol and abs(previous - cost) <= tol * max(abs(cost), np.finfo(float).tiny):
            converged, stopped = True, f"the cost changed by less than {tol:g} of itself"
            break
    pad = [np.nan] * len(costs)
    return Descent(
        weights=best,
        cost=np.array(costs),
        gap=np.array((gaps + pad)[: len(costs)]),
        step=np.array((steps + pad)[: len(costs)]),
        iterations=len(costs) - 1,
        converged=converged,
        stopped=stopped,
    )
