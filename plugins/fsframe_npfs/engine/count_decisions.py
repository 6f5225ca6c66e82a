"""Decide by counts: p-values, corrections, critical values, the relevant features or pairs."""

from __future__ import annotations

import attrs
import numpy as np
import scipy
from numpy.typing import NDArray

from fsframe_npfs.engine.forecasts import likely_exceedances
from fsframe_npfs.engine.nulls import critical_value

CORRECTIONS = ("none", "bonferroni", "bh")


def adjusted(
    p: NDArray[np.float64], correction: str, tests: int | None = None
) -> NDArray[np.float64]:
    """P-values adjusted for multiple testing, to be compared with alpha.

    Parameters
    ----------
    p : (m,) float64 in [0, 1]
    correction : {"none", "bonferroni", "bh"}
        "none" leaves them unchanged; "bonferroni" multiplies them by the number of tests and
        controls the family-wise error rate; "bh" is the step-up procedure of Benjamini and
        Hochberg and controls the false discovery rate.
    tests : int, optional
        Number of tests, if `p` omits those with p = 1.

    Returns
    -------
    (m,) float64
        In the order of `p`, at most one.

    References
    ----------
    Benjamini, Hochberg 1995, Controlling the false discovery rate, J. R. Statist. Soc. B 57:289.

    Examples
    --------
    >>> adjusted(np.array([0.01, 0.02, 0.5]), "bonferroni").round(3)
    array([0.03, 0.06, 1.  ])
    >>> adjusted(np.array([0.01, 0.02, 0.5]), "bh").round(3)
    array([0.03, 0.03, 0.5 ])
    """
    tests = p.size if tests is None else tests
    if correction == "none" or p.size == 0:
        return p.copy()
    if correction == "bonferroni":
        return np.minimum(p * tests, 1.0)
    # Omitted tests have p = 1: they change no rank, only the number of tests.
    return np.minimum(scipy.stats.false_discovery_control(p) * (tests / p.size), 1.0)


def level_of_one_test(
    p: NDArray[np.float64], alpha: float, correction: str, tests: int | None = None
) -> float:
    """Level to which an unadjusted p-value is compared under the correction.

    alpha, alpha / tests, or alpha·r / tests, where r is the number of hypotheses that the procedure
    of Benjamini and Hochberg rejects, but at least 1. Parameters as in `adjusted`.

    Examples
    --------
    >>> level_of_one_test(np.array([0.01, 0.02, 0.5]), 0.06, "bh")
    0.04
    """
    tests = p.size if tests is None else tests
    if correction == "none":
        return alpha
    if correction == "bonferroni":
        return alpha / tests
    rejected = int(np.count_nonzero(adjusted(p, "bh", tests) <= alpha))
    return alpha * max(rejected, 1) / tests


_ROUNDING = 1e-12


@attrs.frozen(kw_only=True, eq=False)
class Decisions:
    """The decision of the test on each feature or pair.

    Parameters
    ----------
    p : (m,) float64
        P(Z ≥ z) under the null.
    adjusted : (m,) float64
        `p` after correction.
    level : float
        Level of a single test after correction.
    critical : (m,) int
        Largest count that is not relevant (with ``at_least``: smallest that is).
    relevant : (m,) bool
    threshold_error : (m,) float64
        Standard deviation of `critical` over seeds, since permuted labels are a sample; 0 for a
        theoretical distribution.
    """

    p: NDArray[np.float64]
    adjusted: NDArray[np.float64]
    level: float
    critical: NDArray[np.int64]
    relevant: NDArray[np.bool_]
    threshold_error: NDArray[np.float64]

    def subset(self, mask: NDArray[np.bool_]) -> Decisions:
        """The decisions on the features or pairs in a mask."""
        names = ("p", "adjusted", "critical", "relevant", "threshold_error")
        return attrs.evolve(self, **{name: getattr(self, name)[mask] for name in names})


