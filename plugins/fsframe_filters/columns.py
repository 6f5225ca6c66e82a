"""Stages that look at columns: variance, correlated clusters, and values for gaps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform
from scipy.stats import rankdata
from threadpoolctl import threadpool_limits

from fsframe.errors import RequestError
from fsframe.method.run import Cost, Run
from fsframe.method.selection import Donors, Selection, rank_by_score
from fsframe.method.selector import Selector
from fsframe.params import choice, flag, integer, number_to_keep, param, real
from fsframe.table.dataset import Dataset
from fsframe.table.standardising import (
    learn_scale,
    level_places,
    standardised,
    sums_of_squares,
    unequal_share,
)
from fsframe.text import some_of

_LEAST = np.nextafter(0.0, 1.0)


@attrs.frozen(kw_only=True)
class Variance(Selector):
    """Columns whose variance is above `threshold`; the score is the variance.

    Notes
    -----
    Σ c (x − x̄)² / Σ c over the rows with a value, c the count of each row, as in scikit-learn's
    ``VarianceThreshold``. A column whose deviation is within rounding of its magnitude (1e-14) has
    variance 0. The variance has the square of the column's unit, so a threshold above 0 makes sense
    only if all columns have the same unit, such as the genes of one array. The label is not used.
    For a nominal column the score is half the probability that two rows differ in level,
    (1 − Σ p²) / 2, which for two levels is the variance of 0 and 1. O(n p), in blocks of columns.

    References
    ----------
    F. Pedregosa et al. 2011, Scikit-learn: machine learning in Python, JMLR 12
    (``VarianceThreshold``).

    Examples
    --------
    >>> data = Dataset.from_arrays([[7, 1, 0], [7, 2, 9], [7, 3, 0]], ["a", "b", "a"])
    >>> Variance().select(data).selected
    array([2, 1])
    """

    tasks: ClassVar[frozenset[str]] = frozenset({"classification", "regression", "survival"})
    uses_label: ClassVar[bool] = False
    takes_missing: ClassVar[bool] = True
    takes_nominal: ClassVar[bool] = True
    takes_counts: ClassVar[bool] = True
    reads_columns: ClassVar[bool] = True

    top: int | float | None = number_to_keep(
        "those above the threshold", ", the most variable first"
    )
    threshold: float = param(
        0.0, real(0), help="Features with a variance at or below this are dropped."
    )

    def adjusts(self) -> bool:
        # The label is not used, so that there is nothing to adjust.
        return True

    def top_only_cuts(self) -> bool:
        return True

    def _select(self, data: Dataset, upstream: Selection | None, run: Run) -> Selection:
        counts = None if data.counts is None else data.counts.astype(np.float64)
        scores = np.zeros(data.n_features)
        for start, stop in data.column_blocks():
            block = np.asarray(data.columns(start, stop), dtype=np.float64)
            deviation = learn_scale(block, counts)[1]
            deviation[np.isinf(deviation)] = 0.0
            # The square of a deviation below 1e-162 would be 0, as of a constant column.
            scores[start:stop] = np.where(deviation > 0, np.maximum(deviation**2, _LEAST), 0.0)
            for k in np.flatnonzero(data.categorical[start:stop]):
                place, levels = level_places(block[:, k])
                known = place >= 0
                drawn = None if counts is None else counts[known]
                sizes = np.bincount(place[known], weights=drawn).astype(np.float64)
                scores[start + k] = unequal_share(sizes) / 2 if len(levels) > 1 else 0.0
        enough = int(np.count_nonzero(scores > self.threshold))
        kept = rank_by_score(scores)[: self.keep_count(data.n_features, enough)]
        notes = () if kept.size else (f"no column varies by more than {self.threshold:g}",)
        return Selection(selected=kept, scores=scores, warnings=notes)


@attrs.frozen(kw_only=True)
class Correlation(Selector):
    """One column of each cluster of correlated columns.

    Columns are clustered by the distance 1 − |r|, and the dendrogram is cut at 1 − `threshold`.
    With complete linkage any two columns of a cluster have |r| ≥ `threshold`. Each cluster is
    represented by its column with the best score: by default the association with the label (|r|
    with a numeric target, the correlation ratio η with classes), or the score of the previous
    stage, or the mean |r| with the other columns of the cluster. Tables: ``cluster`` (p,), numbered
    in order of first columns, and ``stands-for`` (p,), the kept column of each column's cluster.

    Notes
    -----
    A nominal column of more than two levels is a cluster of its own: its codes are not numbers, and
    it has r = 0 with all others. Its association with the label is η with a numeric target; with
    classes it is √(SS_between / SS_total) of Light and Margolin's analysis of variance, which is η
    for two levels. A constant column has r = 0 with all others. `top` keeps the best of the
    representatives and, beyond those, redundant columns by score. Bootstrap counts weight rows;
    with method=spearman, ranks are computed among the drawn rows. O(n p² + p²) time, 24 p² bytes:
    suitable for thousands of columns, not a hundred thousand.

    References
    ----------
    R. R. Sokal, C. D. Michener 1958, A statistical method for evaluating systematic relationships,
    Univ. Kansas Sci. Bull. 38:1409–1438 (average linkage). D. Müllner 2011, Modern hierarchical,
    agglomerative clustering algorithms, arXiv:1109.2378. R. Light, B. Margolin 1971, An analysis of
    variance for categorical data, JASA 66:534–544.

    Examples
    --------
    >>> X = np.array([[0, 1, 5.0], [1, 3, 2], [2, 5, 9], [3, 7, 4]])
    >>> selection = Correlation().select(Dataset.from_arrays(X, ["a", "a", "b", "b"]))
    >>> selection.selected, selection.tables["cluster"]
    (array([0, 2]), array([0, 0, 1]))
    """

    tasks: ClassVar[frozenset[str]] = frozenset({"classification", "regression"})
    takes_counts: ClassVar[bool] = True
    takes_nominal: ClassVar[bool] = True
    table_copies: ClassVar[float] = 2.0
    reads_bytes: ClassVar[bool] = True

    top: int | float | None = number_to_keep("one of each cluster")
    threshold: float = param(
        0.9,
        real(above=0, most=1),
        help="Features with |r| at or above this belong to one cluster.",
        symbol="|r|",
    )
    method: str = param(
        "pearson",
        choice("pearson", "spearman"),
        help="Correlation of the values (Pearson) or of their ranks (Spearman).",
    )
    clusters: str = param(
        "complete",
        choice("complete", "average", "single"),
        help="Linkage of clusters: by the smallest, the mean or the largest |r| between them.",
    )
    keep: str = param(
        "label",
        choice("label", "upstream", "centre"),
        help="Which feature of a cluster to keep: the one most related to the label, the best "
        "by the previous stage, or the one most correlated with the rest.",
    )

    def first_problems(self) -> Iterator[str]:
        if self.keep == "upstream":
            yield "keep=upstream needs a previous stage"

    def _select(self, data: Dataset, upstream: Selection | None, run: Run) -> Selection:
        p = data.n_features
        run.must_hold(24 * p * p, f"correlation: |r| of {p} columns")
        shared, y = self._standardised(data)
        with threadpool_limits(1):
            strength = np.abs(shared.T @ shared)
        cluster = _cut(strength, self.clusters, 1.0 - self.threshold)
        if self.keep == "label":
            scores = _related(shared, y, data)
            for column in _columns_of_several_levels(data):
                scores[column] = _relation_of_levels(data, column)
        elif self.keep == "centre":
            scores = np.array([strength[j, cluster == cluster[j]].mean() for j in range(p)])
        elif upstream is None:
            raise RequestError(f"correlation: {next(self.first_problems())}")
        else:
            scores = np.nan_to_num(upstream.scores, nan=np.nanmin(upstream.scores, initial=0.0))
        ranked = rank_by_score(scores)
        stands = np.empty(p, dtype=np.int64)
        for number in range(int(cluster.max(initial=-1)) + 1):
            best = ranked[cluster[ranked] == number][0]
            stands[cluster == number] = best
        kept = [int(column) for column in ranked if stands[column] == column]
        order = np.concatenate([kept, ranked[~np.isin(ranked, kept)]]).astype(np.intp)
        return Selection(
            selected=order[: self.keep_count(p, len(kept))],
            scores=scores,
            tables={"cluster": cluster, "stands-for": stands},
        )

    def _standardised(self, data: Dataset) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Standardised columns (or their ranks), whose products are correlations, and the label."""
        rows = data.counted_rows
        X, y = data.values[rows], data.y[rows].astype(np.float64)
        if self.method == "spearman":
            X = rankdata(X, axis=0)
            y = rankdata(y) if data.task == "regression" else y
        shared = standardised(X, *learn_scale(X))
        shared /= np.sqrt(len(rows))
        # Codes of several categories are not numbers: such a column is its own cluster.
        shared[:, _columns_of_several_levels(data)] = 0.0
        return shared, y


