"""Algorithm 2 for a W that is too large to store: the same steps on its implicit form."""

from __future__ import annotations

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe_margin.engine import neighbour_shares
from fsframe_margin.engine.descent import SMALLEST_STEP, SUFFICIENT, DenseObjective, Objective
from fsframe_margin.engine.implicit_weights import Direction, ImplicitPairs, ImplicitWeights
from fsframe_margin.engine.margins import PairSpace, Point

__all__ = ["ImplicitObjective", "objective_of"]

Floats = NDArray[np.float64]


@attrs.frozen(eq=False)
class _Iterate:
    """A point with implicit W; `total` is Σ W."""

    weights: ImplicitWeights
    total: float
    point: Point
    cost: float


@attrs.frozen(eq=False)
class _Target:
    """The minimiser U, with <Σ + λ, W> and <Σ + λ, U>."""

    direction: Direction
    here: float
    along: float


class ImplicitObjective:
    """The cost as a function of implicit W with the element-wise rule, at one σ.

    <Σ, W> is Σ_p c_p q_p(W), so only <W, U> needs tiles of W, and only if W is a mixture. Pruning
    is not supported.
    """

    def __init__(self, pairs: ImplicitPairs, sigma: float, penalty: float) -> None:
        self.pairs, self.sigma = pairs, sigma
        self.rate = penalty * pairs.space.total

    def at(self, weights: ImplicitWeights) -> _Iterate:
        """The starting point, with a diagonal W."""
        total = float(weights.main.sum())
        measured = self.pairs.measure(weights)
        point = self.pairs.space.between(weights.main, measured, None, 1.0, 0.0, self.sigma)
        return _Iterate(weights, total, point, point.cost + self.rate * total)

    def cost(self, point: _Iterate) -> float:
        return point.cost

    def pruned(self, point: _Iterate, threshold: float) -> _Iterate:
        raise NotImplementedError("pruning needs W as a matrix")

    def gradient(self, point: _Iterate) -> Floats:
        """The pair coefficients c, with Σ = Dᵀ diag(c) D."""
        assert point.point.measured is not None
        c = np.empty(self.pairs.pairs)
        shares = self.pairs.space.shares(point.point, self.sigma)
        neighbour_shares.pair_coefficients(point.point.measured, shares, 0, 1, c)
        return c

    def minimiser(self, point: _Iterate, gradient: Floats, threshold: float) -> _Target | None:
        found = self.pairs.direction(gradient, point.weights, self.rate)
        if found is None:
            return None
        upper = self.pairs.first, self.pairs.second
        assert point.point.measured is not None
        here = float((gradient * point.point.measured[upper]).sum()) + self.rate * point.total
        along = float((gradient * found.measured[upper]).sum()) + self.rate * found.total
        return _Target(found, here, along)

    def gap(self, point: _Iterate, gradient: Floats, target: _Target) -> float:
        return target.here - target.along

    def step(
        self,
        point: _Iterate,
        gradient: Floats,
        target: _Target,
        threshold: float,
        search: bool,
    ) -> tuple[_Iterate | None, float]:
        here, along, towards = target.here, target.along, target.direction
        slope = along - here - here * (towards.overlap - 1.0)
        if search and not slope < -1e-14 * (abs(along) + abs(here)):
            return None, 0.0
        measured = point.point.measured
        assert measured is not None
        t = 1.0
        while t >= SMALLEST_STEP:
            norm = float(np.sqrt((1 - t) ** 2 + 2 * t * (1 - t) * towards.overlap + t * t))
            a, b = (1 - t) / norm, t / norm
            trial = self.pairs.space.between(
                point.point.weights, measured, towards.measured, a, b, self.sigma
            )
            total = a * point.total + b * towards.total
            cost = trial.cost + self.rate * total
            enough = cost <= point.cost + SUFFICIENT * t * slope and cost < point.cost
            if enough or not search:
                measured *= a
                towards.measured[...] *= b
                measured += towards.measured
                weights = self.pairs.moved(point.weights, a, towards, b)
                return _Iterate(weights, total, attrs.evolve(trial, measured=measured), cost), t
            t /= 2
        return None, 0.0


def objective_of(
    space: PairSpace | ImplicitPairs, sigma: float, rule: str, penalty: float
) -> Objective:
    """The operations of a descent for the representation of W that `space` uses."""
    if isinstance(space, ImplicitPairs):
        return ImplicitObjective(space, sigma, penalty)
    return DenseObjective(space, sigma, rule, penalty)
