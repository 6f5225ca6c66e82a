"""I-RELIEF: feature weights from expected margins, rows weighted by how likely they are inliers."""

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

__all__ = ["Irelief"]

_PAPER = "Sun 2007"


@attrs.frozen(kw_only=True)
class Irelief(Selector):
    """Feature weights w, ‖w‖₂ = 1, that maximise the expected margin of the inliers.

    Parameters
    ----------
    sigma : float > 0
        Kernel width σ of f(d) = exp(−d/σ).
    max_iter, tol : int, float
        Most updates; change of w (Euclidean) at which it stops.
    standardize : bool
        Bring columns to mean 0 and standard deviation 1 first.

    Notes
    -----
    Starts at equal weights; w = ν⁺/‖ν⁺‖₂ with
    ν = Σ_n γ_n (Σ_m β_nm |x_n − x_m| − Σ_h α_nh |x_n − x_h|). All classes but a row's own are
    misses together. The paper's convergence holds for wide kernels only; a narrow one may end in
    a cycle, which is warned of.

    Kept without `top` are the columns with a weight above 1/√A (that of equal weights), at least
    one; the paper gives no rule. Time per iteration 2 N² A; memory as `im4e`.

    References
    ----------
    Sun, Li: Iterative RELIEF for feature weighting, ICML 2006; Sun: Iterative RELIEF for feature
    weighting: algorithms, theories, and applications, IEEE TPAMI 29(6), 2007, batch algorithm.

    Examples
    --------
    >>> from fsframe.contracts.dataset import Dataset
    >>> X = np.random.default_rng(0).standard_normal((80, 5))
    >>> Irelief(sigma=2).select(Dataset.from_arrays(X, X[:, 2] > 0)).selected
    array([2])
    """

    table_copies: ClassVar[float] = 2.0
    takes_counts: ClassVar[bool] = True
    uses_upstream_weights: ClassVar[bool] = True

    sigma: float = param(
        2.0, real(above=0), help="Kernel width.", symbol="σ", source=f"{_PAPER}, kernel function"
    )
    max_iter: int = param(100, integer(0), help="Most updates.")
    tol: float = param(1e-6, real(0), help="Stop when w changes by no more than this.", symbol="θ")
    standardize: bool = param(
        True, flag(), help="Columns to mean 0 and standard deviation 1, learned from these rows."
    )

    @one_blas_thread
    def _select(self, data: Dataset, upstream: Selection | None, run: Run) -> Selection:
        from fsframe_margin.engine.linear_descent import iterate_irelief
        from fsframe_margin.engine.margins import PairSpace, pair_memory

        training = training_of("irelief", data, upstream, self.standardize)
        space = PairSpace(
            training.X, training.y, training.outer, training.count,
            threads=run.threads, memory=pair_memory(run, len(training.y)), linear=True,
        )  # fmt: skip
        training = training.released()
        size = training.varying.size
        start = np.full(size, 1 / np.sqrt(size))
        found = iterate_irelief(space, start, self.sigma, max_iter=self.max_iter, tol=self.tol)
        w = training.spread(found.weights)
        above = int((w > 1 / np.sqrt(size)).sum())
        notes = (
            []
            if found.converged
            else [
                f"no convergence: {found.stopped}, the last change of w was {found.step[-2]:.1e}"
                if found.iterations
                else f"no convergence: {found.stopped}"
            ]
        )
        if found.iterations == 0 and found.converged:
            notes.append(f"{found.stopped}: w was left at equal weights")
        return Selection(
            selected=rank_by_score(w, self.keep_count(len(w), max(1, above))),
            scores=w,
            weights=w,
            model={
                "w": w,
                "sigma": np.float64(self.sigma),
                "centre": training.scaling.centre,
                "scale": training.scaling.scale,
            },
            model_columns={"w": 0, "sigma": (), "centre": 0, "scale": 0},
            tables={"change": found.step},
            warnings=(*row_notes(training), *notes),
        )

    def _select_many(
        self, data: Dataset, counts: NDArray[np.int64], upstream: Selection | None, run: Run
    ) -> list[Selection]:
        from fsframe_margin.engine.parallel_resamples import select_each

        return select_each(self._select, data, counts, upstream, run)
