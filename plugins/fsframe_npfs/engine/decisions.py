"""From counts and a null to p-values, a critical value and the relevant features or pairs."""

from __future__ import annotations

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe_npfs.engine.corrections import adjusted, level_of_one_test
from fsframe_npfs.engine.seed_sensitivity import likely_exceedances
from fsframe_npfs.engine.tails import critical_value

__all__ = ["Verdict", "by_centred_null", "by_own_null", "by_tail", "share_taken_off"]

_ROUNDING = 1e-12


@attrs.frozen(kw_only=True, eq=False)
class Verdict:
    """What the test says of each feature or pair.

    Parameters
    ----------
    p : (m,) float64
        P(Z ≥ z) under the null.
    adjusted : (m,) float64
        `p` after the correction.
    level : float
        Level of one test after the correction.
    critical : (m,) int
        Largest count that is not relevant (with ``at_least``: smallest that is).
    relevant : (m,) bool
    line_error : (m,) float64
        Standard deviation of `critical` over seeds: permuted labels are a sample; 0 for a law.
    """

    p: NDArray[np.float64]
    adjusted: NDArray[np.float64]
    level: float
    critical: NDArray[np.int64]
    relevant: NDArray[np.bool_]
    line_error: NDArray[np.float64]

    def of(self, listed: NDArray[np.bool_]) -> Verdict:
        """The verdict on some of the features or pairs only."""
        return attrs.evolve(
            self,
            p=self.p[listed],
            adjusted=self.adjusted[listed],
            critical=self.critical[listed],
            relevant=self.relevant[listed],
            line_error=self.line_error[listed],
        )


