"""Measures of a predicted number or risk: R², errors, concordance."""

from __future__ import annotations

from typing import ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.contracts.prediction_measure import PredictionMeasure, Predictions
from fsframe.contracts.survival import times_and_events

__all__ = ["R2", "CIndex", "Concordance", "Mae", "Rmse", "c_index", "concordance"]


def concordance(y: NDArray[np.float64], predicted: NDArray[np.float64]) -> float:
    """Share of pairs of rows with different `y` that are predicted in the right order.

    Parameters
    ----------
    y, predicted : (n,) float

    Returns
    -------
    float
        Equal predictions count half; NaN where no two rows differ in `y`.

    Notes
    -----
    Harrell's c without censoring, (1 + Somers' D)/2. Counted by inserting rows in the order of `y`
    into a Fenwick tree over the ranks of the predictions: O(n log n), exact. With censoring:
    `c_index`.

    References
    ----------
    Harrell, Califf, Pryor, Lee, Rosati 1982, Evaluating the yield of medical tests, JAMA 247:2543.

    >>> concordance(np.array([1.0, 2.0, 3.0]), np.array([0.1, 0.3, 0.2])) == 2 / 3
    True
    """
    return _share_in_order(-y, np.ones(len(y), dtype=bool), predicted)


class _Ranks:
    """Ranks of the predictions of rows in a Fenwick tree: O(log n) per query."""

    def __init__(self, predicted: NDArray[np.float64]) -> None:
        self._rank = (np.unique(predicted, return_inverse=True)[1] + 1).tolist()
        self._tree = [0] * (max(self._rank) + 1)
        self.inserted = 0

    def insert(self, rows: list[int]) -> None:
        self.inserted += len(rows)
        for row in rows:
            each = self._rank[row]
            while each < len(self._tree):
                self._tree[each] += 1
                each += each & -each

    def twice_below(self, row: int) -> int:
        """Twice the number of inserted rows below `row`, and once that of its equals."""
        return self._up_to(self._rank[row] - 1) + self._up_to(self._rank[row])

    def _up_to(self, place: int) -> int:
        total = 0
        while place:
            total += self._tree[place]
            place &= place - 1
        return total


def c_index(y: NDArray[np.float64], risk: NDArray[np.float64]) -> float:
    """Share of comparable pairs of rows in which the row with the earlier event has more risk.

    Parameters
    ----------
    y : (n,) float64
        Times, negative where censored (`fsframe.contracts.survival`).
    risk : (n,) float64
        Larger where the event is expected sooner.

    Returns
    -------
    float
        Equal risks count half; NaN where no pair can be compared.

    Notes
    -----
    An event is comparable with a later time, and with a censored row of the same time. Two
    events at one time are not. Rows enter from the latest time down: O(n log n), exact.

    References
    ----------
    Harrell, Califf, Pryor, Lee, Rosati 1982, Evaluating the yield of medical tests, JAMA 247:2543.

    >>> c_index(np.array([1.0, -2.0, 3.0, 4.0]), np.array([0.9, 0.1, 0.2, 0.4])) == 3 / 4
    True
    """
    return _share_in_order(*times_and_events(y), risk)


def _share_in_order(
    time: NDArray[np.float64], event: NDArray[np.bool_], risk: NDArray[np.float64]
) -> float:
    """Share of comparable pairs in which the earlier event has more risk, ties in risk half."""
    tree = _Ranks(risk)
    order = np.argsort(-time, kind="stable")
    starts = np.flatnonzero(np.diff(-time[order], prepend=np.nan) != 0)
    twice = pairs = 0
    for group in np.split(order, starts[1:]):
        died = group[event[group]].tolist()
        tree.insert(group[~event[group]].tolist())
        # Rows with a later time: a right order counts two, an equal risk one.
        twice += sum(map(tree.twice_below, died))
        pairs += tree.inserted * len(died)
        tree.insert(died)
    return twice / (2 * pairs) if pairs else float("nan")


@attrs.frozen(kw_only=True)
class R2(PredictionMeasure):
    """Share of the variance that is predicted: 1 perfect, 0 as good as the mean, no lower bound.

    Notes
    -----
    1 − Σ(y − ŷ)²/Σ(y − ȳ)² with the mean ȳ of the tested rows; undefined where they are equal.
    """

    task: ClassVar[str] = "regression"
    lowest: ClassVar[float] = float("-inf")

    def _value(self, predictions: Predictions) -> float:
        y = predictions.truth
        spread = float(((y - y.mean()) ** 2).sum())
        if not spread > 0.0:
            return float("nan")
        return 1.0 - float(((y - predictions.predicted) ** 2).sum()) / spread


@attrs.frozen(kw_only=True)
class Mae(PredictionMeasure):
    """Mean absolute error, in the unit of the target."""

    task: ClassVar[str] = "regression"
    larger_is_better: ClassVar[bool] = False
    highest: ClassVar[float] = float("inf")

    def _value(self, predictions: Predictions) -> float:
        return float(np.abs(predictions.truth - predictions.predicted).mean())


@attrs.frozen(kw_only=True)
class Rmse(PredictionMeasure):
    """Root of the mean squared error, in the unit of the target."""

    task: ClassVar[str] = "regression"
    larger_is_better: ClassVar[bool] = False
    highest: ClassVar[float] = float("inf")

    def _value(self, predictions: Predictions) -> float:
        return float(np.sqrt(((predictions.truth - predictions.predicted) ** 2).mean()))


@attrs.frozen(kw_only=True)
class Concordance(PredictionMeasure):
    """Share of pairs of rows that are predicted in the right order: ½ by chance.

    References
    ----------
    Harrell, Califf, Pryor, Lee, Rosati 1982, Evaluating the yield of medical tests, JAMA 247:2543.
    """

    task: ClassVar[str] = "regression"

    def _value(self, predictions: Predictions) -> float:
        return concordance(predictions.truth, predictions.predicted)


@attrs.frozen(kw_only=True)
class CIndex(PredictionMeasure):
    """Share of comparable pairs in which the row with the earlier event has more risk; chance: ½.

    References
    ----------
    Harrell, Califf, Pryor, Lee, Rosati 1982, Evaluating the yield of medical tests, JAMA 247:2543.
    """

    task: ClassVar[str] = "survival"

    def _value(self, predictions: Predictions) -> float:
        return c_index(predictions.truth, predictions.predicted)
