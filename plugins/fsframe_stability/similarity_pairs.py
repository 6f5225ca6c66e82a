"""Metrics that average over pairs of runs a score that takes similar features into account."""

from __future__ import annotations

from typing import Any, ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.contracts.params import optional, param, real
from fsframe.contracts.stability_metric import StabilityMetric, StabilityValue
from fsframe_stability.overlap import Overlap
from fsframe_stability.pairwise import mean_over_pairs
from fsframe_stability.similarity import alike

__all__ = ["SimilarityMetric"]


@attrs.frozen(kw_only=True)
class SimilarityMetric(StabilityMetric):
    """Base of metrics that are the mean over pairs of a score that uses feature similarities.

    Authors write `_scores`.

    Parameters
    ----------
    threshold : float in [0, 1]
        Features are similar from this similarity on.
    impute : float, optional
        Score for pairs of runs that have none.
    """

    needs_similarity: ClassVar[bool] = True

    threshold: float = param(
        0.9, real(0, 1), help="Features with at least this similarity count as similar."
    )
    impute: float | None = param(
        None,
        optional(real()),
        help="Value for pairs of runs where the index is undefined; by default one such pair "
        "makes the whole result undefined.",
    )

    def _measure(
        self, matrix: NDArray[np.bool_], similarity: NDArray[np.float64] | None = None
    ) -> StabilityValue:
        assert similarity is not None
        overlap = Overlap.of(matrix)
        pairs = overlap.pairs()
        scores = self._scores(matrix, overlap, alike(similarity, self.threshold))[pairs]
        return mean_over_pairs(scores, pairs, self.undefined_when, self.impute)

    def _scores(
        self, sets: NDArray[np.bool_], overlap: Overlap, similar: Any
    ) -> NDArray[np.float64]:
        """Scores (m, m) of all pairs, NaN where undefined; `similar` as `alike` returns it."""
        raise NotImplementedError
