"""Measures of predicted classes, computed from the confusion matrix."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.method.prediction_measure import PredictionMeasure, Predictions
from fsframe.params import optional, param, text
from fsframe.suggest import did_you_mean

__all__ = [
    "F1",
    "Accuracy",
    "BalancedAccuracy",
    "Matthews",
    "OfPredicted",
    "Precision",
    "Sensitivity",
    "Specificity",
    "confusion",
]

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
    """A measure of the truth and of what was predicted, one value of each per row."""

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
        values = []
        for code in self._codes(predictions):
            hits, actual, predicted = (
                int(cells[code, code]),
                cells[code].sum(),
                cells[:, code].sum(),
            )
            values.append(self._of(hits, int(actual), int(predicted), total))
        return float(np.mean(values))

    def _of(self, hits: int, actual: int, predicted: int, total: int) -> float:
        """The measure from the hits, the rows of the class, those predicted as it, and all rows."""
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
