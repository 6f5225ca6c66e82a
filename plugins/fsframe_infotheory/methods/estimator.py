"""Parameters of filters with nearest-neighbour estimates, and greedy selection with them."""

from __future__ import annotations

from collections.abc import Iterator

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.contracts.dataset import Dataset
from fsframe.contracts.params import choice, integer, param
from fsframe.contracts.run import Run
from fsframe.contracts.selection import Selection
from fsframe_infotheory.engine.knn_terms import Estimator
from fsframe_infotheory.methods.greedy_filter import GreedyFilter

__all__ = [
    "EstimatingGreedyFilter",
    "EstimatorParameters",
    "estimation_note",
    "sample_weights",
]


# Without slots, so that it can be mixed with a base that has them.
@attrs.frozen(kw_only=True, slots=False)
class EstimatorParameters:
    """Parameters of filters that can estimate mutual information from nearest neighbours."""

    def works_in_parts(self, data: Dataset) -> bool:
        """Neighbours are found in the whole table."""
        counted: bool = super().works_in_parts(data)  # type: ignore[misc]
        return counted and self.estimator == "plug-in"

    estimator: str = param(
        "plug-in",
        choice("plug-in", "knn"),
        help="Estimator of mutual information for continuous features: counts after binning, "
        "or k nearest neighbours without binning (may be negative).",
        source="Ross 2014; Kraskov, Stögbauer, Grassberger 2004",
    )
    neighbours: int = param(
        3, integer(1), help="Number of nearest neighbours, for estimator=knn.", symbol="k"
    )


def estimation_note(bits: NDArray[np.float64]) -> str:
    """The warning about estimated information."""
    note = "informations of continuous columns are nearest-neighbour estimates"
    if (bits < 0).any():
        note += f"; {int((bits < 0).sum())} are below zero, which means none was found"
    return note


def sample_weights(data: Dataset, upstream: Selection | None) -> NDArray[np.float64] | None:
    """Bootstrap counts times importance weights, or None if there are neither."""
    weights = None if upstream is None else upstream.instance_weights
    if data.counts is not None:
        counts = data.counts.astype(np.float64)
        weights = counts if weights is None else counts * weights
    return weights


@attrs.frozen(kw_only=True)
class EstimatingGreedyFilter(EstimatorParameters, GreedyFilter):
    """Base of greedy filters whose terms follow from the mutual information of two variables.

    Redundancy given the class is estimated within each class, so it needs classes.
    """

    def check_parameters(self) -> Iterator[str]:
        yield from super().check_parameters()
        if self.estimator != "knn":
            return
        if self.missing == "level":
            yield "missing=level has no distances for estimator=knn; use missing=pairwise"
        if self.stop == "significant":
            yield "stop=significant tests counts, so it needs estimator=plug-in"
        if self.constants == "last":
            yield "constants=last looks at levels, so it needs estimator=plug-in"

    def task_problems(self, data: Dataset) -> Iterator[str]:
        """Those of every filter, and that estimates need classes."""
        yield from super().task_problems(data)
        estimated = self.estimator == "knn" and data.task == "regression"
        if estimated and self.criterion().per_class:
            yield (
                f"{self.method_name()}: estimator=knn estimates redundancy within each class, and "
                f"{data.label_name!r} is a numeric target; take mim, mifs or mrmr, whose criteria "
                "do without, or estimator=plug-in"
            )

    def counts_are_whole(self, data: Dataset, upstream: Selection | None) -> bool:
        """Whether a bootstrap is counted in whole numbers; estimates are not."""
        return self.estimator == "plug-in" and super().counts_are_whole(data, upstream)

    def _select(self, data: Dataset, upstream: Selection | None, run: Run) -> Selection:
        if self.estimator == "plug-in":
            return super()._select(data, upstream, run)
        weights = sample_weights(data, upstream)
        estimator = Estimator(data, self.discretiser(), weights, self.neighbours, run.threads)
        ranking, scores = self.rank(data, estimator, run)
        relevance = estimator.relevance
        return Selection(
            selected=np.concatenate([self.columns_given(data), ranking.selected]),
            scores=scores,
            tables={
                "relevance": self.in_unit(relevance),
                "criterion": scores[ranking.selected],
            },
            warnings=(estimation_note(relevance),),
        )
