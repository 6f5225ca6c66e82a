"""Agreement of pairs of runs: intersections of sets beyond chance, correlations of rankings, and
Canberra distance.

Kuncheva's index and its relatives divide |S_i ∩ S_j| − n_i n_j / p, the intersection beyond what
random sets of these sizes share, by differently defined largest values. For sets of one size all
but Lustgarten's equal Kuncheva's. Numerators and denominators are multiplied by p, so that they are
whole numbers and a denominator of zero is exactly zero.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, partial
from typing import Any, ClassVar, Protocol

import attrs
import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray
from scipy.special import digamma
from threadpoolctl import ThreadpoolController

from fsframe.errors import DataError, RequestError
from fsframe.method.stability_metric import StabilityMetric, StabilityValue
from fsframe.params import choice, integer, optional, param, real


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


def one_thread_product(left: NDArray[Any], right: NDArray[Any]) -> NDArray[Any]:
    """left @ right on one thread, so that no bit depends on the number of threads.

    >>> import numpy as np
    >>> one_thread_product(np.array([[2.0, 1.0]]), np.array([[1.0], [3.0]]))
    array([[5.]])
    """
    with _controller().limit(limits=1, user_api="blas"):
        return np.asarray(left @ right)


def whole_gram(rows: NDArray[Any], width: int, dtype: Any = np.float64) -> NDArray[np.float64]:
    """rows @ rows.T for whole numbers, summed exactly in blocks of columns.

    Parameters
    ----------
    rows : (m, p) array
        Whole numbers, of any type.
    width : int
        Columns per block, few enough that every sum of products in a block is exact in `dtype`:
        below 2²⁴ in single, 2⁵³ in double precision.
    dtype : float type
        Type in which blocks are multiplied.

    Returns
    -------
    (m, m) float64
        The product.

    Notes
    -----
    Exact sums do not depend on the order of adding, so any number of threads would do. One is used,
    because the products are small and a thread that waits for a busy core costs a hundred times
    what it saves. O(m²p) time, O(m·width + m²) memory.

    Examples
    --------
    >>> import numpy as np
    >>> whole_gram(np.array([[1, 0, 1], [1, 1, 0]]), width=2)
    array([[2., 1.],
           [1., 2.]])
    """
    total = np.zeros((len(rows), len(rows)))
    for start in range(0, rows.shape[1], width):
        block = rows[:, start : start + width].astype(dtype, copy=False)
        total += one_thread_product(block, block.T)
    return total


_COLUMNS = 8192
"""Columns per block: its copy in single precision takes 32 MB for 1000 runs."""


@attrs.frozen(eq=False)
class Overlap:
    """Intersection sizes of m sets, and how many of the sets hold each of p features.

    Attributes
    ----------
    intersections : (m, m) int64
        ``|S_i ∩ S_j|``; the diagonal holds the sizes ``|S_i|``.
    frequencies : (p,) int64
        ``h_f``, the number of sets that hold feature f.
    spread : int
        ``Σ_f h_f (m − h_f)``; computed if not given.
    """

    intersections: NDArray[np.int64]
    frequencies: NDArray[np.int64]
    spread: int = attrs.field()

    @spread.default
    def _spread(self) -> int:
        return _spread(self.frequencies, self.n_runs)

    @classmethod
    def of(cls, matrix: ArrayLike) -> Overlap:
        """The overlap of the rows of a boolean matrix.

        Parameters
        ----------
        matrix : (m, p) bool
            One row per run, True where the run keeps the feature; m ≥ 2, p ≥ 1.

        Raises
        ------
        RequestError
            If the matrix is not two-dimensional, holds anything but 0 and 1, or has fewer than
            two rows or no column.

        Notes
        -----
        Z Zᵀ over the u ≤ p columns that some run keeps, in blocks: O(mp + m²u) time, O(mu + m²)
        memory in addition to the input.

        Examples
        --------
        >>> Overlap.of([[1, 1, 0, 0], [0, 1, 1, 1]]).intersections
        array([[2, 1],
               [1, 3]])
        """
        sets = np.asarray(matrix)
        if sets.ndim != 2 or sets.shape[0] < 2 or sets.shape[1] < 1:
            raise RequestError(
                "feature sets must come as a matrix of at least 2 runs × 1 feature, "
                f"not of shape {sets.shape}"
            )
        if sets.dtype != np.bool_:
            if not np.isin(sets, (0, 1)).all():
                raise RequestError(
                    "feature sets must come as a matrix of 0 and 1 (kept or not); "
                    "for scores or ranks choose a metric over ranks"
                )
            sets = sets.astype(np.bool_)
        frequencies = np.count_nonzero(sets, axis=0).astype(np.int64)
        kept = sets[:, frequencies > 0]
        intersections = whole_gram(kept, _COLUMNS, np.float32).astype(np.int64)
        return cls(intersections, frequencies)

    @property
    def n_runs(self) -> int:
        """m, the number of sets."""
        return len(self.intersections)

    @property
    def n_features(self) -> int:
        """p, the number of features that could be kept."""
        return len(self.frequencies)

    @property
    def sizes(self) -> NDArray[np.int64]:
        """``|S_i|``, (m,) int64."""
        return self.intersections.diagonal()

    def pairs(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Row numbers (i, j) of the m(m−1)/2 pairs with i < j, in row order."""
        first, second = np.triu_indices(self.n_runs, k=1)
        return first, second


