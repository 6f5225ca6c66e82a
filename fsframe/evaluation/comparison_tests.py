"""Tests of chains on identical folds: on one table and over several, frequentist and Bayesian."""

from __future__ import annotations

from itertools import combinations

import attrs
import numpy as np
import scipy
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from fsframe.errors import DataError, RequestError
from fsframe.evaluation.measuring import corrected_standard_error
from fsframe.method.statistics import adjusted_p_values, mean_ranks

Floats = NDArray[np.float64]

# Monte Carlo samples of the Bayesian signed-rank test.
_SAMPLES = 50_000

# Results that differ by less, for results of magnitude 1, are equal but for rounding.
_DIGITS = 12


@attrs.frozen(kw_only=True)
class PairedTest:
    """A test of equal means over paired results.

    Parameters
    ----------
    difference : float
        Mean of a − b.
    statistic, p_value : float
        Two-sided; NaN and 1 if all differences are zero.
    """

    difference: float
    statistic: float
    p_value: float


def paired_t_test(a: Floats, b: Floats) -> PairedTest:
    """Student's paired t-test of equal means, as the papers use it on the folds of 10 × 10.

    Parameters
    ----------
    a, b : (n,) float
        Results on the same folds.

    Notes
    -----
    The folds of repeated cross-validation share training rows, so their differences are not
    independent and the test exceeds its level; `corrected_resampled_test` corrects for this.

    Raises
    ------
    DataError
        If lengths differ or there are fewer than two results.
    """
    return corrected_resampled_test(a, b, 0.0)


def corrected_resampled_test(a: Floats, b: Floats, test_to_train: float) -> PairedTest:
    """The corrected resampled t-test of equal means.

    Parameters
    ----------
    a, b : (n,) float
        Results on the same folds.
    test_to_train : float ≥ 0
        Number of test rows divided by number of training rows, such as 1/9 for ten folds; 0 makes
        it Student's paired t-test.

    Raises
    ------
    DataError
        If lengths differ or there are fewer than two results.

    Notes
    -----
    t = d̄ / √((1/n + n₂/n₁) s²) with n − 1 degrees of freedom.

    References
    ----------
    Nadeau, Bengio 2003, Inference for the generalization error, Machine Learning 52, §3.5.
    """
    first, second = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if first.shape != second.shape or first.ndim != 1 or first.size < 2:
        raise DataError(
            "a paired test needs two vectors of equal length with at least two results, not "
            f"{first.shape} and {second.shape}"
        )
    unit = _unit(np.append(first, second))
    difference = (first - second) / unit
    n = difference.size
    mean, variance = float(difference.mean()), float(np.var(difference, ddof=1))
    # Equal folds cancel exactly; any other difference is far above this.
    if variance > 1e-30:
        statistic = mean / corrected_standard_error(difference, test_to_train)
    else:
        statistic = float(np.copysign(np.inf, mean)) if abs(mean) > 1e-15 else float("nan")
    p_value = 2.0 * float(scipy.stats.t.sf(abs(statistic), n - 1))
    return PairedTest(
        difference=mean * unit,
        statistic=statistic,
        p_value=1.0 if np.isnan(statistic) else p_value,
    )


def win_tie_loss(test: PairedTest, rule: str = "two-step") -> str:
    """``"win"``, ``"tie"`` or ``"loss"`` of a against b, by one of the papers' rules.

    Parameters
    ----------
    test : PairedTest
    rule : {"two-step", "strict"}
        ``"two-step"`` (IMMIGRATE, §4.2): a tie unless the two-sided p is below 0.05; then the
        one-sided p of the better direction must be below 0.05 too. ``"strict"`` (IM4E): p < 0.01
        and means that differ by at least 0.5 %.

    Notes
    -----
    In the two-step rule the second step never changes the outcome of the first: a two-sided p below
    0.05 has a one-sided p below 0.025. It is computed as published nevertheless.
    """
    if rule == "strict":
        # 1e-12, so that a difference of exactly 0.005 does not fail because of rounding.
        decided = test.p_value < 0.01 and abs(test.difference) >= 0.005 - 1e-12
    else:
        decided = test.p_value < 0.05 and test.p_value / 2.0 < 0.05
    if not decided:
        return "tie"
    return "win" if test.difference > 0 else "loss"


