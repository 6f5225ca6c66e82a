"""The stage `impute`: fills missing values, learned from the training rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.method.donors import Donors
from fsframe.method.run import Cost, Run
from fsframe.method.selection import Selection, rank_by_score
from fsframe.method.selector import Selector
from fsframe.params import choice, flag, integer, param
from fsframe.registry.importing import missing, needed
from fsframe.table.dataset import Dataset
from fsframe.text import some_of

_INSTEAD = "use method=median, or put a filter such as mim:missing=pairwise,top=1000 before"


@attrs.frozen(kw_only=True)
class Impute(Selector):
    """Every column, the most complete first, with values to impute for missing ones.

    Parameters
    ----------
    method : {"median", "mean", "most-frequent", "neighbours"}
        Statistic of the observed values, each row counted as often as a bootstrap drew it.
        Categorical columns get their most frequent level, of all rows or of the neighbours.
    k : int ≥ 1
        Number of neighbours, among rows with a value in the column.
    standardize : bool
        Whether columns are scaled to standard deviation 1 before distances are computed.

    Notes
    -----
    The score of a column is the share of rows that have a value. All columns with at least one
    value are kept; `top` keeps the most complete. The **median** of an even number of values is the
    lower of the two in the middle, and the smallest of equally frequent values is taken, so that
    every imputed value has been observed and levels stay levels. Of equally frequent levels of a
    categorical column the first in the order of rows is taken, regardless of the levels' names.

    With ``method="neighbours"`` each gap gets its own value: the mean of the `k` training rows
    nearest to its row (`fsframe.method.donors.Donors`), by scikit-learn's KNNImputer. The
    result, and so the run file, then contains the training rows.

    Values are learned from the rows of the current resample, and filled in only there and in rows
    to predict; their uncertainty is not expressed. Values that are missing for a reason related to
    the label (a test that only patients get) are informative: `mim:missing=level` keeps
    them as a separate level.

    O(n p log n) time and memory for blocks of columns; neighbours O(n² p) time and some copies of
    the table, for each stage that sees it.

    References
    ----------
    R. J. A. Little, D. B. Rubin 2019, Statistical Analysis with Missing Data, 3rd ed., section 4.2
    (unconditional imputation, and what it does to variances).
    O. Troyanskaya et al. 2001, Missing value estimation methods for DNA microarrays,
    Bioinformatics 17, 520–525 (KNNimpute).

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
        choice("median", "mean", "most-frequent", "neighbours"),
        help="Replacement for missing values of a numeric feature: one number for the column, or "
        "the mean of the nearest rows. Nominal features get their most frequent level, of all rows "
        "or of the nearest.",
    )
    k: int = param(5, integer(1), help="Number of neighbours of method=neighbours.", symbol="k")
    standardize: bool = param(
        True,
        flag(),
        help="Scale features to mean 0 and standard deviation 1, learned from the training rows, "
        "before neighbours are found.",
    )

    def cost(self, n: int, p: int) -> Cost:
        if self.method == "neighbours":
            return Cost(seconds=2e-9 * n * n * p, formula="2e-9 n²p")
        return Cost(seconds=2e-8 * n * p, formula="2e-8 np")

    def adjusts(self) -> bool:
        # The label is not used, so there is nothing to adjust.
        return True

    def check_request(self, data: Dataset) -> Iterator[str]:
        if self.method == "neighbours" and missing(["scikit-learn"]):
            yield f"{needed('method=neighbours', 'scikit-learn')}, or use method=median"

    def _select(self, data: Dataset, upstream: Selection | None, run: Run) -> Selection:
        n, p = data.n_samples, data.n_features
        counts = np.ones(n, dtype=np.int64) if data.counts is None else data.counts
        donors = self._donors(data, counts, run) if self.method == "neighbours" else None
        fill = np.full(p, np.nan) if donors is None else donors.averages()
        share = np.ones(p)
        for start, stop in data.column_blocks(max(1 << 16, run.memory // 8)):
            block = np.asarray(data.columns(start, stop), dtype=np.float64)
            known = ~np.isnan(block) & (counts > 0)[:, None]
            share[start:stop] = counts @ known / counts.sum()
            for k in range(0 if donors is not None else stop - start):
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
            donors=donors,
            warnings=_empty(data, share),
        )

    def _select_many(
        self,
        data: Dataset,
        counts: NDArray[np.integer[Any]],
        upstream: Selection | None,
        run: Run,
    ) -> list[Selection]:
        # Rows that are not drawn stay with count 0, so that donors of all resamples share a table.
        return [self._select(data.with_counts(row), upstream, run) for row in counts]

    def _donors(self, data: Dataset, counts: NDArray[np.int64], run: Run) -> Donors:
        n, p = int(counts.sum()), data.n_features
        what = f"impute: neighbours among {n} × {p} values"
        run.must_hold(8 * 10 * n * p, what, _INSTEAD)
        donors = Donors(
            columns=np.arange(p),
            rows=data.X,
            times=counts,
            nominal=data.categorical,
            k=self.k,
            standardize=self.standardize,
        )
        run.must_hold(donors.memory, what, _INSTEAD)
        return donors


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
    # Relative to the median, so that the mean of equal values is exact.
    return float(middle + (times * (values - middle)).sum() / total[-1])


def _empty(data: Dataset, share: NDArray[np.float64]) -> tuple[str, ...]:
    names = [data.feature_names[column] for column in np.flatnonzero(share == 0)]
    if not names:
        return ()
    return (f"left out, since nothing can stand for their values: {some_of(names)}",)
