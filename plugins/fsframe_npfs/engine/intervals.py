"""Confidence intervals for the probability that a resample of a table selects a feature."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaincinv

__all__ = ["clopper_pearson", "hoeffding"]


def hoeffding(
    z: ArrayLike, n: int, error: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Hoeffding's interval around z/n for the probability of selection.

    Parameters
    ----------
    z : (m,) int in 0 … n
        Counts.
    n : int, at least 1
        Number of resamples.
    error : float in (0, 1)
        Probability of non-coverage, both sides together.

    Returns
    -------
    lower, upper : (m,) float64
        z/n ∓ √(ln(2/error) / 2n), cut to [0, 1].

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

    Parameters
    ----------
    z : (m,) int in 0 … n
        Counts.
    n : int, at least 1
        Number of resamples.
    error : float in (0, 1)
        Probability of non-coverage, half on each side.

    Returns
    -------
    lower, upper : (m,) float64

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
