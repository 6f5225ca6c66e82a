"""BIM as a selector: weights of features and pairs from boosted IMMIGRATE rounds."""

from __future__ import annotations

import attrs
import numpy as np

from fsframe.method.run import Run
from fsframe.method.selection import PairWeights, Selection
from fsframe.table.dataset import Dataset
from fsframe_margin.engine.blas import one_blas_thread
from fsframe_margin.methods.boosted_settings import PROTOTYPES, BoostedSettings
from fsframe_margin.methods.margin_selector import MarginSelector, carried

__all__ = ["Bim"]


@attrs.frozen(kw_only=True)
class Bim(BoostedSettings, MarginSelector):
    """Weights of features and pairs, averaged over the rounds of boosted IMMIGRATE.

    Parameters
    ----------
    rounds, sigma_max, sigma_min : int, float, float
        T rounds with σ_t = σ_max (σ_min/σ_max)^(t/T).
    max_iter, update, line_search : int, str, bool
        Settings of the descent within a round.
    start : {"random", "upstream", "identity"}
        Start of W in every round.
    standardize : bool
        Scale columns to mean 0 and standard deviation 1 first.
    prototypes : int ≥ 4, optional
        If there are more rows, learn the rounds from a sample of about this many.

    Notes
    -----
    Algorithm 3 with the cost of eq. 3.19; `boosting.boost` describes the rounds. W̄ is
    Σ_t α_t W_t scaled to norm one. The score of a feature is its share Σ_b W̄_ab² of the mean
    margin of the rounds, weighted by α_t, over rows that weigh as they did before the first round;
    features with a share above 1/A are kept, as for `immigrate`. The classifier `bim-vote` uses the
    same rounds.

    Time T times a short descent and one leave-one-out prediction; memory 16 T A² bytes for the
    weights and starts of the rounds, plus that of `immigrate`.

    References
    ----------
    Zhao, Hong, Liu: IMMIGRATE, §3.5, eq. 3.19, Algorithm 3. Zhu and others: Multi-class AdaBoost,
    Statistics and Its Interface 2, 2009 (SAMME), for more than two classes.

    Examples
    --------
    >>> from fsframe.table.dataset import Dataset
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((90, 4))
    >>> y = X[:, 1] * X[:, 3] + 0.3 * rng.standard_normal(90) > 0
    >>> found = Bim(rounds=10).select(Dataset.from_arrays(X, y))
    >>> sorted(found.selected.tolist())
    [1, 3]
    """

    @one_blas_thread
    def _select(self, data: Dataset, upstream: Selection | None, run: Run) -> Selection:
        from fsframe_margin.engine.margins import PairSpace

        training = self._drawn(data, upstream, run, PROTOTYPES)
        space = PairSpace.of(training, run)
        rounds = self.boosted(data, training, space, upstream, run)
        margin = float(rounds.alpha @ rounds.margins(space) / rounds.alpha.sum())
        mean = np.tensordot(rounds.alpha, rounds.weights, axes=1)
        W = training.spread(mean / np.linalg.norm(mean))
        shares = (W**2).sum(axis=1)
        notes = []
        if rounds.fallback:
            notes.append(
                "every round was discarded (its training error was 0 or no better than chance): "
                "the best one stands alone"
            )
        # "rounds" runs over the varying columns and "varying" holds column numbers: neither can be
        # restricted to other columns, so a stage with other columns does not get them.
        return self._selection(
            training,
            shares,
            int((shares > 1.0 / training.varying.size).sum()),
            scores=carried(shares, margin),
            weights=np.sqrt(shares),
            pair_weights=PairWeights(np.arange(len(shares)), W),
            model={
                "rounds": rounds.weights,
                "round-sigma": rounds.sigma,
                "round-alpha": rounds.alpha,
                "varying": training.varying,
            },
            tables={
                "sigma": rounds.every_sigma,
                "error": rounds.every_error,
                "kept": rounds.every_kept,
                "start": rounds.starts,
                "main-effect": np.diag(W) ** 2,
            },
            notes=notes,
        )
