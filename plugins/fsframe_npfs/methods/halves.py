"""Base of stages that run a selector on complementary halves of the table; mean ranks over
resamples, bounds on false selections, and numbers selected by chance.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

import attrs
import numpy as np
import scipy
from numpy.typing import NDArray

from fsframe.errors import DataError
from fsframe.method.ranking import NEEDED, RELEVANT, Statement
from fsframe.method.run import Progress, Run
from fsframe.method.selection import Selection
from fsframe.method.selector import Selector
from fsframe.method.statistics import mean_ranks
from fsframe.params import integer, optional, param
from fsframe.resampling.resamples import Base, Recurring, too_many
from fsframe.table.dataset import Dataset
from fsframe_npfs.engine.draws import check_halves, complementary_halves
from fsframe_npfs.engine.labellings import (
    DRAWS,
    PERMUTATION,
    Relabelled,
    ResamplingSelector,
    class_codes,
    permuted,
    strata_problems,
)
from fsframe_npfs.engine.nulls import said_of_drift


def list_ranks(selected: NDArray[np.intp], n_features: int) -> NDArray[np.float64]:
    """Ranks of all K features, given only a list of the k best, best first.

    Those in the list have ranks 1 … k; the others share the mean of the rest, (k + 1 + K) / 2.

    Examples
    --------
    >>> list_ranks(np.array([2, 0]), 4)
    array([2. , 3.5, 1. , 3.5])
    """
    ranks = np.full(n_features, (selected.size + 1 + n_features) / 2.0)
    ranks[selected] = np.arange(1, selected.size + 1)
    return ranks


def complete_ranks(scores: NDArray[np.float64], natural_zero: bool = False) -> NDArray[np.float64]:
    """Ranks of all features by score, 1 for the largest; ties share their mean rank.

    Features with a NaN score share the mean of the last ranks; with `natural_zero`, they tie with
    features of score 0, which then means that a feature carries nothing. Ranks sum to K(K + 1)/2.

    Examples
    --------
    >>> complete_ranks(np.array([0.5, np.nan, 0.9, 0.5]))
    array([2.5, 4. , 1. , 2.5])
    >>> complete_ranks(np.array([0.5, np.nan, 0.9, 0.0]), natural_zero=True)
    array([2. , 3.5, 1. , 3.5])
    """
    nothing = 0.0 if natural_zero else np.inf
    return mean_ranks(np.where(np.isnan(scores), nothing, -scores))


def linear_scores(ranks: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean over resamples of scores that decrease linearly with the rank, from 1 to 0.

    Σ_l (K − r_il) / (n (K − 1)) for ranks r (n_resamples, n_features), 1 the best.

    References
    ----------
    Abeel, Helleputte, Van de Peer, Dupont, Saeys 2010, Robust biomarker identification for cancer
    diagnosis with ensemble feature selection methods, Bioinformatics 26:392, section 2.2 (complete
    linear aggregation: all resamples weigh the same).

    Examples
    --------
    >>> linear_scores(np.array([[1.0, 2.0, 3.0], [2.0, 1.0, 3.0]]))
    array([0.75, 0.75, 0.  ])
    """
    n_features = ranks.shape[1]
    return (n_features - ranks.mean(axis=0)) / max(n_features - 1, 1)


BOUNDS = ("auto", "worst-case", "unimodal", "r-concave")

# Exponents r of concavity that the paper found to fit: for the share of pairs of which both halves
# select a feature, and for the share of halves.
_PAIRS, _HALVES = -0.5, -0.25

# The range in which the shift of an extremal distribution is searched for; outside it the
# distribution is all at 0, or uniform, to within rounding.
_LEAST_SHIFT, _MOST_SHIFT = 1e-5, 1e5


