"""Weights of instances, Simba with them, and nearest neighbours that vote with them."""

from __future__ import annotations

from typing import Any, ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.method.classifier import Classifier
from fsframe.method.run import Run
from fsframe.method.selection import Selection, rank_by_score
from fsframe.params import choice, integer, param
from fsframe.table.dataset import Dataset
from fsframe_margin.engine.parallel import one_blas_thread
from fsframe_margin.engine.training import Training, features_of, take_training
from fsframe_margin.methods.margin_selector import (
    MarginSelector,
    feature_weights,
    standardize_parameter,
)
from fsframe_margin.methods.simba import simba_selection


@attrs.frozen(kw_only=True)
class Mbiw(MarginSelector):
    """Instance weights ω that favour rows whose margin profile is close to the others'.

    Parameters
    ----------
    standardize : bool
        Scale columns to mean 0 and standard deviation 1 first.

    Notes
    -----
    x′ = |x − miss| − |x − hit| per feature, nearest by Euclidean distance weighted by the upstream
    feature weights (‖z‖_w² = Σ w² z²; ones if there are none); ω ∝ 1 / mean distance between x′ and
    the other profiles (eq. 2), Σ ω = 1. The weights are returned as `instance_weights`.

    All columns are kept unless `top` is set; the score of a column is its mean margin Σ ω x′, as in
    a weighted Relief. Time 2 N² A; memory 8 N A bytes and blocks of 256 rows of length N.

    References
    ----------
    Prat, Belanche: Instance and feature weighted k-nearest-neighbours algorithm, ESANN 2016,
    eq. 2; Han, Yu: A variance reduction framework for stable feature selection, ICDM 2010.

    Examples
    --------
    >>> from fsframe.table.dataset import Dataset
    >>> X = np.array([[0.0], [0.1], [0.2], [1.0], [1.1], [5.0]])
    >>> found = Mbiw().select(Dataset.from_arrays(X, [0, 0, 0, 1, 1, 1]))
    >>> int(np.argmin(found.instance_weights))
    5
    """

    natural_zero: ClassVar[bool] = False
    table_copies: ClassVar[float] = 3.0

    @one_blas_thread
    def _select(self, data: Dataset, upstream: Selection | None, run: Run) -> Selection:
        from fsframe_margin.engine.nearest_kernels import instance_weights, margin_profiles

        training = self._training(data, upstream, margins=True)
        w = feature_weights(upstream, training.varying)
        XT = np.ascontiguousarray(training.X.T)
        training = training.released()
        profiles = margin_profiles(XT, training.y, w, training.steps)
        del XT
        omega = instance_weights(profiles, training.count)
        scores = training.spread((omega * training.count) @ profiles)
        return self._selection(training, scores, len(scores), instance_weights=omega)


_PAPER = "Prat, Belanche 2016"


