"""Filters with nearest-neighbour estimates, or with pair weights: their parameters and bases."""

from __future__ import annotations

from collections.abc import Iterator

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.errors import RequestError
from fsframe.method.run import Run
from fsframe.method.selection import PairWeights, Selection
from fsframe.params import choice, integer, param
from fsframe.table.dataset import Dataset
from fsframe_infotheory.engine.encode import Encoded
from fsframe_infotheory.engine.neighbours import Estimator
from fsframe_infotheory.engine.part_counts import EncodedParts, counter_of, partner_of
from fsframe_infotheory.methods.filter import InformationFilter
from fsframe_infotheory.methods.greedy_filter import GreedyFilter

__all__ = [
    "EstimatingGreedyFilter",
    "EstimatorParameters",
    "PairParameters",
    "estimation_note",
]


# Without slots, so that it can be mixed with a base that has them.
@attrs.frozen(kw_only=True, slots=False)
class EstimatorParameters(InformationFilter):
    """Parameters of filters that can estimate mutual information from nearest neighbours."""

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

    def check_parameters(self) -> Iterator[str]:
        yield from super().check_parameters()
        if self.estimator == "knn" and self.missing == "level":
            yield "missing=level has no distances for estimator=knn; use missing=pairwise"

    def works_in_parts(self, data: Dataset) -> bool:
        """Neighbours are found in the whole table."""
        return super().works_in_parts(data) and self.estimator == "plug-in"

    def estimates(self, data: Dataset, upstream: Selection | None, run: Run) -> Estimator:
        """Nearest-neighbour estimates, weighted by bootstrap counts times importance weights."""
        weights = None if upstream is None else upstream.instance_weights
        if data.counts is not None:
            counts = data.counts.astype(np.float64)
            weights = counts if weights is None else counts * weights
        return Estimator(data, self.discretiser(), weights, self.neighbours, run.threads)


def estimation_note(bits: NDArray[np.float64]) -> str:
    """The warning about estimated information."""
    note = "informations of continuous columns are nearest-neighbour estimates"
    if (bits < 0).any():
        note += f"; {int((bits < 0).sum())} are below zero, which means none was found"
    return note


@attrs.frozen(kw_only=True, slots=False)
class PairParameters(EstimatorParameters):
    """Parameters of filters that give pair weights on request."""

    pairs: str = param(
        "none",
        choice("none", "synergy", "joint"),
        help="Pair weights: I(Xi; Xj | Y) − I(Xi; Xj), I(Xi, Xj; Y), or none.",
    )
    pair_columns: str = param(
        "all",
        choice("all", "selected"),
        help="Features to form pairs of: all (8 bytes per pair), or those selected.",
    )

    def check_parameters(self) -> Iterator[str]:
        yield from super().check_parameters()
        if self.estimator == "knn" and self.pairs != "none":
            yield "pairs are counted, so they need estimator=plug-in"

    def pair_weights(
        self, encoded: Encoded | EncodedParts, selected: NDArray[np.intp], run: Run
    ) -> PairWeights | None:
        """Informations of all pairs of columns about the class; None if they were not requested.

        The diagonal holds I(X_i; Y). Synergy is the joint information minus the sum of both,
        negative for redundant features.

        Raises
        ------
        RequestError
            If the m × m weights would take more than half of the memory allowed.

        Notes
        -----
        One pass over all features per column, O(m p n) time, 8 m² bytes.
        """
        if self.pairs == "none":
            return None
        every = self.pair_columns == "all"
        columns = np.arange(encoded.n_features) if every else np.sort(selected)
        m = len(columns)
        if 8 * m * m > run.memory // 2:
            raise RequestError(
                f"weights of {m} × {m} pairs take {8 * m * m / 1e9:.1f} GB, more than half of the "
                f"{run.memory / 1e9:.1f} GB allowed; use pair_columns=selected, put a filter such "
                "as mim:top=2000 before, or allow more memory"
            )
        weights = np.empty((m, m))
        np.fill_diagonal(weights, encoded.relevance[columns])
        with counter_of(encoded, run) as counter:
            for i, column in enumerate(columns):
                terms = counter.terms(partner_of(encoded, int(column)))
                if self.pairs == "joint":
                    values = terms.joint_relevance
                else:
                    values = terms.conditional_redundancy - terms.redundancy
                weights[i, i + 1 :] = weights[i + 1 :, i] = values[columns[i + 1 :]]
                run.progress(i + 1, m, "pairs")
        return PairWeights(columns, self.in_unit(weights))


@attrs.frozen(kw_only=True)
class EstimatingGreedyFilter(EstimatorParameters, GreedyFilter):
    """Base of greedy filters whose terms follow from the mutual information of two variables.

    Redundancy given the class is estimated within each class, so it needs classes.
    """

    def check_parameters(self) -> Iterator[str]:
        yield from super().check_parameters()
        if self.estimator == "knn" and self.stop == "significant":
            yield "stop=significant tests counts, so it needs estimator=plug-in"
        if self.estimator == "knn" and self.constants == "last":
            yield "constants=last looks at levels, so it needs estimator=plug-in"

    def task_problems(self, data: Dataset) -> Iterator[str]:
        """Those of every filter, and that estimates need classes."""
        yield from super().task_problems(data)
        estimated = self.estimator == "knn" and data.task == "regression"
        if estimated and self.criterion().per_class:
            yield (
                f"{self.method_name()}: estimator=knn estimates redundancy within each class, and "
                f"{data.label_name!r} is a numeric target; use mim, mifs or mrmr, whose criteria "
                "need no classes, or estimator=plug-in"
            )

    def counts_are_whole(self, data: Dataset, upstream: Selection | None) -> bool:
        """Whether a bootstrap is counted in whole numbers; estimates are not."""
        return self.estimator == "plug-in" and super().counts_are_whole(data, upstream)

    def _select(self, data: Dataset, upstream: Selection | None, run: Run) -> Selection:
        if self.estimator == "plug-in":
            return super()._select(data, upstream, run)
        estimator = self.estimates(data, upstream, run)
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
