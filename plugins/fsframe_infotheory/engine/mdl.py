"""Bin edges by the minimum description length principle."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fsframe_infotheory.engine.edges import midpoints

__all__ = ["mdl_edges"]


def mdl_edges(
    values: NDArray[np.float64],
    y: NDArray[np.int64],
    counts: NDArray[np.int64] | None = None,
) -> NDArray[np.float64]:
    """Inner edges that Fayyad and Irani's criterion accepts; none if the labels justify no cut.

    Parameters
    ----------
    values : (n,) float64, finite
        Training values, in any order.
    y : (n,) int64
        Class codes of the training rows.
    counts : (n,) int64, optional
        How often each row counts.

    Returns
    -------
    (m,) float64, ascending
        Midpoints between neighbouring distinct values.

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