def prefix_overlaps(orders: NDArray[np.integer[Any]], n_features: int) -> Iterator[Overlap]:
    """The overlaps of the best 1, 2, … features of every run, in one pass over the rankings.

    Parameters
    ----------
    orders : (m, K) int
        Feature numbers, best first, without repetition in a row.
    n_features : int
        p, the number of features that were ranked.

    Yields
    ------
    Overlap
        For set sizes 1 … K. They share one `frequencies` array, which is updated in place when the
        next is requested.

    Notes
    -----
    When every run i takes in its feature f_i, |S_i ∩ S_j| grows by [f_i ∈ S_j] + [f_j ∈ S_i]
    + [f_i = f_j], and only the frequencies of these features change: O(m² + m log m) per size,
    compared with O(m²p) for a new product.

    Examples
    --------
    >>> orders = np.array([[0, 1, 2], [2, 1, 0]])
    >>> [int(overlap.intersections[0, 1]) for overlap in prefix_overlaps(orders, 4)]
    [0, 1, 3]
    """
    m = len(orders)
    kept = np.zeros((m, n_features), dtype=np.bool_)
    runs = np.arange(m)
    intersections = np.zeros((m, m), dtype=np.int64)
    frequencies = np.zeros(n_features, dtype=np.int64)
    spread = 0
    for new in orders.T:
        known = kept[:, new].astype(np.int64)  # [j, i]: run j already holds run i's new feature
        intersections += known + known.T + (new[:, None] == new[None, :])
        kept[runs, new] = True
        features, times = np.unique(new, return_counts=True)
        spread -= _spread(frequencies[features], m)
        frequencies[features] += times
        spread += _spread(frequencies[features], m)
        yield Overlap(intersections.copy(), frequencies, spread)


def _spread(frequencies: NDArray[np.int64], m: int) -> int:
    return int(np.sum(frequencies * (m - frequencies)))


Counts = NDArray[np.int64]


class PairScore(Protocol):
    """A score of two sets that depends on their sizes and their intersection only.

    Called with intersection sizes, first sizes, second sizes, all (n_pairs,), and the number of
    features; returns (n_pairs,) scores, NaN where undefined.
    """

    def __call__(
        self, shared: Counts, first: Counts, second: Counts, p: int, /
    ) -> NDArray[np.float64]: ...


