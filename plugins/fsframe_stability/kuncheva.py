"""Kuncheva's index, for runs that all keep the same number of features."""

from __future__ import annotations

from typing import ClassVar

import attrs

from fsframe.contracts.stability_metric import StabilityValue
from fsframe_stability.agreement import wald
from fsframe_stability.overlap import Overlap
from fsframe_stability.pairwise import PairwiseMetric, undefined

__all__ = ["Kuncheva"]


@attrs.frozen(kw_only=True)
class Kuncheva(PairwiseMetric):
    """Stability of equally large feature sets by Kuncheva's index.

    Notes
    -----
    With sets S_1 … S_M of k features each out of d,

    .. math:: KI = \\frac{2}{M(M-1)} \\sum_{i<j} \\frac{|S_i ∩ S_j| - k^2/d}{k - k^2/d}

    One for identical sets, 0 on average for random ones. Pairwise disjoint sets give
    −(k/d)/(1 − k/d); −1 needs k = d/2 and two complementary sets. Undefined where sizes differ,
    where k = 0 and where k = d. O(M²d).

    References
    ----------
    Kuncheva (2007), IASTED Artificial Intelligence and Applications, 390–395; as printed in
    Prat, Belanche (2016), ESANN, section 4.

    Examples
    --------
    >>> Kuncheva()([[1, 1, 0, 0], [0, 1, 1, 0], [1, 1, 0, 0]]).value
    0.3333333333333333
    """

    unequal_sizes: ClassVar[bool] = False
    chance_corrected: ClassVar[bool] = True
    undefined_when: ClassVar[str] = "the sets are empty, or hold every feature"

    # With one size, Wald's formula is Kuncheva's, term by term.
    _score = staticmethod(wald)

    def measure_overlap(self, overlap: Overlap) -> StabilityValue:
        """KI, or the reason why these sets have none."""
        low, high = int(overlap.sizes.min()), int(overlap.sizes.max())
        if low != high:
            return undefined(
                f"Kuncheva's index needs sets of one size, these have {low} to {high} features; "
                "nogueira is its extension to sets of different sizes"
            )
        return super().measure_overlap(overlap)
