"""Metrics over whole rankings: Spearman, Kendall's τ-b, weighted τ."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, ClassVar

import attrs
import numpy as np
import scipy
from numpy.typing import NDArray

from fsframe.contracts.params import choice, param
from fsframe.contracts.stability_metric import StabilityMetric, StabilityValue
from fsframe_stability.agreement import ratio
from fsframe_stability.pairwise import mean_over_pairs
from fsframe_stability.products import one_thread_product, whole_gram

__all__ = [
    "Kendall",
    "RankMetric",
    "Spearman",
    "WeightedTau",
    "sign_agreement",
    "weighted_agreement",
]

_CELLS = 1 << 22
"""Signs per block, 16 MB in single precision; sums of so few stay exact there."""

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
    # One root of the product: exactly `length` for equal ones, so equal runs agree exactly 1.
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
    """Signs of rank differences: features of two slices, (m, a, b) signs, and their share.

    Every pair of features comes once with share 1, or twice, once either way round, with ½.
    """
    rows = ranks.astype(np.float32)  # halves of whole numbers below 2²³: exact
    m, p = rows.shape
    start = 0
    while start < p - 1:
        stop = start + max(1, min(p - 1 - start, _CELLS // (m * (p - start))))
        own, beyond = slice(start, stop), slice(stop, p)
        for other, share in ((beyond, 1.0), (own, 0.5)):
            yield own, other, np.sign(rows[:, own, None] - rows[:, None, other]), share
        start = stop


def sign_agreement(ranks: NDArray[np.float64]) -> NDArray[np.float64]:
    """Concordant less discordant pairs of features, for every two runs.

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
    """Vigna's weighted τ of every two runs, for rankings without ties.

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
    places; the transpose weighs by the second's, and the mean of both is the measure. The
    denominator is (p − 1) Σ 1/r, the same for all. O(m²p²) time, 100 MB at most.
    """
    m, p = ranks.shape
    weights = 1.0 / ranks
    total = np.zeros((m, m))
    for own, other, signs, share in _sign_blocks(ranks):
        weighted = (weights[:, own, None] + weights[:, None, other]) * signs
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
    τ over pairs of features with weights 1/(r + 1) + 1/(s + 1) for features on places r and s,
    counted from 0, and the mean over the places in either run; ties as in τ-b. Between −1 and 1, 0
    on average for random rankings. Undefined where a run gives all features the same score.
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
    """Correlations of rows i < j, NaN where one is constant; none between two rows to skip."""
    m = len(rows)
    result = np.full((m, m), np.nan)
    constant = np.ptp(rows, axis=1) == 0
    for i in range(m):
        for j in range(i + 1, m):
            if constant[i] or constant[j] or (skip is not None and skip[i] and skip[j]):
                continue
            result[i, j] = correlation(rows[i], rows[j])
    return result
