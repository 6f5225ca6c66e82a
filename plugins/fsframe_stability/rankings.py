"""Metrics of rankings: correlations of ranks, and Canberra distance."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, ClassVar

import attrs
import numpy as np
import scipy
from numpy.typing import NDArray
from scipy.special import digamma

from fsframe.errors import DataError
from fsframe.method.stability_metric import StabilityMetric, StabilityValue
from fsframe.params import choice, integer, optional, param
from fsframe_stability.agreement import (
    mean_over_pairs,
    one_thread_product,
    ratio,
    undefined,
    whole_gram,
)

_CELLS = 1 << 22
"""Signs per block: 16 MB in single precision, in which sums of this many signs are exact."""

_BY_SIGNS = {"kendall": 50, "weighted-tau": 200}
"""Up to this many features per run the product of signs beats sorting (measured crossover)."""


@attrs.frozen(kw_only=True)
class RankMetric(StabilityMetric):
    """Base of metrics over (n_runs, n_features) scores or ranks; authors write `_correlations`.

    Parameters
    ----------
    best : "largest" or "smallest"
        Which end of a row is best: the largest number for scores, the smallest for ranks.
    """

    input: ClassVar[str] = "ranks"
    undefined_when: ClassVar[str] = "a run gives all features the same score"

    best: str = param(
        "largest",
        choice("largest", "smallest"),
        help="Which value is best: largest for scores, smallest for ranks 1, 2, …",
    )

    def ranks(self, matrix: NDArray[np.float64]) -> NDArray[np.float64]:
        """Ranks of every row, 1 = best, mean ranks for ties."""
        ordered = -matrix if self.best == "largest" else matrix
        return np.asarray(scipy.stats.rankdata(ordered, axis=1), dtype=np.float64)

    def _measure(self, matrix: NDArray[np.float64], similarity: Any = None) -> StabilityValue:
        correlations = self._correlations(self.ranks(matrix))
        pairs = np.triu_indices(len(matrix), k=1)
        return mean_over_pairs(correlations[pairs], pairs, self.undefined_when)

    def _correlations(self, ranks: NDArray[np.float64]) -> NDArray[np.float64]:
        """(m, m) correlations of the rows, NaN where undefined."""
        raise NotImplementedError


def _normalised(gram: NDArray[np.float64]) -> NDArray[np.float64]:
    length = gram.diagonal()
    # One root of the product is exactly `length` if both are equal: equal runs agree by exactly 1.
    return ratio(gram, np.sqrt(length[:, None] * length[None, :]))


@attrs.frozen(kw_only=True)
class Spearman(RankMetric):
    """Stability of rankings by Spearman's rank correlation, mean over pairs of runs.

    Parameters
    ----------
    best : "largest" or "smallest"
        Which end is best; makes no difference here.

    Notes
    -----
    Pearson's correlation of ranks, mean ranks for ties. Between −1 and 1, 0 on average for random
    rankings. Undefined where a run gives all features the same score. O(m²p) in one product.

    References
    ----------
    Spearman (1904), American Journal of Psychology 15(1), 72–101; for feature rankings Kalousis,
    Prados, Hilario (2007), Knowledge and Information Systems 12(1), 95–116.

    Examples
    --------
    >>> Spearman()([[4, 3, 2, 1], [4, 3, 1, 2]]).value
    0.8
    """

    chance_corrected: ClassVar[bool] = True

    def _correlations(self, ranks: NDArray[np.float64]) -> NDArray[np.float64]:
        p = ranks.shape[1]
        # Twice the centred rank is a whole number below p, ties included.
        width = min(8192, max(1, 2**53 // p**2))
        return _normalised(whole_gram(2.0 * ranks - (p + 1), width))


def _sign_blocks(
    ranks: NDArray[np.float64],
) -> Iterator[tuple[slice, slice, NDArray[np.float32], float]]:
    """Yield two slices of features, the (m, a, b) signs of their rank differences, and a factor.

    A pair of features comes once, with factor 1, or in both orders, with factor ½ each.
    """
    rows = ranks.astype(np.float32)  # halves of whole numbers below 2²³: exact
    m, p = rows.shape
    start = 0
    while start < p - 1:
        stop = start + max(1, min(p - 1 - start, _CELLS // (m * (p - start))))
        block, beyond = slice(start, stop), slice(stop, p)
        for other, share in ((beyond, 1.0), (block, 0.5)):
            yield block, other, np.sign(rows[:, block, None] - rows[:, None, other]), share
        start = stop


def sign_agreement(ranks: NDArray[np.float64]) -> NDArray[np.float64]:
    """Number of concordant minus discordant pairs of features, for every pair of runs.

    Parameters
    ----------
    ranks : (m, p) float64
        Ranks, mean ranks for ties.

    Returns
    -------
    (m, m) float64
        Whole numbers; the diagonal counts each run's untied pairs.

    Notes
    -----
    The signs of all p(p−1)/2 rank differences as rows of one matrix, multiplied with itself in
    blocks of at most 2²² signs: O(m²p²) time, 50 MB at most.
    """
    m = len(ranks)
    total = np.zeros((m, m))
    for _, _, signs, share in _sign_blocks(ranks):
        total += share * whole_gram(signs.reshape(m, -1), _CELLS, np.float32)
    return total


def weighted_agreement(ranks: NDArray[np.float64]) -> NDArray[np.float64]:
    """Vigna's weighted τ of every pair of runs, for rankings without ties.

    Parameters
    ----------
    ranks : (m, p) float64
        Ranks 1 … p in every row, p ≥ 2.

    Returns
    -------
    (m, m) float64
        Symmetric, ones on the diagonal.

    Notes
    -----
    With signs s_ab of the rank differences and weights w_a = 1/rank, the product of the rows
    (w_a + w_b) s_ab of one run and s_ab of the other is the numerator weighted by the first run's
    ranks; its transpose is weighted by the second's, and the measure is the mean of both. The
    denominator is (p − 1) Σ 1/r for every pair of runs. O(m²p²) time, 100 MB at most.
    """
    m, p = ranks.shape
    weights = 1.0 / ranks
    total = np.zeros((m, m))
    for block, other, signs, share in _sign_blocks(ranks):
        weighted = (weights[:, block, None] + weights[:, None, other]) * signs
        total += share * one_thread_product(
            weighted.reshape(m, -1), signs.reshape(m, -1).astype(np.float64).T
        )
    return (total + total.T) / (2.0 * (p - 1) * np.sum(1.0 / np.arange(1, p + 1)))


@attrs.frozen(kw_only=True)
class Kendall(RankMetric):
    """Stability of rankings by Kendall's τ-b, mean over pairs of runs.

    Parameters
    ----------
    best : "largest" or "smallest"
        Which end is best; makes no difference here.

    Notes
    -----
    With C concordant and D discordant pairs of features and T_x, T_y the pairs not tied in one run,
    τ_b = (C − D)/√(T_x T_y). Between −1 and 1, 0 on average for random rankings. Undefined where a
    run gives all features the same score. O(m²p²) as a product of signs up to 50 features per run,
    beyond that O(m²p log p) by sorting (scipy).

    References
    ----------
    Kendall (1945), Biometrika 33(3), 239–251.

    Examples
    --------
    >>> Kendall()([[4, 3, 2, 1], [4, 3, 1, 2]]).value.__round__(6)
    0.666667
    """

    chance_corrected: ClassVar[bool] = True

    def _correlations(self, ranks: NDArray[np.float64]) -> NDArray[np.float64]:
        m, p = ranks.shape
        if p <= _BY_SIGNS["kendall"] * m:
            return _normalised(sign_agreement(ranks))
        return _pair_by_pair(
            ranks, lambda a, b: scipy.stats.kendalltau(a, b, method="asymptotic").statistic
        )


@attrs.frozen(kw_only=True)
class WeightedTau(RankMetric):
    """Stability of rankings by Vigna's weighted τ: exchanges near the top weigh more.

    Parameters
    ----------
    best : "largest" or "smallest"
        Which end is best and has the largest weight.

    Notes
    -----
    τ over pairs of features, where features at places r and s, counted from 0, have weight
    1/(r + 1) + 1/(s + 1); the mean of the two τ with places from either run; ties as in τ-b.
    Between −1 and 1, 0 on average for random rankings. Undefined where a run gives all features the
    same score.
    Between runs without ties O(m²p²) as a product of signs, up to 200 features per run; otherwise
    O(m²p log p) by scipy's `weightedtau`, pair by pair.

    References
    ----------
    Vigna (2015), WWW, 1166–1176.

    Examples
    --------
    >>> WeightedTau()([[4, 3, 2, 1], [4, 3, 1, 2]]).value.__round__(6)
    0.813333
    """

    chance_corrected: ClassVar[bool] = True

    def _correlations(self, ranks: NDArray[np.float64]) -> NDArray[np.float64]:
        p = ranks.shape[1]
        # scipy gives the largest value the largest weight.
        by_scipy = partial(
            _pair_by_pair, -ranks, lambda a, b: scipy.stats.weightedtau(a, b).statistic
        )
        without_ties = (np.sort(ranks, axis=1) == np.arange(1, p + 1)).all(axis=1)
        if p < 2 or p > _BY_SIGNS["weighted-tau"] * without_ties.sum():
            return by_scipy()
        result = by_scipy(skip=without_ties)
        clean = np.flatnonzero(without_ties)
        result[np.ix_(clean, clean)] = weighted_agreement(ranks[clean])
        return result


def _pair_by_pair(
    rows: NDArray[np.float64], correlation: Any, skip: NDArray[np.bool_] | None = None
) -> NDArray[np.float64]:
    """Correlations of rows i < j; NaN where one is constant, and between two rows of `skip`."""
    m = len(rows)
    result = np.full((m, m), np.nan)
    constant = np.ptp(rows, axis=1) == 0
    for i in range(m):
        for j in range(i + 1, m):
            if constant[i] or constant[j] or (skip is not None and skip[i] and skip[j]):
                continue
            result[i, j] = correlation(rows[i], rows[j])
    return result


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
    = 2i(H_{2i−1} − H_i) − (i − 1): O(k) instead of O(p²).

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

    divided by its expectation for random rankings (`expected_canberra`). **A distance**: 0 for
    identical rankings, 1 on average for random ones. The expectation is over rankings without ties,
    as in the paper. Undefined for a single feature. O(m²p).

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
