"""Measures of scores and probabilities: areas under the ROC curve, log-loss, Brier, calibration."""

from __future__ import annotations

from typing import Any, ClassVar

import attrs
import numpy as np
import scipy
from numpy.typing import NDArray

from fsframe.contracts.prediction_measure import PredictionMeasure, Predictions

__all__ = [
    "Auc",
    "AucOvr",
    "Brier",
    "Calibration",
    "LogLoss",
    "are_probabilities",
    "auc",
    "auc_ovr",
    "brier",
    "log_loss",
    "miscalibration",
]

Codes = NDArray[np.int64]
Floats = NDArray[np.float64]


def auc(y: Codes, scores: Floats) -> float:
    """Area under the ROC curve; for more classes the mean over ordered pairs of classes.

    Parameters
    ----------
    y : (n,) int
        Class codes.
    scores : (n, n_classes)
        Larger is more likely.

    Returns
    -------
    float
        NaN where fewer than two classes are present in `y`.

    Notes
    -----
    For two classes the probability that a row of class 1 has the larger difference of scores than
    one of class 0, ties counted half. For more, Hand and Till's M (their eq. 7): the mean over
    ordered pairs (a, b) of classes present of the probability that a row of a has the larger score
    of a than a row of b.

    References
    ----------
    Hand, Till 2001, A simple generalisation of the area under the ROC curve, Machine Learning 45.

    >>> auc(np.array([0, 0, 1]), np.array([[2.0, 1.0], [1.0, 2.0], [0.0, 3.0]]))
    1.0
    """
    present = np.unique(y)
    if present.size < 2:
        return float("nan")
    if scores.shape[1] == 2:
        return _area(scores[:, 1] - scores[:, 0], y == 1)
    return float(np.mean([area for a in present for area in _areas(scores[:, a], y, a, present)]))


def auc_ovr(y: Codes, scores: Floats) -> float:
    """Mean area under the ROC curve of each class present against all others.

    Parameters
    ----------
    y : (n,) int
        Class codes.
    scores : (n, n_classes)
        Larger is more likely.

    Returns
    -------
    float
        As `auc` for two classes; NaN where fewer than two classes are present in `y`.

    >>> auc_ovr(np.array([0, 1, 2]), np.eye(3))
    1.0
    """
    present = np.unique(y)
    if present.size < 2 or scores.shape[1] == 2:
        return auc(y, scores)
    return float(np.mean([_area(scores[:, a], y == a) for a in present]))


def _areas(score: Floats, y: Codes, a: int, present: Codes) -> Floats:
    """The areas of class a against each other class present, in its own score.

    One sort for all of them, where ranks for every pair of classes would take n log n each: a
    thousand classes are a million pairs. Counts are exact, so the bits are those of the ranks.
    """
    positive = np.sort(score[y == a])
    below = np.searchsorted(positive, score, side="left")
    above = positive.size - np.searchsorted(positive, score, side="right")
    won = np.bincount(y, weights=above + (positive.size - above - below) / 2)
    members = np.bincount(y)
    unknown = np.bincount(y, weights=np.isnan(score)) > 0
    others = present[present != a]
    areas = won[others] / (positive.size * members[others])
    return np.where(unknown[others] | unknown[a], np.nan, areas)


def _area(score: Floats, positive: NDArray[np.bool_]) -> float:
    """Mann-Whitney: how often a positive row has the larger score, ties half."""
    n_positive = int(positive.sum())
    n_negative = positive.size - n_positive
    ranks = scipy.stats.rankdata(score)
    return float(
        (ranks[positive].sum() - n_positive * (n_positive + 1) / 2) / (n_positive * n_negative)
    )


def log_loss(y: Codes, scores: Floats) -> float:
    """Mean negative log-probability, in nats, of the true class.

    Parameters
    ----------
    y : (n,) int
    scores : (n, n_classes)
        Probabilities: every row non-negative, with sum one.

    Returns
    -------
    float
        NaN if `scores` are not probabilities.

    Notes
    -----
    L = −(1/n) Σ ln max(p_{i,y_i}, ε) with ε = 2⁻⁵², so that certainty in a wrong class costs 36
    nats, not infinity.

    >>> round(log_loss(np.array([0, 1]), np.array([[0.5, 0.5], [0.5, 0.5]])), 4)
    0.6931
    """
    if not are_probabilities(scores):
        return float("nan")
    likely = np.maximum(scores[np.arange(len(y)), y], np.finfo(np.float64).eps)
    return float(-np.mean(np.log(likely)))


def brier(y: Codes, scores: Floats) -> float:
    """Half the mean squared distance of the probabilities from the truth, in [0, 1].

    Parameters
    ----------
    y : (n,) int
    scores : (n, n_classes)
        Probabilities.

    Returns
    -------
    float
        NaN if `scores` are not probabilities.

    Notes
    -----
    (1/2n) Σ_i Σ_c (p_ic − [y_i = c])²: for two classes the usual (1/n) Σ (p_i1 − y_i)²; Brier's own
    sum over classes is twice that.

    References
    ----------
    Brier 1950, Verification of forecasts expressed in terms of probability, Mon. Weather Rev. 78.

    >>> brier(np.array([0, 1]), np.array([[0.5, 0.5], [0.5, 0.5]]))
    0.25
    """
    if not are_probabilities(scores):
        return float("nan")
    missed = scores.copy()
    missed[np.arange(len(y)), y] -= 1.0
    return float(np.mean((missed**2).sum(axis=1)) / 2.0)


