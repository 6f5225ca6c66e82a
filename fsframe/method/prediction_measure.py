"""Contract of performance measures: the quality of predictions of new rows as one number."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.errors import PluginError
from fsframe.method.boundary import in_stage
from fsframe.params import Parameterised
from fsframe.table.survival import LABELS

__all__ = ["SCORE_KINDS", "PredictionMeasure", "Predictions"]

SCORE_KINDS = ("labels", "scores", "probabilities")
"""Kinds of scores of classifiers: labels only, an order of classes, probabilities."""


@attrs.frozen(kw_only=True, eq=False)
class Predictions:
    """Predictions for some rows, with the truth.

    Parameters
    ----------
    truth : (n,) int or float
        Class codes, the numeric target, or signed survival times (`fsframe.table.survival`).
    predicted : (n,) int or float
        Likewise.
    scores : (n, n_classes) float64, optional
        Larger is more likely; none for a numeric target.
    classes : tuple
        The labels of the codes; empty for a numeric target.
    """

    truth: NDArray[Any]
    predicted: NDArray[Any]
    scores: NDArray[np.float64] | None = None
    classes: tuple[Any, ...] = ()

    @property
    def n_classes(self) -> int:
        """Number of classes of the table, also if these rows lack some."""
        return len(self.classes)


@attrs.frozen(kw_only=True)
class PredictionMeasure(Parameterised):
    """Base of all measures; authors declare parameters and write `_value`.

    Attributes
    ----------
    task : str
        ``"classification"``, ``"regression"`` or ``"survival"``.
    needs : str
        What it needs from a classifier: ``"labels"``, the predicted classes; ``"scores"`` that
        order the rows; ``"probabilities"``.
    larger_is_better : bool
        False for losses.
    lowest, highest : float
        The range of its values; intervals stay within it.
    every_class : bool
        Whether it is defined only if every class of the table is among the rows.
    """

    task: ClassVar[str] = "classification"
    needs: ClassVar[str] = "labels"
    larger_is_better: ClassVar[bool] = True
    lowest: ClassVar[float] = 0.0
    highest: ClassVar[float] = 1.0
    every_class: ClassVar[bool] = False

    def _value(self, predictions: Predictions) -> float:
        """The author's part: the value for these rows, NaN where it is not defined."""
        raise NotImplementedError

    def check_classes(self, classes: tuple[Any, ...]) -> Iterator[str]:
        """Problems with a table of these classes; authors override this."""
        return iter(())

    def refusals(self, task: str, classes: tuple[Any, ...], scores: str) -> Iterator[str]:
        """Reasons why it cannot be computed; called before any work starts.

        Parameters
        ----------
        task : str
            Task of the table.
        classes : tuple
        scores : str
            Kind of the classifier's scores, one of `SCORE_KINDS`.
        """
        if task != self.task:
            yield f"it is for {LABELS[self.task]}, and the table has {LABELS[task]}"
            return
        yield from self.check_classes(classes)
        if task == "classification" and SCORE_KINDS.index(scores) < SCORE_KINDS.index(self.needs):
            gives = {"labels": "predicted classes only", "scores": "scores, no probabilities"}
            yield f"it needs {self.needs}, and the classifier gives {gives[scores]}"

    def __call__(self, predictions: Predictions) -> float:
        """The value for these rows; NaN where it is not defined.

        Raises
        ------
        PluginError
            If the author's part returns anything but a number in the declared range.
        """
        if not len(predictions.truth):
            return float("nan")
        if self.every_class and np.unique(predictions.truth).size < predictions.n_classes:
            return float("nan")
        name = self.method_name()
        with in_stage(type(self), name):
            value = float(self._value(predictions))
        # Up to rounding.
        reach = 1e-9 * max(1.0, abs(value))
        if not (np.isnan(value) or self.lowest - reach <= value <= self.highest + reach):
            raise PluginError(
                f"{name} is declared to lie in {self.lowest:g} … {self.highest:g}, and gave {value}"
            )
        return float(np.clip(value, self.lowest, self.highest))
