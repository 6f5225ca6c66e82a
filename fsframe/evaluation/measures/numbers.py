"""Measures of a predicted number: R², errors, concordance."""

from __future__ import annotations

from typing import ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.contracts.prediction_measure import PredictionMeasure, Predictions

__all__ = ["R2", "Concordance", "Mae", "Rmse", "concordance"]


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
    into a Fenwick tree over the ranks of the predictions: O(n log n), exact.

    References
    ----------
    Harrell, Califf, Pryor, Lee, Rosati 1982, Evaluating the yield of medical tests, JAMA 247:2543.

    >>> concordance(np.array([1.0, 2.0, 3.0]), np.array([0.1, 0.3, 0.2])) == 2 / 3
    True
    """
    rank = np.unique(predicted, return_inverse=True)[1] + 1
    size = int(rank.max())
    tree = [0] * (size + 1)

    def below(place: int) -> int:
        total = 0
        while place:
            total += tree[place]
            place &= place - 1
        return total

    order = np.argsort(y, kind="stable")
    starts = np.flatnonzero(np.diff(y[order], prepend=np.nan) != 0)
    twice = pairs = inserted = 0
    for group in np.split(order, starts[1:]):
        ranks = rank[group].tolist()
        for each in ranks:
            # Rows of a smaller y: a right order counts two, an equal prediction one.
            smaller, not_larger = below(each - 1), below(each)
            twice += smaller + not_larger
        pairs += inserted * len(ranks)
        inserted += len(ranks)
        for each in ranks:
            while each <= size:
                tree[each] += 1
                each += each & -each
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
