"""Measures of scores and probabilities: areas under the ROC curve, log-loss, Brier, calibration."""

from __future__ import annotations

from typing import ClassVar

import attrs
import numpy as np
import scipy
from numpy.typing import NDArray

from fsframe.method.prediction_measure import PredictionMeasure, Predictions

__all__ = ["Auc", "AucOvr", "Brier", "Calibration", "LogLoss", "are_probabilities"]

Codes = NDArray[np.int64]
Floats = NDArray[np.float64]


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


@attrs.frozen(kw_only=True)
class _OfScores(PredictionMeasure):
    """A measure of the classes (n,) of rows and of their scores (n, n_classes)."""

    needs: ClassVar[str] = "scores"

    def _value(self, predictions: Predictions) -> float:
        assert predictions.scores is not None
        if self.needs == "probabilities" and not are_probabilities(predictions.scores):
            return float("nan")
        return self.of(predictions.truth, predictions.scores)

    @staticmethod
    def of(y: Codes, scores: Floats) -> float:
        """The value; larger scores are more likely."""
        raise NotImplementedError


@attrs.frozen(kw_only=True)
class Auc(_OfScores):
    """Area under the ROC curve; for more classes Hand and Till's mean over pairs of classes.

    Notes
    -----
    For two classes the probability that a row of class 1 has the larger difference of scores than
    one of class 0, ties counted half. For more, Hand and Till's M: the mean over ordered pairs
    (a, b) of classes present of the probability that a row of a has the larger score of a than a
    row of b. Undefined where fewer than two classes are present.

    References
    ----------
    Hand, Till 2001, A simple generalisation of the area under the ROC curve for multiple class
    classification problems, Machine Learning 45:171, eq. 7.

    Examples
    --------
    >>> Auc.of(np.array([0, 0, 1]), np.array([[2.0, 1.0], [1.0, 2.0], [0.0, 3.0]]))
    1.0
    """

    every_class: ClassVar[bool] = True

    @staticmethod
    def of(y: Codes, scores: Floats) -> float:
        present = np.unique(y)
        if present.size < 2:
            return float("nan")
        if scores.shape[1] == 2:
            return _area(scores[:, 1] - scores[:, 0], y == 1)
        areas = [area for a in present for area in _areas(scores[:, a], y, a, present)]
        return float(np.mean(areas))


@attrs.frozen(kw_only=True)
class AucOvr(_OfScores):
    """Mean area under the ROC curve of each class against all others.

    Notes
    -----
    Unlike `auc`, it changes with the sizes of the classes; for two classes they are the same.

    References
    ----------
    Fawcett 2006, An introduction to ROC analysis, Pattern Recognition Letters 27:861, §9.

    Examples
    --------
    >>> AucOvr.of(np.array([0, 1, 2]), np.eye(3))
    1.0
    """

    every_class: ClassVar[bool] = True

    @staticmethod
    def of(y: Codes, scores: Floats) -> float:
        present = np.unique(y)
        if present.size < 2 or scores.shape[1] == 2:
            return Auc.of(y, scores)
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


@attrs.frozen(kw_only=True)
class LogLoss(_OfScores):
    """Mean negative log-probability of the true class, in nats.

    Notes
    -----
    L = −(1/n) Σ ln max(p_{i,y_i}, ε) with ε = 2⁻⁵², so that certainty in a wrong class costs 36
    nats, not infinity.

    References
    ----------
    Good 1952, Rational decisions, J. R. Statist. Soc. B 14:107.

    Examples
    --------
    >>> round(LogLoss.of(np.array([0, 1]), np.array([[0.5, 0.5], [0.5, 0.5]])), 4)
    0.6931
    """

    needs: ClassVar[str] = "probabilities"
    larger_is_better: ClassVar[bool] = False
    highest: ClassVar[float] = float("inf")

    @staticmethod
    def of(y: Codes, scores: Floats) -> float:
        likely = np.maximum(scores[np.arange(len(y)), y], np.finfo(np.float64).eps)
        return float(-np.mean(np.log(likely)))


@attrs.frozen(kw_only=True)
class Brier(_OfScores):
    """Half the mean squared distance of the probabilities from the truth.

    Notes
    -----
    (1/2n) Σ_i Σ_c (p_ic − [y_i = c])²: for two classes the usual (1/n) Σ (p_i1 − y_i)²; Brier's own
    sum over classes is twice that. Always predicting ½ gives 0.25.

    References
    ----------
    Brier 1950, Verification of forecasts expressed in terms of probability, Mon. Weather Rev. 78:1.

    Examples
    --------
    >>> Brier.of(np.array([0, 1]), np.array([[0.5, 0.5], [0.5, 0.5]]))
    0.25
    """

    needs: ClassVar[str] = "probabilities"
    larger_is_better: ClassVar[bool] = False

    @staticmethod
    def of(y: Codes, scores: Floats) -> float:
        missed = scores.copy()
        missed[np.arange(len(y)), y] -= 1.0
        return float(np.mean((missed**2).sum(axis=1)) / 2.0)


@attrs.frozen(kw_only=True)
class Calibration(_OfScores):
    """Part of the Brier score due to miscalibration: 0 if events predicted at 70 % occur in 70 %.

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

    Examples
    --------
    >>> told = np.array([[0.9, 0.1], [0.1, 0.9]] * 2)
    >>> round(Calibration.of(np.array([0, 1, 0, 1]), told), 3)
    0.01
    """

    needs: ClassVar[str] = "probabilities"
    larger_is_better: ClassVar[bool] = False

    @staticmethod
    def of(y: Codes, scores: Floats) -> float:
        total = 0.0
        for code in range(scores.shape[1]):
            happened = (y == code).astype(np.float64)
            told, level, members = np.unique(
                scores[:, code], return_inverse=True, return_counts=True
            )
            share = np.bincount(level, weights=happened) / members
            mended = scipy.optimize.isotonic_regression(share, weights=members.astype(np.float64)).x
            missed, left = told[level] - happened, mended[level] - happened
            total += float(np.mean(missed**2) - np.mean(left**2))
        return max(0.0, total / 2.0)
