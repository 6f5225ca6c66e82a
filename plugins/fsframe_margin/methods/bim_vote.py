"""BIM as a classifier: weighted vote of boosted IMMIGRATE rounds."""

from __future__ import annotations

from typing import Any, ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.method.classifier import Classifier
from fsframe.method.run import Run
from fsframe.method.selection import Selection
from fsframe.table.dataset import Dataset
from fsframe_margin.engine.blas import one_blas_thread
from fsframe_margin.engine.training import Training, training_of
from fsframe_margin.methods.boosted_settings import BoostedSettings

__all__ = ["BimVote", "FittedBim"]

Floats = NDArray[np.float64]


@attrs.frozen(kw_only=True, eq=False)
class FittedBim:
    """The rounds and the training rows.

    `predict` gives the class with the largest sum of votes (ties to the first); `predict_scores`
    the share of votes of each class.
    """

    training: Training
    space: Any
    rounds: Any

    @one_blas_thread
    def predict_scores(self, X: Floats) -> Floats:
        """Share of the votes, (m, n_classes)."""
        from fsframe_margin.engine.boosting import vote

        rows = self.training.rows(X)
        return vote(self.space, self.rounds, rows, self.training.n_classes) / sum(self.rounds.alpha)

    def predict(self, X: Floats) -> NDArray[np.int64]:
        """Class codes (m,)."""
        return np.argmax(self.predict_scores(X), axis=1).astype(np.int64)


@attrs.frozen(kw_only=True)
class BimVote(BoostedSettings, Classifier):
    """Weighted vote of boosted IMMIGRATE rounds (Algorithm 3).

    Parameters
    ----------
    rounds, sigma_max, sigma_min, max_iter, update, line_search, start, standardize
        As for the selector `bim`.
    prototypes : int ≥ 4, optional
        If there are more rows, learn the rounds from a sample of about this many; votes use all
        rows.

    Notes
    -----
    h(x) = argmax_c Σ_{t: h_t(x) = c} α_t with h_t the class of eq. 3.18. ``im4e bim-vote`` is the
    boosted IM4E-IMMIGRATE of the paper's Table 1. Predicting m rows costs T m n A²/2.

    References
    ----------
    Zhao, Hong, Liu: IMMIGRATE, Algorithm 3.

    Examples
    --------
    >>> from fsframe.table.dataset import Dataset
    >>> X = np.random.default_rng(0).standard_normal((90, 4))
    >>> data = Dataset.from_arrays(X, X[:, 1] * X[:, 3] > 0)
    >>> fitted = BimVote(rounds=10).fit(data)
    >>> float((fitted.predict(X) == data.y).mean()) > 0.95
    True
    """

    takes_nominal: ClassVar[bool] = True

    def score_kind(self) -> str:
        return "probabilities"

    @one_blas_thread
    def _fit(self, data: Dataset, upstream: Selection | None, run: Run) -> FittedBim:
        from fsframe_margin.engine.margins import PairSpace

        training = training_of(self.method_name(), data, upstream, self.standardize)
        learned = self.learned_from(training, run)
        space = PairSpace.of(learned, run)
        rounds = self.boosted(data, learned, space, upstream, run)
        # Votes use all rows.
        space = space if learned is training else PairSpace.of(training, run)
        return FittedBim(training=training, space=space, rounds=rounds)