def wilcoxon_holm(results: Floats) -> Floats:
    """Adjusted p-values of every pair of methods over several data sets.

    Parameters
    ----------
    results : (n_sets, n_methods) float
        Mean result of each method on each data set.

    Returns
    -------
    (n_methods, n_methods) float
        Wilcoxon's signed-rank test for each pair (Pratt's zeros), adjusted by Holm over all pairs;
        ones on the diagonal.

    References
    ----------
    Demšar 2006, Statistical comparisons of classifiers over multiple data sets, JMLR 7; Benavoli,
    Corani, Mangili 2016, Should we really use post-hoc tests based on mean-ranks? JMLR 17.
    """
    n_methods = results.shape[1]
    pairs = list(combinations(range(n_methods), 2))
    raw = []
    for i, j in pairs:
        difference = differences(results, i, j)
        # scipy refuses a test in which all differences are zero; there is no evidence then.
        same = not np.any(difference)
        raw.append(
            1.0 if same else float(scipy.stats.wilcoxon(difference, zero_method="pratt").pvalue)
        )
    matrix = np.ones((n_methods, n_methods))
    for (i, j), p in zip(pairs, adjusted_p_values(np.array(raw), "holm"), strict=True):
        matrix[i, j] = matrix[j, i] = p
    return matrix


def differences(results: Floats, i: int, j: int) -> Floats:
    """Differences of methods i and j on each data set; equal up to the last bits is equal.

    >>> differences(np.array([[0.3, 0.1], [0.2, 0.0]]), 0, 1).tolist()
    [0.2, 0.2]
    """
    return _rounded(results[:, i] - results[:, j], _unit(results))


def _unit(results: Floats) -> float:
    """A power of two, of which the largest result is 0.5 to 1: division by it is exact.

    Errors have the unit of the target, in which a limit for rounding has to be measured.
    """
    return float(np.ldexp(1.0, np.frexp(np.nanmax(np.abs(results), initial=0.0))[1]))


def _rounded(values: Floats, unit: float) -> Floats:
    """Values without the last bits, in which equal ones may differ."""
    return np.asarray(np.round(values / unit, _DIGITS) * unit)


@attrs.frozen(kw_only=True, eq=False)
class CriticalDifference:
    """Mean ranks of methods over data sets, and the difference that is significant.

    Parameters
    ----------
    mean_ranks : (n_methods,) float
        1 is best; ties share ranks.
    friedman_p : float
        p-value of Friedman's test that all methods are equal.
    difference : float
        Nemenyi's critical difference at `level`.
    level : float
    groups : tuple of tuple of int
        Maximal sets of methods, best first, without a significant difference by Wilcoxon–Holm at
        `level`.
    """

    mean_ranks: Floats
    friedman_p: float
    difference: float
    level: float
    groups: tuple[tuple[int, ...], ...]


def ranks_of_methods(results: Floats) -> Floats:
    """The rank of each method on each data set, (n_sets, n_methods); 1 is best, ties share ranks.

    >>> ranks_of_methods(np.array([[0.9, 0.8, 0.8], [0.7, 0.9, 0.5]])).tolist()
    [[1.0, 2.5, 2.5], [2.0, 1.0, 3.0]]
    """
    return np.vstack([mean_ranks(-_rounded(row, _unit(row))) for row in results])


def _friedman_p(ranks: Floats) -> float:
    """p of Friedman's test of equal methods, by χ², from their ranks (n_sets, n_methods).

    Corrected for ties (Conover 1999, Practical Nonparametric Statistics, §5.8); scipy's refuses two
    methods.
    """
    n_sets, n_methods = ranks.shape
    expected = (n_methods + 1) / 2
    spread = float(((ranks - expected) ** 2).sum())
    if not spread:
        return 1.0
    between = float(((ranks.sum(axis=0) - n_sets * expected) ** 2).sum())
    return float(scipy.stats.chi2.sf((n_methods - 1) * between / spread, n_methods - 1))