@attrs.frozen(kw_only=True)
class SimbaMbiw(MarginSelector):
    """Simba feature weights whose steps are scaled by instance weights, for stability.

    Parameters
    ----------
    strategy : {"order", "normal", "sample"}
        Visit rows by decreasing ω, in random order, or drawn with probability ω.
    instance_scale : {"sum", "mean"}
        Steps are ω as printed (sum one), or N·ω (mean one).
    refresh : int ≥ 0
        Recompute ω with the current weights after this many visits; 0: never.
    standardize : bool
        Scale columns to mean 0 and standard deviation 1 first.

    Notes
    -----
    Algorithm 1: ω by eq. 2, w = 1, N visits with w ← w + ω(x) Δ, Δ the Simba step, and at the end
    w ← w²/‖w²‖_∞. Σ ω = 1, so that, as printed, the N steps together are as large as one of
    Simba's, and weights stay near one. On eleven data sets this ranks as well as steps of Simba's
    size (N·ω) and more stably (benchmarks/margin/instance_scale.py: Kuncheva index 0.50 against
    0.37), but so do equal weights with steps of that size (0.48). If most columns are noise it
    fails (Madelon: 46 % error against 11 %); use "mean" then. `refresh` is the synergetic process
    of the paper's conclusions; with the strategy order the rows not yet visited are ordered again.

    Bootstrap counts multiply a row's step and its contribution to eq. 2. Upstream instance weights
    multiply ω. Kept as for `simba`. Time 3 N² A, plus 2 N² A per refresh; memory 8 N A bytes.

    References
    ----------
    Prat, Belanche: Instance and feature weighted k-nearest-neighbours algorithm, ESANN 2016,
    Algorithm 1, §5.

    Examples
    --------
    >>> from fsframe.table.dataset import Dataset
    >>> X = np.random.default_rng(0).standard_normal((80, 5))
    >>> found = SimbaMbiw(top=1).select(Dataset.from_arrays(X, X[:, 2] > 0))
    >>> found.selected, found.instance_weights.shape
    (array([2]), (80,))
    """

    table_copies: ClassVar[float] = 3.0

    strategy: str = param(
        "order",
        choice("order", "normal", "sample"),
        help="Visit rows by decreasing weight, in random order, or sampled by weight.",
        source=f"{_PAPER}, Algorithm 1",
    )
    instance_scale: str = param(
        "sum",
        choice("sum", "mean"),
        help="Scale of the instance weights: sum one, as printed, or mean one, which keeps "
        "Simba's step size.",
        source=f"{_PAPER}, Algorithm 1, line 14",
    )
    refresh: int = param(
        0,
        integer(0),
        help="Update the instance weights after this many visits; 0: never.",
        source=f"{_PAPER}, §5 (synergetic process)",
    )

    @one_blas_thread
    def _select(self, data: Dataset, upstream: Selection | None, run: Run) -> Selection:
        from fsframe_margin.engine.nearest_kernels import (
            instance_weights,
            margin_profiles,
            simba_visits,
        )

        training = self._training(data, upstream, margins=True)
        XT, n = np.ascontiguousarray(training.X.T), len(training.y)
        steps = training.every_step
        training = training.released()
        generator = run.generator(0)
        w = np.ones(training.varying.size)
        scale = training.count.sum() if self.instance_scale == "mean" else 1.0
        random_order = generator.permutation(n)
        remaining = np.ones(n, dtype=bool)
        visited = 0
        while visited < n:
            omega = instance_weights(margin_profiles(XT, training.y, w, steps), training.count)
            batch = min(self.refresh or n, n - visited)
            if self.strategy == "order":
                # Ties by row; rows visited before a refresh are not visited again.
                ranked = rank_by_score(omega)
                order = ranked[remaining[ranked]][:batch]
            elif self.strategy == "sample":
                chance = omega * training.count
                order = generator.choice(n, size=batch, p=chance / chance.sum())
            else:
                order = random_order[visited : visited + batch]
            importance = omega * scale * training.outer
            if self.strategy == "sample":
                # Rows are already drawn in proportion to their counts.
                importance = importance / training.count
            simba_visits(XT, steps, training.y, importance, order, 0.0, w)
            remaining[order] = False
            visited += batch
        return simba_selection(self, training, XT, w, {"instance_weights": omega})


Floats = NDArray[np.float64]


def neighbour_votes(
    rows: Floats,
    members: Floats,
    labels: NDArray[np.int64],
    squares: Floats,
    ballots: Floats,
    k: int,
    n_classes: int,
    steps: Floats | None = None,
) -> Floats:
    """Sum of the ballots of the k nearest members, per row and class.

    Parameters
    ----------
    rows : (m, A) float64
        Rows to classify.
    members, labels, ballots : (n, A), (n,), (n,) arrays
        Training rows, their classes, and the weights of their votes.
    squares : (A,) float64
        w²; distance² is Σ w² z².
    k : int
        Number of neighbours; ties in distance go to the earlier member.
    steps : (A,) float64, optional
        As `Training.steps`.

    Returns
    -------
    (m, n_classes) float64

    Notes
    -----
    m n A operations, one row of length n at a time.

    Examples
    --------
    >>> neighbour_votes(np.array([[0.1]]), np.array([[0.0], [1.0], [0.2]]), np.array([0, 1, 1]),
    ...                 np.ones(1), np.array([1.0, 1.0, 0.25]), 2, 2)
    array([[1.  , 0.25]])
    """
    chosen = _nearest(rows, members, squares, k, steps)
    votes = np.zeros((len(rows), n_classes))
    for column in chosen.T:
        votes[np.arange(len(rows)), labels[column]] += ballots[column]
    return votes


@attrs.frozen(kw_only=True, eq=False)
class _FittedRows:
    """Training rows with the weights of features and rows."""

    training: Training
    squares: Floats
    ballots: Floats
    k: int


