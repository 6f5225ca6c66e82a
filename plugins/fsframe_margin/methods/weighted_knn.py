"""Nearest neighbours with feature weights in the distance and instance weights in the vote."""

from __future__ import annotations

from typing import Any, ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.method.classifier import Classifier
from fsframe.method.run import Run
from fsframe.method.selection import Selection
from fsframe.params import integer, param
from fsframe.table.dataset import Dataset
from fsframe_margin.engine.parallel import one_blas_thread
from fsframe_margin.engine.training import Training, features_of, take_training
from fsframe_margin.methods.margin_selector import feature_weights, standardize_parameter

__all__ = ["FittedKnn", "WeightedKnn", "neighbour_votes"]

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