def decide_by_tail(
    z: NDArray[np.int64],
    tail: NDArray[np.float64],
    *,
    alpha: float,
    correction: str,
    tests: int,
    at_least: bool = False,
    sampled: int = 0,
) -> Decisions:
    """Decide where all counts share one null distribution.

    Parameters
    ----------
    z : (m,) int
        Counts.
    tail : (n + 2,) float64
        P(Z ≥ z) under the null.
    alpha : float
        Level after correction.
    correction : {"none", "bonferroni", "bh"}
        As in `fsframe_npfs.engine.count_decisions.adjusted`.
    tests : int, at least m
        Number of tests; those not in `z` have a count of zero.
    at_least : bool
        Relevant where z ≥ ζ instead of z > ζ, as in the authors' MATLAB code. The size of that
        test exceeds alpha.
    sampled : int
        Number of null counts from which `tail` was estimated; 0 for a theoretical distribution.

    Returns
    -------
    Decisions

    Notes
    -----
    z > ζ is equivalent to P(Z ≥ z) ≤ alpha, and z ≥ ζ to P(Z > z) ≤ alpha, so the correction
    applies to that smaller probability there. A count of zero is never relevant: with ζ = 0
    (p0 below alpha, n = 1) "≥" would select every feature.
    """
    p = tail[z]
    deciding = tail[z + 1] if at_least else p
    level = level_of_one_test(deciding, alpha, correction, tests)
    critical = critical_value(tail, level)
    relevant = (z >= critical if at_least else z > critical) & (z > 0)
    error = 0.0
    if sampled:
        few, many = likely_exceedances(sampled, level)
        lines = (critical_value(tail, (k + 1.0) / (1.0 + sampled)) for k in (few, many))
        error = _half_width(*lines)
    return Decisions(
        p=p,
        adjusted=adjusted(p, correction, tests),
        level=level,
        critical=np.full(z.shape, critical, dtype=np.int64),
        relevant=relevant,
        threshold_error=np.full(z.shape, error),
    )


def _half_width(high: float, low: float) -> float:
    """A standard deviation, from the 16 % and 84 % quantiles."""
    return max(0.0, high - low) / 2.0


def decide_by_centred_counts(
    z: NDArray[np.int64],
    null_counts: NDArray[np.int64],
    n: int,
    *,
    alpha: float,
    correction: str,
    tests: int,
) -> Decisions:
    """Decide by counts centred on the mean of their feature, which share one permutation null.

    Parameters
    ----------
    z : (m,) int
        Counts under the true label.
    null_counts : (n_permutations, m) int
        Counts of the same features or pairs under permuted labels.
    n : int
        Number of bootstraps behind each count.
    alpha, correction
        As in `decide_by_tail`.
    tests : int, at least m
        Number of tests; those not in `z` were never selected under any labelling.

    Returns
    -------
    Decisions
        `critical` differs between features.

    Notes
    -----
    With labellings j = 0 (true), 1 … P, the statistic is r_ij = z_ij − λ·(mean of z_ij' over
    j' ≠ j), and p_i = #{(i', j ≥ 0) : r_i'j ≥ r_i0} / ((P + 1)·K). The pool contains all
    labellings, treated alike; under the null they are exchangeable, so at most a share alpha of
    the features is selected on average, whatever their dependence, and never more than
    alpha·(P + 1)·K. With a correction the pool contains the permuted labellings only,
    p_i = (1 + #{(i', j ≥ 1) : r_i'j ≥ r_i0}) / (1 + P·K), as
    `fsframe_npfs.engine.score_decisions.decide_by_scores` explains. A base that prefers a column
    whatever the label (many levels, heavy tails) gives it a high mean, which is subtracted; λ =
    `shrinkage_factor` measures how far the means differ by more than chance in P + 1 labellings.
    Time and memory P·m.
    """
    permutations = null_counts.shape[0]
    rows = np.vstack((z, null_counts))
    total = rows.sum(axis=0)
    share = shrinkage_factor(rows, tests)
    # Rounded, so that counts tied in exact arithmetic tie here.
    centred = np.round(rows - share * (total - rows) / permutations, 9)
    apart = correction != "none"
    observed, pool = centred[0], np.sort(centred[1:] if apart else centred, axis=None)
    added, pooled = (1, permutations) if apart else (0, permutations + 1)
    zeros = pooled * (tests - z.size)  # r = 0 under every labelling
    reached = pool.size - np.searchsorted(pool, observed, side="left")
    reached = reached + zeros * (observed <= 0)
    pool_size = pooled * tests
    p = (added + reached) / (added + pool_size)
    level = level_of_one_test(p, alpha, correction, tests)
    allowed = int(level * (added + pool_size) * (1 + _ROUNDING)) - added
    threshold = _threshold(pool, zeros, allowed)
    critical = np.clip(threshold + share * (total - z) / permutations + 1e-9, 0, n)
    few, many = likely_exceedances(pool_size, level)
    ends = (np.clip(_threshold(pool, zeros, k), -n, n) for k in (few, many))
    # The subtracted means are those of a sample of labellings too.
    spread = share**2 * rows.var(axis=0, ddof=1).sum() / tests / permutations
    error = float(np.sqrt(_half_width(*ends) ** 2 + spread))
    return Decisions(
        p=p,
        adjusted=adjusted(p, correction, tests),
        level=level,
        critical=np.floor(critical).astype(np.int64),
        relevant=(observed > threshold) & (z > 0),
        threshold_error=np.full(z.shape, error),
    )


