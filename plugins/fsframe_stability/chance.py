"""Expected scores of two random sets, over the hypergeometric distribution."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["Counts", "PairScore", "corrected_for_chance", "expected_score", "intersection_law"]

Counts = NDArray[np.int64]


class PairScore(Protocol):
    """A score of two sets that depends on their sizes and their intersection only.

    Called with intersection sizes, first sizes, second sizes, all (n_pairs,), and the number of
    features; returns (n_pairs,) scores, NaN where undefined.
    """

    def __call__(
        self, shared: Counts, first: Counts, second: Counts, p: int, /
    ) -> NDArray[np.float64]: ...


def intersection_law(
    first: int, second: int, p: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Possible intersection sizes of two random sets, and their probabilities.

    Parameters
    ----------
    first, second : int
        Sizes n₁ and n₂ of the sets, 0 … p.
    p : int
        Number of features, ≥ 1.

    Returns
    -------
    shared : (s,) int64
        max(0, n₁ + n₂ − p) … min(n₁, n₂).
    probability : (s,) float64
        Hypergeometric(p, n₁, n₂), summing to one.

    Notes
    -----
    Ratios of neighbouring terms, multiplied outwards from the mode and normalised: no logarithm
    of a factorial, so nothing cancels at large p, and far tails go to zero as they should. At
    most min(n₁, n₂) + 1 terms.

    Examples
    --------
    >>> shared, probability = intersection_law(2, 2, 4)
    >>> shared, (6 * probability).round(12)
    (array([0, 1, 2]), array([1., 4., 1.]))
    """
    low, high = max(0, first + second - p), min(first, second)
    shared = np.arange(low, high + 1, dtype=np.int64)
    if low == high:
        return shared, np.ones(1)
    mode = min(max((first + 1) * (second + 1) // (p + 2), low), high) - low
    r = shared[:-1].astype(np.float64)
    ratio = (first - r) * (second - r) / ((r + 1) * (p - first - second + r + 1))
    relative = np.ones(len(shared))
    relative[mode + 1 :] = np.cumprod(ratio[mode:])
    relative[:mode] = np.cumprod(1.0 / ratio[:mode][::-1])[::-1]
    return shared, relative / relative.sum()


def expected_score(score: PairScore, first: int, second: int, p: int) -> float:
    """The mean of `score` over all pairs of sets of two sizes, NaN where it is undefined for one.

    For a score that depends on the sets only through their sizes and their intersection, this is
    the mean over all C(p, n₁)·C(p, n₂) pairs, from min(n₁, n₂) + 1 terms.
    """
    shared, probability = intersection_law(first, second, p)
    sizes = np.full(shared.shape, first), np.full(shared.shape, second)
    # Not a dot product: the bits of a threaded one depend on the number of threads.
    return float(np.sum(probability * score(shared, *sizes, p)))


def corrected_for_chance(score: PairScore) -> PairScore:
    """The score (s − E s) / (1 − E s): 1 for the best pair, 0 on average for random sets.

    `score` is symmetric, and its largest value is 1. NaN where `score` is, and where every pair of
    sets of these sizes scores 1, so that there is nothing to correct.

    Notes
    -----
    One hypergeometric sum for each pair of different sizes that occurs, not for each pair of runs.
    """

    def corrected(shared: Counts, first: Counts, second: Counts, p: int) -> NDArray[np.float64]:
        raw = score(shared, first, second, p)
        sizes = np.column_stack([np.minimum(first, second), np.maximum(first, second)])
        different, which = np.unique(sizes, axis=0, return_inverse=True)
        expected = np.array([expected_score(score, int(a), int(b), p) for a, b in different])
        # Expectation one: both sets hold every feature (or, for Hamming, none), 0/0.
        room = np.where(expected < 1.0, 1.0 - expected, np.nan)
        which = which.reshape(-1)
        return (raw - expected[which]) / room[which]

    return corrected
