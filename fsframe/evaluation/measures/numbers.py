"""Measures of a predicted number or risk: R², errors, concordance."""

from __future__ import annotations

from typing import ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.evaluation.measures.labels import OfPredicted
from fsframe.table.survival import times_and_events

__all__ = ["R2", "CIndex", "Concordance", "Mae", "Rmse"]

Floats = NDArray[np.float64]


class _Ranks:
    """Ranks of the predictions of rows in a Fenwick tree: O(log n) per query."""

    def __init__(self, predicted: Floats) -> None:
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


def _share_in_order(time: Floats, event: NDArray[np.bool_], risk: Floats) -> float:
    """Share of comparable pairs in which the earlier event has more risk, ties in risk half.

    Rows enter a Fenwick tree over the ranks of the risks from the latest time down: O(n log n),
    exact.
    """
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
