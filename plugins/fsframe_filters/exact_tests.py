"""Exact p-values of two classes in few rows, where those of F and χ² are approximate."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from fsframe.table.dataset import Dataset

FEW_ROWS, _FEW_DIFFERENT_ROWS = 50, 100
"""p-values of ranks are exact below the first number of rows, and without equal values up to the
second: all such columns share one distribution."""

_UNLIKELY = 0.1
"""p-values of ranks below this are made exact."""

_FEW_EXPECTED = 10.0
"""Expected count of a cell below which F and χ² of a 2 × 2 table are not trusted. Cochran's 5 is
meant for a single test at 0.05. Of many tests smaller p decide: with 8 rows expected (16 of 100,
classes of 50) p ≤ 0.001 has a probability of 0.0019."""

_SAME = 1e-7
"""Two tables are equally probable if the logarithms of their probabilities differ by less."""

_FIRST_ROWS = 64
"""Rows that show of most columns that they have more than two values."""

Floats = NDArray[np.float64]


def with_rank_sum_p(ranks: Floats, data: Dataset, log_p: Floats) -> Floats:
    """`log_p` of some columns, with small values made exact if there are few rows.

    Parameters
    ----------
    ranks : (n, m) float64
        Ranks within each column, means of ranks for equal values, NaN where missing.
    data : Dataset
        The table, of two classes.
    log_p : (m,) float64

    Returns
    -------
    log_p : (m,) float64
        Those of Wilcoxon's rank sum over all permutations of the labels, two-sided, where p is
        below 0.1. O(n₁ n³) for each column with equal values, n₁ rows of the smaller class; once
        for all columns without.
    """
    exact = log_p.copy()
    for column in np.flatnonzero((log_p < np.log(_UNLIKELY)) & ~np.isnan(ranks).all(axis=0)):
        rows = np.flatnonzero(~np.isnan(ranks[:, column]))
        rows = np.repeat(rows, data.row_counts[rows])
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


def with_fisher_p(
    log_p: Floats, both: Floats, of_value: Floats, of_class: Floats, n: Floats
) -> Floats:
    """`log_p` of some 2 × 2 tables, by Fisher's exact test where an expected count is below 10.

    Parameters
    ----------
    log_p : (m,) float64
    both, of_value, of_class, n : (m,) float64
        Whole numbers of rows: with one of the two values and in one of the two classes, with that
        value, in that class, and in all.

    Returns
    -------
    log_p : (m,) float64
        Of the two-sided test: the probability, given the margins, of all tables that are not more
        probable than this one. O(√n log n) for each different set of margins.

    Examples
    --------
    >>> table = (np.array([count]) for count in (3.0, 3.0, 3.0, 10.0))
    >>> np.exp(with_fisher_p(np.zeros(1), *table)).round(6).tolist()
    [0.008333]
    """
    exact = log_p.copy()
    rarer = np.minimum(of_value, n - of_value) * np.minimum(of_class, n - of_class)
    few = np.flatnonzero((rarer > 0) & (rarer < _FEW_EXPECTED * n))
    margins, place = np.unique(
        np.stack([of_value, of_class, n])[:, few], axis=1, return_inverse=True
    )
    for at, (value, label, total) in enumerate(margins.T):
        tables = few[place.ravel() == at]
        least = max(0.0, value + label - total)
        counts = np.arange(least, min(value, label) + 1)
        cells = counts, value - counts, label - counts, total - value - label + counts
        of_count = -sum(gammaln(cell + 1) for cell in cells)
        order = np.argsort(of_count, kind="stable")
        ascending = of_count[order]
        not_more_probable = np.logaddexp.accumulate(ascending)
        seen = of_count[(both[tables] - least).astype(np.intp)]
        last = np.searchsorted(ascending, seen + _SAME, side="right") - 1
        exact[tables] = not_more_probable[last] - not_more_probable[-1]
    return exact


def fisher_of_columns(block: Floats, log_p: Floats, data: Dataset) -> Floats:
    """`log_p` of some columns, by Fisher's exact test for those of two values (`with_fisher_p`).

    Parameters
    ----------
    block : (n, m) float64
        Values; missing ones (NaN) are left out of their column.
    log_p : (m,) float64
        Kept for columns of more values, and where no cell is expected to hold fewer than 10 rows.
    data : Dataset
        The table, of two classes, with the number of times that each row counts.
    """
    times = data.row_counts.astype(np.float64)
    rows = np.flatnonzero(times)
    columns = np.flatnonzero(_has_two_values(block[rows[:_FIRST_ROWS]]))
    columns = columns[_has_two_values(block[np.ix_(rows, columns)])]
    values = block[np.ix_(rows, columns)]
    # Rows of one class, and all rows, as often as they count: sums of whole numbers are exact.
    sums = np.stack([times[rows] * (data.y[rows] == 1), times[rows]])
    larger = (values == np.fmax.reduce(values, axis=0)).astype(np.float64)
    both, of_value = sums @ larger
    of_class, n = sums @ (~np.isnan(values)).astype(np.float64)
    exact = log_p.copy()
    exact[columns] = with_fisher_p(log_p[columns], both, of_value, of_class, n)
    return exact


def _has_two_values(block: Floats) -> NDArray[np.bool_]:
    """Whether each column has at most two different values, and missing ones."""
    smallest, largest = (extreme.reduce(block, axis=0) for extreme in (np.fmin, np.fmax))
    return ((block == smallest) | (block == largest) | np.isnan(block)).all(axis=0)
