"""Corrections of p-values for the number of tests."""

from __future__ import annotations

import numpy as np
import scipy
from numpy.typing import NDArray

__all__ = ["CORRECTIONS", "adjusted", "level_of_one_test"]

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
