"""Bin edges of a column: equal width, equal frequency, Freedman–Diaconis, description length."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "MOST_BINS",
    "default_bins",
    "equal_frequency_edges",
    "equal_width_edges",
    "freedman_diaconis_edges",
    "mdl_edges",
]

MOST_BINS = 255
"""Most bins of the Freedman–Diaconis rule: an outlier could otherwise give millions."""


def default_bins(n_samples: int) -> int:
    """Default number of bins: 2 below 6 samples, 10 above 30, n // 3 between.

    Notes
    -----
    The rule of the R package praznik, so that results can be compared.

    >>> default_bins(5), default_bins(25), default_bins(1000)
    (2, 8, 10)
    """
    if n_samples < 6:
        return 2
    return 10 if n_samples > 30 else n_samples // 3


def equal_width_edges(
    low: NDArray[np.float64], high: NDArray[np.float64], bins: int
) -> NDArray[np.float64]:
    """The ``bins − 1`` inner edges of bins of equal width, of many columns at once.

    Parameters
    ----------
    low, high : (m,) float64, low < high
        Smallest and largest training value of each column.
    bins : int
        At least 1.

    Returns
    -------
    (m, bins − 1) float64, ascending along rows
        A value x lies in bin number ``sum(edges <= x)``. Edges may be equal in a column whose
        range has fewer doubles than bins.

    Notes
    -----
    The range is first widened as praznik does, so that the extremes are not on an edge:
    ``low −= (high − low) / 1000``, then ``high += (high − low) / 1000``; as there, only where both
    have a size between 1e-14 and 1e300, so that columns that begin or end at 0 keep their range.

    >>> equal_width_edges(np.array([0.0]), np.array([1.0]), 2).round(4).tolist()
    [[0.5]]
    """
    largest = np.finfo(np.float64).max
    # Halves first: high − low overflows where the column spans more than the largest double.
    size = np.minimum(np.abs(low), np.abs(high)), np.maximum(np.abs(low), np.abs(high))
    widened = (size[0] > 1e-14) & (size[1] < 1e300)
    with np.errstate(over="ignore"):
        low = np.where(widened, np.maximum(low - (high / 2 - low / 2) / 500, -largest), low)
        high = np.where(widened, np.minimum(high + (high / 2 - low / 2) / 500, largest), high)
    share = np.arange(1, bins) / bins
    return low[:, None] * (1 - share) + high[:, None] * share


def equal_frequency_edges(
    values: NDArray[np.float64], counts: NDArray[np.int64] | None, bins: int
) -> NDArray[np.float64]:
    """Inner edges of at most `bins` bins of about equally many samples.

    `values` (n,) are finite training values in any order, `counts` how often each row counts. At
    most bins − 1 midpoints between neighbouring distinct values, ascending (ties give fewer): for
    k = 1 … bins−1 the cut whose share of samples below is nearest to k/bins, the lower one of two
    equally near.

    >>> equal_frequency_edges(np.array([1.0, 2, 3, 4]), None, 2).tolist()
    [2.5]
    """
    distinct, inverse = np.unique(values, return_inverse=True)
    if distinct.size < 2:
        return np.empty(0)
    below = np.cumsum(np.bincount(inverse, weights=counts))
    total, cuts = below[-1], below[:-1]
    wanted = total * np.arange(1, bins) / bins
    right = np.searchsorted(cuts, wanted).clip(0, cuts.size - 1)
    left = (right - 1).clip(0)
    nearest = np.where(wanted - cuts[left] <= cuts[right] - wanted, left, right)
    chosen = np.unique(nearest)
    return midpoints(distinct[chosen], distinct[chosen + 1])


def freedman_diaconis_edges(
    values: NDArray[np.float64], counts: NDArray[np.int64] | None
) -> NDArray[np.float64]:
    """Inner edges of equal-width bins of width 2·IQR·n^(−1/3).

    Arguments as of `equal_frequency_edges`. At most `MOST_BINS` − 1 edges, ascending; where the
    interquartile range is zero, those of `default_bins` bins.

    References
    ----------
    D. Freedman, P. Diaconis 1981, On the histogram as a density estimator: L2 theory.
    """
    sample = np.sort(values if counts is None else np.repeat(values, counts))
    if sample.size == 0:
        return np.empty(0)
    low, high = float(sample[0]), float(sample[-1])
    q1, q3 = np.quantile(sample, [0.25, 0.75])
    width = 2 * (q3 - q1) * sample.size ** (-1 / 3)
    # Half the samples tied at one value: the rule gives width zero.
    if not width > 0:
        bins = default_bins(sample.size)
    else:
        bins = int(max(1, min(MOST_BINS, np.ceil(high / width - low / width))))
    if not low < high:
        return np.empty(0)
    return np.unique(equal_width_edges(np.array([low]), np.array([high]), bins))


def midpoints(left: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
    """Points between pairs of doubles, left < point ≤ right also for neighbouring doubles."""
    middle = left / 2 + right / 2
    return np.where(middle > left, middle, right)


def mdl_edges(
    values: NDArray[np.float64],
    y: NDArray[np.int64],
    counts: NDArray[np.int64] | None = None,
) -> NDArray[np.float64]:
    """Inner edges that Fayyad and Irani's criterion accepts; none if the labels justify no cut.

    Midpoints between neighbouring distinct values, ascending; `y` are class codes of the training
    rows, the other arguments those of `equal_frequency_edges`.

    Notes
    -----
    A set S of N samples and k classes is split at the cut of least class entropy if

        Gain > (log₂(N − 1) + log₂(3ᵏ − 2) − [k·H(S) − k₁·H(S₁) − k₂·H(S₂)]) / N,

    and both parts are treated likewise. Of several best cuts the lowest is taken. O(n log n) for
    sorting and O(m·C) per level of splitting over m distinct values.

    References
    ----------
    U. Fayyad, K. Irani 1993, Multi-interval discretization of continuous-valued attributes,
    section 3 (the criterion) and theorem 1.

    Examples
    --------
    >>> mdl_edges(np.arange(20.0), np.repeat([0, 1], 10)).tolist()
    [9.5]
    """
    distinct, place = np.unique(values, return_inverse=True)
    if distinct.size < 2:
        return np.empty(0)
    n_classes = int(y.max()) + 1
    table = np.bincount(place * n_classes + y, weights=counts, minlength=distinct.size * n_classes)
    below = np.vstack([np.zeros(n_classes), np.cumsum(table.reshape(-1, n_classes), axis=0)])
    cuts: list[int] = []
    waiting = [(0, distinct.size)]
    while waiting:
        start, stop = waiting.pop()
        cut = _best_cut(below, start, stop)
        if cut is not None:
            cuts.append(cut)
            waiting += [(start, cut), (cut, stop)]
    chosen = np.sort(np.array(cuts, dtype=np.intp))
    return midpoints(distinct[chosen - 1], distinct[chosen])


def _best_cut(below: NDArray[np.float64], start: int, stop: int) -> int | None:
    """First value right of the accepted cut of values start … stop−1, or None."""
    if stop - start < 2:
        return None
    left = below[start + 1 : stop] - below[start]
    right = below[stop] - below[start + 1 : stop]
    n_left, n_right = left.sum(axis=1), right.sum(axis=1)
    n = n_left[0] + n_right[0]
    h_left, h_right = _entropies(left, n_left), _entropies(right, n_right)
    after = (n_left * h_left + n_right * h_right) / n
    # 1e-12: cuts equal but for rounding are ties, and the lower one is taken.
    at = int(np.flatnonzero(after <= after.min() + 1e-12)[0])
    whole = below[stop] - below[start]
    entropy = float(_entropies(whole[None], np.array([n]))[0])
    k, k_left, k_right = (int((part > 0).sum()) for part in (whole, left[at], right[at]))
    # log₂(3ᵏ − 2) without the power: k may be in the hundreds.
    delta = k * np.log2(3) + np.log1p(-2 * 3.0**-k) / np.log(2)
    delta -= k * entropy - k_left * h_left[at] - k_right * h_right[at]
    gain = entropy - after[at]
    return start + 1 + at if n > 1 and gain > (np.log2(n - 1) + delta) / n else None


def _entropies(counts: NDArray[np.float64], sizes: NDArray[np.float64]) -> NDArray[np.float64]:
    share = counts / sizes[:, None]
    logs = np.log2(share, out=np.zeros_like(share), where=share > 0)
    return -(share * logs).sum(axis=1)