def shrinkage_factor(rows: NDArray[np.int64] | NDArray[np.float64], tests: int) -> float:
    """Share λ of the differences between features' mean counts that is not sampling error.

    Parameters
    ----------
    rows : (n_labellings, m) int or float64, at least two labellings
        Counts.
    tests : int, at least m
        Number of features; those not in `rows` have counts of zero throughout.

    Returns
    -------
    float in [0, 1]
        max(0, 1 − v / V), where v is the variance within features over the number of labellings
        and V the variance of the features' means: 0 where features differ by no more than chance,
        near 1 where they have different rates.

    References
    ----------
    Efron, Morris 1975, Data analysis using Stein's estimator and its generalizations, J. Am. Stat.
    Assoc. 70:311, section 2.

    Examples
    --------
    >>> shrinkage_factor(np.array([[4, 0, 9], [5, 1, 9], [3, 2, 9]]), tests=3)
    0.98...
    >>> shrinkage_factor(np.array([[5, 0], [0, 5]]), tests=2)
    0.0
    """
    labellings = rows.shape[0]
    means = rows.mean(axis=0)
    grand = means.sum() / tests
    between = ((means - grand) ** 2).sum() + (tests - means.size) * grand**2
    within = rows.var(axis=0, ddof=1).sum() / labellings
    if between <= 0.0:  # all features are selected equally often
        return 0.0
    return float(max(0.0, 1.0 - (within / tests) / (between / max(tests - 1, 1))))


def _threshold(pool: NDArray[np.float64], zeros: int, allowed: int) -> float:
    """Largest value reached by more than `allowed` of `pool` (ascending) and `zeros` zeros."""
    if allowed < 0:
        return np.inf
    if allowed >= pool.size + zeros:
        return -np.inf
    positive = pool.size - int(np.searchsorted(pool, 0.0, side="right"))
    if allowed < positive:
        return float(pool[pool.size - 1 - allowed])
    if allowed < positive + zeros:
        return 0.0
    return float(pool[pool.size - 1 - (allowed - zeros)])


def decide_by_own_counts(
    z: NDArray[np.int64],
    null_counts: NDArray[np.int64],
    n: int,
    *,
    alpha: float,
    correction: str,
    tests: int,
) -> Decisions:
    """Decide by comparing each count with those of the same feature under permuted labels.

    p = (1 + #{permutations with a count ≥ z}) / (1 + permutations). Parameters as in
    `decide_by_centred_counts`.
    """
    permutations = null_counts.shape[0]
    p = (1.0 + (null_counts >= z).sum(axis=0)) / (1.0 + permutations)
    level = level_of_one_test(p, alpha, correction, tests)
    # Number of permutations that may reach the count of a relevant feature.
    allowed = int(level * (permutations + 1) * (1 + _ROUNDING)) - 1
    ascending = np.sort(null_counts, axis=0)

    def reached_by(number: int) -> NDArray[np.int64]:
        """The smallest counts exceeded by at most `number` permutations."""
        if number < 0:
            return np.full(z.shape, n, dtype=np.int64)
        if number >= permutations:
            return np.zeros(z.shape, dtype=np.int64)
        return ascending[permutations - 1 - number].astype(np.int64)

    critical = reached_by(allowed)
    few, many = likely_exceedances(permutations, level)
    return Decisions(
        p=p,
        adjusted=adjusted(p, correction, tests),
        level=level,
        critical=critical,
        relevant=(z > critical) & (z > 0),
        threshold_error=np.maximum(reached_by(few) - reached_by(many), 0) / 2.0,
    )
