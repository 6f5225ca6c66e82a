"""Null distributions of the NPFS test, tails of counts under them, and intervals."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainc, betaincinv

from fsframe.method.ranking import mean_ranks
from fsframe.resampling.groups import permuted_labels, permuted_within, rotated_labels
from fsframe.resampling.resamples import CountNull, RelabellingNull
from fsframe.table.dataset import Dataset
from fsframe_npfs.engine.resample_counts import shard_counts


def hoeffding(
    z: ArrayLike, n: int, error: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Hoeffding's interval around z/n for the probability of selection.

    Lower and upper ends z/n ∓ √(ln(2/error) / 2n), cut to [0, 1], for counts `z` (m,) out of n;
    `error` is the probability of non-coverage, both sides together.

    Notes
    -----
    P(|p̂ − p| ≥ ε) ≤ 2·exp(−2nε²). It covers resamples of *this* table, not other tables from the
    same population.

    References
    ----------
    Ditzler, lecture notes of 2014, slide 25.

    Examples
    --------
    >>> low, high = hoeffding([50], 100, 0.05)
    >>> low.round(3), high.round(3)
    (array([0.364]), array([0.636]))
    """
    p = np.asarray(z, dtype=np.float64) / n
    half = math.sqrt(math.log(2.0 / error) / (2.0 * n))
    return np.maximum(p - half, 0.0), np.minimum(p + half, 1.0)