def expected_false(
    count: int, pairs: int, kept: float, n_features: int, bound: str, sides: int = 2
) -> float:
    """Bound on the expected number of kept features that the base rarely selects.

    Parameters
    ----------
    count : int in 1 … 2·pairs
        Features are kept if at least this many halves select them.
    pairs : int ≥ 1
        B, the number of complementary pairs of halves.
    kept : float ≥ 0
        q, the mean number of features selected on a half.
    n_features : int ≥ 1
        p.
    bound : {"auto", "worst-case", "unimodal", "r-concave"}
        Assumed distribution of the share of halves that select such a feature: any, unimodal, or
        r-concave with r = −1/2 over pairs and −1/4 over halves. "auto": r-concave or that of normal
        scores, whichever gives more.
    sides : {1, 2}
        Of normal scores, as in `normal_false`.

    Returns
    -------
    float
        Infinite if the bound says nothing. The features counted are those whose probability of
        selection on a half is at most θ = q/p.

    Notes
    -----
    Theorem 1 for "worst-case", equation 6 with theorem 2 for "unimodal", section 3.3 for
    "r-concave". Normal scores are not r-concave if kept/p is small: "auto" is our departure.

    References
    ----------
    Shah, Samworth 2013, Variable selection with error control: another look at stability
    selection, J. R. Statist. Soc. B 75:55.

    Examples
    --------
    >>> for bound in BOUNDS:
    ...     print(bound, round(expected_false(90, 50, 5, 1000, bound), 4))
    auto 0.0015
    worst-case 0.0312
    unimodal 0.0108
    r-concave 0.0015
    >>> for bound in BOUNDS:
    ...     print(bound, round(expected_false(20, 50, 5, 1000, bound), 3))
    auto 2.065
    worst-case inf
    unimodal inf
    r-concave 0.483
    """
    if bound == "auto":
        by_shape = expected_false(count, pairs, kept, n_features, "r-concave")
        return max(by_shape, normal_false(count, pairs, kept, n_features, sides))
    share, rare = count / (2 * pairs), kept / n_features
    if bound == "r-concave":
        # At least count − B pairs have the feature in both halves.
        by_pairs = largest_tail(rare**2, pairs, count - pairs, _PAIRS)
        expected = n_features * min(by_pairs, largest_tail(rare, 2 * pairs, count, _HALVES))
        return expected if expected < kept else math.inf
    if share <= 0.5:
        return math.inf
    expected = kept * rare / (2.0 * share - 1.0)
    if bound == "unimodal" and rare <= 1.0 / math.sqrt(3.0):
        expected = min(expected, _unimodal_factor(share, pairs, rare) * kept * rare)
    return expected


def _unimodal_factor(share: float, pairs: int, rare: float) -> float:
    """C(τ, B) of theorem 2; infinite below the shares that it covers."""
    if share > 0.75:
        return 4.0 * (1.0 - share + 0.5 / pairs) / (1.0 + 1.0 / pairs)
    if share > min(0.5 + rare**2, 0.5 + 0.5 / pairs + 0.75 * rare**2):
        return 1.0 / (2.0 * (2.0 * share - 1.0 - 0.5 / pairs))
    return math.inf


def least_count(
    most_false: float, pairs: int, kept: float, n_features: int, bound: str, sides: int = 2
) -> int | None:
    """The smallest number of halves at which `expected_false` is at most `most_false`, or None.

    The other arguments are those of `expected_false`, which is computed for log₂ 2B numbers.

    Examples
    --------
    >>> least_count(1.0, 50, 50, 1000, "r-concave"), least_count(1.0, 50, 50, 1000, "worst-case")
    (70, None)
    """
    low, high = 1, 2 * pairs
    if expected_false(high, pairs, kept, n_features, bound, sides) > most_false:
        return None
    while low < high:
        middle = (low + high) // 2
        if expected_false(middle, pairs, kept, n_features, bound, sides) <= most_false:
            high = middle
        else:
            low = middle + 1
    return low


