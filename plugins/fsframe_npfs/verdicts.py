"""From counts and a null to p-values, a critical value and the relevant features or pairs."""

from __future__ import annotations

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe_npfs.corrections import adjusted, level_of_one_test
from fsframe_npfs.tails import critical_value

__all__ = ["Verdict", "by_centred_null", "by_own_null", "by_tail"]

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
    """

    p: NDArray[np.float64]
    adjusted: NDArray[np.float64]
    level: float
    critical: NDArray[np.int64]
    relevant: NDArray[np.bool_]

    def of(self, listed: NDArray[np.bool_]) -> Verdict:
        """The verdict on some of the features or pairs only."""
        return attrs.evolve(
            self,
            p=self.p[listed],
            adjusted=self.adjusted[listed],
            critical=self.critical[listed],
            relevant=self.relevant[listed],
        )


def by_tail(
    z: NDArray[np.int64],
    tail: NDArray[np.float64],
    *,
    alpha: float,
    correction: str,
    tests: int,
    at_least: bool = False,
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
        As in `fsframe_npfs.corrections.adjusted`.
    tests : int, at least m
        Number of tests; those not in `z` have a count of zero.
    at_least : bool
        Relevant where z ≥ ζ instead of z > ζ, as the authors' MATLAB code has it. The size of
        that test is above alpha.

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
    return Verdict(
        p=p,
        adjusted=adjusted(p, correction, tests),
        level=level,
        critical=np.full(z.shape, critical, dtype=np.int64),
        relevant=relevant,
    )


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
    With labellings j = 0 (true), 1 … P, the statistic is r_ij = z_ij − mean of z_ij' over j' ≠ j,
    and p_i = (1 + #{(i', j ≥ 1) : r_i'j ≥ r_i0}) / (1 + P·K). All labellings are treated alike,
    so that under the null, where they are exchangeable, the true one stands out no more often than
    another. A base that likes a column whatever the label (many levels, heavy tails) gives it a
    high mean, which is taken off. P·r is kept, a whole number, so that ties are exact.
    """
    permutations = null_counts.shape[0]
    total = z + null_counts.sum(axis=0)
    observed = (permutations + 1) * z - total
    lowest = -(permutations + 1) * n
    histogram = np.zeros(1 - 2 * lowest, dtype=np.int64)
    for row in null_counts:
        centred = (permutations + 1) * row - total
        histogram += np.bincount(centred - lowest, minlength=histogram.size)
    cells = permutations * tests
    histogram[-lowest] += cells - null_counts.size  # never marked: r = 0
    reached = np.append(np.cumsum(histogram[::-1])[::-1], 0)
    tail = (1.0 + reached) / (1.0 + cells)
    p = tail[observed - lowest]
    level = level_of_one_test(p, alpha, correction, tests)
    # The smallest value with P(r > value) at most the level; one past the end if there is none.
    common = tail[1:] <= level * (1 + _ROUNDING)
    line = int(np.argmax(common)) + lowest if common.any() else -lowest
    return Verdict(
        p=p,
        adjusted=adjusted(p, correction, tests),
        level=level,
        # P·z − Σ z* > line, solved for z.
        critical=np.clip((line + total - z) // permutations, 0, n),
        relevant=(observed > line) & (z > 0),
    )


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
    if allowed < 0:
        critical = np.full(z.shape, n, dtype=np.int64)
    elif allowed >= permutations:
        critical = np.zeros(z.shape, dtype=np.int64)
    else:
        critical = np.sort(null_counts, axis=0)[permutations - 1 - allowed].astype(np.int64)
    return Verdict(
        p=p,
        adjusted=adjusted(p, correction, tests),
        level=level,
        critical=critical,
        relevant=(z > critical) & (z > 0),
    )
