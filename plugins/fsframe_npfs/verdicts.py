"""From counts and a null to p-values, a critical value and the relevant features or pairs."""

from __future__ import annotations

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe_npfs.corrections import adjusted, level_of_one_test
from fsframe_npfs.tails import critical_value

__all__ = ["Verdict", "by_own_null", "by_tail"]

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