@functools.lru_cache(maxsize=4096)
def largest_tail(mean: float, n: int, least: int, r: float) -> float:
    """The largest P(X ≥ least) over r-concave X on 0 … n with mean at most `mean`·n.

    Parameters
    ----------
    mean : float in [0, 1]
        Bound on E[X]/n.
    n : int ≥ 1
    least : int
    r : float < 0
        f is r-concave if f^r is convex where f > 0.

    Notes
    -----
    An extremal distribution is proportional to (a + i)^(1/r) on 0 … k, with the rest of its mass at
    k + 1. For each k the shifts a at which that rest is between 0 and (a + k + 1)^(1/r) form an
    interval, over which the tail is maximised numerically. O(n) one-dimensional problems of O(n)
    each.

    References
    ----------
    Shah, Samworth 2013, section 3.3 and appendix A.4.

    Examples
    --------
    A tail as heavy as r-concavity allows, and Markov's bound:

    >>> round(largest_tail(0.05, 100, 60, -0.25), 5), round(0.05 * 100 / 60, 5)
    (0.00294, 0.08333)
    """
    if least <= 2 * mean * n + 1:
        # Uniform or wider: nothing better than the trivial bound is claimed.
        return 1.0
    if mean == 0:
        return 0.0
    power, target = 1.0 / r, mean * n
    places = np.arange(n + 1, dtype=np.float64)

    def mean_to(k: int, shift: float) -> float:
        mass = (shift + places[: k + 1]) ** power
        return float(mass @ places[: k + 1] / mass.sum())

    def tail(shift: float, k: int) -> float:
        mass = (shift + places[: k + 1]) ** power
        scale = (k + 1 - target) / float(mass @ (k + 1 - places[: k + 1]))
        return 1.0 - scale * float(mass[:least].sum())

    def shift_of(k: int, most: float) -> float:
        """The shift, at most `most`, at which the distribution on 0 … k has mean `target`."""
        if mean_to(k, most) <= target:
            return most
        if mean_to(k, _LEAST_SHIFT) >= target:
            return _LEAST_SHIFT
        # On a logarithmic scale, as shifts span ten orders of magnitude.
        log_shift = scipy.optimize.brentq(
            lambda log: mean_to(k, math.exp(log)) - target, math.log(_LEAST_SHIFT), math.log(most)
        )
        return math.exp(log_shift)

    best = 0.0
    upper = shift_of(least - 1, _MOST_SHIFT)
    for k in range(least - 1, n):
        lower = shift_of(k + 1, upper)
        best = max(best, tail(lower, k), tail(upper, k))
        if upper > lower * (1 + 1e-9):
            minimum = scipy.optimize.minimize_scalar(
                lambda log, k=k: -tail(math.exp(log), k),
                bounds=(math.log(lower), math.log(upper)),
                method="bounded",
            )
            best = max(best, -float(minimum.fun))
        upper = lower
    return min(1.0, max(best, 0.0))


Floats = NDArray[np.float64]


def bound_of_sizes(sizes: Floats, n_features: int, pairs: int, power: int) -> Floats:
    """Bound on the expected sum of h(Π) over false features, for paths with these sizes.

    Parameters
    ----------
    sizes : (m,) float64 ≥ 0
        q(λ), the mean number of features selected on a half at each threshold.
    n_features : int ≥ 1
        p.
    pairs : int ≥ 1
        B.
    power : {1, 2, 3}
        h(π) = (2π − 1)^power for π ≥ ½, else 0.

    Returns
    -------
    (m,) float64

    Notes
    -----
    With U_b = 1 if both halves of pair b select the feature, 2Π − 1 ≤ ΣU_b/B, so that h(Π) is at
    most the power of that mean. If a false feature is in both halves of each of k different pairs
    with probability at most θ^(2k), θ = q/p, the moments of ΣU_b follow by counting which factors
    coincide: B times θ² for one pair, 3B(B − 1) θ⁴ for two (power 3), B(B − 1)(B − 2) θ⁶ for three.

    References
    ----------
    Melikechi, Miller 2025, Integrated path stability selection, JASA, theorem 4.1 and corollary.

    Examples
    --------
    >>> bound_of_sizes(np.array([10.0]), 100, 1, 3).round(6)   # one pair: q²/p
    array([1.])
    """
    theta = (sizes / n_features) ** 2
    one, two, three = pairs, pairs * (pairs - 1), pairs * (pairs - 1) * (pairs - 2)
    if power == 1:
        moment = one * theta
    elif power == 2:
        moment = one * theta + two * theta**2
    else:
        moment = one * theta + 3 * two * theta**2 + three * theta**3
    bound: Floats = n_features * moment / pairs**power
    return bound


