"""Tests of each feature for association with the label: F of variance or correlation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import attrs
import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from fsframe.errors import DataError
from fsframe.method.run import Cost, Run
from fsframe.method.selection import Selection
from fsframe.method.stage_view import undecided_gaps
from fsframe.method.statistics import mean_ranks, orthonormal_basis
from fsframe.params import (
    choice,
    correction_of_tests,
    flag,
    level_of_tests,
    number_to_keep,
    param,
)
from fsframe.resampling.groups import FilterWithTests
from fsframe.table.dataset import Dataset
from fsframe.table.standardising import level_places, sums_of_squares
from fsframe.text import counted
from fsframe_filters.exact_tests import FEW_ROWS, fisher_of_columns, with_rank_sum_p

DEFAULT_COUNT = 10

_BLOCKS = 14
"""Number of arrays of the size of a block of columns that are in memory at the same time."""


_ROUNDING = 1e-10
"""Directions smaller than this, relative to the largest, are rounding."""

_SMALL = 1e-3
"""p-values of ranks by F below this come with a warning if there are few rows."""


@attrs.frozen(kw_only=True)
class AnovaF(FilterWithTests):
    """Features ranked by the variance between class means relative to the variance within classes.

    Without `top`, 10 features are kept; with `alpha` those whose p-value, adjusted for the number
    of features, is at most `alpha`, which may be none. Tables ``p_values`` and, with `alpha`,
    ``q_values`` are stored.

    Notes
    -----
    Classes: F = (SS_between / (C − 1)) / (SS_within / (n − C)), C classes that occur. Numeric
    target: F = r²/(1 − r²)·(n − 2), r the correlation. Values are centred first, so that large
    offsets cost no digits. Bootstrap counts are weights, and n their sum; importance weights are
    weights too, and n is their sum scaled to the number of samples. A constant feature scores 0;
    one that separates the classes perfectly has no finite F and scores the largest double. O(n p).

    With covariates to adjust for (``--adjust``) F compares the linear models of the feature on the
    covariates (numbers as they are, indicators of levels) without and with the classes (the
    target): F = ((RSS₀ − RSS₁)/q) / (RSS₁/(n − rank)), q the rank that the label adds.

    Nominal columns: for classes Light and Margolin's analysis of variance, in which Σ over pairs of
    rows of [levels differ] / 2n stands for a sum of squares; F is the ratio as above, equal to that
    of 0 and 1 for two levels, and p for more levels that of (n − 1)(K − 1) SS_between / SS_total as
    χ² with (K − 1)(C − 1) degrees of freedom. For a numeric target F of the target's means over
    the K levels, with K − 1 and n − K degrees of freedom.

    With ``ranks=true`` F is that of the ranks of each numeric column, and of those of a numeric
    target: for classes a monotone function of Kruskal and Wallis's H, F = (H/(C − 1)) /
    ((n − 1 − H)/(n − C)), for numeric targets of Spearman's correlation. Equal values share their
    mean rank; rows that a bootstrap draws twice count twice. F has too small p in few rows (6e-4
    for 1e-3, 3e-5 for 9e-5 in two classes of 15). With `alpha`, between two classes of at most 49
    rows, or 100 without equal values, p below 0.1 are therefore those of Wilcoxon's rank sum over
    all permutations of the labels, ties included. For more classes and numeric targets a note says
    that of many features more are false than promised. Without `alpha`, as in resamples that need
    scores only, p are those of F.

    With `alpha`, between two classes, p of a column of two values is that of Fisher's exact test
    (two-sided) if a cell of the 2 × 2 table is expected to hold fewer than 10 rows: F has too small
    p for rare values.

    With ``curved=true`` F compares the parabola a + bx + cx² of a numeric target with its mean: 2
    and n − 3 degrees of freedom (1 and n − 2 for columns of two values).

    With ``spread=true`` a feature is also kept if the spread of a numeric target changes with it:
    Glejser's F of the line (for nominal columns, of the means of levels) through |e| − μe, e the
    residuals of the model above and μ the mean of their signs, without which tests of skewed
    targets have too small p (Im). p is twice the smaller of the two, at most 1.

    F of different degrees of freedom are not comparable. In tables with nominal columns, and with
    `curved` or `spread`, the score is therefore −log₁₀ p, unless ``rank_by=statistic``.

    With ``alpha=0.05`` the expected share of false features among the kept is at most 0.05, if rows
    are independent draws and values within a class are normal of equal variance (approximately
    true with many rows of any distribution). A feature is false if its mean is the same in all
    classes. If rows are in groups (``--groups``), the means of groups are tested. Without `alpha`
    such tables, and those of rows in time, have a ranking and no p-values.

    A table in parts is read by columns, whole and as many at a time as memory allows, so that sums
    are those of the table in memory, to the last bit.

    References
    ----------
    R. Fisher 1925, Statistical methods for research workers, chapter 7; 1935, The logic of
    inductive inference, J. R. Stat. Soc. 98:39–82. H. Glejser 1969, A new test
    for heteroskedasticity, JASA 64:316–323. K. Im 2000, Robustifying Glejser test of
    heteroskedasticity, J. Econometrics 97:179–188. R. Light, B. Margolin 1971,
    An analysis of variance for categorical data, JASA 66:534–544. W. Conover, R. Iman 1981, Rank
    transformations as a bridge between parametric and nonparametric statistics, Am. Stat.
    35:124–129.

    Examples
    --------
    >>> data = Dataset.from_arrays([[1.0, 5], [2, 6], [4, 5], [5, 6]], ["a", "a", "b", "b"])
    >>> AnovaF(top=1).select(data).scores
    array([18.,  0.])
    """

    univariate: ClassVar[bool] = True
    tasks: ClassVar[frozenset[str]] = frozenset({"classification", "regression"})
    takes_missing: ClassVar[bool] = True
    takes_nominal: ClassVar[bool] = True
    takes_parts: ClassVar[bool] = True
    takes_weighted_parts: ClassVar[bool] = True
    takes_counts: ClassVar[bool] = True
    reads_columns: ClassVar[bool] = True
    uses_upstream_weights: ClassVar[bool] = True

    top: int | float | None = number_to_keep("10")
    alpha: float | None = level_of_tests()
    correction: str = correction_of_tests()
    ranks: bool = param(
        False, flag(), help="Test ranks in place of values: for columns with heavy tails."
    )
    curved: bool = param(
        False, flag(), help="For a numeric target: test a parabola in place of a line."
    )
    spread: bool = param(
        False, flag(), help="For a numeric target: test also whether its spread changes."
    )
    rank_by: str = param(
        "auto",
        choice("auto", "statistic", "p-value"),
        help="Rank by F, or by −log₁₀ of its p-value. auto: by F if the F of all features have the "
        "same distribution, otherwise by the p-value.",
    )
    missing: str = param(
        "refuse",
        choice("refuse", "pairwise"),
        help="Missing values: an error, or left out feature by feature.",
    )

    def adjusts(self) -> bool:
        return True

    def top_only_cuts(self) -> bool:
        return True

    def cost(self, n: int, p: int) -> Cost:
        if self.ranks:
            # Exact p of every tenth column, half of them with equal values.
            exact = 4e-10 * n**3 * p if self.alpha and n < FEW_ROWS else 0.0
            seconds = 4e-4 + 1.7e-5 * p + 8e-8 * n * p + exact
            formula = "4e-4 + 1.7e-5 p + 8e-8 np" + (" + 4e-10 n³p" if exact else "")
            return Cost(seconds=seconds, formula=formula)
        return Cost(seconds=4e-4 + 2e-6 * p + 2.3e-8 * n * p, formula="4e-4 + 2e-6 p + 2.3e-8 np")

    def role_problems(self, data: Dataset) -> Iterator[str]:
        yield from super().role_problems(data)
        if data.covariates is not None and data.categorical.any():
            yield (
                "anova-f has no partial test for nominal columns: with covariates (--adjust) use "
                "chi2 or mim, or --encode onehot"
            )
        for name in (name for name in ("curved", "spread") if getattr(self, name)):
            if data.task != "regression":
                yield f"anova-f: {name}=true is for numeric targets; leave it out"
            elif data.covariates is not None:
                yield f"anova-f: {name}=true has no partial F (--adjust); leave it out"
        if self.spread and self.rank_by == "statistic":
            yield "anova-f: spread=true makes two tests of a feature; leave out rank_by=statistic"

    def missing_problems(self, data: Dataset) -> Iterator[str]:
        if self.missing == "refuse":
            ways = (
                "`anova-f:missing=pairwise` (left out of its statistic), for a class "
                'missing="pairwise"'
            )
            yield from undecided_gaps("anova-f", data, ways)

    def _select(self, data: Dataset, upstream: Selection | None, run: Run) -> Selection:
        data = self.independent_rows(data)
        if data.in_parts:
            run.must_hold(
                _BLOCKS * 8 * data.n_samples,
                f"anova-f: {_BLOCKS} times a column of {data.n_samples} rows",
                "use chi2 or mim, which count over parts",
            )
        weights = np.ones(data.n_samples)
        notes: tuple[str, ...] = ()
        given = None if upstream is None else upstream.instance_weights
        if given is not None and given.size != data.n_samples:
            notes = ("instance weights are not used: means of groups are tested",)
        elif given is not None:
            weights = np.asarray(given) * (data.n_samples / max(given.sum(), 1e-300))
        weights = weights * data.row_counts
        if self.ranks and data.task == "regression":
            data = attrs.evolve(data, y=mean_ranks(data.y, data.counts))
        scores, log_p = np.zeros(data.n_features), np.zeros(data.n_features)
        holes = 0
        model = None if data.covariates is None else _Partial.of(data, weights)
        exact = self._exact(data, weights)
        fisher = np.full(data.n_features, np.nan)
        # Every block of a table in parts is one pass over its files: as wide as possible.
        # In memory, as wide as caches hold, but at least a cache line of a table stored by rows.
        cached = max(1 << 22, 64 * data.n_samples)
        widest = run.memory // _BLOCKS if data.in_parts else min(cached, run.memory // 8)
        for start, stop in data.column_blocks(widest):
            block = np.asarray(data.columns(start, stop), dtype=np.float64)
            present = ~np.isnan(block)
            if not present.all():
                holes += int((~present.all(axis=0)).sum())
            if exact:
                fisher[start:stop] = fisher_of_columns(block, fisher[start:stop], data)
            nominal = data.categorical[start:stop]
            numeric = start + np.flatnonzero(~nominal)
            if nominal.any():
                tests = _nominal_statistics(block[:, nominal], data, weights, spread=self.spread)
                scores[start:stop][nominal], log_p[start:stop][nominal] = tests
                block, present = block[:, ~nominal], present[:, ~nominal]
            if not numeric.size:
                continue
            values = _ranks(block, data.counts) if self.ranks else block
            if model is None:
                tests = _f_statistics(
                    values, present, data, weights, curved=self.curved, spread=self.spread
                )
            elif present.all():
                tests = model.statistics(values)
            else:
                raise DataError(
                    "anova-f: missing=pairwise has no partial F (--adjust); fill the gaps first "
                    "(`impute anova-f`)"
                )
            scores[numeric], log_p[numeric] = tests
            if exact and self.ranks:
                log_p[numeric] = with_rank_sum_p(values, data, log_p[numeric])
        log_p = np.where(np.isnan(fisher), log_p, fisher)
        if self._ranked_by_p(data):
            # Zeros without a sign.
            scores = np.minimum(-log_p / np.log(10.0), np.finfo(float).max) + 0.0
        if holes:
            notes += (f"missing values in {counted(holes, 'column')} were left out",)
        if (scores == np.finfo(float).max).any():
            notes += ("some features separate the classes perfectly, so that their F is infinite",)
        p = data.n_features
        few = self.ranks and data.n_samples < FEW_ROWS and not exact
        if few and self.alpha and self.alpha / p < _SMALL:
            notes += (
                f"with {data.n_samples} rows, p-values of ranks around {self.alpha / p:.1g} are "
                f"two to five times too small, so that more than a share {self.alpha:g} of the "
                "kept features may be false; between two classes without covariates and weights "
                "they are exact",
            )
        tested = self.significant_columns(scores, np.exp(log_p), data, DEFAULT_COUNT)
        return attrs.evolve(tested, warnings=(*notes, *tested.warnings))

    def _ranked_by_p(self, data: Dataset) -> bool:
        """Whether features are ranked by p, as F with different degrees of freedom must be."""
        differ = self.curved or self.spread or bool(data.categorical.any())
        return self.rank_by == "p-value" or (self.rank_by == "auto" and differ)

    def _exact(self, data: Dataset, weights: NDArray[np.float64]) -> bool:
        """Whether p-values of few rows are made exact: if they decide."""
        classes = data.task == "classification" and data.n_classes == 2
        possible = classes and data.covariates is None
        return possible and self.alpha is not None and bool((weights == data.row_counts).all())


@attrs.frozen(kw_only=True, eq=False)
class _Partial:
    """The linear models of a feature on covariates, without and with the label.

    `covariates` and `label` are orthonormal columns of the covariates' model, and of what the label
    adds to it, for rows multiplied by the square roots of their weights (`root`).
    """

    root: NDArray[np.float64]
    covariates: NDArray[np.float64]
    label: NDArray[np.float64]
    rest: float

    @classmethod
    def of(cls, data: Dataset, weights: NDArray[np.float64]) -> _Partial:
        """The models for the rows of `data` with these weights."""
        assert data.covariates is not None
        root = np.sqrt(weights)[:, None]
        first = np.ascontiguousarray(orthonormal_basis(root * data.covariates.design(), _ROUNDING))
        y = data.y.astype(np.float64)[:, None]
        if data.task == "classification":
            y = (data.y[:, None] == np.arange(data.n_classes)[1:]).astype(np.float64)
        added = root * y
        # Twice, so that the rest is orthogonal up to rounding.
        for _ in range(2):
            added = added - first @ (first.T @ added)
        size = np.linalg.norm(root * y, axis=0).max(initial=1e-300)
        second = np.ascontiguousarray(orthonormal_basis(added, _ROUNDING, size))
        rest = float(weights.sum()) - first.shape[1] - second.shape[1]
        return cls(root=root, covariates=first, label=second, rest=rest)

    def statistics(
        self, block: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Partial F and log p of some complete columns, as (m,) each."""
        # F has no scale: powers of two are exact, and squares neither overflow nor vanish.
        exponent = np.frexp(np.abs(block).max(axis=0))[1]
        scaled = np.ldexp(block, -exponent)
        x = self.root * (scaled - scaled.mean(axis=0))
        total = (x**2).sum(axis=0)
        for _ in range(2):
            x = x - self.covariates @ (self.covariates.T @ x)
        left = (x**2).sum(axis=0)
        explained = ((self.label.T @ x) ** 2).sum(axis=0)
        # Columns that the covariates explain up to rounding have no information left.
        live = left > 1e-24 * np.maximum(total, 1e-300)
        return _f_and_log_p(explained, left, self.label.shape[1], self.rest, live)


