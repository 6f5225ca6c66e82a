"""Mutual information with the class, divided by the mean of both entropies."""

from __future__ import annotations

from typing import ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.contracts.dataset import Dataset
from fsframe.contracts.run import Run
from fsframe.contracts.selection import Selection
from fsframe_infotheory.engine.encode import Sums
from fsframe_infotheory.methods.scored_filter import ScoredFilter

__all__ = ["SymmetricUncertainty", "symmetric_uncertainties"]


def symmetric_uncertainties(encoded: Sums) -> NDArray[np.float64]:
    """SU(X_j, Y) of every feature, as (n_features,) in [0, 1]; zero where both are constant."""
    totals = np.maximum(encoded.totals, 1e-300)
    entropies = 2 * np.log2(totals) - (encoded.sum_j + encoded.sum_y) / totals
    live = (entropies > 1e-12) & (encoded.totals > 0)
    relevance = encoded.relevance
    return np.divide(2 * relevance, entropies, out=np.zeros_like(relevance), where=live)


@attrs.frozen(kw_only=True)
class SymmetricUncertainty(ScoredFilter):
    """Features ranked by symmetric uncertainty with the class, between 0 and 1.

    Without `top`, 10 features are kept.

    Notes
    -----
    SU(X, Y) = 2 I(X; Y) / (H(X) + H(Y)): unlike plain mutual information, it does not favour
    features with many levels.

    References
    ----------
    W. Press et al. 1988, Numerical recipes in C; L. Yu, H. Liu 2004, Efficient feature selection
    via analysis of relevance and redundancy, J. Mach. Learn. Res. 5:1205–1224, eq. 3.

    Examples
    --------
    >>> data = Dataset.from_arrays([[0, 1], [0, 0], [1, 1], [1, 0]], ["a", "a", "b", "b"])
    >>> SymmetricUncertainty(top=1).select(data).scores
    array([1., 0.])
    """

    unitless: ClassVar[bool] = True

    def _select(self, data: Dataset, upstream: Selection | None, run: Run) -> Selection:
        encoded, bins = self.encode_for_pairs(data, upstream, run, keep="sums")
        notes = self.notes(data, bins, encoded)
        return self.ranking(symmetric_uncertainties(encoded), data, bins.tables(), notes)