def clopper_pearson(
    z: ArrayLike, n: int, error: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The exact binomial interval of Clopper and Pearson, narrower than Hoeffding's near 0 and 1.

    As `hoeffding`, with half of `error` on each side.

    References
    ----------
    Clopper, Pearson 1934, The use of confidence or fiducial limits, Biometrika 26:404.

    Examples
    --------
    >>> low, high = clopper_pearson([0, 10], 10, 0.05)
    >>> low.round(3), high.round(3)
    (array([0.   , 0.692]), array([0.308, 1.   ]))
    """
    z = np.asarray(z, dtype=np.float64)
    # Beta needs positive shapes: the lower end is 0 if z = 0, the upper end is 1 if z = n.
    lower = np.where(z > 0, betaincinv(np.maximum(z, 1), n - z + 1, error / 2), 0.0)
    upper = np.where(z < n, betaincinv(z + 1, np.maximum(n - z, 1), 1 - error / 2), 1.0)
    return lower, upper


def looks(n: int) -> list[int]:
    """Numbers of bootstraps at the interim looks: 20, then 1.5 times as many each time, up to n.

    >>> looks(100)
    [20, 30, 45, 68, 100]
    >>> looks(10)
    [10]
    """
    sizes, size = [], 20
    while size < n:
        sizes.append(size)
        size = int(np.ceil(size * 1.5))
    return [*sizes, n]


def larger_tests(n: int, permutations: int, permuted_n: int, fits: int) -> list[tuple[int, int]]:
    """Numbers of bootstraps and permutations at the looks: doubled each time, up to `fits`.

    The last look uses all `fits` in the proportions of the first. Empty if the first needs more.

    >>> larger_tests(100, 99, 10, 5000)
    [(100, 99), (200, 198), (400, 396), (458, 454)]
    """
    first = n + permutations * permuted_n
    tests, factor = [], 1
    while factor * first <= fits:
        tests.append((factor * n, factor * permutations))
        factor *= 2
    last = (n * fits // first, permutations * fits // first)
    return [*tests, last] if tests and last != tests[-1] else tests


def settled(
    z: NDArray[np.int64], n: int, critical: NDArray[np.int64], error: float, n_looks: int
) -> NDArray[np.bool_]:
    """Mask of the counts that further draws will not move across their critical value.

    `z` and `critical` are counts and critical values after n bootstraps, `error` the probability,
    per feature and over all `n_looks` planned looks, of settling on the wrong side.

    Notes
    -----
    A count is settled if the exact (Clopper–Pearson) interval for the probability of selection, at
    error / n_looks, lies entirely above or below critical / n. By the union bound the intervals of
    all looks fail to cover that probability with probability at most `error`. So under the null, a
    feature selected with probability p0 ≤ critical / n is declared relevant early with probability
    at most `error`, and the size of the sequential test is at most alpha + error.
    """
    lower, upper = clopper_pearson(z, n, error / n_looks)
    return (lower > critical / n) | (upper <= critical / n)


# A tail probability that equals alpha in exact arithmetic (0.1² and 0.01) must count as ≤ alpha.
_ROUNDING = 1e-12


def binomial_tail(n: int, p0: float) -> NDArray[np.float64]:
    """P(Z ≥ z) for Z ~ Binomial(n, p0), z = 0 … n + 1: non-increasing, from 1 to 0.

    Notes
    -----
    The regularised incomplete beta function I_p0(z, n − z + 1), accurate far out in the tail,
    where one minus the distribution function would be dominated by rounding.

    Examples
    --------
    >>> binomial_tail(2, 0.5)
    array([1.  , 0.75, 0.25, 0.  ])
    """
    z = np.arange(1, n + 1)
    return np.concatenate(([1.0], betainc(z, n - z + 1, p0), [0.0]))


def poisson_binomial_tail(probabilities: ArrayLike) -> NDArray[np.float64]:
    """P(Z ≥ z) for n independent trials with different success probabilities, z = 0 … n + 1.

    Notes
    -----
    Convolution of n Bernoulli distributions, O(n²): sums of positive terms only, so that small
    tails keep their relative accuracy (scipy's ``poisson_binom.sf`` subtracts from one).

    Examples
    --------
    >>> poisson_binomial_tail([0.5, 0.5])
    array([1.  , 0.75, 0.25, 0.  ])
    """
    mass = np.ones(1)
    for p in np.asarray(probabilities, dtype=np.float64):
        mass = np.convolve(mass, (1.0 - p, p))
    tail = np.cumsum(mass[::-1])[::-1]
    tail[0] = 1.0
    return np.append(np.minimum(tail, 1.0), 0.0)


def selection_tail(kept: ArrayLike, n_features: float, bias: float = 0.0) -> NDArray[np.float64]:
    """Tail of a feature's count if bootstrap l selects `kept[l]` of `n_features` at random.

    Parameters
    ----------
    kept : (n,) int
        k_l, the number of features that bootstrap l selected.
    n_features : float
        K, the number that could have been selected.
    bias : float ≥ 0
        β, added to every p0 = k_l / K.

    Returns
    -------
    (n + 2,) float64
        Binomial where all k_l are equal, Poisson-binomial where they differ.

    Raises
    ------
    ValueError
        If some p0 is above one.

    References
    ----------
    Ditzler, lecture notes of 2014, slides 24–25; the varying k_l are ours.
    """
    p0 = np.asarray(kept, dtype=np.float64) / n_features + bias
    if p0.max(initial=0.0) > 1.0 + _ROUNDING:
        raise ValueError(f"p0 = k/K + bias is {p0.max():.4g}, above one")
    p0 = np.minimum(p0, 1.0)
    if np.all(p0 == p0[0]):
        return binomial_tail(p0.size, float(p0[0]))
    return poisson_binomial_tail(p0)


def permutation_tail(
    null_counts: NDArray[np.int64], n: int, size: int, *, observed_too: bool = False
) -> NDArray[np.float64]:
    """Share of counts under permuted labels that are at least z, z = 0 … n + 1.

    Parameters
    ----------
    null_counts : (m,) int
        Counts of all features under all label permutations; zeros may be omitted.
    n : int
        Number of bootstraps per count.
    size : int, at least m
        Number of counts including zeros: permutations × features.
    observed_too : bool
        Whether `null_counts` include those under the true label, so that nothing is added.

    Returns
    -------
    (n + 2,) float64
        (1 + #{counts ≥ z}) / (1 + size), or #{counts ≥ z} / size; one at z = 0, zero at n + 1.

    Notes
    -----
    The one added to numerator and denominator is the observed count itself, which belongs to the
    pool under the null hypothesis; without it a p-value could be zero.

    References
    ----------
    Phipson, Smyth 2010, Permutation p-values should never be zero, Stat. Appl. Genet. Mol. Biol.
    9(1):39, for the added one.

    Examples
    --------
    >>> permutation_tail(np.array([2, 1]), n=2, size=4)
    array([1. , 0.6, 0.4, 0. ])
    """
    histogram = np.bincount(np.asarray(null_counts, dtype=np.int64), minlength=n + 1)
    histogram[0] += size - histogram.sum()
    reached = np.cumsum(histogram[::-1])[::-1]
    added = 0.0 if observed_too else 1.0
    return np.append((added + reached) / (added + size), 0.0)


def critical_value(tail: NDArray[np.float64], alpha: float) -> int:
    """The smallest c with P(Z > c) ≤ alpha, 0 … n: a count above c is relevant, none if c is n.

    The inverse distribution function at 1 − alpha, ζ_crit of the slides.

    References
    ----------
    Ditzler, lecture notes of 2014, slide 25, equation 1.

    Examples
    --------
    >>> critical_value(binomial_tail(100, 0.1), 0.01)
    18
    """
    return int(np.argmax(tail[1:] <= alpha * (1.0 + _ROUNDING)))


def least_bootstraps(p0: float, alpha: float) -> int | None:
    """The smallest n at which a feature selected in all n bootstraps is relevant: p0ⁿ ≤ alpha.

    None where p0 is one: no n is large enough.

    Examples
    --------
    >>> least_bootstraps(0.96, 0.01), least_bootstraps(0.1, 0.01), least_bootstraps(1.0, 0.01)
    (113, 2, None)
    """
    if p0 >= 1.0:
        return None
    if p0 <= alpha:
        return 1
    n = max(1, math.ceil(math.log(alpha) / math.log(p0) - 1e-9))
    while p0**n > alpha * (1.0 + _ROUNDING):
        n += 1
    return n


# Rank correlation with time, in standard errors for independent rows, above which a label drifts.
_DRIFT = 2.0


def drift_of_label(data: Dataset) -> float:
    """The rank correlation of the label with time, if it is too large for independent rows.

    Parameters
    ----------
    data : Dataset

    Returns
    -------
    float
        The largest magnitude of the correlations of a numeric target, or of membership of a class,
        with the (first) time; 0 without a time, and up to two standard errors.

    Notes
    -----
    A long cycle of the label is taken for a drift too. O(n log n) for each class.
    """
    if data.times is None:
        return 0.0
    place = mean_ranks(data.times.values[:, 0])
    targets = (
        [data.y] if data.task != "classification" else [data.y == k for k in np.unique(data.y)]
    )
    ranks = np.array([mean_ranks(target) for target in targets])
    spread = np.ptp(ranks, axis=1) > 0
    if not np.ptp(place) or not spread.any():
        return 0.0
    most = float(np.abs(np.corrcoef(place, ranks[spread])[0, 1:]).max())
    return most if most > _DRIFT / math.sqrt(data.n_samples) else 0.0


def stretches_of_time(data: Dataset) -> int:
    """Number of stretches of time within which labels are shifted: 1 if the label does not drift.

    A stretch has about 2 √m of the m rows or groups: within it hardly anything of a drift over the
    table is left, and all but its ends keep their neighbours.
    """
    units = data.n_samples if data.groups is None else data.n_groups
    return max(1, round(math.sqrt(units) / 2)) if drift_of_label(data) else 1


def said_of_drift(data: Dataset) -> str:
    """What a user should know if the label drifts in time; empty if it does not."""
    drift = drift_of_label(data)
    if not drift:
        return ""
    assert data.times is not None
    name, stretches = data.times.names[0], stretches_of_time(data)
    return (
        f"the label changes with {name!r} (rank correlation {drift:.2f}): labels are only shifted "
        f"within {stretches} stretches of time, so that no column is kept just because it drifts "
        "too; slow changes that a column shares with the label do not count"
    )


class Permutation(RelabellingNull):
    """Permuted labels: between groups where the label is constant in each, else within groups.

    With covariates, within their strata. With a time, the series of labels is shifted circularly,
    from group to group where there are groups too; within stretches of time if the label drifts.
    """

    promise = (
        "A feature is relevant if the base scores or ranks it higher over bootstraps (with "
        "statistic=counts: selects it more often) than features under permuted labels. If the "
        "label is independent of all features, on average at most a share alpha of them is "
        "selected, whatever their dependence (exact for equal numbers of bootstraps; with more "
        "for the true label, fewer are selected). With a time, labels are shifted in time: within "
        "stretches of it if the label drifts. With correction=bh, alpha is the expected share of "
        "false selections among all selections; with bonferroni, the probability of any false "
        "selection. "
        "The test does not say which relevant feature matters given the others: a "
        "noise feature correlated with a relevant one counts as relevant."
    )

    def _labels(self, data: Dataset, generator: np.random.Generator) -> NDArray:
        if data.times is not None:
            times, stretches = data.times.values[:, 0], stretches_of_time(data)
            return rotated_labels(data.y, times, generator, data.groups, stretches)
        if data.covariates is not None:
            return permuted_within(data.y, data.covariates.strata(), generator)
        if data.groups is not None:
            return permuted_labels(data.y, data.groups, generator)
        return data.y[generator.permutation(data.n_samples)]


class Published(CountNull):
    """The binomial distribution of the paper, Poisson-binomial where k varies over bootstraps."""

    holds_level: ClassVar[bool] = False
    promise = (
        "The test as published: binomial distribution with p0 = k/K over bootstraps of one table. "
        "It does not keep its level: bootstraps share the noise of their table, so with a label "
        "that carries no information it selects many times a share alpha of the features, and more "
        "with more bootstraps. What it shows is selection more often than k/K when this table is "
        "perturbed."
    )

    def _tail(self, kept: NDArray[np.int64], cells: int, bias: float) -> NDArray[np.float64]:
        return selection_tail(kept, cells, bias)


class Matlab(Published):
    """The authors' MATLAB code: three quarters of the rows, z ≥ ζ."""

    fraction: ClassVar[float] = 0.75
    at_least: ClassVar[bool] = True
    promise = (
        "The test of the authors' MATLAB code: three quarters of the rows, relevant where z ≥ ζ. "
        "It does not keep its level, for the same reason as `published`, and its size exceeds "
        "alpha even for independent samples."
    )


class Shards(CountNull):
    """Disjoint parts of a large table, for which the binomial distribution is exact."""

    own_resamples: ClassVar[bool] = True
    promise = (
        "A feature is relevant if it is selected on more of n disjoint parts of the table than "
        "expected by chance. Under the null, with a base that treats all features alike, each is "
        "selected with probability at most alpha. The table must be large enough for n parts."
    )

    def _tail(self, kept: NDArray[np.int64], cells: int, bias: float) -> NDArray[np.float64]:
        return selection_tail(kept, cells, bias)

    def _resamples(
        self, data: Dataset, n: int, generator: np.random.Generator
    ) -> NDArray[np.int64]:
        return shard_counts(
            data.n_samples,
            n,
            generator,
            y=data.y if data.task == "classification" else None,
            times=data.counts,
            groups=data.groups,
        )
