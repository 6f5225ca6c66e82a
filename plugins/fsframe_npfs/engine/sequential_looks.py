"""When to stop drawing: the looks of the sequential test and what is settled at each."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fsframe_npfs.engine.intervals import clopper_pearson

__all__ = ["larger_tests", "looks", "settled"]


def looks(n: int, first: int = 20, growth: float = 1.5) -> list[int]:
    """At how many bootstraps to look: `first`, then half as many more each time, up to n.

    >>> looks(100)
    [20, 30, 45, 68, 100]
    >>> looks(10)
    [10]
    """
    found = []
    at = first
    while at < n:
        found.append(at)
        at = int(np.ceil(at * growth))
    return [*found, n]


def larger_tests(n: int, permutations: int, permuted_n: int, fits: int) -> list[tuple[int, int]]:
    """Numbers of bootstraps and permutations to look at: each twice the ones before, up to `fits`.

    The last uses up `fits`, shared out as the first. Empty if that is too few for the first.

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
    """Which counts are already so far from their critical value that drawing on will not matter.

    Parameters
    ----------
    z : (m,) int
        Counts after n bootstraps.
    n : int
        Bootstraps drawn so far.
    critical : (m,) int
        Critical values for n bootstraps.
    error : float in (0, 1)
        Chance, per feature and over all looks, of settling on the wrong side.
    n_looks : int
        Number of looks planned.

    Returns
    -------
    (m,) bool

    Notes
    -----
    Settled is a count whose exact (Clopper–Pearson) interval for the chance of being marked, at
    error / n_looks, lies wholly above or wholly below critical / n. By the union bound the
    intervals of all looks miss that chance with probability at most `error`, so under the null a
    feature that is marked with chance p0 ≤ critical / n is declared relevant early with
    probability at most `error`, and the size of the sequential test is at most alpha + error.
    """
    lower, upper = clopper_pearson(z, n, error / n_looks)
    line = critical / n
    return (lower > line) | (upper <= line)
