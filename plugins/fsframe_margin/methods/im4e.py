"""IM4E: feature weights that maximise the quantity and the quality of margins."""

from __future__ import annotations

from typing import Any, ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.contracts.dataset import Dataset
from fsframe.contracts.params import choice, either, flag, integer, param, real
from fsframe.contracts.run import Run
from fsframe.contracts.selection import Selection, rank_by_score
from fsframe.contracts.selector import Selector
from fsframe_margin.engine.blas import one_blas_thread
from fsframe_margin.engine.training import Training, row_notes, training_of
from fsframe_margin.methods.prototypes import prototype_note, prototypes_parameter, with_prototypes

__all__ = ["Im4e"]

Floats = NDArray[np.float64]

_PAPER = "Bei, Hong 2015"


@attrs.frozen(kw_only=True)
class Im4e(Selector):
    """Feature weights w of a Manhattan distance that maximise margins and their stability.

    Parameters
    ----------
    sigma : float > 0 or "cv"
        Width σ of the neighbourhood; ``"cv"`` chooses among 1, ½, ¼ … ≥ 1e-4.
    line_search : bool
        Go towards v⁺/‖v⁺‖₁ only as far as the cost falls.
    max_iter, tol : int, float
        Most updates; relative change of the cost at which it stops.
    start : {"uniform", "random", "upstream"}
        Where w starts.
    threshold : float > 0
        Kept are columns with a weight above threshold/A.
    standardize, folds, prototypes
        As in `immigrate`.

    Notes
    -----
    Alternates eq. 5–6 (α, β at fixed w) and eq. 9 (w = v⁺/‖v⁺‖₁). λ of eq. 3 drops out of eq. 9
    and is no parameter. The iterate of the lowest cost is returned, because the alternation need
    not lower the cost in every step.

    Time per iteration 2 N² A multiply-adds and 2 N² exponentials; memory 8 N² bytes up to 4096
    rows, a few rows of length N above.

    References
    ----------
    Bei, Hong: Maximizing margin quality and quantity, MLSP 2015, Algorithm 1, eq. 3–10.
    IMMIGRATE paper, §3.6 and §4.2, for the threshold 2/A of the pre-screening.

    Examples
    --------
    >>> from fsframe.contracts.dataset import Dataset
    >>> X = np.random.default_rng(0).standard_normal((80, 5))
    >>> found = Im4e().select(Dataset.from_arrays(X, X[:, 2] > 0))
    >>> found.selected, bool(abs(found.weights.sum() - 1) < 1e-12)
    (array([2]), True)
    """

    table_copies: ClassVar[float] = 2.0
    takes_counts: ClassVar[bool] = True
    uses_upstream_weights: ClassVar[bool] = True

    sigma: float | str = param(
        1.0,
        either(real(above=0), choice("cv")),
        help="Width of the neighbourhood, or cv to choose it by inner cross-validation.",
        symbol="σ",
        source=f"{_PAPER}, eq. 5; path in §5.2",
    )
    line_search: bool = param(
        False, flag(), help="Go towards the update only as far as the cost falls."
    )
    max_iter: int = param(50, integer(0), help="Most updates.", source=f"{_PAPER}, Algorithm 1")
    tol: float = param(
        1e-5, real(0), help="Stop when the cost changes by no more than this share of itself."
    )
    start: str = param(
        "uniform",
        choice("uniform", "random", "upstream"),
        help="Where w starts; the paper draws it at random.",
        source=f"{_PAPER}, Algorithm 1",
    )
    threshold: float = param(
        2.0,
        real(above=0),
        help="Without top, kept are columns with a weight above threshold/A, at least one.",
        source="IMMIGRATE, §4.2 (1/A in its earlier version)",
    )
    standardize: bool = param(
        True, flag(), help="Columns to mean 0 and standard deviation 1, learned from these rows."
    )
    folds: int = param(5, integer(2), help="Inner folds for sigma=cv.")
    prototypes: int | None = prototypes_parameter()

    def ignores_groups(self) -> str:
        if self.sigma == "cv" and self.prototypes is not None:
            return "prototypes stand for rows of several groups in the inner folds of sigma=cv"
        return super().ignores_groups()

    @one_blas_thread
    def _select(self, data: Dataset, upstream: Selection | None, run: Run) -> Selection:
        from fsframe_margin.engine.margins import PairSpace, pair_memory

        training = training_of("im4e", data, upstream, self.standardize)
        rows = len(training.y)
        training = with_prototypes(training, self.prototypes, run.generator(2))
        start = self._start(training, upstream, run)
        sigma, tables = self._sigma(training, start, run)
        space = PairSpace(
            training.X, training.y, training.outer, training.count,
            threads=run.threads, memory=pair_memory(run, len(training.y)), linear=True,
        )  # fmt: skip
        training = training.released()
        found = self._descend(space, start, sigma)
        w = training.spread(found.weights)
        above = int((w > self.threshold / training.varying.size).sum())
        kept = rank_by_score(w, self.keep_count(len(w), max(1, above)))
        notes = []
        if found.iterations == 0 and found.converged:
            notes.append("no feature has a positive expected margin: w was left where it started")
        if not found.converged:
            notes.append(f"no convergence: {found.stopped}")
        return Selection(
            selected=kept,
            scores=w,
            weights=w,
            model={
                "w": w,
                "sigma": np.float64(sigma),
                "centre": training.scaling.centre,
                "scale": training.scaling.scale,
            },
            model_columns={"w": 0, "sigma": (), "centre": 0, "scale": 0},
            tables={
                "cost": found.cost,
                "step": found.step,
                "sigma": np.array([sigma]),
                **tables,
            },
            warnings=(*row_notes(training), *prototype_note(training, rows), *notes),
        )

    def _select_many(
        self, data: Dataset, counts: NDArray[np.int64], upstream: Selection | None, run: Run
    ) -> list[Selection]:
        from fsframe_margin.engine.parallel_resamples import select_each

        return select_each(self._select, data, counts, upstream, run)

    def _start(self, training: Training, upstream: Selection | None, run: Run) -> Floats:
        size = training.varying.size
        if self.start == "random":
            w = 1.0 - run.generator(0).random(size)  # in (0, 1]: the paper wants w > 0
            return w / w.sum()
        if self.start == "upstream" and upstream is not None and upstream.weights is not None:
            w = upstream.weights[training.varying]
            if w.sum() > 0:
                return w / w.sum()
        return np.full(size, 1.0 / size)

    def _sigma(self, training: Training, start: Floats, run: Run) -> tuple[float, dict[str, Any]]:
        if self.sigma != "cv":
            return float(self.sigma), {}
        from fsframe_margin.engine.fold_models import fold_jobs
        from fsframe_margin.engine.parallel_resamples import workers_within
        from fsframe_margin.engine.tuning import IM4E_PATH, stratified_folds, tune

        settings = [(sigma, None) for sigma in IM4E_PATH]

        def jobs(train: NDArray[np.intp], held: NDArray[np.intp]) -> Any:
            return fold_jobs(
                training, start, train, held, settings,
                lambda space, first, setting: self._descend(space, first, setting[0]).weights,
                self.standardize, run, linear=True,
            )  # fmt: skip

        folds = stratified_folds(training.y, self.folds, run.generator(1), training.groups)
        workers = workers_within(run, *training.X.shape)
        tuned = tune(training.y, training.outer, folds, len(settings), jobs, workers)
        return IM4E_PATH[tuned.best], {
            "tuning-sigma": np.array(IM4E_PATH),
            "tuning-accuracy": tuned.accuracy,
        }

    def _descend(self, space: Any, start: Floats, sigma: float) -> Any:
        from fsframe_margin.engine.linear_descent import descend_im4e

        return descend_im4e(
            space,
            start,
            sigma,
            line_search=self.line_search,
            max_iter=self.max_iter,
            tol=self.tol,
        )
