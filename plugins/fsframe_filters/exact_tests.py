"""Exact p-values of two classes in few rows, where those of F and χ² are approximate."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from fsframe.table.dataset import Dataset

FEW_ROWS, _FEW_DIFFERENT_ROWS = 50, 100
"""p-values of ranks are exact below the first number of rows, and without equal values up to the
second: all such columns share one distribution."""

_UNLIKELY = 0.1
"""p-values of ranks below this are made exact."""


def with_exact_p(
    ranks: NDArray[np.float64], data: Dataset, log_p: NDArray[np.float64]
) -> NDArray[np.float64]:
    """`log_p` of some columns of `ranks`, with small values made exact if there are few rows.

    O(n₁ n³) for each column with equal values, n₁ rows of the smaller class; once for all columns
    without.
    """
    exact = log_p.copy()
    for column in np.flatnonzero((log_p < np.log(_UNLIKELY)) & ~np.isnan(ranks).all(axis=0)):
        rows = np.flatnonzero(~np.isnan(ranks[:, column]))
        if data.counts is not None:
            rows = np.repeat(rows, data.counts[rows])
        # Means of ranks are whole or half.
        twice = np.rint(2 * ranks[rows, column]).astype(np.intp)
        tied = np.unique(twice).size < twice.size
        if len(rows) > _FEW_DIFFERENT_ROWS or (tied and len(rows) >= FEW_ROWS):
            continue
        first = data.y[rows] == 0
        chosen = first if 2 * first.sum() <= first.size else ~first
        ways = _rank_sums(tuple(np.sort(twice).tolist()), int(chosen.sum()))
        away = np.abs(np.arange(ways.size) - chosen.sum() * twice.sum() / twice.size)
        # Sums at the same distance on either side of the mean differ by rounding.
        least = abs(twice[chosen].sum() - chosen.sum() * twice.sum() / twice.size) - 1e-6
        exact[column] = np.log(ways[away >= least].sum() / ways.sum())
    return exact


@lru_cache(maxsize=64)
def _rank_sums(ranks: tuple[int, ...], n: int) -> NDArray[np.float64]:
    """Entry s: the number of ways to choose `n` of the `ranks` with sum s.

    >>> _rank_sums((1, 2, 3, 4), 2)[3:8].tolist()
    [1.0, 1.0, 2.0, 1.0, 1.0]
    """
    ways = np.zeros((n + 1, sum(ranks) + 1))
    ways[0, 0] = 1.0
    total = 0
    for many, rank in enumerate(ranks, start=1):
        total, most = total + rank, min(many, n)
        ways[1 : most + 1, rank : total + 1] += ways[:most, : total + 1 - rank]
    return ways[n]
