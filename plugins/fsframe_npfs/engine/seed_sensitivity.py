"""Probability that another seed decides otherwise, and bootstraps needed to make it small."""

from __future__ import annotations

import math

import attrs
import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, ndtr

__all__ = [
    "DOUBTFUL",
    "QUANTILE",
    "WORTH_TRYING",
    "Remedy",
    "chance_of_other_answer",
    "likely_exceedances",
    "remedy",
]

Floats = NDArray[np.float64]

DOUBTFUL = 0.05
"""A decision that another seed reverses with a larger chance than this is doubtful."""

QUANTILE = 1.6448536269514722  # of the normal law at 1 − DOUBTFUL
WORTH_TRYING = 100  # times as many bootstraps or permutations, and no more, are advised


def likely_exceedances(cells: int, level: float) -> tuple[int, int]:
    """Between which numbers the count of `cells` null values beyond their 1 − level quantile lies.

    Parameters
    ----------
    cells : int ≥ 1
        Null values that the line was taken from.
    level : float in (0, 1)

    Returns
    -------
    low, high : int
        One standard deviation apart from the mean on either side, in probability: the 16 % and the
        84 % quantiles of Binomial(cells, level).

    Examples
    --------
    >>> likely_exceedances(1000, 0.01)
    (7, 13)
    """
    mean = cells * level
    reach = int(4 * math.sqrt(mean) + 8)
    k = np.arange(max(0, int(mean) - reach), min(cells, int(mean) + reach) + 1)
    below = bdtr(k, cells, level)
    return int(k[np.argmax(below >= 0.1587)]), int(k[np.argmax(below >= 0.8413)])


def _variance(z: NDArray[np.int64], n: int) -> Floats:
    """Variance of the difference of two counts of n, of which one is z."""
    p = (z + 0.5) / (n + 1.0)
    return 2.0 * n * p * (1.0 - p)


def chance_of_other_answer(
    z: NDArray[np.int64], n: int, line: NDArray[np.int64], line_error: Floats
) -> Floats:
    """The chance that the count of another seed lies on the other side of the line of that seed.

    Parameters
    ----------
    z : (m,) int
        Counts of n.
    n : int
        Bootstraps behind each count.
    line : (m,) int
        ζ; relevant is what is above it.
    line_error : (m,) float64
        Standard deviation of the line over seeds; 0 where it comes from a law.

    Returns
    -------
    (m,) float64 in [0, 0.5]

    Notes
    -----
    Bootstraps of one table are independent given the table, so that counts of two seeds are two
    draws of Binomial(n, π). Normal approximation: Φ(−|z − ζ − ½| / s) with
    s² = 2nπ̂(1 − π̂) + 2·(error of ζ)², π̂ = (z + ½)/(n + 1).

    Examples
    --------
    >>> z, line = np.array([30, 24, 2]), np.array([20, 20, 20])
    >>> chance_of_other_answer(z, 50, line, np.zeros(3)).round(3)
    array([0.026, 0.242, 0.   ])
    """
    distance = np.abs(z - line - 0.5)
    return ndtr(-distance / np.sqrt(_variance(z, n) + 2.0 * line_error**2))  # type: ignore[no-any-return]


@attrs.frozen(kw_only=True)
class Remedy:
    """What would settle doubtful decisions.

    Parameters
    ----------
    n, permutations : int
        Bootstraps, and label permutations (0 where there are none), for all that can be settled.
    hopeless : (m,) bool
        Which lie so borderline that a hundred times as many would not do.
    """

    n: int
    permutations: int
    hopeless: NDArray[np.bool_]


def remedy(
    z: NDArray[np.int64],
    n: int,
    line: NDArray[np.int64],
    line_error: Floats,
    permutations: int,
) -> Remedy:
    """How many bootstraps and permutations bring the chance of another answer below 1 in 20.

    Parameters
    ----------
    z, n, line, line_error
        As in `chance_of_other_answer`, of the doubtful decisions only.
    permutations : int
        Permutations behind the line.

    Returns
    -------
    Remedy

    Notes
    -----
    With c times the bootstraps a distance d grows c-fold, the deviation of counts √c-fold and that
    of the line c-fold; with more permutations the last falls by their square root. Where the line
    is what is uncertain, each of the two is given half of d²/q², q the normal quantile.

    Examples
    --------
    >>> remedy(np.array([24]), 50, np.array([20]), np.zeros(1), 0).n
    276
    """
    room = ((z - line - 0.5) / QUANTILE) ** 2
    noise = 2.0 * line_error**2
    firm = noise < room / 2
    times = _variance(z, n) / np.where(firm, room - noise, room / 2)
    more = np.where(firm, 1.0, noise / (room / 2))
    hopeless = (times > WORTH_TRYING) | (more > WORTH_TRYING)
    rest = ~hopeless
    return Remedy(
        n=math.ceil(n * max(1.0, times[rest].max(initial=1.0)) - 1e-9),
        permutations=math.ceil(permutations * more[rest].max(initial=1.0) - 1e-9),
        hopeless=hopeless,
    )