def intersection_law(
    first: int, second: int, p: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Possible intersection sizes of two random sets, and their probabilities.

    Parameters
    ----------
    first, second : int
        Sizes n₁ and n₂ of the sets, 0 … p.
    p : int
        Number of features, ≥ 1.

    Returns
    -------
    shared : (s,) int64
        max(0, n₁ + n₂ − p) … min(n₁, n₂).
    probability : (s,) float64
        Hypergeometric(p, n₁, n₂), summing to one.

    Notes
    -----
    Ratios of neighbouring terms, multiplied outwards from the mode and normalised: no logarithm
    of a factorial, so nothing cancels at large p, and far tails go to zero as they should. At
    most min(n₁, n₂) + 1 terms.

    Examples
    --------
    >>> shared, probability = intersection_law(2, 2, 4)
    >>> shared, (6 * probability).round(12)
    (array([0, 1, 2]), array([1., 4., 1.]))
    """
    low, high = max(0, first + second - p), min(first, second)
    shared = np.arange(low, high + 1, dtype=np.int64)
    if low == high:
        return shared, np.ones(1)
    mode = min(max((first + 1) * (second + 1) // (p + 2), low), high) - low
    r = shared[:-1].astype(np.float64)
    ratio = (first - r) * (second - r) / ((r + 1) * (p - first - second + r + 1))
    relative = np.ones(len(shared))
    relative[mode + 1 :] = np.cumprod(ratio[mode:])
    relative[:mode] = np.cumprod(1.0 / ratio[:mode][::-1])[::-1]
    return shared, relative / relative.sum()


def expected_score(score: PairScore, first: int, second: int, p: int) -> float:
    """Mean of `score` over all pairs of sets of these sizes; NaN if it is undefined for any pair.

    Takes min(n₁, n₂) + 1 terms instead of C(p, n₁)·C(p, n₂) pairs, because the score depends on the
    sets only through their sizes and their intersection.
    """
    shared, probability = intersection_law(first, second, p)
    sizes = np.full(shared.shape, first), np.full(shared.shape, second)
    # Not a dot product: the bits of a threaded one depend on the number of threads.
    return float(np.sum(probability * score(shared, *sizes, p)))


def corrected_for_chance(score: PairScore) -> PairScore:
    """The score (s − E s) / (1 − E s): 1 for the best pair, 0 on average for random sets.

    `score` must be symmetric, with largest value 1. The result is NaN where `score` is, and where
    every pair of sets of these sizes scores 1, so that there is nothing to correct.

    Notes
    -----
    One hypergeometric sum for each distinct pair of sizes, not for each pair of runs.
    """

    def corrected(shared: Counts, first: Counts, second: Counts, p: int) -> NDArray[np.float64]:
        raw = score(shared, first, second, p)
        sizes = np.column_stack([np.minimum(first, second), np.maximum(first, second)])
        different, which = np.unique(sizes, axis=0, return_inverse=True)
        expected = np.array([expected_score(score, int(a), int(b), p) for a, b in different])
        # 0/0 at expectation 1: both sets hold every feature (or, for Hamming, none).
        room = np.where(expected < 1.0, 1.0 - expected, np.nan)
        which = which.reshape(-1)
        return (raw - expected[which]) / room[which]

    return corrected


def undefined(reason: str) -> StabilityValue:
    """The value NaN, with the reason."""
    return StabilityValue(value=float("nan"), undefined=reason)


def mean_over_pairs(
    scores: NDArray[np.float64],
    pairs: tuple[NDArray[np.int64], NDArray[np.int64]],
    why: str,
    impute: float | None = None,
) -> StabilityValue:
    """The mean score of pairs of runs (row numbers), or the reason why it is undefined.

    A pair whose score is NaN counts as `impute`. Without `impute`, one such pair makes the mean
    undefined, because the mean over the remaining pairs would measure something else; `why` says
    when a pair has no score.
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
    """The parameter `impute` of metrics that average over pairs of runs."""
    return param(
        None,
        optional(real()),
        help="Value for pairs of runs where the index is undefined; by default one such pair "
        "makes the whole result undefined.",
    )


@attrs.frozen(kw_only=True)
class OverlapMetric(StabilityMetric):
    """Base of metrics that need set sizes, intersections and frequencies only.

    Authors write `measure_overlap`. The overlaps of growing sets are cheap (`prefix_overlaps`), so
    such a metric is computed for all set sizes of a ranking in one pass.
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
        """The metric's value for sets with this overlap."""
        raise NotImplementedError


@attrs.frozen(kw_only=True)
class PairwiseMetric(OverlapMetric):
    """Base of metrics that average a score of two sets over all pairs of runs.

    Authors set `_score`, a static `PairScore`.

    Parameters
    ----------
    impute : float, optional
        Score of pairs that have none. By default one such pair makes the result undefined.
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
    """Intersection beyond chance over that of nested sets; NaN where a set is empty or full."""
    most = p * np.minimum(first, second) - first * second
    return ratio(_beyond_chance(shared, first, second, p), most)


def kappa(shared: Counts, first: Counts, second: Counts, p: int) -> NDArray[np.float64]:
    """Cohen's κ of two runs' decisions; NaN where both sets are empty or both are full."""
    most = p * (first + second) - 2 * first * second
    return ratio(2 * _beyond_chance(shared, first, second, p), most)


def phi(shared: Counts, first: Counts, second: Counts, p: int) -> NDArray[np.float64]:
    """Correlation (φ) between the decisions of two runs; NaN where a set is empty or full."""
    # In double precision, because as whole numbers the product would pass 2⁶³ at p ≈ 110,000.
    spread = np.sqrt((first * (p - first)).astype(np.float64) * (second * (p - second)))
    return ratio(_beyond_chance(shared, first, second, p), spread)


def unadjusted(shared: Counts, first: Counts, second: Counts, p: int) -> NDArray[np.float64]:
    """Intersection beyond chance over √(n₁n₂) − n₁n₂/p; NaN where a set is empty or both full."""
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
    """Stability by Wald's index: intersection beyond chance over that of nested sets.

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
    """Stability by Cohen's κ between the decisions of two runs.

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
    """Stability by the intersection beyond chance over √(n_i n_j) − n_i n_j / p.

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
        """Kuncheva's index, or the reason why these sets have none."""
        low, high = int(overlap.sizes.min()), int(overlap.sizes.max())
        if low != high:
            return undefined(
                f"Kuncheva's index needs sets of one size, these have {low} to {high} features; "
                "nogueira is its extension to sets of different sizes"
            )
        return super().measure_overlap(overlap)


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
