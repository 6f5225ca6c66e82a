"""Metrics that average a score over all pairs of runs."""

from __future__ import annotations

from typing import Any, ClassVar

import attrs
import numpy as np
from numpy.typing import ArrayLike, NDArray

from fsframe.errors import RequestError
from fsframe.method.stability_metric import StabilityMetric, StabilityValue
from fsframe.params import optional, param, real
from fsframe_stability.chance import PairScore
from fsframe_stability.overlap import Overlap, prefix_overlaps

__all__ = ["OverlapMetric", "PairwiseMetric", "impute_parameter", "mean_over_pairs", "undefined"]


def undefined(reason: str) -> StabilityValue:
    """No number (NaN), and the reason."""
    return StabilityValue(value=float("nan"), undefined=reason)


def mean_over_pairs(
    scores: NDArray[np.float64],
    pairs: tuple[NDArray[np.int64], NDArray[np.int64]],
    why: str,
    impute: float | None = None,
) -> StabilityValue:
    """The mean score of pairs of runs (row numbers), or the reason why it is undefined.

    A pair without a score, `why` in words, has NaN or `impute`. Without `impute`, one such pair
    makes the mean undefined: the mean over the remaining pairs would measure something else.
    """
    missing = np.isnan(scores)
    if missing.any() and impute is None:
        at = int(np.argmax(missing))
        one, other = int(pairs[0][at]) + 1, int(pairs[1][at]) + 1
        return undefined(
            f"{int(missing.sum())} of {len(scores)} pairs of runs have no value ({why}), "
            f"first runs {one} and {other}"
        )
    if impute is not None:
        scores = np.where(missing, impute, scores)
    return StabilityValue(value=float(np.mean(scores)))


def impute_parameter() -> Any:
    """The parameter of metrics that are the mean over pairs of runs."""
    return param(
        None,
        optional(real()),
        help="Value for pairs of runs where the index is undefined; by default one such pair "
        "makes the whole result undefined.",
    )


@attrs.frozen(kw_only=True)
class OverlapMetric(StabilityMetric):
    """Base of metrics that need set sizes, intersections and frequencies only.

    Authors write `measure_overlap`; because the overlaps of growing sets are cheap
    (`prefix_overlaps`), such a metric follows a ranking over all set sizes in one pass.
    """

    input: ClassVar[str] = "sets"

    def _measure(self, matrix: NDArray[np.bool_], similarity: Any = None) -> StabilityValue:
        return self.measure_overlap(Overlap.of(matrix))

    def along_rankings(
        self,
        orders: ArrayLike,
        n_features: int,
        largest: int | None = None,
        similarity: ArrayLike | None = None,
    ) -> tuple[StabilityValue, ...]:
        """The stability of the best 1, 2, … features of every run, in one pass over the rankings.

        Arguments, values and errors as in `StabilityMetric.along_rankings`.

        Examples
        --------
        >>> from fsframe_stability.coefficients import Jaccard
        >>> [value.value for value in Jaccard().along_rankings([[0, 1, 2], [2, 1, 0]], 4)]
        [0.0, 0.3333333333333333, 1.0]
        """
        if similarity is not None:
            raise RequestError(f"{self.method_name()} takes no similarity of features")
        ranked = self._checked_orders(orders, n_features, largest)
        return tuple(
            self.measure_overlap(overlap) for overlap in prefix_overlaps(ranked, n_features)
        )

    def measure_overlap(self, overlap: Overlap) -> StabilityValue:
        """The metric's value for sets that overlap like this."""
        raise NotImplementedError


@attrs.frozen(kw_only=True)
class PairwiseMetric(OverlapMetric):
    """Base of metrics that are the mean over pairs of a score of two sets.

    Authors set `_score`, a static `PairScore`.

    Parameters
    ----------
    impute : float, optional
        Score to take for pairs that have none. None, the default, leaves the collection undefined.
    """

    _score: ClassVar[PairScore]

    impute: float | None = impute_parameter()

    def measure_overlap(self, overlap: Overlap) -> StabilityValue:
        """The mean score over all pairs."""
        i, j = overlap.pairs()
        sizes = overlap.sizes
        scores = self._score(overlap.intersections[i, j], sizes[i], sizes[j], overlap.n_features)
        return mean_over_pairs(scores, (i, j), self.undefined_when, self.impute)
