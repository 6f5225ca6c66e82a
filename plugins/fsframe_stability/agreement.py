"""Sizes of sets and their intersections, means over pairs of runs, and intersections beyond chance.

Kuncheva's index and its relatives divide |S_i ∩ S_j| − n_i n_j / p, the intersection beyond what
random sets of these sizes share, by differently defined largest values. For sets of one size all
but Lustgarten's equal Kuncheva's. Numerators and denominators are multiplied by p, so that they are
whole numbers and a denominator of zero is exactly zero.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, ClassVar, Protocol

import attrs
import numpy as np
from numpy.typing import ArrayLike, NDArray
from threadpoolctl import ThreadpoolController

from fsframe.errors import RequestError
from fsframe.method.stability_metric import StabilityMetric, StabilityValue
from fsframe.params import optional, param, real


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
