"""The iteration of Algorithm 2 with a line search on the cost after step 1."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe_margin.engine.margins import PairSpace, Point
from fsframe_margin.engine.updates import prune, update

__all__ = ["Descent", "descend"]

Floats = NDArray[np.float64]

_SMALLEST_STEP = 2.0**-24
_SMALLEST_PRUNED_STEP = 2.0**-8
_SUFFICIENT = 1e-4


@attrs.frozen(kw_only=True, eq=False)
class Descent:
    """Where a descent ended, and how it went.

    Parameters
    ----------
    weights : (A, A) float64
        W with Frobenius norm one (or what stands for it where it is not held).
    cost, gap, step : (n_points,) float64
        The cost G (penalty included) at the start and after every update; the gap <Σ, W − U> there,
        U the minimiser of step 2 (zero at a stationary point); the step taken from there.
    iterations : int
        Updates made.
    converged : bool
        Whether it stopped by itself.
    stopped : str
        Why it stopped, for people.
    """

    weights: Any
    cost: Floats
    gap: Floats
    step: Floats
    iterations: int
    converged: bool
    stopped: str


def descend(
    space: PairSpace,
    start: Floats,
    sigma: float,
    *,
    rule: str = "elementwise",
    line_search: bool = True,
    max_iter: int = 50,
    tol: float = 1e-5,
    prune_below: float = 0.0,
    prune_from: int = 0,
    penalty: float = 0.0,
    keep_best: bool = True,
) -> Descent:
    """Minimise the cost of eq. 3.5 over W from `start`.

    Parameters
    ----------
    space : PairSpace
        The pairs.
    start : (A, A) float64
        Symmetric, Frobenius norm one.
    sigma : float
        σ > 0.
    rule : {"elementwise", "psd", "psd-clip"}
        Which minimiser step 2 moves towards.
    line_search : bool
        Search the step in (0, 1]; otherwise it is one, as printed.
    max_iter : int
        Most updates.
    tol : float
        Stop when the cost changes by no more than this share of itself; 0 never does.
    prune_below, prune_from : float, int
        Entries below are set to zero from that iteration on, or, where the descent comes to rest
        before it, from then on; 0 prunes nothing.
    penalty : float
        λ of the l₁ penalty λ Σ_n o_n Σ_ab W_ab.
    keep_best : bool
        Return the iterate of the lowest cost, not the last.

    Returns
    -------
    Descent

    Notes
    -----
    With the line search every point is ((1−t) W + t U) / ‖·‖_F. Along that arc the cost falls at
    t = 0 whenever <Σ, U> < <Σ, W>, and q is linear in W, so a trial costs exponentials only. The
    first t of 1, ½, ¼, … that lowers the cost by 1e-4 of the predicted fall is taken. With pruning
    a trial is pruned before it is measured, and the cost falls from the first pruned point on.
    """
    path = _Path(space, sigma, penalty * space.total)
    point = path.at(start)
    best, costs, gaps, steps = point, [path.cost(point)], [], []
    best_cost = costs[0]
    converged, stopped = False, f"the limit of {max_iter} updates was reached"
    iteration, begin, pruning = 0, prune_from, False
    while iteration < max_iter:
        if prune_below and not pruning and iteration >= begin:
            pruning = True
            # a point before pruning does not compete
            best = path.at(prune(point.weights, prune_below))
            best_cost = path.cost(best)
            if line_search or begin < prune_from:
                point = best
                costs[-1] = best_cost if iteration == 0 else costs[-1]
        threshold = prune_below if pruning else 0.0
        # At rest before pruning has begun, the second half begins here.
        waiting = bool(prune_below) and not pruning
        gradient = space.gradient(point, sigma)
        target = update(gradient, rule, path.penalty)
        if target is None and waiting:
            begin = iteration
            continue
        if target is None:
            converged, stopped = True, "no weights lower the cost: (−Σ)⁺ is zero"
            break
        target = prune(target, threshold) if threshold else target
        gaps.append(float(np.vdot(gradient + path.penalty, point.weights - target)))
        if line_search:
            found, step = path.search(point, target, gradient, threshold)
        else:
            found, step = path.at(target), 1.0
        if found is None and waiting:
            gaps.pop()
            begin = iteration
            continue
        if found is None:
            converged, stopped = True, "no step lowers the cost"
            steps.append(0.0)
            break
        iteration += 1
        previous, point = path.cost(point), found
        costs.append(path.cost(point))
        steps.append(step)
        if costs[-1] < best_cost or not keep_best:
            best, best_cost = point, costs[-1]
        if tol and abs(previous - costs[-1]) <= tol * max(abs(costs[-1]), np.finfo(float).tiny):
            if waiting and iteration < max_iter:
                begin = iteration
                continue
            converged, stopped = True, f"the cost changed by less than {tol:g} of itself"
            break
    pad = [np.nan] * len(costs)
    return Descent(
        weights=best.weights,
        cost=np.array(costs),
        gap=np.array((gaps + pad)[: len(costs)]),
        step=np.array((steps + pad)[: len(costs)]),
        iterations=len(costs) - 1,
        converged=converged,
        stopped=stopped,
    )


class _Path:
    """Costs along a descent at one σ, with the penalty."""

    def __init__(self, space: PairSpace, sigma: float, penalty: float) -> None:
        self.space, self.sigma, self.penalty = space, sigma, penalty

    def at(self, weights: Floats) -> Point:
        return self.space.point(weights, self.sigma)

    def cost(self, point: Point) -> float:
        if not self.penalty:
            return point.cost
        return point.cost + self.penalty * float(point.weights.sum())

    def search(
        self, point: Point, target: Floats, gradient: Floats, threshold: float
    ) -> tuple[Point | None, float]:
        """The first of the steps 1, ½, ¼, … that lowers the cost enough, or None."""
        W = point.weights
        forward = gradient + self.penalty
        along = float(np.vdot(forward, target))
        here = float(np.vdot(forward, W))
        overlap = float(np.vdot(W, target))
        slope = along - here - here * (overlap - 1.0)
        # at a stationary point the slope is rounding: no fall can be predicted from it
        if not slope < -1e-14 * (abs(along) + abs(here)):
            return None, 0.0
        cost = self.cost(point)
        measured = None
        if self.space.stored and not threshold:
            measured = self.space.measure(target)
        # a pruned trial costs a pass over all pairs, and a small step is pruned away again
        least = _SMALLEST_PRUNED_STEP if threshold else _SMALLEST_STEP
        t = 1.0
        while t >= least:
            norm = np.sqrt((1 - t) ** 2 + 2 * t * (1 - t) * overlap + t * t)
            weights = target if t == 1.0 else ((1 - t) * W + t * target) / norm
            found = self._trial(point, weights, measured, t, norm, threshold)
            if self.cost(found) <= cost + _SUFFICIENT * t * slope and self.cost(found) < cost:
                return self._settled(found, point, measured, t, norm), t
            t /= 2
        return None, 0.0

    def _trial(
        self,
        point: Point,
        weights: Floats,
        measured: Floats | None,
        t: float,
        norm: float,
        threshold: float,
    ) -> Point:
        if measured is None:
            return self.at(prune(weights, threshold) if threshold else weights)
        assert point.measured is not None
        return self.space.between(
            weights, point.measured, measured, (1 - t) / norm, t / norm, self.sigma
        )

    def _settled(
        self, found: Point, point: Point, measured: Floats | None, t: float, norm: float
    ) -> Point:
        """The point that was taken, with its measurements formed from those of both ends."""
        if measured is None:
            return found
        if t < 1.0:
            assert point.measured is not None
            measured *= t / norm
            point.measured *= (1 - t) / norm
            measured += point.measured
        return attrs.evolve(found, measured=measured)
