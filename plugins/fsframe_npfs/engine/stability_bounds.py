"""Bounds on false selections of stability selection over complementary halves."""

from __future__ import annotations

import functools
import math

import numpy as np
from scipy import optimize

__all__ = ["BOUNDS", "expected_false", "largest_tail", "least_count"]

BOUNDS = ("worst-case", "unimodal", "r-concave")

# Exponents of concavity that the paper found to fit: of the simultaneous proportions of pairs, and
# of the proportions of halves.
_PAIRS, _HALVES = -0.5, -0.25

# The range in which the shift of an extremal distribution is looked for; outside it the
# distribution is all at 0, or uniform, to within rounding.
_LEAST_SHIFT, _MOST_SHIFT = 1e-5, 1e5


def expected_false(count: int, pairs: int, kept: float, n_features: int, bound: str) -> float:
    """Bound on the expected number of kept features that the base rarely selects.

    Parameters
    ----------
    count : int in 1 … 2·pairs
        Features are kept if at least this many halves select them.
    pairs : int ≥ 1
        B, the number of complementary pairs of halves.
    kept : float ≥ 0
        q, the mean number of features selected on a half.
    n_features : int ≥ 1
        p.
    bound : {"worst-case", "unimodal", "r-concave"}
        What is assumed of the proportions in which such a feature is selected: nothing, that they
        are unimodal, or that they are r-concave, r = −1/2 over pairs and −1/4 over halves.

    Returns
    -------
    float
        At most `kept`, and infinite where the bound says nothing. The features counted are those
        whose probability of selection on a half is at most θ = q/p.

    Notes
    -----
    Theorem 1 for "worst-case", equation 6 with theorem 2 for "unimodal", section 3.3 for
    "r-concave".

    References
    ----------
    Shah, Samworth 2013, Variable selection with error control: another look at stability
    selection, J. R. Statist. Soc. B 75:55.

    Examples
    --------
    >>> for bound in BOUNDS:
    ...     print(bound, round(expected_false(90, 50, 50, 1000, bound), 3))
    worst-case 3.125
    unimodal 1.078
    r-concave 0.17
    """
    share, rare = count / (2 * pairs), kept / n_features
    if bound == "r-concave":
        # At least count − B pairs have the feature in both halves.
        by_pairs = largest_tail(rare**2, pairs, count - pairs, _PAIRS)
        found = n_features * min(by_pairs, largest_tail(rare, 2 * pairs, count, _HALVES))
        return found if found < kept else math.inf
    if share <= 0.5:
        return math.inf
    found = kept * rare / (2.0 * share - 1.0)
    if bound == "unimodal" and rare <= 1.0 / math.sqrt(3.0):
        found = min(found, _unimodal_factor(share, pairs, rare) * kept * rare)
    return found


def _unimodal_factor(share: float, pairs: int, rare: float) -> float:
    """C(τ, B) of theorem 2; infinite below the shares that it covers."""
    if share > 0.75:
        return 4.0 * (1.0 - share + 0.5 / pairs) / (1.0 + 1.0 / pairs)
    if share > min(0.5 + rare**2, 0.5 + 0.5 / pairs + 0.75 * rare**2):
        return 1.0 / (2.0 * (2.0 * share - 1.0 - 0.5 / pairs))
    return math.inf


def least_count(
    most_false: float, pairs: int, kept: float, n_features: int, bound: str
) -> int | None:
    """The smallest number of halves at which `expected_false` is at most `most_false`, or None.

    Examples
    --------
    >>> least_count(1.0, 50, 50, 1000, "r-concave"), least_count(1.0, 50, 50, 1000, "worst-case")
    (70, None)
    """
    low, high = 1, 2 * pairs
    if expected_false(high, pairs, kept, n_features, bound) > most_false:
        return None
    while low < high:
        middle = (low + high) // 2
        if expected_false(middle, pairs, kept, n_features, bound) <= most_false:
            high = middle
        else:
            low = middle + 1
    return low


@functools.lru_cache(maxsize=4096)
def largest_tail(mean: float, n: int, least: int, r: float) -> float:
    """The largest P(X ≥ least) over r-concave X on 0 … n with mean at most `mean`·n.

    Parameters
    ----------
    mean : float in [0, 1]
        Bound on E[X]/n.
    n : int ≥ 1
    least : int
    r : float < 0
        f is r-concave if f^r is convex where f > 0.

    Notes
    -----
    An extremal distribution is proportional to (a + i)^(1/r) on 0 … k, with the rest of its mass at
    k + 1. For each k the shifts a at which that rest is between 0 and (a + k + 1)^(1/r) form an
    interval, over which the tail is maximised numerically. O(n) one-dimensional problems of O(n)
    each.

    References
    ----------
    Shah, Samworth 2013, section 3.3 and appendix A.4.

    Examples
    --------
    A tail as heavy as r-concavity allows, and Markov's bound:

    >>> round(largest_tail(0.05, 100, 60, -0.25), 5), round(0.05 * 100 / 60, 5)
    (0.00294, 0.08333)
    """
    if least <= 2 * mean * n + 1:
        # Uniform or wider: nothing better than the trivial bound is claimed.
        return 1.0
    if mean == 0:
        return 0.0
    power, target = 1.0 / r, mean * n
    places = np.arange(n + 1, dtype=np.float64)

    def mean_to(k: int, shift: float) -> float:
        mass = (shift + places[: k + 1]) ** power
        return float(mass @ places[: k + 1] / mass.sum())

    def tail(shift: float, k: int) -> float:
        mass = (shift + places[: k + 1]) ** power
        scale = (k + 1 - target) / float(mass @ (k + 1 - places[: k + 1]))
        return 1.0 - scale * float(mass[:least].sum())

    def shift_of(k: int, most: float) -> float:
        """The shift at which the distribution on 0 … k has the mean."""
        if mean_to(k, most) <= target:
            return most
        if mean_to(k, _LEAST_SHIFT) >= target:
            return _LEAST_SHIFT
        # On a logarithmic scale, as shifts span ten orders of magnitude.
        found = optimize.brentq(
            lambda log: mean_to(k, math.exp(log)) - target, math.log(_LEAST_SHIFT), math.log(most)
        )
        return math.exp(found)

    best = 0.0
    upper = shift_of(least - 1, _MOST_SHIFT)
    for k in range(least - 1, n):
        lower = shift_of(k + 1, upper)
        best = max(best, tail(lower, k), tail(upper, k))
        if upper > lower * (1 + 1e-9):
            found = optimize.minimize_scalar(
                lambda log, k=k: -tail(math.exp(log), k),
                bounds=(math.log(lower), math.log(upper)),
                method="bounded",
            )
            best = max(best, -float(found.fun))
        upper = lower
    return min(1.0, max(best, 0.0))
