"""Boosted IMMIGRATE: its parameters, and BIM as a selector and as a classifier."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.errors import DataError
from fsframe.kinds import MOST_TIMES
from fsframe.method.classifier import Classifier
from fsframe.method.run import Cost, Run, size_text
from fsframe.method.selection import PairWeights, Selection
from fsframe.params import Parameterised, choice, flag, integer, param, real
from fsframe.table.dataset import Dataset
from fsframe_margin.engine.training import (
    Training,
    one_blas_thread,
    prototypes_parameter,
    training_of,
    with_prototypes,
)
from fsframe_margin.methods.immigrate import RULES, TOLERANCE, descend, start_of_weights
from fsframe_margin.methods.margin_selector import (
    SAMPLE,
    MarginSelector,
    carried,
    standardize_parameter,
)

if TYPE_CHECKING:
    from fsframe_margin.engine.margins import PairSpace
    from fsframe_margin.engine.prediction import Boosted

Floats = NDArray[np.float64]


_PAPER = "Zhao, Hong, Liu"


# Key of the random stream for prototypes; the keys of rounds are their numbers.
PROTOTYPES = 1 << 31


# Without slots, so that it can be a base class together with Selector or Classifier.
@attrs.frozen(kw_only=True, slots=False)
class BoostedSettings(Parameterised):
    """Parameters of Algorithm 3."""

    rounds: int = param(
        100,
        integer(1, MOST_TIMES),
        help="Number of boosting rounds.",
        symbol="T",
        source=f"{_PAPER}, §4.2",
    )
    sigma_max: float = param(
        4.0, real(above=0), help="σ in the first round.", symbol="σ_max", source=f"{_PAPER}, §4.2"
    )
    sigma_min: float = param(
        0.2,
        real(above=0),
        help="σ that the rounds converge to.",
        symbol="σ_min",
        source=f"{_PAPER}, §4.2",
    )
    max_iter: int = param(
        5,
        integer(1),
        help="Maximum number of updates per round; few keep the learners weak.",
        source=f"{_PAPER}, Algorithm 3",
    )
    update: str = param(
        "elementwise",
        choice(*RULES),
        help="Update rule of step 2, as in immigrate.",
    )
    line_search: bool = param(True, flag(), help="Line search, as in immigrate.")
    start: str = param(
        "random",
        choice("random", "upstream", "identity"),
        help="Start of W in every round: random, the upstream weights, or I/√A.",
        source=f"{_PAPER}, Algorithm 3",
    )
    standardize: bool = standardize_parameter()
    prototypes: int | None = prototypes_parameter()

    def check_parameters(self) -> Iterator[str]:
        if self.sigma_min > self.sigma_max:
            yield "sigma_min must not be larger than sigma_max"

    def learned_from(self, training: Training, run: Run) -> Training:
        """The rows that the rounds learn from: all of them, or prototypes."""
        return with_prototypes(training, self.prototypes, run.generator(PROTOTYPES))

    def boosted(
        self,
        data: Dataset,
        training: Training,
        space: PairSpace,
        upstream: Selection | None,
        run: Run,
    ) -> Boosted:
        """The rounds on the rows of `training`, with their pairs in `space`.

        Finished rounds are stored with the run.
        """
        from fsframe_margin.engine.prediction import boost, sigma_path

        size = training.varying.size
        held = 16 * self.rounds * size * size
        if held > run.memory:
            raise DataError(
                f"bim: {self.rounds} rounds over {size} columns hold {size_text(held)} of "
                f"weights, more than the {size_text(run.memory)} allowed; screen first "
                "(`im4e bim`), lower rounds, or raise the memory bound"
            )
        units = run.units(f"{type(self).__name__} {self.values()}", data, upstream)
        # One object for all rounds, unless each has a random start of its own.
        first = start_of_weights(training, upstream, self.start, run)
        again = partial(start_of_weights, training, upstream, "random", run)
        drawn = self.start == "random"
        return boost(
            space,
            sigma_path(self.sigma_max, self.sigma_min, self.rounds),
            training.n_classes,
            lambda t: again(t) if t and drawn else first,
            self._short_descent,
            lambda done: run.progress(done, self.rounds, "boosting rounds"),
            units.get,
        )

    def _short_descent(self, space: PairSpace, start: Floats, sigma: float) -> Floats:
        weights: Floats = descend(
            space,
            start,
            sigma,
            rule=self.update,
            line_search=self.line_search,
            max_iter=self.max_iter,
            tol=TOLERANCE if self.line_search else 0.0,
            keep_best=self.line_search,
        ).weights
        return weights


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
    Algorithm 3 with the cost of eq. 3.19; `fsframe_margin.engine.prediction.boost` describes the
    rounds. W̄ is Σ_t α_t W_t scaled to norm one. The score of a feature is its share Σ_b W̄_ab² of
    the mean margin of the rounds, which is weighted by α_t and taken with the row weights from
    before the first round; features with a share above 1/A are kept, as for `immigrate`. The
    classifier `bim-vote` uses the same rounds.

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
    >>> selection = Bim(rounds=10).select(Dataset.from_arrays(X, y))
    >>> sorted(selection.selected.tolist())
    [1, 3]
    """

    def cost(self, n: int, p: int) -> Cost:
        m = n if self.prototypes is None else min(n, self.prototypes)
        return Cost(
            seconds=self.rounds * m * m * p * (7e-9 + 1e-10 * p),
            formula=f"{self.rounds} × {'n' if m == n else m}² p (7e-9 + 1e-10 p)",
            remedy=f"bim:prototypes={SAMPLE}, a sample of rows" if m > SAMPLE else "",
        )

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
                "the best one is used alone"
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
        from fsframe_margin.engine.prediction import vote

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

    def unlike_copies(self) -> str:
        return "copies of a weighted row are no neighbours of each other, repeated rows are"

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
