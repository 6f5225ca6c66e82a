"""Křížek's measure: the entropy of whole feature sets."""

from __future__ import annotations

import math
from typing import ClassVar

import attrs
import numpy as np

from fsframe.contracts.stability_metric import StabilityValue
from fsframe_stability.overlap import Overlap
from fsframe_stability.pairwise import OverlapMetric, undefined

__all__ = ["Krizek"]


@attrs.frozen(kw_only=True)
class Krizek(OverlapMetric):
    """Stability by the frequency of identical sets, 1 if all sets are identical.

    Notes
    -----
    With c_s the number of the m runs that keep exactly the set s,

    .. math:: 1 - \\frac{H}{\\log_2 N}, \\qquad H = -\\sum_s \\frac{c_s}{m} \\log_2 \\frac{c_s}{m}

    The paper reports H itself, 0 for stable; here it is normalised and subtracted from 1, so that 1
    is stable. N = min(m, C(p, k)) different sets can occur where all runs keep k
    features, min(m, 2^p) where sizes differ (the paper has one size only). Two sets that differ in
    one feature count as wholly different. Undefined where only one set is possible (k = 0 or
    k = p in every run). O(m²p).

    References
    ----------
    Křížek, Kittler, Hlaváč (2007), CAIP, LNCS 4673, 929–936.

    Examples
    --------
    >>> Krizek()([[1, 1, 0], [1, 1, 0], [0, 1, 1], [0, 1, 1]]).value.__round__(6)
    0.36907
    """

    undefined_when: ClassVar[str] = (
        "every run keeps nothing, or every run keeps everything: no other set could occur"
    )

    def measure_overlap(self, overlap: Overlap) -> StabilityValue:
        """One minus the normalised entropy."""
        m, p, sizes = overlap.n_runs, overlap.n_features, overlap.sizes
        k = int(sizes[0])
        one_size = bool(np.all(sizes == k))
        possible = min(m, math.comb(p, k) if one_size else 2**p)
        if possible < 2:
            return undefined(self.undefined_when)
        # S_i = S_j exactly where the intersection is as large as both sets.
        same = overlap.intersections == np.maximum(sizes[:, None], sizes[None, :])
        # Σ_s (c_s/m) log(c_s/m), one term for each run instead of each set.
        entropy = -float(np.mean(np.log(same.sum(axis=1) / m)))
        return StabilityValue(value=1.0 - entropy / math.log(possible))
