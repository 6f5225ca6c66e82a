"""The Canberra indicator of rankings, top-weighted, against its exact expectation."""

from __future__ import annotations

from typing import ClassVar

import attrs
import numpy as np
import scipy
from numpy.typing import NDArray
from scipy.special import digamma

from fsframe.contracts.params import integer, optional, param
from fsframe.contracts.stability_metric import StabilityValue
from fsframe.errors import DataError
from fsframe_stability.pairwise import undefined
from fsframe_stability.rankings import RankMetric

__all__ = ["Canberra", "expected_canberra"]


def expected_canberra(p: int, depth: int | None = None) -> float:
    """The exact mean Canberra distance of two random rankings of p features.

    Parameters
    ----------
    p : int
        Number of features, ≥ 1.
    depth : int, optional
        k, 1 … p: ranks beyond it count as k + 1. Default p.

    Notes
    -----
    In two independent uniform permutations every feature has a uniform pair of ranks, so

    .. math:: E = \\frac{1}{p} \\sum_{i,j=1}^{p}
        \\frac{|\\min(i, k+1) - \\min(j, k+1)|}{\\min(i, k+1) + \\min(j, k+1)}

    The inner sums are differences of harmonic numbers, Σ_{j<i} (i − j)/(i + j)
    = 2i(H_{2i−1} − H_i) − (i − 1): O(k) in place of O(p²).

    References
    ----------
    Jurman et al. (2008), Bioinformatics 24(2), 258–264.

    Examples
    --------
    >>> round(expected_canberra(2), 12)  # 2/3 with probability 1/2
    0.333333333333
    """
    k = p if depth is None else depth
    i = np.arange(1, k + 2, dtype=np.float64)
    # H_{2i-1} − H_i as a difference of digammas; the constants cancel.
    below = 2 * i * (digamma(2 * i) - digamma(i + 1)) - (i - 1)
    return float(2.0 / p * (below[:-1].sum() + (p - k) * below[-1]))


@attrs.frozen(kw_only=True)
class Canberra(RankMetric):
    """Instability of rankings by the Canberra distance, relative to its expectation by chance.

    Parameters
    ----------
    best : "largest" or "smallest"
        Which end is best and has the largest weight.
    depth : int, optional
        k: all ranks beyond it count as k + 1. By default all ranks count.

    Notes
    -----
    With ranks from 1 = best, mean ranks for ties, cut at k + 1, the mean over pairs of runs of

    .. math:: \\sum_f \\frac{|r_f - s_f|}{r_f + s_f}

    over its expectation for random rankings (`expected_canberra`). **A distance**: 0 for identical
    rankings, 1 on average for random ones. The expectation is over rankings without ties, as in the
    paper. Undefined for a single feature. O(m²p).

    References
    ----------
    Jurman, Merler, Barla, Paoli, Galea, Furlanello (2008), Bioinformatics 24(2), 258–264.

    Examples
    --------
    The documented example of the authors' software mlpy 3.5 (positions from 0, k = 3):

    >>> positions = [[2, 4, 1, 3, 0], [3, 4, 1, 2, 0], [2, 4, 3, 0, 1]]
    >>> Canberra(best="smallest", depth=3)(positions).value.__round__(14)
    0.748629795715
    """

    larger_is_stabler: ClassVar[bool] = False
    undefined_when: ClassVar[str] = "there is only one feature"

    depth: int | None = param(
        None,
        optional(integer(1)),
        help="Ranks beyond this depth count as tied; by default all ranks count.",
        symbol="k",
        source="Jurman et al. 2008",
    )

    def _measure(self, matrix: NDArray[np.float64], similarity: object = None) -> StabilityValue:
        p = matrix.shape[1]
        if p == 1:
            return undefined(self.undefined_when)
        if self.depth is not None and self.depth > p:
            raise DataError(f"canberra: depth {self.depth} is beyond the {p} features; lower it")
        depth = p if self.depth is None else self.depth
        distances = scipy.spatial.distance.pdist(
            np.minimum(self.ranks(matrix), depth + 1), "canberra"
        )
        return StabilityValue(value=float(np.mean(distances)) / expected_canberra(p, depth))