def _ranks(block: NDArray[np.float64], counts: NDArray[np.integer] | None) -> NDArray[np.float64]:
    """Ranks within each column (`mean_ranks`); NaN stays, and is not counted."""
    ranks = np.full(block.shape, np.nan)
    for column, values in enumerate(block.T):
        known = ~np.isnan(values)
        ranks[known, column] = mean_ranks(values[known], None if counts is None else counts[known])
    return ranks


def _f_statistics(
    block: NDArray[np.float64],
    present: NDArray[np.bool_],
    data: Dataset,
    weights: NDArray[np.float64],
    *,
    curved: bool,
    spread: bool,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """F and log p of some columns, as (m,) each."""
    # Samples along the last axis: each row is summed alone, whatever the width of the block.
    values, known = np.ascontiguousarray(block.T), np.ascontiguousarray(present.T)
    m = len(values)
    complete = bool(known.all())
    w = np.broadcast_to(weights, values.shape) if complete else known * weights
    # Multiplying by 1 changes no bit, but takes time.
    plain = complete and bool((weights == 1.0).all())

    def weighted(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        return numbers if plain else w * numbers

    def total_of(of_row: NDArray[np.float64]) -> NDArray[np.float64]:
        """The sum of a number of each row over the rows where a column has a value."""
        return np.full(m, (weights * of_row).sum()) if complete else (w * of_row).sum(axis=1)

    n = total_of(np.ones(data.n_samples))
    safe = np.maximum(n, 1e-300)
    filled = values if complete else np.where(known, values, 0.0)
    # Squares of such columns would overflow or vanish. F has no scale; powers of two are exact.
    size = np.abs(filled).max(axis=1)
    extreme = (size > 1e100) | ((size > 0) & (size < 1e-100))
    if extreme.any():
        exponent = np.frexp(size[extreme])[1]
        filled = filled.copy()
        filled[extreme] = np.ldexp(filled[extreme], -exponent[:, None])
        size[extreme] = np.abs(filled[extreme]).max(axis=1)
    mean = weighted(filled).sum(axis=1) / safe
    centred = filled - mean[:, None]
    if not complete:
        centred[~known] = 0.0
    squares = weighted(centred**2).sum(axis=1)
    between, freedom = np.zeros(m), np.ones(m)
    if data.task == "classification":
        for c in range(data.n_classes):
            of_class = (data.y == c).astype(np.float64)
            rows = total_of(of_class)
            total = (weighted(centred) * of_class).sum(axis=1)
            between += np.divide(total**2, rows, out=np.zeros(m), where=rows > 0)
            freedom += rows > 0
        freedom -= 2
    else:
        target = data.y - (total_of(data.y) / safe)[:, None]
        # The same for all complete columns.
        target = target[:1] if complete else target
        moment = (weighted(centred) * target).sum(axis=1)
        square = weighted(target**2).sum(axis=1)
        np.divide(moment**2, square, out=between, where=square > 0)
        if spread:
            slope = np.divide(moment, squares, out=np.zeros(m), where=squares > 0)
            residual = target - slope[:, None] * centred
        if curved:
            # Of each column's square, only what its line does not explain counts. Columns are
            # scaled, because fourth powers of values of 1e80 overflow.
            x = centred / np.maximum(np.abs(centred).max(axis=1), 1e-300)[:, None]
            bend = np.where(known, x**2 - ((w * x**2).sum(axis=1) / safe)[:, None], 0.0)
            length = (w * bend**2).sum(axis=1)
            line = (w * x**2).sum(axis=1)
            along = (w * bend * x).sum(axis=1) / np.maximum(line, 1e-300)
            bend = bend - along[:, None] * x
            left = (w * bend**2).sum(axis=1)
            # Columns of two values have a square that is a line, up to rounding.
            bends = left > 1e-10 * np.maximum(length, 1e-300)
            share = np.zeros(m)
            moment = (w * bend * target).sum(axis=1)
            np.divide(moment**2, left * square, out=share, where=bends & (square > 0))
            between += squares * share
            if spread:
                slope = np.divide(moment, left, out=np.zeros(m), where=bends)
                residual -= slope[:, None] * bend
            freedom += bends
    rest = n - 1 - freedom
    # A spread of the size of rounding errors is none.
    flat = squares <= 1e-28 * safe * np.maximum(1e-300, size**2)
    tests = _f_and_log_p(between, squares, freedom, rest, ~flat)
    if not spread:
        return tests
    error = np.where(known, residual, 0.0)
    # If a feature determines the target exactly, the residuals are rounding errors.
    error[np.abs(error).max(axis=1) <= 1e-12 * np.abs(target).max(axis=1)] = 0.0
    size = np.abs(error) - ((w * np.sign(error)).sum(axis=1) / safe)[:, None] * error
    of_size = size - ((w * size).sum(axis=1) / safe)[:, None]
    line = np.zeros(m)
    square = (w * of_size**2).sum(axis=1)
    np.divide((w * centred * of_size).sum(axis=1) ** 2, square, out=line, where=square > 0)
    return _better_of_two(tests, _f_and_log_p(line, squares, np.ones(m), n - 2, ~flat))


def _f_and_log_p(
    explained: NDArray[np.float64],
    spread: NDArray[np.float64],
    freedom: ArrayLike,
    rest: ArrayLike,
    live: NDArray[np.bool_],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """F and log p from explained and total sums of squares; zeros for columns that are not live."""
    within = np.maximum(spread - explained, 0.0)
    of_label, of_rest = (np.broadcast_to(value, spread.shape) for value in (freedom, rest))
    usable = live & (of_label > 0) & (of_rest > 0)
    exact = usable & (within <= 1e-14 * spread)
    plain = usable & ~exact
    scores, log_p = np.zeros(len(spread)), np.zeros(len(spread))
    scores[exact], log_p[exact] = np.finfo(float).max, -np.inf
    scores[plain] = (explained[plain] / of_label[plain]) / (within[plain] / of_rest[plain])
    log_p[plain] = scipy.stats.f.logsf(scores[plain], of_label[plain], of_rest[plain])
    return scores, log_p


def _better_of_two(
    of_mean: tuple[NDArray[np.float64], NDArray[np.float64]],
    of_spread: tuple[NDArray[np.float64], NDArray[np.float64]],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """F of the means, and log p of the better of two tests of each column, by Bonferroni."""
    return of_mean[0], np.minimum(0.0, np.log(2.0) + np.minimum(of_mean[1], of_spread[1]))


_NO_TEST, _BY_CHI2 = -1.0, 0.0
"""Stand for the residual degrees of freedom: no information; the statistic is χ²."""


def _nominal_statistics(
    block: NDArray[np.float64], data: Dataset, weights: NDArray[np.float64], *, spread: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """F and log p of some nominal columns, as (m,) each."""
    classes = data.n_classes if data.task == "classification" else 0
    tests = _log_p_of([_test_of_levels(values, data.y, weights, classes) for values in block.T])
    if not spread:
        return tests
    sizes = (_size_of_residuals(values, data.y, weights) for values in block.T)
    pairs = zip(block.T, sizes, strict=True)
    return _better_of_two(tests, _log_p_of([_test_of_levels(x, z, weights, 0) for x, z in pairs]))


def _size_of_residuals(
    values: NDArray[np.float64], target: NDArray[np.float64], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Sizes of the residuals of a target from its means over the levels of a nominal column."""
    place, levels = level_places(values)
    known = place >= 0
    place, w, y = place[known], weights[known], target[known]
    totals, of_level = (np.bincount(place, weights=v, minlength=len(levels)) for v in (w * y, w))
    residual = y - (totals / np.maximum(of_level, 1e-300))[place]
    size = np.zeros(len(target))
    size[known] = np.abs(residual) - np.average(np.sign(residual), weights=w) * residual
    return size


def _log_p_of(
    tests: list[tuple[float, float, float, float]],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Scores, and log p by the law of each statistic."""
    scores, statistic, freedom, rest = np.array(tests).T
    log_p = np.zeros(len(scores))
    apart = np.isinf(statistic)
    log_p[apart] = -np.inf
    by_f, by_chi2 = (rest > 0) & ~apart, (rest == _BY_CHI2) & ~apart
    log_p[by_f] = scipy.stats.f.logsf(statistic[by_f], freedom[by_f], rest[by_f])
    log_p[by_chi2] = scipy.stats.chi2.logsf(statistic[by_chi2], freedom[by_chi2])
    return scores, log_p


def _test_of_levels(
    values: NDArray[np.float64],
    label: NDArray[np.float64] | NDArray[np.intp],
    weights: NDArray[np.float64],
    classes: int,
) -> tuple[float, float, float, float]:
    """F of one nominal column, the statistic of its test, and its degrees of freedom.

    `classes` is their number, and 0 for a numeric target.
    """
    place, levels = level_places(values)
    known = place >= 0
    place, w, y = place[known], weights[known], label[known]
    n = float(w.sum())
    between, spread = sums_of_squares(place, len(levels), y, w, classes)
    # Groups and levels that a bootstrap has not drawn are not counted.
    many = int(np.count_nonzero(np.bincount(place, weights=w)))
    groups = int(np.count_nonzero(np.bincount(y, weights=w))) if classes else many
    freedom, rest = groups - 1, n - groups
    if many < 2 or freedom < 1 or rest <= 0 or spread <= 1e-14 * n:
        return 0.0, 0.0, 1.0, _NO_TEST
    within = max(spread - between, 0.0)
    if within <= 1e-14 * spread:
        return float(np.finfo(float).max), np.inf, 1.0, _NO_TEST
    score = (max(between, 0.0) / freedom) / (within / rest)
    if not classes or many == 2:
        return score, score, freedom, rest
    statistic = (n - 1) * (many - 1) * max(between, 0.0) / spread
    return score, statistic, (many - 1) * freedom, _BY_CHI2