@attrs.frozen(kw_only=True, eq=False)
class FittedMean(_FittedRows):
    """The mean target of the nearest rows, for a numeric target."""

    target: Floats

    @one_blas_thread
    def predict(self, X: Floats) -> Floats:
        """Mean target of the k nearest rows, each with its ballots, (m,)."""
        t = self.training
        chosen = _nearest(t.rows(X), t.X, self.squares, self.k, t.steps)
        total = self.ballots[chosen].sum(axis=1)
        # If all neighbours have weight zero, predict the mean of all rows.
        found = np.full(len(X), self.target @ t.count / t.count.sum())
        weighed = (self.ballots[chosen] * self.target[chosen]).sum(axis=1)
        return np.divide(weighed, total, out=found, where=total > 0)


@attrs.frozen(kw_only=True, eq=False)
class FittedKnn(_FittedRows):
    """The vote of the nearest rows."""

    @one_blas_thread
    def predict_scores(self, X: Floats) -> Floats:
        """Share of the votes of the k nearest rows, (m, n_classes)."""
        t = self.training
        votes = neighbour_votes(
            t.rows(X), t.X, t.y, self.squares, self.ballots, self.k, t.n_classes, t.steps
        )
        total = votes.sum(axis=1, keepdims=True)
        # If all neighbours have weight zero, all classes are equally likely.
        level = np.full_like(votes, 1.0 / t.n_classes)
        return np.divide(votes, total, out=level, where=total > 0)

    def predict(self, X: Floats) -> NDArray[np.int64]:
        """Class codes (m,), equal votes to the first class."""
        return np.argmax(self.predict_scores(X), axis=1).astype(np.int64)


def _nearest(
    rows: Floats, members: Floats, squares: Floats, k: int, steps: Floats | None
) -> NDArray[np.intp]:
    """The k nearest members of each row, (m, k)."""
    from fsframe_margin.engine.nearest_kernels import k_nearest

    chosen = np.empty((len(rows), min(k, len(members))), dtype=np.intp)
    steps = np.zeros(len(squares)) if steps is None else steps
    k_nearest(np.ascontiguousarray(members.T), steps, rows, squares, chosen)
    return chosen


@attrs.frozen(kw_only=True)
class WeightedKnn(Classifier):
    """k nearest neighbours under weighted distance, votes weighted by instance weights.

    Parameters
    ----------
    k : int ≥ 1
        Number of neighbours.
    standardize : bool
        Scale columns to mean 0 and standard deviation 1 first.

    Notes
    -----
    Algorithm 2: distance ‖z‖_w = √(Σ w² z²) with the upstream feature weights (ones if there are
    none), vote c ← c + ω_n with the upstream instance weights (ones if there are none). The paper's
    line 5 sorts in descending order and then takes the nearest; here the nearest are taken. A row
    drawn c times in a bootstrap is one neighbour with c votes. A numeric target is predicted as the
    mean of the neighbours' targets, weighted by their votes. Predicting m rows costs m n A.

    References
    ----------
    Prat, Belanche: Instance and feature weighted k-nearest-neighbours algorithm, ESANN 2016,
    Algorithm 2.

    Examples
    --------
    >>> from fsframe.table.dataset import Dataset
    >>> X = np.random.default_rng(0).standard_normal((90, 4))
    >>> data = Dataset.from_arrays(X, X[:, 1] > 0)
    >>> float((WeightedKnn(k=3).fit(data).predict(X) == data.y).mean()) > 0.85
    True
    """

    takes_nominal: ClassVar[bool] = True

    k: int = param(3, integer(1), help="Number of neighbours.", symbol="k", source="Algorithm 2")
    standardize: bool = standardize_parameter()

    def predicts(self) -> frozenset[str]:
        return frozenset({"classification", "regression"})

    def score_kind(self) -> str:
        return "probabilities"

    @one_blas_thread
    def _fit(self, data: Dataset, upstream: Selection | None, run: Run) -> FittedKnn | FittedMean:
        numbers = data.task == "regression"
        y = np.zeros(data.n_samples, dtype=np.int64) if numbers else data.y
        training = take_training(
            "weighted-knn", features_of(data), y, data.n_classes, data.counts, None,
            self.standardize, data.categorical,
        )  # fmt: skip
        w, ballots = feature_weights(upstream, training.varying), training.count
        if upstream is not None and upstream.instance_weights is not None:
            weighted = ballots * upstream.instance_weights
            ballots = weighted if weighted.any() else ballots
        parts: dict[str, Any] = {"squares": w * w, "ballots": ballots, "k": self.k}
        if numbers:
            return FittedMean(training=training, target=data.y, **parts)
        return FittedKnn(training=training, **parts)
