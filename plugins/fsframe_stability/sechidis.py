"""Sechidis' effective stability: φ with correlated features taken into account."""

from __future__ import annotations

from typing import ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fsframe.method.stability_metric import StabilityMetric, StabilityValue
from fsframe.params import param, real
from fsframe_stability.overlap import Overlap
from fsframe_stability.pairwise import undefined
from fsframe_stability.similarity import alike

__all__ = ["Sechidis"]


@attrs.frozen(kw_only=True)
class Sechidis(StabilityMetric):
    """Effective stability: Nogueira's φ where similar features count as each other.

    Parameters
    ----------
    threshold : float in [0, 1]
        Similarities below it count as 0; 0 takes the similarity as it is.

    Notes
    -----
    With C the thresholded similarity (ones on the diagonal), S the sample covariance of the rows
    of the (m, p) matrix of sets, and Σ its expectation under random selection,

    .. math:: 1 - \\frac{\\mathrm{tr}(C S)}{\\mathrm{tr}(C Σ)}, \\quad
        Σ_{ii} = \\frac{k̄}{p}\\Big(1 - \\frac{k̄}{p}\\Big), \\quad
        Σ_{ij} = \\frac{\\overline{k^2} - k̄}{p^2 - p} - \\frac{k̄^2}{p^2}

    Without similar features it equals φ. Chance corrected. It has no general bounds, because a
    thresholded similarity need not be positive semi-definite; undefined where tr(CΣ) is not
    positive: nothing or everything is kept, or everything is similar and all sets are equally
    large. O(m·nnz + m p), never a p × p product.

    References
    ----------
    Sechidis, Papangelou, Nogueira, Weatherall, Brown (2020), ECML PKDD 2019, 327–342.

    Examples
    --------
    >>> import numpy as np
    >>> Sechidis()([[1, 1, 0], [0, 1, 1], [1, 0, 1]], np.eye(3)).value.__round__(12)
    -0.5
    """

    needs_similarity: ClassVar[bool] = True
    chance_corrected: ClassVar[bool] = True
    undefined_when: ClassVar[str] = (
        "nothing or everything is kept, or the similarities leave random selection no variance"
    )

    threshold: float = param(0.9, real(0, 1), help="Similarities below this count as 0.")

    def _measure(
        self, matrix: NDArray[np.bool_], similarity: NDArray[np.float64] | None = None
    ) -> StabilityValue:
        assert similarity is not None
        similar = alike(similarity, self.threshold)
        overlap = Overlap.of(matrix)
        m, p = overlap.n_runs, overlap.n_features
        sizes, h = overlap.sizes.astype(np.float64), overlap.frequencies.astype(np.float64)
        held = sparse.csr_array(matrix.astype(np.float64))
        # Σ_i z_iᵀ C z_i and hᵀ C h, the diagonal of C apart.
        within = float((held @ similar).multiply(held).sum() + sizes.sum())
        across = float(np.sum(h * (similar @ h)) + np.sum(h * h))
        observed = (within - across / m) / (m - 1)
        share = sizes.mean() / p
        # A single feature has no pair: its off-diagonal sum is empty.
        pair = (np.mean(sizes**2) - sizes.mean()) / max(1, p * p - p) - share**2
        alone, together = p * share * (1 - share), float(similar.sum()) * pair
        chance = alone + together
        # Nothing but rounding is left where all sets are equally large and all features similar.
        if chance <= 1e-12 * (alone + abs(together)):
            return undefined(self.undefined_when)
        return StabilityValue(value=float(1.0 - observed / chance))
