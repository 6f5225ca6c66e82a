"""Descents over weights: state, convergence, and the line search for W, stored or implicit."""

from __future__ import annotations

import sys
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe_margin.engine import neighbour_shares
from fsframe_margin.engine.implicit_weights import Direction, ImplicitPairs, ImplicitWeights
from fsframe_margin.engine.line_search import SMALLEST_STEP, Arc, descends, factors, first_step
from fsframe_margin.engine.margins import PairSpace, Point
from fsframe_margin.engine.updates import prune, update

Floats = NDArray[np.float64]

_SMALLEST_PRUNED_STEP = 2.0**-8


@attrs.frozen(kw_only=True, eq=False)
class Descent:
    """The result of a descent, with its history.

    Parameters
    ----------
    weights : (A, A) or (A,) float64
        W with Frobenius norm one (or its implicit form, if it is not stored), or w.
    point : Point
        The point at these weights, from which their margin is computed.
    cost, gap, step : (n_points,) float64
        At the start and after every update: the cost (NaN if the method has none); the gap
        <Σ, W − U>, with U the target of the step (zero at a stationary point); the step, or the
        change of w, to the next point.
    iterations : int
        Number of updates.
    converged : bool
        Whether it stopped before the limit of updates.
    stopped : str
        Why it stopped, for messages.
    """

    weights: Any
    point: Any
    cost: Floats
    gap: Floats
    step: Floats
    iterations: int
    converged: bool
    stopped: str


class DescentState:
    """The state of a descent: its current and best points, its history, and why it ended.

    It has converged when the relative change of the cost is at most `tol`; 0: never. With
    `keep_best` the result is the point of the lowest cost instead of the last one.
    """

    def __init__(
        self, point: Any, cost: float, *, max_iter: int, tol: float = 0.0, keep_best: bool = False
    ) -> None:
        self.point = self.best = point
        self._here = self._before = self.best_cost = cost
        self.costs = [cost]
        self.gaps: list[float] = []
        self.steps: list[float] = []
        self._tol, self._keep_best = tol, keep_best
        self.converged, self.stopped = (
            False,
            f"the limit of {max_iter} updates (max_iter) was reached",
        )

    @property
    def updates(self) -> int:
        """Number of updates."""
        return len(self.costs) - 1

    def move(self, point: Any, cost: float, step: float) -> None:
        """Record an update that led to `point`."""
        self.point = point
        self._before, self._here = self._here, cost
        self.costs.append(cost)
        self.steps.append(step)
        if cost < self.best_cost or not self._keep_best:
            self.best, self.best_cost = point, cost

    def restart(self, objective: Objective, threshold: float, *, moved: bool) -> None:
        """Restart the search for the best point at the pruned point.

        With `moved` the descent continues from the pruned point instead of the current one.
        """
        self.best = objective.pruned(self.point, threshold)
        self.best_cost = objective.cost(self.best)
        if moved:
            self.point, self._here = self.best, self.best_cost
            if not self.updates:
                self.costs[-1] = self.best_cost

    def has_converged(self) -> bool:
        """Whether the last update changed the cost by no more than the tolerance."""
        least = self._tol * max(abs(self._here), sys.float_info.min)
        return bool(self._tol) and abs(self._before - self._here) <= least

    def stop(self, why: str = "") -> None:
        """Mark the descent as converged, for the given reason."""
        self.converged = True
        self.stopped = why or f"the cost changed by less than a fraction of {self._tol:g}"

    def result(self) -> Descent:
        """The result: the best point, or the last."""
        points = len(self.costs)
        pad = [np.nan] * points
        return Descent(
            weights=self.best.weights,
            point=self.best,
            cost=np.array(self.costs),
            gap=np.array((self.gaps + pad)[:points]),
            step=np.array((self.steps + pad)[:points]),
            iterations=self.updates,
            converged=self.converged,
            stopped=self.stopped,
        )


