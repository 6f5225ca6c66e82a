"""The probability that another seed reverses a decision, and how many fits would settle it."""

from __future__ import annotations

import math

import attrs
import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, ndtr

BRIEF = 5.0
"""Remaining seconds below which nothing is printed about `settle`."""

Floats = NDArray[np.float64]

BORDERLINE = 0.05
"""A decision is borderline if another seed reverses it with a larger probability than this."""

QUANTILE = 1.6448536269514722  # of the normal distribution at 1 − BORDERLINE
WORTH_TRYING = 100  # at most this many times as many bootstraps or permutations are suggested


def likely_exceedances(values: int, level: float) -> tuple[int, int]:
    """Range of the number of null values above their 1 − level quantile, estimated from `values`.

    The 16 % and 84 % quantiles of Binomial(values, level): one standard deviation on either side of
    the mean.

    Examples
    --------
    >>> likely_exceedances(1000, 0.01)
    (7, 13)
    """
    mean = values * level
    reach = int(4 * math.sqrt(mean) + 8)
    k = np.arange(max(0, int(mean) - reach), min(values, int(mean) + reach) + 1)
    below = bdtr(k, values, level)
    return int(k[np.argmax(below >= 0.1587)]), int(k[np.argmax(below >= 0.8413)])


def _variance(z: NDArray[np.int64], n: int) -> Floats:
    """Variance of the difference of two binomial counts out of n, one of which is z."""
    p = (z + 0.5) / (n + 1.0)
    return 2.0 * n * p * (1.0 - p)


def reversal_probability(
    z: NDArray[np.int64], n: int, threshold: NDArray[np.int64], threshold_error: Floats
) -> Floats:
    """Probability that another seed reverses each decision.

    Parameters
    ----------
    z : (m,) int
        Counts out of n.
    n : int
        Number of bootstraps.
    threshold : (m,) int
        ζ; counts above it are relevant.
    threshold_error : (m,) float64
        Standard deviation of ζ over seeds; 0 for a theoretical distribution.

    Returns
    -------
    (m,) float64 in [0, 0.5]

    Notes
    -----
    Bootstraps of one table are independent given the table, so the counts of two seeds are two
    draws from Binomial(n, π). Normal approximation: Φ(−|z − ζ − ½| / s) with
    s² = 2nπ̂(1 − π̂) + 2·(error of ζ)², π̂ = (z + ½)/(n + 1).

    Examples
    --------
    >>> z, threshold = np.array([30, 24, 2]), np.array([20, 20, 20])
    >>> reversal_probability(z, 50, threshold, np.zeros(3)).round(3)
    array([0.026, 0.242, 0.   ])
    """
    distance = np.abs(z - threshold - 0.5)
    return ndtr(-distance / np.sqrt(_variance(z, n) + 2.0 * threshold_error**2))  # type: ignore[no-any-return]


@attrs.frozen(kw_only=True)
class Remedy:
    """Numbers of bootstraps and permutations that would settle borderline decisions.

    Parameters
    ----------
    n, permutations : int
        Bootstraps and label permutations (0 if the null uses none) for the decisions that can be
        settled.
    unresolvable : (m,) bool
        Decisions that a hundred times as many would not settle.
    """

    n: int
    permutations: int
    unresolvable: NDArray[np.bool_]


def remedy(
    z: NDArray[np.int64],
    n: int,
    threshold: NDArray[np.int64],
    threshold_error: Floats,
    permutations: int,
) -> Remedy:
    """Numbers of bootstraps and permutations that reduce the reversal probability to 0.05.

    Parameters as in `reversal_probability`, for the borderline decisions only; `permutations` is
    the number from which the threshold was estimated.

    Notes
    -----
    With c times the bootstraps a distance d grows c-fold, the standard deviation of counts √c-fold
    and that of the threshold c-fold; c times the permutations reduce the last √c-fold. If the
    threshold is the main source of uncertainty, each of the two variances is allowed half of d²/q²,
    q the normal quantile.

    Examples
    --------
    >>> remedy(np.array([24]), 50, np.array([20]), np.zeros(1), 0).n
    276
    """
    room = ((z - threshold - 0.5) / QUANTILE) ** 2
    noise = 2.0 * threshold_error**2
    firm = noise < room / 2
    times = _variance(z, n) / np.where(firm, room - noise, room / 2)
    more = np.where(firm, 1.0, noise / (room / 2))
    unresolvable = (times > WORTH_TRYING) | (more > WORTH_TRYING)
    rest = ~unresolvable
    return Remedy(
        n=math.ceil(n * max(1.0, times[rest].max(initial=1.0)) - 1e-9),
        permutations=math.ceil(permutations * more[rest].max(initial=1.0) - 1e-9),
        unresolvable=unresolvable,
    )
