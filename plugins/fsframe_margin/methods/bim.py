"""BIM as a selector: features and pairs by the votes of boosted IMMIGRATE rounds."""

from __future__ import annotations

from typing import ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.contracts.dataset import Dataset
from fsframe.contracts.run import Run
from fsframe.contracts.selection import PairWeights, Selection, rank_by_score
from fsframe.contracts.selector import Selector
from fsframe_margin.engine.blas import one_blas_thread
from fsframe_margin.engine.training import row_notes, training_of
from fsframe_margin.methods.boosted_settings import BoostedSettings, pair_space
from fsframe_margin.methods.prototypes import prototype_note

__all__ = ["Bim"]


@attrs.frozen(kw_only=True)
class Bim(BoostedSettings, Selector):
    """Weights of features and pairs, averaged over the rounds of boosted IMMIGRATE.

    Parameters
    ----------
    rounds, sigma_max, sigma_min : int, float, float
        T rounds with σ_t = σ_max (σ_min/σ_max)^(t/T).
    max_iter, update, line_search : int, str, bool
        Of the descent within a round.
    start : {"random", "upstream", "identity"}
        Where W starts in every round.
    standardize : bool
        Bring columns to mean 0 and standard deviation 1 first.
    prototypes : int ≥ 4, optional
        Learn the rounds from about so many rows where there are more.

    Notes
    -----
    Algorithm 3 with the cost of eq. 3.19; `boosting.boost` states every rule. W̄ is
    Σ_t α_t W_t scaled to norm one; scores are Σ_b W̄_ab², kept above 1/A as for `immigrate`. The
    classifier `bim-vote` votes with the same rounds.

    Time T times a short descent and one leave-one-out prediction; memory 16 T A² bytes for the
    weights and starts of the rounds, plus that of `immigrate`.

    References
    ----------
    Zhao, Hong, Liu: IMMIGRATE, §3.5, eq. 3.19, Algorithm 3. Zhu and others: Multi-class AdaBoost,
    Statistics and Its Interface 2, 2009 (SAMME), for more than two classes.

    Examples
    --------
    >>> from fsframe.contracts.dataset import Dataset
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((90, 4))
    >>> y = X[:, 1] * X[:, 3] + 0.3 * rng.standard_normal(90) > 0
    >>> found = Bim(rounds=10).select(Dataset.from_arrays(X, y))
    >>> sorted(found.selected.tolist())
    [1, 3]
    """

    table_copies: ClassVar[float] = 2.0
    takes_counts: ClassVar[bool] = True
    uses_upstream_weights: ClassVar[bool] = True

    @one_blas_thread
    def _select(self, data: Dataset, upstream: Selection | None, run: Run) -> Selection:
        training = training_of("bim", data, upstream, self.standardize)
        rows = len(training.y)
        training = self.learned_from(training, run)
        rounds = self.boosted(data, training, pair_space(training, run), upstream, run)
        mean = np.tensordot(rounds.alpha, rounds.weights, axes=1)
        W = training.spread(mean / np.linalg.norm(mean))
        scores = (W**2).sum(axis=1)
        above = int((scores > 1.0 / training.varying.size).sum())
        notes = []
        if rounds.fallback:
            notes.append(
                "every round was discarded (its training error was 0 or no better than chance): "
                "the best one stands alone"
            )
        return Selection(
            selected=rank_by_score(scores, self.keep_count(len(scores), max(1, above))),
            scores=scores,
            weights=np.sqrt(scores),
            pair_weights=PairWeights(np.arange(len(scores)), W),
            model={
                "rounds": rounds.weights,
                "round-sigma": rounds.sigma,
                "round-alpha": rounds.alpha,
                "varying": training.varying,
                "centre": training.scaling.centre,
                "scale": training.scaling.scale,
            },
            # "rounds" runs over the columns that vary and "varying" holds column numbers: neither
            # can be cut to other columns, so a stage that has others does not get them.
            model_columns={"round-sigma": (), "round-alpha": (), "centre": 0, "scale": 0},
            tables={
                "sigma": rounds.every_sigma,
                "error": rounds.every_error,
                "kept": rounds.every_kept,
                "start": rounds.starts,
                "main-effect": np.diag(W) ** 2,
            },
            warnings=(*row_notes(training), *prototype_note(training, rows), *notes),
        )

    def _select_many(
        self, data: Dataset, counts: NDArray[np.int64], upstream: Selection | None, run: Run
    ) -> list[Selection]:
        from fsframe_margin.engine.parallel_resamples import select_each

        return select_each(self._select, data, counts, upstream, run)
