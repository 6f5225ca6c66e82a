"""Upper tail probabilities of a count under the null, and critical values derived from them.

A *tail* is an array of n + 2 numbers, ``tail[z] = P(Z ≥ z)`` for z = 0 … n and zero for n + 1.
Every null distribution of NPFS is such an array; it gives critical values and p-values. n is the
number of bootstraps, p0 the probability that one of them selects a feature, alpha the level of one
test.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainc

__all__ = [
    "binomial_tail",
    "critical_value",
    "least_bootstraps",
    "permutation_tail",
    "poisson_binomial_tail",
    "selection_tail",
]

# A tail probability that equals alpha in exact arithmetic (0.1² and 0.01) must count as ≤ alpha.
_ROUNDING = 1e-12


def binomial_tail(n: int, p0: float) -> NDArray[np.float64]:
    """P(Z ≥ z) for Z ~ Binomial(n, p0), z = 0 … n + 1: non-increasing, from 1 to 0.

    Notes
    -----
    The regularised incomplete beta function I_p0(z, n − z + 1), accurate far out in the tail,
    where one minus the distribution function would be dominated by rounding.

    Examples
    --------
    >>> binomial_tail(2, 0.5)
    array([1.  , 0.75, 0.25, 0.  ])
    """
    z = np.arange(1, n + 1)
    return np.concatenate(([1.0], betainc(z, n - z + 1, p0), [0.0]))


def poisson_binomial_tail(probabilities: ArrayLike) -> NDArray[np.float64]:
    """P(Z ≥ z) for n independent trials with different success probabilities, z = 0 … n + 1.

    Notes
    -----
    Convolution of n Bernoulli distributions, O(n²): sums of positive terms only, so that small
    tails keep their relative accuracy (scipy's ``poisson_binom.sf`` subtracts from one).

    Examples
    --------
    >>> poisson_binomial_tail([0.5, 0.5])
    array([1.  , 0.75, 0.25, 0.  ])
    """
    mass = np.ones(1)
    for p in np.asarray(probabilities, dtype=np.float64):
        mass = np.convolve(mass, (1.0 - p, p))
    tail = np.cumsum(mass[::-1])[::-1]
    tail[0] = 1.0
    return np.append(np.minimum(tail, 1.0), 0.0)


def selection_tail(kept: ArrayLike, n_features: float, bias: float = 0.0) -> NDArray[np.float64]:
    """Tail of a feature's count if bootstrap l selects `kept[l]` of `n_features` at random.

    Parameters
    ----------
    kept : (n,) int
        k_l, the number of features that bootstrap l selected.
    n_features : float
        K, the number that could have been selected.
    bias : float ≥ 0
        β, added to every p0 = k_l / K.

    Returns
    -------
    (n + 2,) float64
        Binomial where all k_l are equal, Poisson-binomial where they differ.

    Raises
    ------
    ValueError
        If some p0 is above one.

    References
    ----------
    Ditzler, lecture notes of 2014, slides 24–25; the varying k_l are ours.
    """
    p0 = np.asarray(kept, dtype=np.float64) / n_features + bias
    if p0.max(initial=0.0) > 1.0 + _ROUNDING:
        raise ValueError(f"p0 = k/K + bias is {p0.max():.4g}, above one")
    p0 = np.minimum(p0, 1.0)
    if np.all(p0 == p0[0]):
        return binomial_tail(p0.size, float(p0[0]))
    return poisson_binomial_tail(p0)


def permutation_tail(
    null_counts: NDArray[np.int64], n: int, size: int, *, observed_too: bool = False
) -> NDArray[np.float64]:
    """Share of counts under permuted labels that are at least z, z = 0 … n + 1.

    Parameters
    ----------
    null_counts : (m,) int
        Counts of all features under all label permutations; zeros may be omitted.
    n : int
        Number of bootstraps per count.
    size : int, at least m
        Number of counts including zeros: permutations × features.
    observed_too : bool
        Whether the counts under the true label are included, so that nothing is added.

    Returns
    -------
    (n + 2,) float64
        (1 + #{counts ≥ z}) / (1 + size), or #{counts ≥ z} / size; one at z = 0, zero at n + 1.

    Notes
    -----
    The one added to numerator and denominator is the observed count itself, which belongs to the
    pool under the null hypothesis; without it a p-value could be zero.

    References
    ----------
    Phipson, Smyth 2010, Permutation p-values should never be zero, Stat. Appl. Genet. Mol. Biol.
    9(1):39, for the added one.

    Examples
    --------
    >>> permutation_tail(np.array([2, 1]), n=2, size=4)
    array([1. , 0.6, 0.4, 0. ])
    """
    histogram = np.bincount(np.asarray(null_counts, dtype=np.int64), minlength=n + 1)
    histogram[0] += size - histogram.sum()
    reached = np.cumsum(histogram[::-1])[::-1]
    added = 0.0 if observed_too else 1.0
    return np.append((added + reached) / (added + size), 0.0)


def critical_value(tail: NDArray[np.float64], alpha: float) -> int:
    """The smallest c with P(Z > c) ≤ alpha, 0 … n: a count above c is relevant, none if c is n.

    The inverse distribution function at 1 − alpha, ζ_crit of the slides.

    References
    ----------
    Ditzler, lecture notes of 2014, slide 25, equation 1.

    Examples
    --------
    >>> critical_value(binomial_tail(100, 0.1), 0.01)
    18
    """
    return int(np.argmax(tail[1:] <= alpha * (1.0 + _ROUNDING)))


def least_bootstraps(p0: float, alpha: float) -> int | None:
    """The smallest n at which a feature selected in all n bootstraps is relevant: p0ⁿ ≤ alpha.

    None where p0 is one: no n is large enough.

    Examples
    --------
    >>> least_bootstraps(0.96, 0.01), least_bootstraps(0.1, 0.01), least_bootstraps(1.0, 0.01)
    (113, 2, None)
    """
    if p0 >= 1.0:
        return None
    if p0 <= alpha:
        return 1
    n = max(1, math.ceil(math.log(alpha) / math.log(p0) - 1e-9))
    while p0**n > alpha * (1.0 + _ROUNDING):
        n += 1
    return n