def critical_difference(results: Floats, level: float = 0.05) -> CriticalDifference:
    """The summary behind a critical-difference diagram.

    Parameters
    ----------
    results : (n_sets, n_methods) float
        Larger is better.
    level : float

    Notes
    -----
    CD = q_α √(k(k+1)/(6N)), q_α from the studentised range over √2. The groups use Wilcoxon's test
    with Holm's adjustment, since Nemenyi's verdict on two methods depends on the others.
    """
    n_sets, n_methods = results.shape
    ranks = ranks_of_methods(results)
    means = np.asarray(ranks.mean(axis=0))
    q = float(scipy.stats.studentized_range.ppf(1.0 - level, n_methods, np.inf)) / np.sqrt(2.0)
    return CriticalDifference(
        mean_ranks=means,
        friedman_p=_friedman_p(ranks),
        difference=q * float(np.sqrt(n_methods * (n_methods + 1) / (6.0 * n_sets))),
        level=level,
        groups=_groups_without_difference(means, wilcoxon_holm(results), level),
    )


def _groups_without_difference(
    mean_ranks: Floats, p: Floats, level: float
) -> tuple[tuple[int, ...], ...]:
    """Maximal runs of methods in order of rank, no two of which differ significantly."""
    order = np.argsort(mean_ranks, kind="stable")
    groups: list[tuple[int, ...]] = []
    reach = -1
    for start in range(len(order)):
        stop = start
        while stop + 1 < len(order) and all(
            p[order[i], order[stop + 1]] >= level for i in range(start, stop + 1)
        ):
            stop += 1
        if stop > start and stop > reach:
            groups.append(tuple(int(m) for m in order[start : stop + 1]))
            reach = stop
    return tuple(groups)


def correlated_posterior(
    a: Floats, b: Floats, test_to_train: float, rope: float
) -> tuple[float, float, float]:
    """Posterior probabilities of "a worse", "practically equal", "a better" on one table.

    Parameters
    ----------
    a, b : (n,) float
        Results on the same folds; larger is better.
    test_to_train : float > 0
        Number of test rows divided by number of training rows.
    rope : float ≥ 0
        Half width of the region of practical equivalence.

    Notes
    -----
    The Bayesian correlated t-test: the mean difference has Student's t distribution with n − 1
    degrees of freedom about d̄ with scale √((1/n + n₂/n₁) s²), under the matching prior; its tails
    at ρ = 0 are the p-values of the corrected resampled t-test.

    References
    ----------
    Corani, Benavoli 2015, A Bayesian approach for comparing cross-validated algorithms on multiple
    data sets, Machine Learning 100; Benavoli, Corani, Demšar, Zaffalon 2017, JMLR 18(77), §4.

    Examples
    --------
    >>> a = np.array([0.9, 0.8, 0.7, 0.6])
    >>> [round(p, 3) for p in correlated_posterior(a, a - [0.1, 0.3, 0.2, 0.0], 1 / 9, 0.01)]
    [0.066, 0.019, 0.916]
    """
    _check_rope(rope)
    first, second = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    unit = _unit(np.append(first, second))
    difference, rope = (first - second) / unit, rope / unit
    n, mean = difference.size, float(difference.mean())
    scale = corrected_standard_error(difference, test_to_train)
    if scale <= 1e-15:
        return float(mean < -rope), float(abs(mean) <= rope), float(mean > rope)
    worse = float(scipy.stats.t.cdf((-rope - mean) / scale, n - 1))
    better = float(scipy.stats.t.sf((rope - mean) / scale, n - 1))
    return worse, max(0.0, 1.0 - worse - better), better


