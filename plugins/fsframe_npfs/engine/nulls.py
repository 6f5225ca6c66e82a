"""Null distributions of the NPFS test: tails of counts and permuted labels; intervals and plans."""

from __future__ import annotations

import math
from typing import ClassVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainc, betaincinv
from threadpoolctl import threadpool_limits

from fsframe.method.statistics import mean_ranks, normal_scores, orthonormal_basis
from fsframe.resampling.groups import (
    permuted_labels,
    permuted_within,
    rotated_labels,
    rows_of_strata,
)
from fsframe.resampling.resamples import CountNull, RelabellingNull
from fsframe.table.dataset import Dataset
from fsframe.table.side_columns import SideColumns
from fsframe_npfs.engine.draws import shard_counts


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


# Of different labels five are enough to permute; of few classes, five would often be of one class.
_ROWS_OF_STRATUM = {"classification": 10, "survival": 10, "regression": 5}
_PARTS_OF_LEVEL = 4
# Squares and products are fitted if there are so many rows for each coefficient.
_ROWS_OF_COEFFICIENT = 10


def strata_of_covariates(data: Dataset) -> NDArray[np.int64]:
    """Strata of rows in which labels can be permuted, since their covariates say the same of them.

    Returns
    -------
    (n_samples,) int
        Rows of a stratum are equal in all covariates if none of these has more than 10 distinct
        numbers. For one covariate that has, a stratum is about ten rows (five for a numeric target)
        with neighbouring values, equal ones together, and equal in further covariates if their
        levels have four times as many rows on average; otherwise as many rows for which the label
        that the covariates predict is nearly the same.

    Notes
    -----
    Predictions are canonical variates: of normal scores of numbers and indicators of levels and, if
    there are ten rows for each coefficient, of squares and products of these, with membership of
    each class, a numeric target, or the rank of a time and censoring. Normal scores keep single
    large values from deciding. Joint parts of several covariates would be so wide, or parts of
    equal levels so small, that the label still follows the numbers within them, and features that
    follow these would be selected (``benchmarks/resampling/strata.py``). O(n q² + n log n) for q
    coefficients.

    References
    ----------
    P. Rosenbaum 1984, Conditional permutation tests and the propensity score in observational
    studies, J. Am. Stat. Assoc. 79:565-574: rows alike in the predicted label are exchangeable.
    """
    strata = _STRATA.get(data)
    if strata is None:
        strata = _STRATA[data] = _strata_of(data)
    return strata


# Of tables in use: labels are permuted many times.
_STRATA: WeakKeyDictionary[Dataset, NDArray[np.int64]] = WeakKeyDictionary()


def _strata_of(data: Dataset) -> NDArray[np.int64]:
    """As `strata_of_covariates`, computed anew."""
    covariates = data.covariates
    assert covariates is not None
    numbers, wanted_rows = covariates.many_valued(), _ROWS_OF_STRATUM[data.task]
    levels = covariates.take_columns(~numbers).strata()
    if not numbers.any():
        return levels
    values, parts = covariates.values[:, numbers], rows_of_strata(levels)
    # Equal levels of too few rows could not be cut by the number.
    small = len(parts) > 1 and data.n_samples < len(parts) * _PARTS_OF_LEVEL * wanted_rows
    if values.shape[1] > 1 or small:
        values = _predicted_label(covariates, _targets(data))
        parts = [np.arange(data.n_samples)]
    codes = np.empty(data.n_samples, dtype=np.int64)
    code = 0
    while parts:
        rows = parts.pop()
        halves = _halves_of(rows, values[rows], wanted_rows)
        if halves:
            parts += halves
            continue
        codes[rows] = code
        code += 1
    return codes


def _halves_of(
    rows: NDArray[np.intp], values: NDArray[np.float64], wanted_rows: int
) -> list[NDArray[np.intp]]:
    """Some rows in two parts, cut between different values; empty if they are one stratum."""
    widest = values[:, np.ptp(values, axis=0).argmax()]
    order = np.argsort(widest, kind="stable")
    borders = np.flatnonzero(np.diff(widest[order])) + 1
    strata = round(len(rows) / wanted_rows)
    if strata < 2 or not borders.size:
        return []
    wanted = len(rows) * (strata // 2) / strata
    cut = borders[np.abs(borders - wanted).argmin()]
    return [np.sort(rows[order[:cut]]), np.sort(rows[order[cut:]])]


def _predicted_label(covariates: SideColumns, targets: NDArray[np.float64]) -> NDArray[np.float64]:
    """Canonical variates of covariates that predict `targets` (n, t), largest first, (n, ≤ t).

    Each is scaled by its correlation with the targets. Except for the first, those that are no
    larger than targets of noise give are left out: strata would be cut along them to no purpose.
    """
    n_rows = len(targets)
    levels = covariates.take_columns(covariates.nominal).design()[:, 1:]
    numbers = covariates.values.T[~covariates.nominal]
    scores = [normal_scores(column) for column in numbers]
    columns = np.column_stack([levels, *scores])
    first, second = np.triu_indices(columns.shape[1])
    # Products of two levels of a column are zero.
    first, second = first[second >= levels.shape[1]], second[second >= levels.shape[1]]
    surface = columns
    if (columns.shape[1] + first.size) * _ROWS_OF_COEFFICIENT <= n_rows:
        surface = np.column_stack([columns, columns[:, first] * columns[:, second]])
    # The bits must not depend on the number of threads.
    with threadpool_limits(1):
        given, sought = (
            orthonormal_basis(columns - columns.mean(axis=0), 1e-9)
            for columns in (surface, targets)
        )
        left, correlations, _ = np.linalg.svd(given.T @ sought, full_matrices=False)
        variates: NDArray[np.float64] = given @ left * correlations
    noise = (math.sqrt(given.shape[1]) + math.sqrt(sought.shape[1])) / math.sqrt(n_rows)
    return variates[:, : max(1, int((correlations > noise).sum()))]


def _targets(data: Dataset) -> NDArray[np.float64]:
    """The label as numbers to predict: membership of all classes but one, ranks, censoring."""
    if data.task == "classification":
        return (data.y[:, None] == np.unique(data.y)[1:]) * 1.0
    ranks = mean_ranks(np.abs(data.y) if data.task == "survival" else data.y)
    targets: list[NDArray] = [ranks / len(ranks)]
    if data.task == "survival":
        targets.append(data.y < 0)
    return np.column_stack(targets)


class Permutation(RelabellingNull):
    """Permuted labels: between groups where the label is constant in each, else within groups.

    With covariates, within their strata. With a time, the series of labels is shifted circularly,
    from group to group where there are groups too; within stretches of time if the label drifts.
    """

    promise = (
        "A feature is relevant if the base scores or ranks it higher over bootstraps than "
        "features under permuted labels. If the label is independent of all features, on average "
        "at most a share alpha of them is selected, whatever their dependence (exact for equal "
        "numbers of bootstraps; with more for the true label, fewer are selected). With a time, "
        "labels are shifted in time: within stretches of it if the label drifts. With "
        "correction=bh, alpha is the expected share of false selections among all selections; "
        "with bonferroni, the probability of any false selection. "
        "The test does not say which relevant feature matters given the others: a "
        "noise feature correlated with a relevant one counts as relevant."
    )

    def _labels(self, data: Dataset, generator: np.random.Generator) -> NDArray:
        if data.times is not None:
            times, stretches = data.times.values[:, 0], stretches_of_time(data)
            return rotated_labels(data.y, times, generator, data.groups, stretches)
        if data.covariates is not None:
            return permuted_within(data.y, strata_of_covariates(data), generator)
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
