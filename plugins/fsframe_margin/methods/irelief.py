"""I-RELIEF: feature weights from expected margins, with outliers down-weighted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.method.run import Run
from fsframe.method.selection import Selection
from fsframe.params import integer, param, real
from fsframe.table.dataset import Dataset
from fsframe_margin.engine.parallel import one_blas_thread
from fsframe_margin.engine.updates import elementwise
from fsframe_margin.methods.margin_selector import MarginSelector, carried

if TYPE_CHECKING:
    from fsframe_margin.engine.descent import Descent
    from fsframe_margin.engine.margins import PairSpace, Point

__all__ = ["Irelief", "inliers", "iterate"]

Floats = NDArray[np.float64]

_PAPER = "Sun 2007"


@attrs.frozen(kw_only=True)
class Irelief(MarginSelector):
    """Feature weights w, ‖w‖₂ = 1, that maximise the expected margin of the inliers.

    Parameters
    ----------
    sigma : float > 0
        Kernel width σ of f(d) = exp(−d/σ).
    max_iter, tol : int, float
        Maximum number of updates; change of w (Euclidean) at which it stops.
    standardize : bool
        Scale columns to mean 0 and standard deviation 1 first.

    Notes
    -----
    Starts at equal weights; w = ν⁺/‖ν⁺‖₂ with ν = Σ_n γ_n (Σ_m β_nm |x_n − x_m| − Σ_h α_nh |x_n −
    x_h|). Rows of all other classes are misses. The score of a column is the margin that it
    carries, w_a ν_a / N. The paper's convergence proof holds only for wide
    kernels; a narrow one may end in a cycle, with a warning.

    Without `top`, columns with a weight above 1/√A (that of equal weights) are kept, at least one;
    the paper gives no rule. Time per iteration 2 N² A; memory as `im4e`.

    References
    ----------
    Sun, Li: Iterative RELIEF for feature weighting, ICML 2006; Sun: Iterative RELIEF for feature
    weighting: algorithms, theories, and applications, IEEE TPAMI 29(6), 2007, batch algorithm.

    Examples
    --------
    >>> from fsframe.table.dataset import Dataset
    >>> X = np.random.default_rng(0).standard_normal((80, 5))
    >>> Irelief(sigma=2).select(Dataset.from_arrays(X, X[:, 2] > 0)).selected
    array([2])
    """

    sigma: float = param(
        2.0, real(above=0), help="Kernel width.", symbol="σ", source=f"{_PAPER}, kernel function"
    )
    max_iter: int = param(100, integer(0), help="Maximum number of updates.")
    tol: float = param(1e-6, real(0), help="Stop when w changes by no more than this.", symbol="θ")

    @one_blas_thread
    def _select(self, data: Dataset, upstream: Selection | None, run: Run) -> Selection:
        from fsframe_margin.engine.margins import PairSpace

        training = self._training(data, upstream)
        space = PairSpace.of(training, run, linear=True)
        training = training.released()
        size = training.varying.size
        found = iterate(
            space, np.full(size, 1 / np.sqrt(size)), self.sigma, self.max_iter, self.tol
        )
        margin = space.margin(found.point, self.sigma, inliers(space, found.point))
        w = training.spread(found.weights)
        notes = []
        if not found.converged:
            last = f", the last change of w was {found.step[-2]:.1e}" if found.iterations else ""
            notes.append(f"no convergence: {found.stopped}{last}")
        if found.iterations == 0 and found.converged:
            notes.append(f"{found.stopped}: w was left at equal weights")
        return self._selection(
            training,
            w,
            int((w > 1 / np.sqrt(size)).sum()),
            scores=carried(w**2, margin),
            weights=w,
            model={"w": w, "sigma": np.float64(self.sigma)},
            tables={"change": found.step},
            notes=notes,
        )


def iterate(space: PairSpace, start: Floats, sigma: float, max_iter: int, tol: float) -> Descent:
    """w = ν⁺/‖ν⁺‖₂ from `start` (A,), of norm one, until w changes by no more than `tol`.

    `space` uses the linear measure.
    """
    from fsframe_margin.engine.descent import Descent

    w, steps = start, []
    point = space.point(w, sigma)
    converged, stopped = False, f"the limit of {max_iter} updates was reached"
    for _ in range(max_iter):
        target = elementwise(space.gradient(point, sigma, inliers(space, point)))
        if target is None:
            converged, stopped = True, "no feature has a positive expected margin"
            break
        previous, w = w, target
        point = space.point(w, sigma)
        steps.append(float(np.linalg.norm(w - previous)))
        if steps[-1] <= tol:
            converged, stopped = True, f"the weights changed by no more than {tol:g}"
            break
    unknown = np.full(len(steps) + 1, np.nan)
    return Descent(
        weights=w,
        point=point,
        cost=unknown,
        gap=unknown,
        step=np.array([*steps, np.nan]),
        iterations=len(steps),
        converged=converged,
        stopped=stopped,
    )


def inliers(space: PairSpace, point: Point) -> Floats:
    """Outer weights times γ_n = Σ_hits f / Σ_all f, the probability that row n is no outlier."""
    with np.errstate(over="ignore"):  # For extreme outliers exp overflows to inf, and γ is 0.
        inlier: Floats = 1.0 / (1.0 + np.exp(point.log_misses - point.log_hits))
    return space.outer * inlier