def _columns_of_several_levels(data: Dataset) -> list[int]:
    """Nominal columns of more than two levels."""
    rows = slice(None) if data.counts is None else data.counts > 0
    places = np.flatnonzero(data.categorical).tolist()
    return [k for k in places if np.unique(data.columns(k, k + 1)[rows]).size > 2]


def _relation_of_levels(data: Dataset, column: int) -> float:
    """η of a numeric target over the levels, or its analogue between levels and classes."""
    place, levels = level_places(data.columns(column, column + 1)[:, 0].astype(np.float64))
    w = data.row_counts.astype(np.float64)
    n_classes = data.n_classes if data.task == "classification" else 0
    between, spread = sums_of_squares(place, len(levels), data.y, w, n_classes)
    return float(np.sqrt(max(between, 0.0) / spread)) if spread > 0 else 0.0


def _cut(strength: NDArray[np.float64], method: str, distance: float) -> NDArray[np.int64]:
    """Cluster number of each column, (p,), numbered in order of first columns."""
    p = len(strength)
    if p < 2:
        return np.zeros(p, dtype=np.int64)
    apart = np.clip(1.0 - strength, 0.0, 1.0)
    np.fill_diagonal(apart, 0.0)
    tree = linkage(squareform(apart, checks=False), method)
    # Distances within rounding of the threshold count as equal to it.
    clusters = fcluster(tree, distance + 1e-10, criterion="distance")
    _, first, code = np.unique(clusters, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[code].astype(np.int64)


def _related(
    shared: NDArray[np.float64], y: NDArray[np.float64], data: Dataset
) -> NDArray[np.float64]:
    """|r| with a numeric label, or the correlation ratio with classes, (p,)."""
    if data.task == "regression":
        centre, scale = learn_scale(y[:, None])
        return np.abs(shared.T @ ((y - centre) / scale / np.sqrt(len(y))))
    between = np.zeros(shared.shape[1])
    for code in np.unique(y):
        rows = y == code
        between += shared[rows].sum(axis=0) ** 2 / rows.sum()
    return np.sqrt(between)


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
    nearest to its row (`fsframe.method.selection.Donors`), by scikit-learn's KNNImputer. The
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
    uses_label: ClassVar[bool] = False
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

    def _select(self, data: Dataset, upstream: Selection | None, run: Run) -> Selection:
        p, counts = data.n_features, data.row_counts
        donors = self._donors(data, counts, run) if self.method == "neighbours" else None
        fill = np.full(p, np.nan) if donors is None else donors.averages()
        share = np.ones(p)
        for start, stop in data.column_blocks(max(1 << 16, run.memory // 8)):
            block = np.asarray(data.columns(start, stop), dtype=np.float64)
            known = ~np.isnan(block) & (counts > 0)[:, None]
            share[start:stop] = counts @ known / counts.sum()
            for k in range(0 if donors is not None else stop - start):
                present = known[:, k]
                if present.any():
                    values, times = _levels(block[present, k], counts[present])
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
        # Rows that are not drawn stay, with count 0, so that donors of all resamples share a table.
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
    return (f"left out because they have no values to learn replacements from: {some_of(names)}",)
