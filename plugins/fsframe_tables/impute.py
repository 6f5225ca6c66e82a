"""The stage `impute`: what stands for a missing value, learned from the rows at hand."""

from __future__ import annotations

from typing import ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.contracts.cost import Cost
from fsframe.contracts.dataset import Dataset
from fsframe.contracts.params import choice, param
from fsframe.contracts.run import Run
from fsframe.contracts.selection import Selection, rank_by_score
from fsframe.contracts.selector import Selector

__all__ = ["Impute"]


@attrs.frozen(kw_only=True)
class Impute(Selector):
    """Every column, the most complete first, with what stands for its missing values.

    Parameters
    ----------
    method : {"median", "mean", "most-frequent"}
        Of the values that are there, each row as often as a bootstrap drew it. Categorical columns
        get their most frequent level whatever is asked for.

    Notes
    -----
    The score of a column is the share of rows that have a value. Kept are all columns with one at
    least; `top` keeps the most complete. The **median** of an even number of values is the lower of
    the two in the middle, and the smallest of equally frequent values is taken: what is put in has
    been observed, so that levels stay levels. Of equally frequent levels of a categorical column it
    is the one that comes first in the order of rows, whatever the levels are called.

    What stands for a missing value is learned from the rows of the running resample, and put into
    those rows, into rows to predict, and into nothing else; it says nothing of how sure it is.
    Values that are missing for a reason that has to do with the label (a test that only the ill
    get) are a finding, not a gap: `mim:missing=level` keeps them as a level of their own.

    O(n p log n) time; memory of blocks of columns.

    References
    ----------
    R. J. A. Little, D. B. Rubin 2019, Statistical Analysis with Missing Data, 3rd ed., section 4.2
    (unconditional imputation, and what it does to variances).

    Examples
    --------
    >>> X = [[1.0, 0.0], [float("nan"), 0.0], [3.0, 1.0], [4.0, float("nan")]]
    >>> data = Dataset.from_arrays(X, ["a", "a", "b", "b"], categorical=[1])
    >>> Impute().select(data).fill
    array([3., 0.])
    """

    tasks: ClassVar[frozenset[str]] = frozenset({"classification", "regression", "survival"})
    takes_missing: ClassVar[bool] = True
    takes_nominal: ClassVar[bool] = True
    fills_missing: ClassVar[bool] = True
    takes_counts: ClassVar[bool] = True
    reads_columns: ClassVar[bool] = True

    method: str = param(
        "median",
        choice("median", "mean", "most-frequent"),
        help="Replacement for missing values of a numeric feature; nominal features always get "
        "their most frequent level.",
    )

    def cost(self, n: int, p: int) -> Cost:
        return Cost(seconds=2e-8 * n * p, formula="2e-8 np")

    def _select(self, data: Dataset, upstream: Selection | None, run: Run) -> Selection:
        n, p = data.n_samples, data.n_features
        counts = np.ones(n, dtype=np.int64) if data.counts is None else data.counts
        fill, share = np.full(p, np.nan), np.ones(p)
        for start, stop in data.column_blocks(max(1 << 16, run.memory // 8)):
            block = np.asarray(data.columns(start, stop), dtype=np.float64)
            known = ~np.isnan(block)
            share[start:stop] = counts @ known / counts.sum()
            for k in range(stop - start):
                there = known[:, k]
                if there.any():
                    values, times = _levels(block[there, k], counts[there])
                    if data.categorical[start + k]:
                        tied = values[times == times.max()]
                        column = block[:, k]
                        fill[start + k] = column[np.isin(column, tied) & (counts > 0)][0]
                    else:
                        fill[start + k] = _typical(values, times, self.method)
        kept = rank_by_score(np.where(share > 0, share, np.nan))
        return Selection(
            selected=kept[: self.keep_count(p, len(kept))],
            scores=share,
            fill=fill,
            warnings=_empty(data, share),
        )


def _levels(
    values: NDArray[np.float64], counts: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """The different values, ascending, and how often each was drawn."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    first = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    return ordered[first], np.add.reduceat(counts[order], first)


def _typical(values: NDArray[np.float64], times: NDArray[np.int64], how: str) -> float:
    if how == "most-frequent":
        return float(values[np.argmax(times)])
    total = np.cumsum(times)
    middle = values[np.searchsorted(total, (total[-1] + 1) // 2)]
    if how == "median":
        return float(middle)
    # Around the median, so that equal values have it as their mean to the last bit.
    return float(middle + (times * (values - middle)).sum() / total[-1])


def _empty(data: Dataset, share: NDArray[np.float64]) -> tuple[str, ...]:
    names = [data.feature_names[column] for column in np.flatnonzero(share == 0)]
    if not names:
        return ()
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return (f"left out, since nothing can stand for their values: {', '.join(names[:5])}{more}",)
