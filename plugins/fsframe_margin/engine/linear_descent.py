"""Fixed-point iterations over feature weights w with q = wᵀ|x_i − x_j|: IM4E and I-RELIEF."""

from __future__ import annotations

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe_margin.engine.margins import PairSpace

__all__ = ["LinearDescent", "descend_im4e", "iterate_irelief"]

Floats = NDArray[np.float64]

_SMALLEST_STEP = 2.0**-24


@attrs.frozen(kw_only=True, eq=False)
class LinearDescent:
    """Where an iteration over w ended, and how it went.

    Parameters
    ----------
    weights : (A,) float64
        Non-negative.
    cost, step : (n_points,) float64
        Cost at the start and after every update (NaN where the method has none); the step, or the
        change of w, that led on from there.
    iterations : int
        Updates made.
    converged : bool
        Whether it stopped by itself.
    stopped : str
        Why.
    """

    weights: Floats
    cost: Floats
    step: Floats
    iterations: int
    converged: bool
    stopped: str


def descend_im4e(
    space: PairSpace,
    start: Floats,
    sigma: float,
    *,
    line_search: bool = False,
    max_iter: int = 50,
    tol: float = 1e-5,
    keep_best: bool = True,
) -> LinearDescent:
    """IM4E's w = v⁺/‖v⁺‖₁ (Algorithm 1, eq. 5, 6, 9) from `start`.

    Parameters
    ----------
    space : PairSpace
        With ``linear=True``.
    start : (A,) float64
        Non-negative, sum one.
    sigma : float
        σ > 0.
    line_search : bool
        Go from w towards v⁺/‖v⁺‖₁ only as far as the cost falls.
    max_iter, tol, keep_best
        As in `fsframe_margin.engine.descent.descend`.

    Notes
    -----
    The cost is the G of `margins` with q = wᵀ|x_i − x_j|, which is eq. 3 after step
    (a) without the λ‖w‖² term: eq. 9 does not depend on λ. v⁺/‖v⁺‖₁ is no minimiser of the linear
    form over the simplex, so the plain iteration need not lower the cost; the line search stops
    where its direction does not.
    """
    point = space.point(start, sigma)
    best, costs, steps = point, [point.cost], []
    converged, stopped = False, f"the limit of {max_iter} updates was reached"
    for _ in range(max_iter):
        u = space.gradient(point, sigma)
        gain = np.maximum(-u, 0.0)
        if not gain.any():
            converged, stopped = True, "no weights lower the cost: v⁺ is zero"
            break
        target, step = gain / gain.sum(), 1.0
        found = space.point(target, sigma)
        if line_search:
            slope = float(u @ (target - point.weights))
            while not (found.cost <= point.cost + 1e-4 * step * slope and slope < 0):
                step /= 2
                if step < _SMALLEST_STEP or not slope < 0:
                    break
                found = space.point((1 - step) * point.weights + step * target, sigma)
            if step < _SMALLEST_STEP or not slope < 0:
                converged, stopped = True, "no step lowers the cost"
                break
        previous, point = point.cost, found
        costs.append(found.cost)
        steps.append(step)
        if found.cost < best.cost or not keep_best:
            best = found
        if tol and abs(previous - found.cost) <= tol * max(abs(found.cost), np.finfo(float).tiny):
            converged, stopped = True, f"the cost changed by less than {tol:g} of itself"
            break
    return LinearDescent(
        weights=best.weights,
        cost=np.array(costs),
        step=np.array(steps + [np.nan] * (len(costs) - len(steps))),
        iterations=len(costs) - 1,
        converged=converged,
        stopped=stopped,
    )


def iterate_irelief(
    space: PairSpace, start: Floats, sigma: float, *, max_iter: int = 100, tol: float = 1e-6
) -> LinearDescent:
    """I-RELIEF's w = ν⁺/‖ν⁺‖₂ from `start`, until w changes by no more than `tol`.

    Parameters
    ----------
    space : PairSpace
        With ``linear=True``.
    start : (A,) float64
        Non-negative, Euclidean norm one.
    sigma : float
        Kernel width σ > 0 of f(d) = exp(−d/σ).
    max_iter, tol
        Most updates, and the change of w (Euclidean) at which it stops.

    Notes
    -----
    ν = Σ_n γ_n o_n (E|x_n − miss| − E|x_n − hit|), expectations under α and β of eq. 3.6 with the
    linear measurement, and γ_n = Σ_hits f / Σ_all f, the probability that row n is no outlier.
    """
    w, steps = start, []
    converged, stopped = False, f"the limit of {max_iter} updates was reached"
    for _ in range(max_iter):
        point = space.point(w, sigma)
        with np.errstate(over="ignore"):  # a hopeless outlier: exp overflows to inf, γ is 0
            inlier = 1.0 / (1.0 + np.exp(point.log_misses - point.log_hits))
        gain = np.maximum(-space.gradient(point, sigma, space.outer * inlier), 0.0)
        norm = np.linalg.norm(gain)
        if not norm > 0:
            converged, stopped = True, "no feature has a positive expected margin"
            break
        previous, w = w, gain / norm
        steps.append(float(np.linalg.norm(w - previous)))
        if steps[-1] <= tol:
            converged, stopped = True, f"the weights changed by no more than {tol:g}"
            break
    return LinearDescent(
        weights=w,
        cost=np.full(len(steps) + 1, np.nan),
        step=np.array([*steps, np.nan]),
        iterations=len(steps),
        converged=converged,
        stopped=stopped,
    )