class _DenseObjective:
    """The cost as a function of W stored as a matrix, at one σ: the operations of Algorithm 2.

    `_ImplicitObjective` has the same operations.

    Notes
    -----
    With the line search every point is on an `Arc`; q is linear in W, so a trial costs only
    exponentials. The first t, from 1 on (`line_search.shorter`), that lowers the cost by 1e-4 of
    the predicted decrease is taken. With a `threshold` above zero, a trial point is pruned before
    its cost is computed.
    """

    def __init__(self, space: PairSpace, sigma: float, rule: str, penalty: float) -> None:
        self.space, self.sigma, self.rule = space, sigma, rule
        self.penalty = penalty * space.total

    def at(self, weights: Floats) -> Point:
        """The point at `weights`."""
        return self.space.point(weights, self.sigma)

    def cost(self, point: Point) -> float:
        """The cost G at a point, with the penalty."""
        if not self.penalty:
            return point.cost
        return point.cost + self.penalty * float(point.weights.sum())

    def pruned(self, point: Point, threshold: float) -> Point:
        """The point at the pruned weights."""
        return self.at(prune(point.weights, threshold))

    def gradient(self, point: Point) -> Floats:
        """Σ, from the α and β of step 1."""
        return self.space.gradient(point, self.sigma)

    def minimiser(self, point: Point, gradient: Floats, threshold: float) -> Floats | None:
        """The minimiser U of step 2, or None if no weights lower the cost."""
        target = update(gradient, self.rule, self.penalty)
        return prune(target, threshold) if threshold and target is not None else target

    def arc(self, point: Point, gradient: Floats, target: Floats) -> Arc:
        """The arc from the weights W of the point to U; <Σ + λ, W − U> is the gap."""
        W = point.weights
        forward = gradient + self.penalty if self.penalty else gradient
        return Arc(
            float(np.vdot(forward, W)), float(np.vdot(forward, target)), float(np.vdot(W, target))
        )

    def step(
        self, point: Point, arc: Arc, target: Floats, threshold: float, search: bool
    ) -> tuple[Point | None, float]:
        """The next point and the step to it; None if the line search finds none."""
        if not search:
            return self.at(target), 1.0
        W = point.weights
        if not descends(arc):
            return None, 0.0

        def weights_at(t: float) -> Floats:
            if t == 1.0:
                return target
            a, b = factors(arc, t)
            return a * W + b * target

        start = self.cost(point)
        if point.measured is None or threshold:

            def trial(t: float) -> tuple[float, Point]:
                weights = weights_at(t)
                point = self.at(prune(weights, threshold) if threshold else weights)
                return self.cost(point), point

            # A pruned trial costs a pass over all pairs, and pruning would undo a small step.
            least = _SMALLEST_PRUNED_STEP if threshold else SMALLEST_STEP
            t, reached = first_step(arc, trial, start, least)
            return reached, t
        penalties = (0.0, 0.0)
        if self.penalty:
            penalties = self.penalty * float(W.sum()), self.penalty * float(target.sum())
        second = self.space.measure(target)
        t, reached = self.space.search(arc, point.measured, second, penalties, start, self.sigma)
        if reached is not None:
            reached.weights = weights_at(t)
        return reached, t


class _ImplicitObjective:
    """The cost as a function of implicit W with the element-wise rule, at one σ.

    <Σ, W> is Σ_p c_p q_p(W), so only <W, U> needs tiles of W, and only if W is a mixture. Pruning
    is not supported. The `total` of a `Point` is Σ W.
    """

    def __init__(self, pairs: ImplicitPairs, sigma: float, penalty: float) -> None:
        self.pairs, self.sigma = pairs, sigma
        self.rate = penalty * pairs.space.total

    def at(self, weights: ImplicitWeights) -> Point:
        """The starting point, with a diagonal W."""
        point = self.pairs.space.point_at(weights, self.pairs.measure(weights), self.sigma)
        point.total = float(weights.main.sum())
        return point

    def cost(self, point: Point) -> float:
        return point.cost + self.rate * point.total

    def pruned(self, point: Point, threshold: float) -> Point:
        raise NotImplementedError("pruning needs W as a matrix")

    def gradient(self, point: Point) -> Floats:
        """The pair coefficients c, with Σ = Dᵀ diag(c) D."""
        assert point.measured is not None
        c = np.empty(self.pairs.pairs)
        shares = self.pairs.space.shares(point, self.sigma)
        neighbour_shares.pair_coefficients(point.measured, shares, 0, 1, c)
        return c

    def minimiser(self, point: Point, gradient: Floats, threshold: float) -> Direction | None:
        return self.pairs.direction(gradient, point.weights, self.rate)

    def arc(self, point: Point, gradient: Floats, target: Direction) -> Arc:
        upper = self.pairs.first, self.pairs.second
        assert point.measured is not None
        here, along = (
            float((gradient * q[upper]).sum()) + self.rate * total
            for q, total in ((point.measured, point.total), (target.measured, target.total))
        )
        return Arc(here, along, target.overlap)

    def step(
        self, point: Point, arc: Arc, target: Direction, threshold: float, search: bool
    ) -> tuple[Point | None, float]:
        measured, space = point.measured, self.pairs.space
        assert measured is not None
        t, reached = 1.0, None
        if not search:
            reached = space.point_at(point.weights, target.measured, self.sigma)
        elif descends(arc):
            penalties = self.rate * point.total, self.rate * target.total
            start = self.cost(point)
            t, reached = space.search(arc, measured, target.measured, penalties, start, self.sigma)
        if reached is None:
            return None, 0.0
        a, b = factors(arc, t)
        reached.total = a * point.total + b * target.total
        reached.weights = self.pairs.moved(point.weights, a, target, b)
        return reached, t


Objective = _DenseObjective | _ImplicitObjective


def objective_of(
    space: PairSpace | ImplicitPairs, sigma: float, rule: str, penalty: float
) -> Objective:
    """The operations of a descent for the representation of W that `space` uses."""
    if isinstance(space, ImplicitPairs):
        return _ImplicitObjective(space, sigma, penalty)
    return _DenseObjective(space, sigma, rule, penalty)
