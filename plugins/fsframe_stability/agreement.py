"""Means over pairs of runs, and intersections beyond chance: Kuncheva's index and its relatives.

These divide |S_i ∩ S_j| − n_i n_j / p, the intersection beyond what random sets of these sizes
share, by different largest values. For sets of one size all but Lustgarten's are one and the same
number, Kuncheva's. Numerators and denominators are multiplied by p, so that they are whole numbers
and a denominator of zero is exactly zero.
"""

from __future__ import annotations

from typing import Any, ClassVar

import attrs
import numpy as np
from numpy.typing import ArrayLike, NDArray

from fsframe.errors import RequestError
from fsframe.method.stability_metric import StabilityMetric, StabilityValue
from fsframe.params import optional, param, real
from fsframe_stability.overlaps import Counts, Overlap, PairScore, prefix_overlaps


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


def ratio(numerator: NDArray[Any], denominator: NDArray[Any]) -> NDArray[np.float64]:
    """Numerator / denominator, NaN where the denominator is zero."""
    defined = np.where(denominator == 0, np.nan, denominator)
    return np.asarray(numerator / defined, dtype=np.float64)


def _beyond_chance(shared: Counts, first: Counts, second: Counts, p: int) -> Counts:
    return p * shared - first * second


def lustgarten(shared: Counts, first: Counts, second: Counts, p: int) -> NDArray[np.float64]:
    """Intersection corrected for chance over its possible range; NaN for an empty or full set."""
    span = np.minimum(first, second) - np.maximum(0, first + second - p)
    return ratio(_beyond_chance(shared, first, second, p), p * span)


def wald(shared: Counts, first: Counts, second: Counts, p: int) -> NDArray[np.float64]:
    """Intersection beyond chance over the smaller set's; NaN where a set is empty or full."""
    most = p * np.minimum(first, second) - first * second
    return ratio(_beyond_chance(shared, first, second, p), most)


def kappa(shared: Counts, first: Counts, second: Counts, p: int) -> NDArray[np.float64]:
    """Cohen's κ of two runs' decisions; NaN where both sets are empty or both are full."""
    most = p * (first + second) - 2 * first * second
    return ratio(2 * _beyond_chance(shared, first, second, p), most)


def phi(shared: Counts, first: Counts, second: Counts, p: int) -> NDArray[np.float64]:
    """Correlation (φ) between the decisions of two runs; NaN where a set is empty or full."""
    # In double precision: the product of the two would pass 2⁶³ from p = 100,000 on.
    spread = np.sqrt((first * (p - first)).astype(np.float64) * (second * (p - second)))
    return ratio(_beyond_chance(shared, first, second, p), spread)


def unadjusted(shared: Counts, first: Counts, second: Counts, p: int) -> NDArray[np.float64]:
    """Intersection beyond chance over √(n₁n₂)'s; NaN where a set is empty or both are full."""
    product = first * second
    return ratio(_beyond_chance(shared, first, second, p), p * np.sqrt(product) - product)


@attrs.frozen(kw_only=True)
class _BeyondChance(PairwiseMetric):
    """Defaults of the metrics in this module."""

    chance_corrected: ClassVar[bool] = True
    undefined_when: ClassVar[str] = "one of the sets is empty or holds every feature"


@attrs.frozen(kw_only=True)
class Lustgarten(_BeyondChance):
    """Stability by Lustgarten's index: intersection beyond chance over its possible range.

    Notes
    -----
    Mean over pairs of

    .. math:: \\frac{|S_i ∩ S_j| - n_i n_j / p}{\\min(n_i, n_j) - \\max(0, n_i + n_j - p)}

    Chance corrected (0 on average for random sets), but its largest value depends on the sizes:
    identical sets of size k score (k − k²/p) / (k − max(0, 2k − p)), not 1. Undefined where a set
    is empty or full. O(m²p).

    References
    ----------
    Lustgarten, Gopalakrishnan, Visweswaran (2009), AMIA Annual Symposium Proceedings, 406–410.

    Examples
    --------
    >>> Lustgarten()([[1, 1, 1, 0, 0], [1, 1, 1, 0, 0]]).value
    0.6
    """

    _score = staticmethod(lustgarten)


@attrs.frozen(kw_only=True)
class Wald(_BeyondChance):
    """Stability by Wald's index: intersection beyond chance over the smaller set's.

    Notes
    -----
    Mean over pairs of

    .. math:: \\frac{|S_i ∩ S_j| - n_i n_j / p}{\\min(n_i, n_j) - n_i n_j / p}

    One where the smaller set lies in the larger; as low as 1 − p where a set of one feature misses
    a set of p − 1. Undefined where a set is empty or full. O(m²p).

    References
    ----------
    Wald, Khoshgoftaar, Napolitano (2013), IEEE ICTAI, 374–380.

    Examples
    --------
    >>> Wald()([[1, 0, 0, 0], [0, 1, 1, 1]]).value
    -3.0
    """

    _score = staticmethod(wald)


@attrs.frozen(kw_only=True)
class Kappa(_BeyondChance):
    """Stability by Cohen's κ between runs that vote on every feature.

    Notes
    -----
    Mean over pairs of

    .. math:: \\frac{|S_i ∩ S_j| - n_i n_j / p}{(n_i + n_j) / 2 - n_i n_j / p}

    Between −1 and 1. Undefined where both sets are empty or both are full. O(m²p).

    References
    ----------
    Carletta (1996), Computational Linguistics 22(2), 249–254.

    Examples
    --------
    >>> Kappa()([[1, 1, 0, 0], [0, 1, 1, 0]]).value
    0.0
    """

    undefined_when: ClassVar[str] = "both sets are empty, or both hold every feature"

    _score = staticmethod(kappa)


@attrs.frozen(kw_only=True)
class Phi(_BeyondChance):
    """Stability by the φ coefficient, Pearson's correlation of two runs' decisions.

    Notes
    -----
    Mean over pairs of

    .. math:: \\frac{|S_i ∩ S_j| - n_i n_j / p}{\\sqrt{n_i (1 - n_i/p)\\, n_j (1 - n_j/p)}}

    Between −1 and 1. Undefined where a set is empty or full. O(m²p).

    References
    ----------
    Nogueira, Brown (2016), ECML PKDD, 442–457.

    Examples
    --------
    >>> Phi()([[1, 1, 0, 0], [0, 0, 1, 1]]).value
    -1.0
    """

    _score = staticmethod(phi)


@attrs.frozen(kw_only=True)
class Unadjusted(_BeyondChance):
    """Stability by the intersection beyond chance over the geometric mean size's.

    Notes
    -----
    Mean over pairs of

    .. math:: \\frac{|S_i ∩ S_j| - n_i n_j / p}{\\sqrt{n_i n_j} - n_i n_j / p}

    The limit of the similarity-adjusted measures of the paper if no two features are similar.
    Undefined where a set is empty or both are full. O(m²p).

    References
    ----------
    Bommert, Rahnenführer (2020), LOD, arXiv:2009.12075.

    Examples
    --------
    >>> Unadjusted()([[1, 1, 0, 0], [1, 1, 0, 0]]).value
    1.0
    """

    undefined_when: ClassVar[str] = "one of the sets is empty, or both hold every feature"

    _score = staticmethod(unadjusted)


@attrs.frozen(kw_only=True)
class Kuncheva(_BeyondChance):
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
