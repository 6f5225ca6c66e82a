"""LOGO: sparse feature weights by logistic regression on expected margin vectors."""

from __future__ import annotations

from typing import ClassVar

import attrs
import numpy as np

from fsframe.method.run import Run
from fsframe.method.selection import Selection
from fsframe.params import integer, param, real
from fsframe.table.dataset import Dataset
from fsframe_margin.engine.parallel import one_blas_thread
from fsframe_margin.methods.margin_selector import MarginSelector

__all__ = ["Logo"]

_PAPER = "Sun, Todorovic, Goodison 2010"


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
        Maximum number of outer iterations; change of w (Euclidean) at which it stops.
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
        2.0, real(above=0), help="Kernel width.", symbol="σ", source=f"{_PAPER}, eq. 5; §4"
    )
    l1: float = param(
        1.0, real(0), help="Weight of the ℓ₁ penalty.", symbol="λ", source=f"{_PAPER}, eq. 8; §4"
    )
    max_iter: int = param(50, integer(1), help="Maximum number of outer iterations.")
    tol: float = param(1e-3, real(0), help="Stop when the relative change of w is at most this.")

    @one_blas_thread
    def _select(self, data: Dataset, upstream: Selection | None, run: Run) -> Selection:
        from fsframe_margin.engine.margins import PairSpace
        from fsframe_margin.engine.row_margins import expected_margins, solve_logistic

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
                f"the last change of w was {changes[-1]:.1e} of its norm"
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