def by_tail(
    z: NDArray[np.int64],
    tail: NDArray[np.float64],
    *,
    alpha: float,
    correction: str,
    tests: int,
    at_least: bool = False,
    sampled: int = 0,
) -> Verdict:
    """The verdict where all counts share one null distribution.

    Parameters
    ----------
    z : (m,) int
        Counts.
    tail : (n + 2,) float64
        P(Z ≥ z) under the null.
    alpha : float
        Level after correction.
    correction : {"none", "bonferroni", "bh"}
        As in `fsframe_npfs.engine.corrections.adjusted`.
    tests : int, at least m
        Number of tests; those not in `z` have a count of zero.
    at_least : bool
        Relevant where z ≥ ζ instead of z > ζ, as the authors' MATLAB code has it. The size of
        that test is above alpha.
    sampled : int
        Number of null counts that `tail` was made of; 0 for a law.

    Returns
    -------
    Verdict

    Notes
    -----
    z > ζ and P(Z ≥ z) ≤ alpha say the same; z ≥ ζ is the same as P(Z > z) ≤ alpha, so that
    correction works on that smaller number there. A count of zero is never relevant: with ζ = 0
    (p0 below alpha, n = 1) "≥" would name every feature.
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
        error = _half_way(*lines)
    return Verdict(
        p=p,
        adjusted=adjusted(p, correction, tests),
        level=level,
        critical=np.full(z.shape, critical, dtype=np.int64),
        relevant=relevant,
        line_error=np.full(z.shape, error),
    )


def _half_way(high: float, low: float) -> float:
    """A standard deviation, from the 16 % and the 84 % point."""
    return max(0.0, high - low) / 2.0


def by_centred_null(
    z: NDArray[np.int64],
    null_counts: NDArray[np.int64],
    n: int,
    *,
    alpha: float,
    correction: str,
    tests: int,
) -> Verdict:
    """The verdict where counts, less the mean of their feature, share one permutation null.

    Parameters
    ----------
    z : (m,) int
        Counts under the true label.
    null_counts : (n_permutations, m) int
        Counts of the same features or pairs under permuted labels.
    n : int
        Number of bootstraps behind each count.
    alpha, correction
        As in `by_tail`.
    tests : int, at least m
        Number of tests; those not in `z` were never marked under any label.

    Returns
    -------
    Verdict
        `critical` holds one number per feature.

    Notes
    -----
    With labellings j = 0 (true), 1 … P, the statistic is r_ij = z_ij − λ·(mean of z_ij' over
    j' ≠ j), and p_i = #{(i', j ≥ 0) : r_i'j ≥ r_i0} / ((P + 1)·K). All labellings are treated
    alike and lie in the pool, so that under the null, where they are exchangeable, a share of at
    most alpha of the features is named on average, however they depend on each other; no more than
    alpha·(P + 1)·K can be named. With a correction the pool is that of the permuted labellings,
    p_i = (1 + #{(i', j ≥ 1) : r_i'j ≥ r_i0}) / (1 + P·K), as
    `fsframe_npfs.engine.standing_decisions.by_standings` explains. A base that likes a column
    whatever the label (many levels, heavy tails) gives it a high mean, which is taken off; λ =
    `share_taken_off` says how far the means differ by more than the chance in P + 1 labellings.
    Time and memory P·m.
    """
    permutations = null_counts.shape[0]
    rows = np.vstack((z, null_counts))
    total = rows.sum(axis=0)
    share = share_taken_off(rows, tests)
    # Rounded, so that counts that tie on paper tie here.
    centred = np.round(rows - share * (total - rows) / permutations, 9)
    apart = correction != "none"
    observed, pool = centred[0], np.sort(centred[1:] if apart else centred, axis=None)
    added, pooled = (1, permutations) if apart else (0, permutations + 1)
    never_marked = pooled * (tests - z.size)  # r = 0 under every labelling
    reached = pool.size - np.searchsorted(pool, observed, side="left")
    reached = reached + never_marked * (observed <= 0)
    cells = pooled * tests
    p = (added + reached) / (added + cells)
    level = level_of_one_test(p, alpha, correction, tests)
    line = _line(pool, never_marked, int(level * (added + cells) * (1 + _ROUNDING)) - added)
    own_line = np.clip(line + share * (total - z) / permutations + 1e-9, 0, n)
    few, many = likely_exceedances(cells, level)
    ends = (np.clip(_line(pool, never_marked, k), -n, n) for k in (few, many))
    # The means that are taken off are those of a sample of labellings too.
    spread = share**2 * rows.var(axis=0, ddof=1).sum() / tests / permutations
    error = float(np.sqrt(_half_way(*ends) ** 2 + spread))
    return Verdict(
        p=p,
        adjusted=adjusted(p, correction, tests),
        level=level,
        critical=np.floor(own_line).astype(np.int64),
        relevant=(observed > line) & (z > 0),
        line_error=np.full(z.shape, error),
    )


def share_taken_off(rows: NDArray[np.int64] | NDArray[np.float64], tests: int) -> float:
    """The share λ of a feature's mean count that is its own and not the chance of few labellings.

    Parameters
    ----------
    rows : (n_labellings, m) int or float64, at least two labellings
        Counts.
    tests : int, at least m
        Number of features; those not in `rows` have counts of zero throughout.

    Returns
    -------
    float in [0, 1]
        max(0, 1 − v / V), v the variance within features over the number of labellings, V the
        variance of the features' means: 0 where features differ by no more than chance, near 1
        where each has a rate of its own.

    References
    ----------
    Efron, Morris 1975, Data analysis using Stein's estimator and its generalizations, J. Am. Stat.
    Assoc. 70:311, section 2.

    Examples
    --------
    >>> share_taken_off(np.array([[4, 0, 9], [5, 1, 9], [3, 2, 9]]), tests=3)
    0.98...
    >>> share_taken_off(np.array([[5, 0], [0, 5]]), tests=2)
    0.0
    """
    labellings = rows.shape[0]
    means = rows.mean(axis=0)
    grand = means.sum() / tests
    between = ((means - grand) ** 2).sum() + (tests - means.size) * grand**2
    within = rows.var(axis=0, ddof=1).sum() / labellings
    if between <= 0.0:  # all features are marked equally often
        return 0.0
    return float(max(0.0, 1.0 - (within / tests) / (between / max(tests - 1, 1))))


def _line(pool: NDArray[np.float64], zeros: int, allowed: int) -> float:
    """The largest value that more than `allowed` of `pool` (ascending) and `zeros` zeros reach."""
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


def by_own_null(
    z: NDArray[np.int64],
    null_counts: NDArray[np.int64],
    n: int,
    *,
    alpha: float,
    correction: str,
    tests: int,
) -> Verdict:
    """The verdict where each count is compared with its own counts under permuted labels.

    Parameters
    ----------
    z : (m,) int
        Counts.
    null_counts : (n_permutations, m) int
        Counts of the same features or pairs under permuted labels.
    n : int
        Number of bootstraps behind each count.
    alpha, correction, tests
        As in `by_tail`.

    Returns
    -------
    Verdict
        p = (1 + #{permutations with a count ≥ z}) / (1 + permutations).
    """
    permutations = null_counts.shape[0]
    p = (1.0 + (null_counts >= z).sum(axis=0)) / (1.0 + permutations)
    level = level_of_one_test(p, alpha, correction, tests)
    # How many permutations may reach the count of a relevant feature.
    allowed = int(level * (permutations + 1) * (1 + _ROUNDING)) - 1
    ascending = np.sort(null_counts, axis=0)

    def reached_by(number: int) -> NDArray[np.int64]:
        """The smallest counts that no more than `number` permutations lie above."""
        if number < 0:
            return np.full(z.shape, n, dtype=np.int64)
        if number >= permutations:
            return np.zeros(z.shape, dtype=np.int64)
        return ascending[permutations - 1 - number].astype(np.int64)

    critical = reached_by(allowed)
    few, many = likely_exceedances(permutations, level)
    return Verdict(
        p=p,
        adjusted=adjusted(p, correction, tests),
        level=level,
        critical=critical,
        relevant=(z > critical) & (z > 0),
        line_error=np.maximum(reached_by(few) - reached_by(many), 0) / 2.0,
    )
