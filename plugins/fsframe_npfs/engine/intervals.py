"""Intervals for the probability that a resample selects a feature, and the decisions they settle.

A test with sequential stopping looks at its counts several times.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaincinv

__all__ = ["clopper_pearson", "hoeffding", "larger_tests", "looks", "settled"]


def hoeffding(
    z: ArrayLike, n: int, error: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Hoeffding's interval around z/n for the probability of selection.

    Lower and upper ends z/n ∓ √(ln(2/error) / 2n), cut to [0, 1], for counts `z` (m,) out of n;
    `error` is the probability of non-coverage, both sides together.

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

    As `hoeffding`, with half of `error` on each side.

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


def looks(n: int) -> list[int]:
    """Numbers of bootstraps at the interim looks: 20, then 1.5 times as many each time, up to n.

    >>> looks(100)
    [20, 30, 45, 68, 100]
    >>> looks(10)
    [10]
    """
    found, size = [], 20
    while size < n:
        found.append(size)
        size = int(np.ceil(size * 1.5))
    return [*found, n]


def larger_tests(n: int, permutations: int, permuted_n: int, fits: int) -> list[tuple[int, int]]:
    """Numbers of bootstraps and permutations at the looks: doubled each time, up to `fits`.

    The last look uses all `fits` in the proportions of the first. Empty if the first needs more.

    >>> larger_tests(100, 99, 10, 5000)
    [(100, 99), (200, 198), (400, 396), (458, 454)]
    """
    first = n + permutations * permuted_n
    found, factor = [], 1
    while factor * first <= fits:
        found.append((factor * n, factor * permutations))
        factor *= 2
    last = (n * fits // first, permutations * fits // first)
    return [*found, last] if found and last != found[-1] else found


def settled(
    z: NDArray[np.int64], n: int, critical: NDArray[np.int64], error: float, n_looks: int
) -> NDArray[np.bool_]:
    """Counts so far from their critical value that further draws will not change the decision.

    `z` and `critical` are counts and critical values after n bootstraps, `error` the probability,
    per feature and over all `n_looks` planned looks, of settling on the wrong side.

    Notes
    -----
    A count is settled if the exact (Clopper–Pearson) interval for the probability of selection, at
    error / n_looks, lies entirely above or below critical / n. By the union bound the intervals of
    all looks fail to cover that probability with probability at most `error`. So under the null, a
    feature selected with probability p0 ≤ critical / n is declared relevant early with probability
    at most `error`, and the size of the sequential test is at most alpha + error.
    """
    lower, upper = clopper_pearson(z, n, error / n_looks)
    return (lower > critical / n) | (upper <= critical / n)
