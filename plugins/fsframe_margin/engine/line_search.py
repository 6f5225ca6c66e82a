"""The line search of Algorithm 2, on the arc of norm one between the weights W and their target U.

Distances are linear in the weights, so a trial costs exponentials only. Where all pairs are one
chunk of work, `first_step_between` makes all trials of an update in one compiled call, because a
call for each would take longer than its work.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from fsframe.kernels.compiled import njit
from fsframe_margin.engine.neighbour_shares import (
    Flags,
    Rows,
    cost_of,
    direct_sums,
    log_sums,
    settled,
)

Floats = NDArray[np.float64]
T = TypeVar("T")

SMALLEST_STEP = 2.0**-24
_SUFFICIENT = 1e-4
"""Share of the predicted decrease of the cost that a step has to achieve."""


class Arc(NamedTuple):
    """The points ((1−t) W + t U) / ‖·‖_F, from <Σ + λ, W>, <Σ + λ, U> and <W, U>.

    Along it the cost decreases at t = 0 whenever <Σ, U> < <Σ, W>.
    """

    here: float
    along: float
    overlap: float


@njit()
def slope(arc: Arc) -> float:
    """The derivative of the cost at t = 0."""
    return arc.along - arc.here - arc.here * (arc.overlap - 1.0)


@njit()
def descends(arc: Arc) -> bool:
    """Whether the slope is negative; at a stationary point it is only rounding error."""
    return slope(arc) < -1e-14 * (abs(arc.along) + abs(arc.here))


@njit()
def factors(arc: Arc, t: float) -> tuple[float, float]:
    """The factors of W and of U at t."""
    norm = math.sqrt((1 - t) ** 2 + 2 * t * (1 - t) * arc.overlap + t * t)
    return (1 - t) / norm, t / norm


@njit()
def suffices(arc: Arc, t: float, start: float, cost: float) -> bool:
    """Whether the cost at t is sufficiently below that at the start."""
    return cost <= start + _SUFFICIENT * t * slope(arc) and cost < start


@njit()
def shorter(arc: Arc, t: float, start: float, cost: float) -> float:
    """The trial after t, whose cost does not suffice: t/2, t/4 or t/8.

    That is the nearest to the lowest point of the parabola through the costs at 0 and t, with the
    slope at 0. Halves keep steps free of the rounding errors of costs.
    """
    excess = cost - start - slope(arc) * t
    # Without curvature, as by rounding where the costs are almost equal, there is no lowest point.
    lowest = -slope(arc) * t / (2.0 * excess) if excess > 0.0 else 0.5
    # Nearest by ratio: the bounds are √(½ · ¼) and √(¼ · ⅛), rounded.
    if lowest > 0.35:
        return 0.5 * t
    return 0.25 * t if lowest > 0.18 else 0.125 * t


def first_step(
    arc: Arc, trial: Callable[[float], tuple[float, T]], start: float, least: float
) -> tuple[float, T | None]:
    """The first trial from t = 1 to `least` whose cost suffices, with its point; 0 if none does.

    `trial` returns the cost and the point at t.
    """
    t = 1.0
    while t >= least:
        cost, point = trial(t)
        if suffices(arc, t, start, cost):
            return t, point
        t = shorter(arc, t, start, cost)
    return 0.0, None


@njit()
def mix(first: Floats, second: Floats, a: float, b: float) -> None:
    """Replace the upper triangle of `second` by a·first + b·second."""
    for i in range(first.shape[0]):
        for j in range(i + 1, first.shape[0]):
            second[i, j] = a * first[i, j] + b * second[i, j]


@njit()
def first_step_between(
    arc: Arc, first: Floats, second: Floats, penalties: tuple[float, float], start: float,
    sigma: float, rows: Rows, alone: Flags, outer: Floats, logs: Floats,
) -> tuple[float, float]:  # fmt: skip
    """`PairSpace.search` over one chunk; returns t, and the cost without penalty.

    The log-sums at t are written into `logs` (2, n): over hits, and over misses.
    """
    n = alone.size
    t = 1.0
    while t >= SMALLEST_STEP:
        a, b = factors(arc, t)
        for i in range(n):
            logs[0, i] = logs[1, i] = 0.0
        direct_sums(first, second, a / sigma, b / sigma, rows, logs, 0, n)
        cost = settled(logs, alone, outer)
        if cost != cost:
            log_sums(first + first.T, second + second.T, a / sigma, b / sigma, rows, logs, 0, n)
            cost = cost_of(logs[0], logs[1], alone, outer)
        cost *= sigma
        penalised = cost + a * penalties[0] + b * penalties[1]
        if suffices(arc, t, start, penalised):
            mix(first, second, a, b)
            return t, cost
        t = shorter(arc, t, start, penalised)
    return 0.0, start