def miscalibration(y: Codes, scores: Floats) -> float:
    """The part of the Brier score that is due to miscalibrated probabilities.

    Parameters
    ----------
    y : (n,) int
    scores : (n, n_classes)
        Probabilities.

    Returns
    -------
    float
        In [0, 1], 0 for probabilities that are calibrated; NaN if `scores` are none.

    Notes
    -----
    Brier score minus that of the probabilities recalibrated on these rows by isotonic regression
    (the component MCB of the CORP decomposition), half the sum over the classes; no bins have to be
    chosen. A small sample is never perfectly calibrated: like every such figure it is too large in
    small folds. O(C n log n).

    References
    ----------
    Dimitriadis, Gneiting, Jordan 2021, Stable reliability diagrams for probabilistic classifiers,
    PNAS 118(8), e2016191118, eq. 3.

    >>> miscalibration(np.array([0, 1, 0, 1]), np.array([[0.9, 0.1], [0.1, 0.9]] * 2)).__round__(3)
    0.01
    """
    if not are_probabilities(scores):
        return float("nan")
    total = 0.0
    for code in range(scores.shape[1]):
        happened = (y == code).astype(np.float64)
        levels, level, members = np.unique(scores[:, code], return_inverse=True, return_counts=True)
        share = np.bincount(level, weights=happened) / members
        mended = scipy.optimize.isotonic_regression(share, weights=members.astype(np.float64)).x[
            level
        ]
        told = levels[level]
        total += float(np.mean((told - happened) ** 2) - np.mean((mended - happened) ** 2))
    return max(0.0, total / 2.0)


def are_probabilities(scores: Floats) -> bool:
    """Whether every row is non-negative, with sum one.

    >>> are_probabilities(np.array([[0.3, 0.7]])), are_probabilities(np.array([[-1.0, 2.0]]))
    (True, False)
    """
    return bool(
        not np.isnan(scores).any()
        and (scores >= 0).all()
        and np.allclose(scores.sum(axis=1), 1.0, atol=1e-6)
    )


def _scores(predictions: Predictions) -> NDArray[Any]:
    assert predictions.scores is not None
    return predictions.scores


@attrs.frozen(kw_only=True)
class Auc(PredictionMeasure):
    """Area under the ROC curve; for more classes Hand and Till's mean over pairs of classes.

    References
    ----------
    Hand, Till 2001, A simple generalisation of the area under the ROC curve for multiple class
    classification problems, Machine Learning 45:171, eq. 7.
    """

    needs: ClassVar[str] = "scores"
    every_class: ClassVar[bool] = True

    def _value(self, predictions: Predictions) -> float:
        return auc(predictions.truth, _scores(predictions))


@attrs.frozen(kw_only=True)
class AucOvr(PredictionMeasure):
    """Mean area under the ROC curve of each class against all others.

    Notes
    -----
    Unlike `auc`, it changes with the sizes of the classes; for two classes they are the same.

    References
    ----------
    Fawcett 2006, An introduction to ROC analysis, Pattern Recognition Letters 27:861, §9.
    """

    needs: ClassVar[str] = "scores"
    every_class: ClassVar[bool] = True

    def _value(self, predictions: Predictions) -> float:
        return auc_ovr(predictions.truth, _scores(predictions))


@attrs.frozen(kw_only=True)
class LogLoss(PredictionMeasure):
    """Mean negative log-probability of the true class, in nats.

    Notes
    -----
    Probabilities below 2⁻⁵² count as that.

    References
    ----------
    Good 1952, Rational decisions, J. R. Statist. Soc. B 14:107.
    """

    needs: ClassVar[str] = "probabilities"
    larger_is_better: ClassVar[bool] = False
    highest: ClassVar[float] = float("inf")

    def _value(self, predictions: Predictions) -> float:
        return log_loss(predictions.truth, _scores(predictions))


@attrs.frozen(kw_only=True)
class Brier(PredictionMeasure):
    """Half the mean squared distance of the probabilities from the truth.

    Notes
    -----
    For two classes the mean of (p − y)². Always predicting ½ gives 0.25.

    References
    ----------
    Brier 1950, Verification of forecasts expressed in terms of probability, Mon. Weather Rev. 78:1.
    """

    needs: ClassVar[str] = "probabilities"
    larger_is_better: ClassVar[bool] = False

    def _value(self, predictions: Predictions) -> float:
        return brier(predictions.truth, _scores(predictions))


@attrs.frozen(kw_only=True)
class Calibration(PredictionMeasure):
    """Part of the Brier score due to miscalibration: 0 if events predicted at 70 % occur in 70 %.

    Notes
    -----
    The component MCB of the CORP decomposition: what isotonic recalibration would gain.

    References
    ----------
    Dimitriadis, Gneiting, Jordan 2021, Stable reliability diagrams for probabilistic classifiers,
    PNAS 118(8), e2016191118.
    """

    needs: ClassVar[str] = "probabilities"
    larger_is_better: ClassVar[bool] = False

    def _value(self, predictions: Predictions) -> float:
        return miscalibration(predictions.truth, _scores(predictions))
