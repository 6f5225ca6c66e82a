"""Corrections of p-values for the number of tests."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import stats

__all__ = ["CORRECTIONS", "adjusted", "level_of_one_test"]

CORRECTIONS = ("none", "bonferroni", "bh")


def adjusted(
    p: NDArray[np.float64], correction: str, tests: int | None = None
) -> NDArray[np.float64]:
    """P-values corrected for the number of tests: relevant where at most alpha.

    Parameters
    ----------
    p : (m,) float64 in [0, 1]
        P-values.
    correction : {"none", "bonferroni", "bh"}
        "none" leaves them; "bonferroni" multiplies by the number of tests (chance of one or more
        false finds); "bh" is Benjamini and Hochberg's step-up (share of false finds).
    tests : int, optional
        How many tests were made, when those with p = 1 are left out of `p`.

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
    # Tests that were left out have p = 1: they change no rank, only the number of tests.
    return np.minimum(stats.false_discovery_control(p) * (tests / p.size), 1.0)


def level_of_one_test(
    p: NDArray[np.float64], alpha: float, correction: str, tests: int | None = None
) -> float:
    """The level at which one uncorrected p-value is relevant under the correction.

    Parameters
    ----------
    p : (m,) float64
        P-values of all tests.
    alpha : float
        Level after correction.
    correction : {"none", "bonferroni", "bh"}
        As in `adjusted`.
    tests : int, optional
        As in `adjusted`.

    Returns
    -------
    float
        alpha, alpha / tests, or alpha·r / tests where r is the number Benjamini and Hochberg's
        procedure rejects (at least 1, the level the first would have to reach).

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