def integrate_paths(
    scores: Floats, *, power: int, cutoff: float, steps: int, delta: float
) -> tuple[Floats, float, Floats, Floats]:
    """Integrate the stability path of every feature, and bound the number of false features.

    Parameters
    ----------
    scores : (labellings, 2B, p) float64
        Scores on the halves; not positive or NaN: not selected at any threshold.
    power : {1, 2, 3}
    cutoff : float > 0
        Thresholds descend from the largest score for as long as the mean of `bound_of_sizes` over
        them, with sizes averaged over the labellings, does not exceed this.
    steps : int ≥ 2
        Number of thresholds, in equal ratios from the largest to the smallest positive score of all
        labellings.
    delta : float
        Thresholds λ are weighted by λ^(−δ) dλ; 1 weights equal ratios equally.

    Returns
    -------
    integrals : (labellings, p) float64 in [0, 1]
    bound : float
        E(FP) of keeping features with an integral of at least τ is at most bound/τ; 0 if no
        threshold is left.
    thresholds : (m,) float64
        Decreasing.
    paths : (m, p) float64
        Share of the halves that select each feature at each threshold, under the first labelling.
    """
    labellings, halves, p = scores.shape
    ordered = np.sort(np.where(scores > 0, scores, 0.0), axis=1)
    positive = ordered[ordered > 0]
    integrals = np.zeros((labellings, p))
    if not positive.size:
        return integrals, 0.0, np.empty(0), np.empty((0, p))
    grid = np.geomspace(positive.max(), positive.min(), steps)
    # Ends are exact, so that the largest score is selected at the first threshold.
    grid[0], grid[-1] = positive.max(), positive.min()
    first = _paths(ordered[0], grid)
    sizes = first.sum(axis=1)
    for labelling in range(1, labellings):
        sizes = sizes + _paths(ordered[labelling], grid).sum(axis=1)
    bounds = bound_of_sizes(sizes / labellings, p, halves // 2, power)
    # λ^(−δ) dλ, with dλ in proportion to λ on a grid of equal ratios.
    weights = grid ** (1.0 - delta)
    means = np.cumsum(weights * bounds) / np.cumsum(weights)
    last = int(np.searchsorted(means > cutoff, True))
    if last == 0:
        return integrals, 0.0, grid[:0], first[:0]
    shares = weights[:last] / weights[:last].sum()
    for labelling in range(labellings):
        paths = _paths(ordered[labelling], grid[:last]) if labelling else first[:last]
        integrals[labelling] = shares @ (np.maximum(2.0 * paths - 1.0, 0.0) ** power)
    return integrals, float(means[last - 1]), grid[:last], first[:last]


def _paths(ordered: Floats, grid: Floats) -> Floats:
    """Share of the halves in which each feature reaches each threshold, (m, p).

    `ordered` holds the scores, (2B, p), each column in ascending order.
    """
    halves, p = ordered.shape
    shares = np.empty((grid.size, p))
    for feature in range(p):
        below = np.searchsorted(ordered[:, feature], grid, side="left")
        shares[:, feature] = (halves - below) / halves
    return shares


def least_false_rates(integrals: Floats, bound: float) -> tuple[Floats, Floats]:
    """The smallest bounds on E(FP) and on the share of false features that keep each feature.

    Returns
    -------
    expected : (p,) float64
        bound/integral, infinite for an integral of 0, and at most p.
    q_values : (p,) float64 in [0, 1]
        The smallest expected/|kept| over all thresholds that keep the feature.

    Examples
    --------
    >>> expected, q = least_false_rates(np.array([0.5, 0.25, 0.0]), 0.05)
    >>> expected, q
    (array([0.1, 0.2, 3. ]), array([0.1, 0.1, 1. ]))
    """
    p = integrals.size
    expected = np.full(p, float(p))
    np.divide(bound, integrals, out=expected, where=integrals > 0)
    expected = np.minimum(expected, float(p))
    return expected, rates_of(expected)


def rates_of(expected: Floats) -> Floats:
    """The smallest expected/|kept|, at most 1, over the sets that contain each feature.

    A set consists of the features whose `expected` does not exceed some limit.

    Examples
    --------
    >>> rates_of(np.array([0.1, 0.2, 3.0]))
    array([0.1, 0.1, 1. ])
    """
    order = np.argsort(expected, kind="stable")
    # Ties are kept together.
    kept = np.searchsorted(expected[order], expected[order], side="right")
    rates = np.minimum.accumulate((expected[order] / kept)[::-1])[::-1]
    q_values = np.empty(expected.size)
    q_values[order] = np.minimum(rates, 1.0)
    return q_values


def pooled_expected(values: NDArray[np.floating[Any] | np.integer[Any]]) -> Floats:
    """Number of features that reach each feature's value, on average over labellings.

    Parameters
    ----------
    values : (labellings, p)
        Counts or integrals, larger is better; the first labelling is the true one.

    Returns
    -------
    (p,) float64
        #{(j, i'): values_ji' ≥ values_0i} / labellings.

    Notes
    -----
    Suppose that features with a result of at most E are kept, that is, values that at most E·L of
    all L·p values reach. This rule treats the L labellings alike. If they are exchangeable, as when
    the label depends on no feature, each keeps the same number in expectation, and all together at
    most E·L: so the true one keeps at most E in expectation, whatever the base and the dependence
    of the features.

    Examples
    --------
    >>> pooled_expected(np.array([[9, 3, 0], [4, 1, 1]]))
    array([0.5, 1.5, 3. ])
    """
    pool = np.sort(values, axis=None)
    reached = pool.size - np.searchsorted(pool, values[0], side="left")
    expected: Floats = reached / len(values)
    return expected


def normal_false(count: int, pairs: int, kept: float, n_features: int, sides: int = 2) -> float:
    """Expected number of features selected on `count` halves by chance, if scores are normal.

    Parameters
    ----------
    count, pairs, kept, n_features
        As in `expected_false`.
    sides : {1, 2}
        1: the largest scores are selected; 2: those largest in magnitude.

    Returns
    -------
    float

    Notes
    -----
    A score that is a mean over independent rows has the value (z ± w)/√2 on a half, with standard
    normal z for the whole table and w for the pair. A half selects the features beyond c, where
    P(beyond c) = q/p. So a half selects a feature with probability Π(z) = Φ(z − √2 c), plus
    Φ(−z − √2 c) with two sides, and the number is p·P(Bin(2B, Π(z)) ≥ count), with halves taken as
    independent.

    Examples
    --------
    If few of many features are kept, the r-concave bound of one is exceeded by far:

    >>> least_count(1.0, 50, 5, 1000, "r-concave"), round(normal_false(16, 50, 5, 1000), 1)
    (16, 3.5)
    """
    if not 0 < kept < n_features:
        return float(kept)
    cut = math.sqrt(2.0) * scipy.special.ndtri(1.0 - kept / n_features / sides)
    z = np.linspace(-9.0, 9.0, 2001)
    weights = np.exp(-0.5 * z**2)
    chosen = scipy.special.ndtr(z - cut) + (scipy.special.ndtr(-z - cut) if sides == 2 else 0.0)
    reached = scipy.special.bdtrc(count - 1, 2 * pairs, np.minimum(chosen, 1.0))
    return float(n_features * (weights @ reached) / weights.sum())


_FEWEST = 19


@attrs.frozen(kw_only=True)
class HalvesSelector(ResamplingSelector):
    """Base of methods that run a selector on complementary pairs of halves of the table.

    Derived classes have a property `most_false` and a parameter `bound`, whose value "permutation"
    repeats everything with permuted labels; another value may do so too (`permutes`).
    """

    if TYPE_CHECKING:
        bound: str

    pairs: int = param(
        50,
        integer(1),
        help="Number of complementary pairs of halves.",
        symbol="B",
        source="Shah 2013, §2",
    )
    permutations: int | None = param(
        None,
        optional(integer(1)),
        help="For a bound by permuted labels: their number; by default 19, or as many as the bound "
        "needs.",
        symbol="P",
    )

    @property
    def may_permute(self) -> bool:
        """Whether the bound comes from permuted labels, on some tables at least."""
        return self.bound == PERMUTATION

    def permutes(self, base: Base, data: Dataset, p: int) -> bool:
        """Whether it does with this base on p columns of `data`."""
        return self.bound == PERMUTATION

    @property
    def most_false(self) -> float:
        """The required bound on the expected number, or share, of false features."""
        raise NotImplementedError

    def labellings(self, permuting: bool) -> int:
        """Number of labellings: the true one, and the permuted ones."""
        if not permuting:
            return 1
        made = self.permutations
        return 1 + (max(_FEWEST, math.ceil(2 / self.most_false) - 1) if made is None else made)

    def check_parameters(self) -> Iterator[str]:
        """Refuse more fits than can be counted, and permutations that decide nothing."""
        said, labellings = f"pairs={self.pairs}", self.labellings(self.may_permute)
        if self.may_permute:
            said += f" with {labellings - 1:.6g} permutations"
        yield from too_many(2 * self.pairs * labellings, said)
        if self.permutations is None:
            return
        if not self.may_permute:
            yield "permutations is for bound=permutation"
        elif self.most_false * labellings < 1 - 1e-9:
            yield (
                f"with permutations={self.permutations} nothing could be kept at "
                f"{self.most_false:g}; at least {math.ceil(1 / self.most_false - 1e-9) - 1} are "
                "needed"
            )

    def said_of_base(self, base: Base, data: Dataset, n_tests: int | None) -> Iterator[str]:
        """The inherited warnings, and one about a label that drifts in time."""
        yield from super().said_of_base(base, data, n_tests)
        p = data.n_features if n_tests is None else n_tests
        if self.permutes(base, data, p) and (drift := said_of_drift(data)):
            yield f"{self.method_name()}: {drift}"

    def role_problems(self, data: Dataset) -> Iterator[str]:
        problems = [*super().role_problems(data)]
        yield from problems
        try:
            check_halves(data.n_samples, class_codes(data), data.counts, data.together)
        except DataError as error:
            # A class that lies within one group has been reported already.
            if not problems:
                yield f"{self.method_name()}: {error}"
        if self.bound == PERMUTATION:
            yield from strata_problems(data, f"{self.method_name()}: bound=permutation")

    def statement(self, base: Selector | None = None) -> Statement:
        """The base's statement, as its choice on most halves is kept.

        The comparison with permuted labels, which depend on no feature, shows relevance only.
        """
        joint = base is not None and base.joint and self.bound != PERMUTATION
        return NEEDED if joint else RELEVANT

    def base_fits(self, p: int, base: Base | None = None) -> int | None:
        """Two for each pair and labelling."""
        return 2 * self.pairs * self.labellings(self.bound == PERMUTATION)

    def on_halves(
        self,
        base: Base,
        data: Dataset,
        upstream: Selection | None,
        run: Run,
        labellings: int,
        recurring: Recurring,
        *parts: str,
    ) -> Iterator[Selection]:
        """Yield the selection of `base` on every half, labelling by labelling, true label first.

        `recurring` counts the warnings of `base`.
        """
        halves = 2 * self.pairs
        total = halves * labellings
        for labelling in range(labellings):
            first, each = labelling * halves, base
            table = permuted(data, run, labelling)
            counts = complementary_halves(
                table, class_codes(table), run, DRAWS, self.pairs, labelling
            )
            if labelling:
                owners = np.full(halves, labelling)
                each = cast(Base, Relabelled.of(base, run, owners, first, PERMUTATION))

            def relay(progress: Progress, first: int = first) -> None:
                run.progress(first + progress.done, total, progress.label)

            heard = run if labellings == 1 else attrs.evolve(run, listener=relay)
            for selection in self.results(each, data, counts, upstream, heard, *parts, first=first):
                recurring.add(selection.warnings)
                yield selection
