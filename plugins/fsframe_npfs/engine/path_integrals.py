"""Integrals of stability paths over thresholds of a score, and what they bound."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["bound_of_sizes", "integrate_paths", "least_false_rates"]

Floats = NDArray[np.float64]


def bound_of_sizes(sizes: Floats, n_features: int, pairs: int, power: int) -> Floats:
    """Bound on the expected sum of h(Π) over false features, for paths with these sizes.

    Parameters
    ----------
    sizes : (m,) float64 ≥ 0
        q(λ), the mean number of features selected on a half at each threshold.
    n_features : int ≥ 1
        p.
    pairs : int ≥ 1
        B.
    power : {1, 2, 3}
        h(π) = (2π − 1)^power for π ≥ ½, else 0.

    Returns
    -------
    (m,) float64

    Notes
    -----
    With U_b = 1 if both halves of pair b select the feature, 2Π − 1 ≤ ΣU_b/B, so that h(Π) is at
    most the power of that mean. If a false feature is in both halves of each of k different pairs
    with probability at most θ^(2k), θ = q/p, the moments of ΣU_b follow by counting which factors
    coincide: B times θ² for one pair, 3B(B − 1) θ⁴ for two (power 3), B(B − 1)(B − 2) θ⁶ for three.

    References
    ----------
    Melikechi, Miller 2025, Integrated path stability selection, JASA, theorem 4.1 and corollary.

    Examples
    --------
    >>> bound_of_sizes(np.array([10.0]), 100, 1, 3).round(6)   # one pair: q²/p
    array([1.])
    """
    theta = (sizes / n_features) ** 2
    one, two, three = pairs, pairs * (pairs - 1), pairs * (pairs - 1) * (pairs - 2)
    if power == 1:
        moment = one * theta
    elif power == 2:
        moment = one * theta + two * theta**2
    else:
        moment = one * theta + 3 * two * theta**2 + three * theta**3
    found: Floats = n_features * moment / pairs**power
    return found


def integrate_paths(
    scores: Floats, *, power: int, cutoff: float, steps: int, delta: float
) -> tuple[Floats, float, Floats, Floats]:
    """The integrated path of every feature, and the bound that they are compared with.

    Parameters
    ----------
    scores : (2B, p) float64
        Scores on the halves; not positive or NaN: not selected at any threshold.
    power : {1, 2, 3}
    cutoff : float > 0
        Thresholds are taken from the largest score down to where the mean of `bound_of_sizes` over
        them exceeds this.
    steps : int ≥ 2
        Thresholds, in equal ratios from the largest positive score to the smallest.
    delta : float
        Thresholds λ are weighted by λ^(−δ) dλ; 1 weights equal ratios equally.

    Returns
    -------
    integrals : (p,) float64 in [0, 1]
    bound : float
        E(FP) of keeping features with an integral of at least τ is at most bound/τ; 0 if no
        threshold is left.
    thresholds : (m,) float64
        Decreasing.
    paths : (m, p) float64
        Share of the halves that select each feature at each threshold.
    """
    halves, p = scores.shape
    ordered = np.sort(np.where(scores > 0, scores, 0.0), axis=0)
    positive = ordered[ordered > 0]
    if not positive.size:
        return np.zeros(p), 0.0, np.empty(0), np.empty((0, p))
    grid = np.geomspace(positive.max(), positive.min(), steps)
    # Ends are exact, so that the largest score is selected at the first threshold.
    grid[0], grid[-1] = positive.max(), positive.min()
    paths = np.empty((steps, p))
    for feature in range(p):
        below = np.searchsorted(ordered[:, feature], grid, side="left")
        paths[:, feature] = (halves - below) / halves
    bounds = bound_of_sizes(paths.sum(axis=1), p, halves // 2, power)
    # λ^(−δ) dλ, with dλ in proportion to λ on a grid of equal ratios.
    weights = grid ** (1.0 - delta)
    means = np.cumsum(weights * bounds) / np.cumsum(weights)
    last = int(np.searchsorted(means > cutoff, True))
    if last == 0:
        return np.zeros(p), 0.0, grid[:0], paths[:0]
    shares = weights[:last] / weights[:last].sum()
    reached = np.maximum(2.0 * paths[:last] - 1.0, 0.0) ** power
    return shares @ reached, float(means[last - 1]), grid[:last], paths[:last]


def least_false_rates(integrals: Floats, bound: float) -> tuple[Floats, Floats]:
    """The least E(FP) bound, and the least bound on false among kept, at which each is kept.

    Returns
    -------
    expected : (p,) float64
        bound/integral, infinite for an integral of 0, and at most p.
    q_values : (p,) float64 in [0, 1]
        The smallest expected/|kept| over all thresholds that keep the feature.

    Examples
    --------
    >>> expected, q = least_false_rates(np.array([0.5, 0.25, 0.0]), 0.05)
    >>> expected, q
    (array([0.1, 0.2, 3. ]), array([0.1, 0.1, 1. ]))
    """
    p = integrals.size
    expected = np.full(p, float(p))
    np.divide(bound, integrals, out=expected, where=integrals > 0)
    expected = np.minimum(expected, float(p))
    order = np.argsort(expected, kind="stable")
    # Ties are kept together.
    kept = np.searchsorted(expected[order], expected[order], side="right")
    rates = np.minimum.accumulate((expected[order] / kept)[::-1])[::-1]
    q_values = np.empty(p)
    q_values[order] = np.minimum(rates, 1.0)
    return expected, q_values
