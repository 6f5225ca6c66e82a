"""Sequential stopping: the looks of the test, and which decisions are settled at each."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fsframe_npfs.engine.intervals import clopper_pearson

__all__ = ["larger_tests", "looks", "settled"]


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

    Parameters
    ----------
    z : (m,) int
        Counts after n bootstraps.
    n : int
        Bootstraps drawn so far.
    critical : (m,) int
        Critical values for n bootstraps.
    error : float in (0, 1)
        Probability, per feature and over all looks, of settling on the wrong side.
    n_looks : int
        Number of planned looks.

    Returns
    -------
    (m,) bool

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
