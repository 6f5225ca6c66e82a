"""LOGO: sparse feature weights by logistic regression on expected margin vectors."""

from __future__ import annotations

from typing import ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.contracts.dataset import Dataset
from fsframe.contracts.params import flag, integer, param, real
from fsframe.contracts.run import Run
from fsframe.contracts.selection import Selection, rank_by_score
from fsframe.contracts.selector import Selector
from fsframe_margin.engine.blas import one_blas_thread
from fsframe_margin.engine.training import row_notes, training_of

__all__ = ["Logo"]

Floats = NDArray[np.float64]

_PAPER = "Sun, Todorovic, Goodison 2010"


@attrs.frozen(kw_only=True)
class Logo(Selector):
    """Sparse feature weights w ≥ 0 that make expected margins large in a logistic sense.

    Parameters
    ----------
    sigma : float > 0
        Kernel width σ of exp(−d/σ).
    l1 : float ≥ 0
        λ of the ℓ₁ penalty, for features brought to [0, 1] spread or standard deviation one.
    max_iter, tol : int, float
        Most outer iterations; change of w (Euclidean) at which it stops.
    standardize : bool
        Bring columns to mean 0 and standard deviation 1 first.

    Notes
    -----
    Alternates z̄_n = E|x_n − miss| − E|x_n − hit| at fixed w (expectations under exp(−wᵀ|·|/σ)) and
    w = argmin_{w ≥ 0} Σ_n o_n log(1 + exp(−wᵀ z̄_n)) + λ Σ_a w_a. The paper puts w = v² and descends
    in v; over w ≥ 0 the problem is convex and smooth, and is solved here to its minimum by a
    bounded quasi-Newton method, which needs no step length and no random start. The outer loop
    starts at equal weights of one, as the paper does.

    Kept without `top` are the columns with a weight above 1e-6 of the largest, at least one.
    Time per outer iteration N² A and a solve of N A per inner step; memory 8 N A bytes.

    References
    ----------
    Sun, Todorovic, Goodison: Local-learning-based feature selection for high-dimensional data
    analysis, IEEE TPAMI 32(9), 2010, eq. 4–10.

    Examples
    --------
    >>> from fsframe.contracts.dataset import Dataset
    >>> X = np.random.default_rng(0).standard_normal((80, 30))
    >>> Logo(l1=4).select(Dataset.from_arrays(X, X[:, 2] > 0)).selected
    array([2])
    """

    table_copies: ClassVar[float] = 3.0
    takes_counts: ClassVar[bool] = True
    uses_upstream_weights: ClassVar[bool] = True

    sigma: float = param(
        2.0, real(above=0), help="Kernel width.", symbol="σ", source=f"{_PAPER}, eq. 5; §4"
    )
    l1: float = param(
        1.0, real(0), help="Weight of the ℓ₁ penalty.", symbol="λ", source=f"{_PAPER}, eq. 8; §4"
    )
    max_iter: int = param(50, integer(1), help="Most outer iterations.")
    tol: float = param(1e-3, real(0), help="Stop when w changes by no more than this share.")
    standardize: bool = param(
        True, flag(), help="Columns to mean 0 and standard deviation 1, learned from these rows."
    )

    @one_blas_thread
    def _select(self, data: Dataset, upstream: Selection | None, run: Run) -> Selection:
        from fsframe_margin.engine.logistic_margins import fit_logo
        from fsframe_margin.engine.margins import pair_memory

        training = training_of("logo", data, upstream, self.standardize)
        found = fit_logo(
            training.X, training.y, training.outer, training.count, self.sigma, self.l1,
            max_iter=self.max_iter, tol=self.tol, threads=run.threads,
            memory=pair_memory(run, len(training.y)),
        )  # fmt: skip
        w = training.spread(found.weights)
        live = int((w > 1e-6 * w.max()).sum()) if w.max() > 0 else 0
        notes = []
        if not live:
            notes.append(f"all weights are zero at l1={self.l1:g}: lower it")
        if not found.converged:
            notes.append(
                f"no convergence in {self.max_iter} iterations: "
                f"the last change of w was {found.change[-1]:.1e} of its norm"
            )
        return Selection(
            selected=rank_by_score(w, self.keep_count(len(w), max(1, live))),
            scores=w,
            weights=w,
            model={
                "w": w,
                "sigma": np.float64(self.sigma),
                "centre": training.scaling.centre,
                "scale": training.scaling.scale,
            },
            model_columns={"w": 0, "sigma": (), "centre": 0, "scale": 0},
            tables={"change": found.change, "loss": found.loss},
            warnings=(*row_notes(training), *notes),
        )

    def _select_many(
        self, data: Dataset, counts: NDArray[np.int64], upstream: Selection | None, run: Run
    ) -> list[Selection]:
        from fsframe_margin.engine.parallel_resamples import select_each

        return select_each(self._select, data, counts, upstream, run)
