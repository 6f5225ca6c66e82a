"""Methods of Sun and co-authors: I-RELIEF, local feature extraction (LFE), LOGO."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.errors import DataError
from fsframe.method.run import Cost, Run, size_text
from fsframe.method.selection import PairWeights, Selection
from fsframe.params import integer, param, real
from fsframe.table.dataset import Dataset
from fsframe_margin.engine.training import Training, differences, one_blas_thread
from fsframe_margin.methods.margin_selector import MarginSelector, carried

if TYPE_CHECKING:
    from fsframe_margin.engine.descent import Descent
    from fsframe_margin.engine.margins import PairSpace, Point

Floats = NDArray[np.float64]

_SUN_2007 = "Sun 2007"


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
        2.0, real(above=0), help="Kernel width.", symbol="σ", source=f"{_SUN_2007}, kernel function"
    )
    max_iter: int = param(100, integer(0), help="Maximum number of updates.")
    tol: float = param(1e-6, real(0), help="Stop when w changes by no more than this.", symbol="θ")

    def cost(self, n: int, p: int) -> Cost:
        return Cost(
            seconds=5e-3 + n * n * (2e-8 + 1.1e-9 * p), formula="0.005 + n² (2e-8 + 1.1e-9 p)"
        )

    @one_blas_thread
    def _select(self, data: Dataset, upstream: Selection | None, run: Run) -> Selection:
        from fsframe_margin.engine.margins import PairSpace

        training = self._training(data, upstream)
        space = PairSpace.of(training, run, linear=True)
        training = training.released()
        size = training.varying.size
        descent = iterate(
            space, np.full(size, 1 / np.sqrt(size)), self.sigma, self.max_iter, self.tol
        )
        margin = space.margin(descent.point, self.sigma, inliers(space, descent.point))
        w = training.spread(descent.weights)
        notes = []
        if not descent.converged:
            last = (
                f", the last change of w was {descent.step[-2]:.1e}" if descent.iterations else ""
            )
            notes.append(f"no convergence: {descent.stopped}{last}")
        if descent.iterations == 0 and descent.converged:
            notes.append(f"{descent.stopped}: w was left at equal weights")
        return self._selection(
            training,
            w,
            int((w > 1 / np.sqrt(size)).sum()),
            scores=carried(w**2, margin),
            weights=w,
            model={"w": w, "sigma": np.float64(self.sigma)},
            tables={"change": descent.step},
            notes=notes,
        )


def iterate(space: PairSpace, start: Floats, sigma: float, max_iter: int, tol: float) -> Descent:
    """w = ν⁺/‖ν⁺‖₂ from `start` (A,), of norm one, until w changes by no more than `tol`.

    `space` uses the linear measure.
    """
    from fsframe_margin.engine.descent import DescentState, elementwise

    state = DescentState(space.point(start, sigma), np.nan, max_iter=max_iter)
    while state.updates < max_iter:
        point = state.point
        w = elementwise(space.gradient(point, sigma, inliers(space, point)))
        if w is None:
            state.stop("no feature has a positive expected margin")
            break
        state.move(space.point(w, sigma), np.nan, float(np.linalg.norm(w - point.weights)))
        if state.steps[-1] <= tol:
            state.stop(f"the weights changed by no more than {tol:g}")
            break
    return state.result()


def inliers(space: PairSpace, point: Point) -> Floats:
    """Outer weights times γ_n = Σ_hits f / Σ_all f, the probability that row n is no outlier."""
    with np.errstate(over="ignore"):  # For extreme outliers exp overflows to inf, and γ is 0.
        inlier: Floats = 1.0 / (1.0 + np.exp(point.log_misses - point.log_hits))
    return space.outer * inlier


@attrs.frozen(kw_only=True)
class Lfe(MarginSelector):
    """A positive semi-definite W over signed differences that maximises the 1-NN margin.

    Parameters
    ----------
    standardize : bool
        Scale columns to mean 0 and standard deviation 1 first.

    Notes
    -----
    Maximises Σ_n (m_nᵀ W m_n − h_nᵀ W h_n) over W ⪰ 0, ‖W‖_F = 1, with m_n = x_n −
    NM(x_n) and h_n = x_n − NH(x_n), signed, nearest by Euclidean distance. The solution is the
    positive part of Σ_n (m_n m_nᵀ − h_n h_nᵀ) by its eigenvalues, scaled to norm one. W is a
    projection for feature extraction; here the score of a feature is the part of the mean margin
    that it carries, its share Σ_b W_ab², as for `immigrate`, and pairs are weighted by W_ab, which
    may be negative.

    Time N² A + A³; memory 32 A² bytes and two rows of length N.

    References
    ----------
    Sun, Wu: A RELIEF based feature extraction algorithm, SDM 2008.

    Examples
    --------
    >>> from fsframe.table.dataset import Dataset
    >>> X = np.random.default_rng(0).standard_normal((80, 5))
    >>> Lfe(top=1).select(Dataset.from_arrays(X, X[:, 2] > 0)).selected
    array([2])
    """

    def cost(self, n: int, p: int) -> Cost:
        return Cost(
            seconds=8e-3 * p + 4e-10 * n * n * p + 1e-10 * p**3,
            formula="0.008 p + 4e-10 n²p + 1e-10 p³",
        )

    @one_blas_thread
    def _select(self, data: Dataset, upstream: Selection | None, run: Run) -> Selection:
        from fsframe_margin.engine.descent import positive_semidefinite

        training = self._training(data, upstream, margins=True)
        size = training.varying.size
        if 32 * size * size > run.memory:
            raise DataError(
                f"lfe: the eigenvectors of {size} × {size} pairs need "
                f"{size_text(32 * size * size)}, more than the {size_text(run.memory)} "
                "allowed; screen first (such as `im4e lfe`) or raise the memory bound"
            )
        scatter = _scatter(training)
        W = positive_semidefinite(-scatter)
        notes, margin = [], 0.0
        if W is not None:
            margin = float(np.vdot(W, scatter)) / float(training.outer.sum())
        else:
            W = np.eye(size) / np.sqrt(size)
            notes.append("no direction has a positive margin: W was left at the identity")
        W = training.spread(W)
        shares = (W**2).sum(axis=1)
        return self._selection(
            training,
            shares,
            int((shares > 1 / size).sum()),
            scores=carried(shares, margin),
            weights=np.sqrt(shares),
            pair_weights=PairWeights(np.arange(len(shares)), W),
            model={"W": W},
            tables={"main-effect": np.diag(W) ** 2},
            notes=notes,
        )


def _scatter(training: Training) -> NDArray[np.float64]:
    """Σ_n o_n (m_n m_nᵀ − h_n h_nᵀ)."""
    from fsframe_margin.engine.nearest_kernels import Rows, margin_vectors

    X = training.X
    nearest = np.empty((2, len(X)), dtype=np.intp)
    margin_vectors(Rows.of(training), np.ones(X.shape[1]), np.empty(X.shape), nearest)
    hits, misses = nearest
    rows = np.flatnonzero((hits >= 0) & (misses >= 0))
    h = differences(X[rows], X[hits[rows]], training.steps)
    m = differences(X[rows], X[misses[rows]], training.steps)
    o = training.outer[rows, None]
    return (m * o).T @ m - (h * o).T @ h


_SUN_2010 = "Sun, Todorovic, Goodison 2010"


@attrs.frozen(kw_only=True)
class Logo(MarginSelector):
    """Sparse feature weights w ≥ 0 that make expected margins large in a logistic sense.

    Parameters
    ----------
    sigma : float > 0
        Kernel width σ of exp(−d/σ).
    l1 : float ≥ 0
        λ of the ℓ₁ penalty, for features scaled to range [0, 1] or to standard deviation one.
    max_iter, tol : int, float
        Maximum number of outer iterations; relative change of w (Euclidean) at which it stops.
    standardize : bool
        Scale columns to mean 0 and standard deviation 1 first.

    Notes
    -----
    Alternates z̄_n = E|x_n − miss| − E|x_n − hit| at fixed w (expectations under exp(−wᵀ|·|/σ)) and
    w = argmin_{w ≥ 0} Σ_n o_n log(1 + exp(−wᵀ z̄_n)) + λ Σ_a w_a. The paper substitutes w = v² and
    descends in v; over w ≥ 0 the problem is convex and smooth, and is solved here to its minimum by
    a bounded quasi-Newton method, without a step length or a random start. The outer loop starts at
    equal weights of one, as the paper does.

    Without `top`, columns with a weight above 1e-6 of the largest are kept, at least one.
    Time per outer iteration N² A and a solve of N A per inner step; memory 8 N A bytes.

    References
    ----------
    Sun, Todorovic, Goodison: Local-learning-based feature selection for high-dimensional data
    analysis, IEEE TPAMI 32(9), 2010, eq. 4–10.

    Examples
    --------
    >>> from fsframe.table.dataset import Dataset
    >>> X = np.random.default_rng(0).standard_normal((80, 30))
    >>> Logo(l1=4).select(Dataset.from_arrays(X, X[:, 2] > 0)).selected
    array([2])
    """

    table_copies: ClassVar[float] = 3.0

    sigma: float = param(
        2.0, real(above=0), help="Kernel width.", symbol="σ", source=f"{_SUN_2010}, eq. 5; §4"
    )
    l1: float = param(
        1.0, real(0), help="Weight of the ℓ₁ penalty.", symbol="λ", source=f"{_SUN_2010}, eq. 8; §4"
    )
    max_iter: int = param(50, integer(1), help="Maximum number of outer iterations.")
    tol: float = param(1e-3, real(0), help="Stop when the relative change of w is at most this.")

    def cost(self, n: int, p: int) -> Cost:
        return Cost(
            seconds=0.02 + 1.5e-8 * n * n * p + 5e-6 * n * p,
            formula="0.02 + 1.5e-8 n²p + 5e-6 np",
        )

    @one_blas_thread
    def _select(self, data: Dataset, upstream: Selection | None, run: Run) -> Selection:
        from fsframe_margin.engine.margins import PairSpace, expected_margins, solve_logistic

        training = self._training(data, upstream)
        space = PairSpace.of(training, run, linear=True)
        w = np.ones(training.varying.size)
        changes, losses, converged = [], [], False
        for _ in range(self.max_iter):
            z = expected_margins(space, w, self.sigma)
            previous = w
            w, loss = solve_logistic(z, space.outer, self.l1, np.minimum(w, 1.0))
            losses.append(loss)
            size = max(float(np.linalg.norm(previous)), np.finfo(float).tiny)
            changes.append(float(np.linalg.norm(w - previous)) / size)
            converged = changes[-1] <= self.tol or not w.any()
            if converged:
                break
        w = training.spread(w)
        live = int((w > 1e-6 * w.max()).sum()) if w.max() > 0 else 0
        notes = []
        if not live:
            notes.append(f"all weights are zero at l1={self.l1:g}: lower it")
        if not converged:
            notes.append(
                f"no convergence in {self.max_iter} iterations: "
                f"the last change of w was {changes[-1]:.1e} of its norm; it settles with a larger "
                f"sigma (now {self.sigma:g}), or a larger l1"
            )
        return self._selection(
            training,
            w,
            live,
            weights=w,
            model={"w": w, "sigma": np.float64(self.sigma)},
            tables={"change": np.array(changes), "loss": np.array(losses)},
            notes=notes,
        )
