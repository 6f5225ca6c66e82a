"""Measures of predictions: labels, probabilities and scores, numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import attrs
import numpy as np
import scipy
from numpy.typing import NDArray

from fsframe.method.classifier import PredictionMeasure, Predictions
from fsframe.method.statistics import mean_ranks
from fsframe.params import optional, param, text
from fsframe.table.side_columns import times_and_events
from fsframe.text import did_you_mean

Codes = NDArray[np.int64]


def confusion(y: Codes, predicted: Codes, n_classes: int) -> NDArray[np.int64]:
    """How many rows of each class (rows) were predicted as each class (columns).

    >>> confusion(np.array([0, 1, 1]), np.array([0, 1, 0]), 2).tolist()
    [[1, 0], [1, 1]]
    """
    cells = np.bincount(y * n_classes + predicted, minlength=n_classes * n_classes)
    return cells.reshape(n_classes, n_classes)


@attrs.frozen(kw_only=True)
class OfPredicted(PredictionMeasure):
    """A measure of true and predicted labels, one of each per row."""

    def _value(self, predictions: Predictions) -> float:
        return self.of(predictions.truth, predictions.predicted)

    @staticmethod
    def of(y: NDArray[Any], predicted: NDArray[Any]) -> float:
        """The value for these rows."""
        raise NotImplementedError


@attrs.frozen(kw_only=True)
class Accuracy(OfPredicted):
    """Share of rows predicted correctly.

    Examples
    --------
    >>> Accuracy()(Predictions(truth=np.array([0, 1]), predicted=np.array([0, 0]), classes=(0, 1)))
    0.5
    """

    @staticmethod
    def of(y: Codes, predicted: Codes) -> float:
        return float(np.mean(y == predicted))


@attrs.frozen(kw_only=True)
class BalancedAccuracy(OfPredicted):
    """Mean over the classes of the share of their rows predicted correctly.

    Notes
    -----
    For two classes the mean of sensitivity and specificity. A rule that ignores the features has
    1/C for C classes, however unequal they are.

    References
    ----------
    Brodersen, Ong, Stephan, Buhmann 2010, The balanced accuracy and its posterior distribution,
    ICPR.

    Examples
    --------
    >>> BalancedAccuracy.of(np.array([0, 0, 0, 1]), np.array([0, 0, 0, 0]))
    0.5
    """

    every_class: ClassVar[bool] = True

    @staticmethod
    def of(y: Codes, predicted: Codes) -> float:
        return float(np.mean([np.mean(predicted[y == code] == code) for code in np.unique(y)]))


@attrs.frozen(kw_only=True)
class _OfOneClass(PredictionMeasure):
    """A measure of one class against the others; the mean over the classes if none is named.

    Parameters
    ----------
    positive : str, optional
        The label of the class that is meant. By default the second of two classes, and the mean
        over all of more than two.
    """

    every_class: ClassVar[bool] = True

    positive: str | None = param(
        None,
        optional(text("a label")),
        help="The positive class; by default the second of two classes; with more classes, the "
        "mean over all.",
    )

    def check_classes(self, classes: tuple[Any, ...]) -> Iterator[str]:
        labels = [str(label) for label in classes]
        if self.positive is not None and self.positive not in labels:
            yield (
                f"there is no class {self.positive!r}{did_you_mean(self.positive, labels)}; "
                f"the classes are {', '.join(labels[:10])}"
            )

    def _codes(self, predictions: Predictions) -> list[int]:
        labels = [str(label) for label in predictions.classes]
        if self.positive is not None:
            return [labels.index(self.positive)]
        return [1] if len(labels) == 2 else list(range(len(labels)))

    def _value(self, predictions: Predictions) -> float:
        cells = confusion(predictions.truth, predictions.predicted, predictions.n_classes)
        total = int(cells.sum())
        values = [
            self._of(int(cells[c, c]), int(cells[c].sum()), int(cells[:, c].sum()), total)
            for c in self._codes(predictions)
        ]
        return float(np.mean(values))

    def _of(self, hits: int, actual: int, predicted: int, total: int) -> float:
        """The measure from numbers of rows: hits, of the class, predicted as the class, of all."""
        raise NotImplementedError


@attrs.frozen(kw_only=True)
class Sensitivity(_OfOneClass):
    """Share of the rows of a class that are predicted as it: recall, true positive rate.

    Parameters
    ----------
    positive : str, optional
        The class; by default the second of two, and the mean over all of more than two.
    """

    def _of(self, hits: int, actual: int, predicted: int, total: int) -> float:
        return hits / actual if actual else float("nan")


@attrs.frozen(kw_only=True)
class Specificity(_OfOneClass):
    """Share of the rows of other classes that are not predicted as a class: true negative rate.

    Parameters
    ----------
    positive : str, optional
        The class; by default the second of two, and the mean over all of more than two.
    """

    def _of(self, hits: int, actual: int, predicted: int, total: int) -> float:
        others = total - actual
        return (others - (predicted - hits)) / others if others else float("nan")


@attrs.frozen(kw_only=True)
class Precision(_OfOneClass):
    """Share of the rows predicted as a class that are of it: positive predictive value.

    Parameters
    ----------
    positive : str, optional
        The class; by default the second of two, and the mean over all of more than two.

    Notes
    -----
    0 where no row is predicted as the class.
    """

    def _of(self, hits: int, actual: int, predicted: int, total: int) -> float:
        return hits / predicted if predicted else 0.0


@attrs.frozen(kw_only=True)
class F1(_OfOneClass):
    """Harmonic mean of precision and sensitivity, 2·TP / (2·TP + FP + FN).

    Parameters
    ----------
    positive : str, optional
        The class; by default the second of two, and the mean over all of more than two.

    References
    ----------
    van Rijsbergen 1979, Information retrieval, ch. 7.
    """

    def _of(self, hits: int, actual: int, predicted: int, total: int) -> float:
        return 2 * hits / (actual + predicted) if actual + predicted else float("nan")


@attrs.frozen(kw_only=True)
class Matthews(PredictionMeasure):
    """Correlation of predicted and true classes: 1 perfect, 0 no better than chance.

    Notes
    -----
    For two classes the φ coefficient; for more Gorodkin's R_K. 0 where all rows are predicted
    alike, undefined where all are of one class.

    References
    ----------
    Matthews 1975, Biochim. Biophys. Acta 405:442; Gorodkin 2004, Comput. Biol. Chem. 28:367.
    """

    lowest: ClassVar[float] = -1.0

    def _value(self, predictions: Predictions) -> float:
        cells = confusion(predictions.truth, predictions.predicted, predictions.n_classes)
        # Python integers: products of counts outgrow 64 bits where their squares do.
        actual = [int(count) for count in cells.sum(axis=1)]
        predicted = [int(count) for count in cells.sum(axis=0)]
        n, right = sum(actual), int(np.trace(cells))
        spread_actual = n * n - sum(count * count for count in actual)
        spread_predicted = n * n - sum(count * count for count in predicted)
        if not spread_actual:
            return float("nan")
        if not spread_predicted:
            return 0.0
        shared = right * n - sum(a * b for a, b in zip(actual, predicted, strict=True))
        return float(shared / (float(spread_actual) ** 0.5 * float(spread_predicted) ** 0.5))


Floats = NDArray[np.float64]


def _share_in_order(time: Floats, event: NDArray[np.bool_], risk: Floats) -> float:
    """Share of comparable pairs in which the earlier event has more risk; equal risks count half.

    Any two places in time have a highest bit in which they differ. For each bit, rows that agree in
    the bits above it are compared by one sort, those with 0 to those with 1. O(n log² n), exact.
    """
    rank = np.unique(risk, return_inverse=True)[1]
    # Places count from the latest time; at equal times an event comes after rows without one, with
    # which it is comparable.
    place = 2 * np.unique(-time, return_inverse=True)[1] + event
    width, twice = int(rank.max()) + 1, 0
    for bit in range(int(place.max()).bit_length()):
        keys = (place >> (bit + 1)) * width + rank
        after = (place >> bit) & 1 == 0
        later, died = np.sort(keys[after]), keys[~after & event]
        # A correct order counts two, equal risks one.
        below = np.searchsorted(later, died) + np.searchsorted(later, died, side="right")
        twice += int((below - 2 * np.searchsorted(later, died - died % width)).sum())
    pairs = int(np.searchsorted(np.sort(place), place[event]).sum())
    return twice / (2 * pairs) if pairs else float("nan")


@attrs.frozen(kw_only=True)
class R2(OfPredicted):
    """Share of the variance that is predicted: 1 perfect, 0 as good as the mean, no lower bound.

    Notes
    -----
    1 − Σ(y − ŷ)²/Σ(y − ȳ)² with the mean ȳ of the tested rows; undefined where they are equal.
    """

    task: ClassVar[str] = "regression"
    lowest: ClassVar[float] = float("-inf")

    @staticmethod
    def of(y: Floats, predicted: Floats) -> float:
        spread = float(((y - y.mean()) ** 2).sum())
        if not spread > 0.0:
            return float("nan")
        return 1.0 - float(((y - predicted) ** 2).sum()) / spread


@attrs.frozen(kw_only=True)
class Mae(OfPredicted):
    """Mean absolute error, in the unit of the target."""

    task: ClassVar[str] = "regression"
    larger_is_better: ClassVar[bool] = False
    highest: ClassVar[float] = float("inf")

    @staticmethod
    def of(y: Floats, predicted: Floats) -> float:
        return float(np.abs(y - predicted).mean())


@attrs.frozen(kw_only=True)
class Rmse(OfPredicted):
    """Root of the mean squared error, in the unit of the target."""

    task: ClassVar[str] = "regression"
    larger_is_better: ClassVar[bool] = False
    highest: ClassVar[float] = float("inf")

    @staticmethod
    def of(y: Floats, predicted: Floats) -> float:
        return float(np.sqrt(((y - predicted) ** 2).mean()))


@attrs.frozen(kw_only=True)
class Concordance(OfPredicted):
    """Share of pairs of rows that are predicted in the right order: ½ by chance.

    Notes
    -----
    Harrell's c without censoring, (1 + Somers' D)/2, over the pairs of rows with different targets;
    equal predictions count half. Undefined where no two targets differ.

    References
    ----------
    Harrell, Califf, Pryor, Lee, Rosati 1982, Evaluating the yield of medical tests, JAMA 247:2543.

    Examples
    --------
    >>> Concordance.of(np.array([1.0, 2.0, 3.0]), np.array([0.1, 0.3, 0.2])) == 2 / 3
    True
    """

    task: ClassVar[str] = "regression"

    @staticmethod
    def of(y: Floats, predicted: Floats) -> float:
        return _share_in_order(-y, np.ones(len(y), dtype=bool), predicted)


@attrs.frozen(kw_only=True)
class CIndex(OfPredicted):
    """Share of comparable pairs in which the row with the earlier event has more risk; chance: ½.

    Notes
    -----
    An event is comparable with a later time, and with a censored row of the same time. Two events
    at one time are not. Equal risks count half; undefined where no pair can be compared.

    References
    ----------
    Harrell, Califf, Pryor, Lee, Rosati 1982, Evaluating the yield of medical tests, JAMA 247:2543.

    Examples
    --------
    >>> CIndex.of(np.array([1.0, -2.0, 3.0, 4.0]), np.array([0.9, 0.1, 0.2, 0.4])) == 3 / 4
    True
    """

    task: ClassVar[str] = "survival"

    @staticmethod
    def of(y: Floats, predicted: Floats) -> float:
        return _share_in_order(*times_and_events(y), predicted)


def are_probabilities(scores: Floats) -> bool:
    """Whether every row is non-negative and sums to one.

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
    """A measure of the true classes (n,) and the class scores (n, n_classes) of rows."""

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
    """The areas of class a against each other class present, by the score of a.

    One sort serves all of them; ranks for each pair of classes would take O(n log n), and a
    thousand classes make a million pairs. Counts are exact, so the bits are those of the ranks.
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
    """Share of pairs in which the positive row has the larger score, ties half (Mann-Whitney)."""
    n_positive = int(positive.sum())
    n_negative = positive.size - n_positive
    ranks = mean_ranks(score)
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
    small folds. Undefined where all rows are of one class: recalibrated on these, every probability
    is right. O(C n log n).

    References
    ----------
    Dimitriadis, Gneiting, Jordan 2021, Stable reliability diagrams for probabilistic classifiers,
    PNAS 118(8), e2016191118, eq. 3.

    Examples
    --------
    >>> scores = np.array([[0.9, 0.1], [0.1, 0.9]] * 2)
    >>> round(Calibration.of(np.array([0, 1, 0, 1]), scores), 3)
    0.01
    """

    needs: ClassVar[str] = "probabilities"
    larger_is_better: ClassVar[bool] = False

    @staticmethod
    def of(y: Codes, scores: Floats) -> float:
        if np.unique(y).size < 2:
            return float("nan")
        total = 0.0
        for code in range(scores.shape[1]):
            happened = (y == code).astype(np.float64)
            distinct_scores, level, members = np.unique(
                scores[:, code], return_inverse=True, return_counts=True
            )
            share = np.bincount(level, weights=happened) / members
            mended = scipy.optimize.isotonic_regression(share, weights=members.astype(np.float64)).x
            missed, left = distinct_scores[level] - happened, mended[level] - happened
            total += float(np.mean(missed**2) - np.mean(left**2))
        return max(0.0, total / 2.0)
