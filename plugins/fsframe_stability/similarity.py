"""Metrics that take similar features into account: their base, and the thresholded similarity."""

from __future__ import annotations

from typing import Any, ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fsframe.errors import DataError
from fsframe.method.stability_metric import StabilityMetric, StabilityValue
from fsframe.params import param, real
from fsframe_stability.overlap import Overlap
from fsframe_stability.pairwise import impute_parameter, mean_over_pairs

__all__ = ["SimilarityMetric", "alike"]


def alike(similarity: NDArray[np.float64], threshold: float) -> Any:
    """The similarities of different features that reach a threshold.

    Parameters
    ----------
    similarity : (p, p) float64
        Symmetric, in [0, 1], ones on the diagonal.
    threshold : float
        Entries below it count as 0.

    Returns
    -------
    (p, p) scipy.sparse.csr_array of float64
        Entries ≥ threshold and above 0, without the diagonal.

    Raises
    ------
    DataError
        If an entry is outside [0, 1] or the diagonal is not 1.

    Notes
    -----
    Sparse, because few features are similar; its products run on one thread, so that results do not
    depend on the number of threads.

    Examples
    --------
    >>> import numpy as np
    >>> alike(np.array([[1.0, 0.9], [0.9, 1.0]]), 0.85).nnz
    2
    """
    outside = ~((similarity >= 0.0) & (similarity <= 1.0))
    if outside.any():
        i, j = np.argwhere(outside)[0]
        raise DataError(
            f"similarities must lie in [0, 1], features {i} and {j} have {similarity[i, j]:g}; "
            "use the absolute value of a correlation"
        )
    diagonal = similarity.diagonal()
    if not np.allclose(diagonal, 1.0):
        i = int(np.argmax(np.abs(diagonal - 1.0)))
        raise DataError(
            f"a feature must have similarity 1 with itself, feature {i} has {diagonal[i]:g}"
        )
    keep = (similarity >= threshold) & (similarity > 0.0)
    np.fill_diagonal(keep, False)
    rows, columns = np.nonzero(keep)
    values = similarity[rows, columns]
    return sparse.csr_array((values, (rows, columns)), shape=similarity.shape)


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
    impute: float | None = impute_parameter()

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