def signed_rank_posterior(
    difference: Floats, rope: float, seed: int = 0
) -> tuple[float, float, float]:
    """Posterior probabilities of "worse", "practically equal", "better" over several tables.

    Parameters
    ----------
    difference : (n,) float
        Mean difference of two methods on each table, positive if the first is better.
    rope : float ≥ 0
        Half width of the region of practical equivalence.
    seed : int
        Seed of the 50,000 Monte Carlo samples; the standard error is at most 0.002.

    Notes
    -----
    The Bayesian signed-rank test: a Dirichlet process with strength s = ½ and a pseudo-observation
    z₀ = 0. With w ~ Dirichlet(½, 1, …, 1) the three shares are θ = Σ_ij w_i w_j over the pairs
    whose mean (z_i + z_j)/2 lies left of, in, or right of [−rope, rope]; the result is how often
    each share is the largest. O(samples · n²). Neither the order of the tables nor that of the two
    methods changes a bit, since the differences are sorted, with one of the two signs, before the
    weights are drawn.

    References
    ----------
    Benavoli, Corani, Demšar, Zaffalon 2017, Time for a change: a tutorial for comparing multiple
    classifiers through Bayesian analysis, JMLR 18(77), §5; Benavoli et al. 2014, ICML.

    Examples
    --------
    >>> worse, same, better = signed_rank_posterior(np.array([0.05, 0.04, 0.06, 0.02, 0.03]), 0.01)
    >>> better > 0.95, worse < 0.01
    (True, True)
    """
    _check_rope(rope)
    # Rounded, so that a difference on the border of the region does not depend on its last bits.
    unit = _unit(np.append(difference, rope))
    given = np.sort(np.round(np.asarray(difference, dtype=np.float64) / unit, _DIGITS))
    rope /= unit
    forward, turned = given.tolist(), (-given[::-1]).tolist()
    z = np.array([0.0, *max(forward, turned)])
    total = z[:, None] + z[None, :]
    left = (total < -2 * rope - 1e-12).astype(np.float64)
    right = (total > 2 * rope + 1e-12).astype(np.float64)
    generator = np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, z.size])))
    strength = np.ones(z.size)
    strength[0] = 0.5
    counts = np.zeros(3)
    step = max(1, (1 << 22) // z.size)
    # One thread: the bits of a product depend on how its sums are divided.
    with threadpool_limits(1):
        for start in range(0, _SAMPLES, step):
            w = generator.dirichlet(strength, min(step, _SAMPLES - start))
            lost, won = ((w @ left) * w).sum(axis=1), ((w @ right) * w).sum(axis=1)
            shares = np.column_stack([lost, 1.0 - lost - won, won])
            best = shares >= shares.max(axis=1, keepdims=True) - 1e-12
            counts += (best / best.sum(axis=1, keepdims=True)).sum(axis=0)
    if forward == turned:
        counts[[0, 2]] = counts[[0, 2]].mean()
    elif forward < turned:
        counts = counts[::-1]
    worse, same, better = (counts / _SAMPLES).tolist()
    return worse, same, better


def _check_rope(rope: float) -> None:
    if not (np.isfinite(rope) and rope >= 0):
        raise RequestError(f"the region of practical equivalence must be ≥ 0, not {rope}")


def pareto_front(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Mask (n,) of the candidates that are not dominated in the two values.

    Parameters
    ----------
    first, second : (n,) float
        Larger is better; NaN is worse than everything.

    Examples
    --------
    >>> pareto_front(np.array([0.9, 0.8, 0.8]), np.array([0.5, 0.7, 0.6])).tolist()
    [True, True, False]
    >>> pareto_front(np.array([0.9, 0.8, np.nan]), np.array([np.nan, 0.7, 0.6])).tolist()
    [True, True, False]
    """
    a, b = (
        np.where(np.isnan(values), -np.inf, _rounded(values, _unit(values)))
        for values in (first, second)
    )
    at_least = (a[None, :] >= a[:, None]) & (b[None, :] >= b[:, None])
    above = (a[None, :] > a[:, None]) | (b[None, :] > b[:, None])
    return np.asarray(~(at_least & above).any(axis=1))
