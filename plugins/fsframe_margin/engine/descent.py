"""Descents over weights: the target of step 2 for each interpretation of the constraint, state,
convergence, and the line search for W.
"""

from __future__ import annotations

import math
import sys
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe_margin.engine.margins import PairSpace, Point
from fsframe_margin.engine.neighbour_shares import (
    SMALLEST_STEP,
    Arc,
    descends,
    factors,
    first_step,
    mix,
)

Floats = NDArray[np.float64]


def gain(gradient: Floats, penalty: float = 0.0) -> Floats:
    """(−Σ − λ)⁺, the element-wise rule before its norm."""
    return np.maximum(-gradient - penalty, 0.0)


def elementwise(gradient: Floats, penalty: float = 0.0) -> Floats | None:
    """The exact minimiser of <Σ, W> + λ Σ W over W ≥ 0, ‖W‖_F = 1: (−Σ − λ)⁺ / ‖(−Σ − λ)⁺‖_F.

    Parameters
    ----------
    gradient : (A, A) or (A,) float64
        Σ, symmetric.
    penalty : float
        λ ≥ 0.

    Returns
    -------
    ndarray or None
        None if no entry of −Σ − λ is positive, so that no weights lower the cost.

    Notes
    -----
    At fixed norm the linear form is smallest along its negative gradient, projected onto the cone
    W ≥ 0; the same argument as eq. 3.17, entry by entry.

    Examples
    --------
    >>> elementwise(np.array([[-3.0, 1.0], [1.0, -4.0]]))
    array([[0.6, 0. ],
           [0. , 0.8]])
    """
    positive = gain(gradient, penalty)
    norm = math.sqrt(np.vdot(positive, positive))
    return positive / norm if 0 < norm < math.inf else None


def positive_semidefinite(gradient: Floats, clip: bool = False) -> Floats | None:
    """W = ΦΦᵀ of Theorem 3.1 (eq. 3.8): the minimiser of <Σ, W> over W ⪰ 0, ‖W‖_F = 1.

    Parameters
    ----------
    gradient : (A, A) float64
        Σ, symmetric.
    clip : bool
        Set negative entries to zero and renormalise, as the authors' program does: ΦΦᵀ may have
        negative entries, contrary to W ≥ 0 of eq. 3.5. The result is then not a minimiser.

    Returns
    -------
    (A, A) float64 or None
        None if Σ has no negative eigenvalue.
    """
    values, vectors = np.linalg.eigh(gradient)
    positive = np.maximum(-values, 0.0)
    if not positive.any():
        return None
    W = (vectors * (positive / np.linalg.norm(positive))) @ vectors.T
    W = (W + W.T) / 2
    if not clip:
        return W
    W = np.maximum(W, 0.0)
    return W / np.linalg.norm(W)


def update(gradient: Floats, rule: str, penalty: float = 0.0) -> Floats | None:
    """The minimiser of step 2 under `rule`, or None if no weights lower the cost."""
    if rule == "elementwise":
        return elementwise(gradient, penalty)
    return positive_semidefinite(gradient, clip=rule == "psd-clip")


def prune(W: Floats, threshold: float) -> Floats:
    """W with entries below `threshold` set to zero, renormalised (§3.4.3).

    If every entry is below it, the largest are kept.

    Examples
    --------
    >>> prune(np.array([[0.8, 0.1], [0.1, 0.583]]), 0.5).round(3)
    array([[0.808, 0.   ],
           [0.   , 0.589]])
    """
    kept = np.where(min(threshold, W.max()) > W, 0.0, W)
    return kept / np.linalg.norm(kept)


_SMALLEST_PRUNED_STEP = 2.0**-8


@attrs.frozen(kw_only=True, eq=False)
class Descent:
    """The result of a descent, with its history.

    Parameters
    ----------
    weights : (A, A) or (A,) float64
        W with Frobenius norm one, or w.
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


class Objective:
    """The cost as a function of W at one σ: the operations of Algorithm 2.

    Notes
    -----
    With the line search every point is on an `Arc`; q is linear in W, so a trial costs only
    exponentials. The first t, from 1 on (`neighbour_shares.shorter`), that lowers the cost by 1e-4
    of the predicted decrease is taken. With a `threshold` above zero, a trial point is pruned
    before its cost is computed.
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

    def minimiser(self, gradient: Floats, threshold: float) -> Floats | None:
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
        first, second = point.measured, self.space.measure(target)
        of_start = self.penalty * float(W.sum()) if self.penalty else 0.0
        of_target = self.penalty * float(target.sum()) if self.penalty else 0.0

        def mixture(t: float) -> tuple[float, Point]:
            a, b = factors(arc, t)
            logs, cost = self.space.log_sums(first, second, a / self.sigma, b / self.sigma)
            cost *= self.sigma
            return cost + a * of_start + b * of_target, Point(None, second, cost, logs[0], logs[1])

        t, reached = first_step(arc, mixture, start, SMALLEST_STEP)
        if reached is not None:
            mix(first, second, *factors(arc, t))
            reached.weights = weights_at(t)
        return reached, t
