"""The test of every pair of columns for interaction; and pairs of the features that a chain keeps,
tested on rows that it has not used.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.errors import DataError
from fsframe.kinds import MOST_TIMES
from fsframe.method.pair_tests import PairTests
from fsframe.method.ranking import INTERACTING, Statement
from fsframe.method.run import Run
from fsframe.method.selection import PairWeights, Selection, rank_by_score
from fsframe.method.selector import Selector
from fsframe.params import choice, count_or_fraction, integer, number_to_keep, optional, param, real
from fsframe.resampling.groups import deal_groups, label_problem, require_two, with_group_means
from fsframe.resampling.resamples import Base, WrappingSelector, select_resamples
from fsframe.table.dataset import Dataset
from fsframe_interactions.calibration import WithinBinEffects, calibrate
from fsframe_interactions.engine.bit_rows import BitRows, bit_rows_of, stored_bit_rows
from fsframe_interactions.engine.contingency_tables import (
    FIT_ROUNDS,
    FIT_TOLERANCE,
    false_discovery_rates,
    fit,
    kirkwood,
)
from fsframe_interactions.engine.screen import TestedPairs, best_of_columns, best_pairs
from fsframe_interactions.product_term import product_pairs, robust_tests

_MOST_CELL_TABLES = 100
"""Largest number of pairs whose cells are stored."""


def _level() -> Any:
    """The parameter `alpha` of both methods."""
    return param(
        0.05,
        real(above=0, below=1),
        help="Pairs with q at or below this are significant.",
        symbol="α",
    )


@attrs.frozen(kw_only=True, eq=False)
class _AllPairs:
    """Results of testing all pairs of a table.

    Parameters
    ----------
    tests : TestedPairs
    n_tested : int
    bit_rows : BitRows, optional
        For classification only.
    bounds : list of array
        Levels or bin edges of each column.
    """

    tests: TestedPairs
    n_tested: int
    bit_rows: BitRows | None = None
    bounds: list[NDArray[np.float64]] = attrs.field(factory=list)


@attrs.frozen(kw_only=True)
class Interactions(Selector):
    """Features of pairs that interact: their joint effect is not the sum of both effects.

    The statistic of a pair (a, b) is the deviance G² of the log-linear model with the terms ab,
    a·class and b·class, but without ab·class, compared with the saturated model. For a numeric
    target, pairs are screened by the F test of the product a·b, given a and b, and the `calibrate`
    best pairs are tested with curved main effects and unequal variances
    (`fsframe_interactions.product_term.robust_tests`); the others count as p = 1, as they do with
    covariates (``--adjust``).

    Without `top`, the features of all pairs with q ≤ `alpha` are kept, best pair first; none if no
    pair is significant. The weight of a pair is −log₁₀ p, and a feature's score is that of its best
    pair. Tables, one entry per pair kept, best first: ``pairs`` (m, 2) with positions among the
    given columns, ``g2`` (``f`` for a numeric target), ``freedom``, ``p_values``, ``q_values``,
    ``effect`` and ``standard_error``, the size of the interaction per standard deviation of both
    columns (NaN where it is not a single number), and for classes ``chi2_p_values``, ``mean_ratio``
    (mean of G² over its degrees of freedom; 1 where p is that of χ²) and ``fitted_freedom``, f in
    P(χ²_f ≥ G² f / E G²). ``n_tested`` is the number of pairs tested. For classes, cells of the
    significant pairs, at most 100 and at least the best: ``cells`` (pair, level of a, level of b,
    class), ``cell_counts``, ``cell_expected`` without interaction, and ``cell_log_odds``, the log
    ratio of the class's odds there to those expected; column j's levels, or inner edges of bins,
    are ``level_bounds[level_starts[j] : level_starts[j + 1]]``.

    Notes
    -----
    If rows are in groups, the means of groups are tested (`with_group_means`). Pairs are counted
    from bit rows and screened by the Kirkwood superposition, an upper bound of G²; see
    `fsframe_interactions.engine`. With more pairs than `keep`, those with p above keep/pairs are
    screened out; q accounts for all pairs tested. O(p² n L² K/64) time, n L/8 bytes per column. A
    pair's degrees of freedom are counted over the cells that the model can fill.

    References
    ----------
    X. Wan, C. Yang, Q. Yang, H. Xue, X. Fan, N. Tang, W. Yu 2010, BOOST: a fast approach to
    detecting gene-gene interactions in genome-wide case-control studies, Am. J. Hum. Genet.
    87:325–340. Y. M. M. Bishop, S. E. Fienberg, P. W. Holland 1975, Discrete Multivariate Analysis,
    ch. 3.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 6))
    >>> selection = Interactions().select(Dataset.from_arrays(X, X[:, 1] * X[:, 4] > 0))
    >>> selection.selected.tolist(), selection.tables["pairs"][0].tolist()
    ([1, 4], [1, 4])
    """

    tasks: ClassVar[frozenset[str]] = frozenset({"classification", "regression"})
    takes_missing: ClassVar[bool] = True
    takes_nominal: ClassVar[bool] = True
    takes_counts: ClassVar[bool] = True
    reads_columns: ClassVar[bool] = True
    takes_parts: ClassVar[bool] = True

    top: int | float | None = number_to_keep(
        "those of all significant pairs, which may be none", ", ranked by their best pair"
    )
    bins: int = param(
        3,
        integer(2, 16),
        help="Quantile bins for a numeric feature; with a numeric target, features are not binned.",
    )
    max_levels: int = param(
        5,
        integer(2, 16),
        help="Features of whole numbers with at most this many distinct values are not binned; "
        "a nominal feature with more categories has its rarest merged into one level.",
    )
    correction: str = param(
        "bh",
        choice("bh", "by"),
        help="Multiple-testing correction: Benjamini–Hochberg, or Benjamini–Yekutieli, which "
        "is valid under any dependence between pairs.",
    )
    alpha: float = _level()
    keep: int = param(
        20_000, integer(1), help="Store at most this many pairs in the result, best first."
    )
    calibrate: int = param(
        1000,
        integer(0),
        help="Number of top pairs to calibrate: by simulating G² under main effects alone, if an "
        "expected count is below 50 or features are binned; with a numeric target, by allowing for "
        "curved main effects and unequal variances.",
    )
    draws: int = param(
        200,
        integer(20, MOST_TIMES),
        help="Simulated tables per pair; five times as many where p is below 0.1.",
    )

    def statement(self, base: Selector | None = None) -> Statement:
        return INTERACTING

    def role_problems(self, data: Dataset) -> Iterator[str]:
        """Problems with groups whose rows do not share one label."""
        yield from super().role_problems(data)
        problem = label_problem(data, "interactions")
        if problem:
            yield problem

    def test_pairs(
        self,
        data: Dataset,
        columns: NDArray[np.intp],
        pairs: NDArray[np.intp],
        chosen_from: int,
        run: Run,
    ) -> PairTests:
        """Test every pair of `columns`; the `keep` best and `pairs` are reported.

        See `fsframe.method.pair_tests.PairTester`. If columns were chosen by their joint effect
        on the same rows, p is too small; q is valid if `chosen_from` counts all pairs that could
        have been chosen: at most α of tables without interactions have any q ≤ α.
        """
        of_all = self._tested(data.take_columns(columns), run)
        n_tested = of_all.n_tested
        tested = attrs.evolve(of_all.tests, pairs=columns[of_all.tests.pairs])
        known = set(map(tuple, tested.pairs.tolist()))
        others = sorted({pair for pair in map(tuple, pairs.tolist()) if pair not in known})
        if others:
            # Pairs of other columns, or screened out because there are more than `keep`.
            other_columns = np.unique(np.array(others))
            unlimited = attrs.evolve(self, keep=len(other_columns) ** 2)
            few = unlimited._tested(data.take_columns(other_columns), run).tests
            few = attrs.evolve(few, pairs=other_columns[few.pairs])
            tested = tested.joined(few.taken(few.places_of(others))).ordered()
            n_tested += int(np.count_nonzero(~np.isin(others, columns).all(axis=1)))
        counted = max(chosen_from, n_tested)
        statistic = "f" if data.task == "regression" else "g2"
        return PairTests(
            columns=columns,
            pairs=tested.pairs,
            p_values=np.exp(tested.log_p),
            q_values=false_discovery_rates(tested.log_p, counted, self.correction),
            n_tested=n_tested,
            n_chosen_from=counted,
            tables={
                statistic: tested.statistic,
                "freedom": tested.freedom,
                **tested.tables,
            },
        )

    def tests_found(self, selection: Selection) -> PairTests:
        """The tests in a result of this method, with the column numbers of the whole table."""
        seen = selection.features_in
        columns = np.arange(selection.n_features) if seen is None else seen
        tables = selection.tables
        more = ("g2", "f", "freedom", "mean_ratio", "fitted_freedom", "effect", "standard_error")
        return PairTests(
            columns=columns,
            pairs=columns[tables["pairs"]],
            p_values=tables["p_values"],
            q_values=tables["q_values"],
            n_tested=int(tables["n_tested"][0]),
            n_chosen_from=int(tables["n_tested"][0]),
            tables={name: tables[name] for name in more if name in tables},
        )

    def works_in_parts(self, data: Dataset) -> bool:
        """Whether pairs can be counted over parts: with classes, and without groups."""
        return data.task == "classification" and data.groups is None

    def _tested(self, data: Dataset, run: Run, *, store: bool = False) -> _AllPairs:
        """Test every pair of columns, according to the target; with groups, test group means.

        With `store`, the bit rows of a table in parts are stored in its cache folder.
        """
        data = with_group_means(data, "interactions")
        if data.task == "regression":
            candidates, n_varying = product_pairs(data, self.keep, run)
            return _AllPairs(tests=self._products(data, candidates), n_tested=_pairs_of(n_varying))
        bit_rows: BitRows
        if store and data.in_parts and data.counts is None:
            bit_rows, bounds = stored_bit_rows(data, self.bins, self.max_levels, run)
        else:
            bit_rows, bounds = bit_rows_of(data, self.bins, self.max_levels, run.memory)
        tested = _pairs_of(int(np.count_nonzero(bit_rows.levels > 1)))
        candidates = best_pairs(bit_rows, self.keep, min(1.0, self.keep / max(1, tested)), run)
        with contextlib.ExitStack() as stack:
            spool = None
            if data.in_parts:
                spool_folder = tempfile.TemporaryDirectory(
                    prefix=".within-", dir=data.matrix.cache_folder
                )
                spool = Path(stack.enter_context(spool_folder))
            within = WithinBinEffects(data, bit_rows, bounds, run.memory // 8, spool)
            tests = calibrate(
                bit_rows, candidates, self.calibrate, self.draws, run, ~data.categorical, within
            )
        if data.covariates is not None:
            # p = 1 for pairs that are not adjusted.
            adjusted = map(tuple, candidates.pairs[: self.calibrate].tolist())
            tests = tests.taken(tests.places_of(adjusted))
            best = best_of_columns(tests.pairs, tests.log_p, data.n_features)
            tests = attrs.evolve(tests, best_log_p=best)
        return _AllPairs(tests=tests, n_tested=tested, bit_rows=bit_rows, bounds=bounds)

    def _products(self, data: Dataset, candidates: TestedPairs) -> TestedPairs:
        """Test the best pairs of a screen by F given curved main effects; drop others (p = 1)."""
        if not self.calibrate:
            return candidates
        screened = candidates.taken(np.arange(min(self.calibrate, len(candidates.pairs))))
        tested = robust_tests(data, screened).ordered()
        return tested.taken(np.flatnonzero(tested.freedom > 0))

    def adjusts(self) -> bool:
        """Whether pairs are adjusted for covariates: those that are calibrated."""
        return self.calibrate > 0

    def _select(self, data: Dataset, upstream: Selection | None, run: Run) -> Selection:
        numeric = data.task == "regression"
        of_all = self._tested(data, run, store=True)
        best, tested = of_all.tests, of_all.n_tested
        q_values = false_discovery_rates(best.log_p, tested, self.correction)
        significant = int(np.count_nonzero(q_values <= self.alpha))
        cells: dict[str, NDArray[Any]] = {}
        if of_all.bit_rows is not None:
            shown = best.pairs[: min(_MOST_CELL_TABLES, max(1, significant))]
            cells = cell_tables(of_all.bit_rows, shown, run)

        weights = -best.log_p / np.log(10)
        scores = -best.best_log_p / np.log(10)
        kept = rank_by_score(scores)
        if self.top is None:
            members = np.unique(best.pairs[:significant])
            kept = kept[np.isin(kept, members)]
        else:
            kept = kept[: self.keep_count(data.n_features, 1)]
        tables = {
            "pairs": best.pairs,
            "f" if numeric else "g2": best.statistic,
            "freedom": best.freedom,
            "p_values": np.exp(best.log_p),
            "q_values": q_values,
            "n_tested": np.array([tested]),
            "effect": best.effect,
            "standard_error": best.error,
        }
        if not numeric:
            bounds = of_all.bounds
            tables |= {
                "chi2_p_values": np.exp(best.plain),
                "mean_ratio": best.ratio,
                "fitted_freedom": best.fitted_freedom,
                "level_starts": np.cumsum([0, *(len(each) for each in bounds)]),
                "level_bounds": np.concatenate([np.empty(0), *bounds]),
            }
        return Selection(
            selected=kept,
            scores=scores,
            pair_weights=PairWeights.from_triplets(
                np.arange(data.n_features), best.pairs[:, 0], best.pairs[:, 1], weights
            ),
            tables=tables | cells,
            warnings=(
                *self._notes(data, upstream, best, q_values, tested),
                *(self._curved(data, best, q_values, tested) if numeric else ()),
            ),
        )

    def _notes(
        self,
        data: Dataset,
        upstream: Selection | None,
        best: TestedPairs,
        q_values: NDArray[np.float64],
        tested: int,
    ) -> list[str]:
        notes = []
        if not tested:
            notes.append("no two columns vary, so no pair could be tested")
        elif not len(best.pairs):
            notes.append(f"none of {tested} pairs has a table that could show an interaction")
        elif q_values[0] > self.alpha:
            a, b = (data.feature_names[column] for column in best.pairs[0])
            advice = "; top=… keeps the features of the best pairs" if self.top is None else ""
            notes.append(
                f"none of {tested} pairs interacts significantly (q ≤ {self.alpha:g}); the best, "
                f"{a} × {b}, has p = {np.exp(best.log_p[0]):.2g}, q = {q_values[0]:.2g}{advice}"
            )
        if len(best.pairs) == self.keep < tested and q_values[-1] <= self.alpha:
            notes.append(
                f"all {self.keep} pairs kept are significant, and there may be more; a larger "
                "keep=… stores them"
            )
        if data.groups is not None:
            notes.append(
                f"the means of {data.n_groups} groups ({data.group_name}) are tested, each with "
                "its label, because rows of one group are not independent"
            )
        if upstream is not None and upstream.instance_weights is not None:
            notes.append("instance weights are not used: the test counts rows")
        return notes

    def _curved(
        self, data: Dataset, tests: TestedPairs, q_values: NDArray[np.float64], tested: int
    ) -> list[str]:
        """A note on pairs that would be significant with straight effects and equal variances."""
        straight = false_discovery_rates(tests.plain, tested, self.correction) <= self.alpha
        pairs = tests.pairs[straight & (q_values > self.alpha)].tolist()
        if not pairs:
            return []
        names = [f"{data.feature_names[a]} × {data.feature_names[b]}" for a, b in pairs[:3]]
        return [
            f"curved main effects or unequal variances explain {len(pairs)} pairs "
            f"({', '.join(names)}{', …' if len(pairs) > 3 else ''}) that would be significant if "
            "main effects were straight and variances equal"
        ]


def _pairs_of(columns: int) -> int:
    return columns * (columns - 1) // 2


def cell_tables(bit_rows: BitRows, pairs: NDArray[np.int64], run: Run) -> dict[str, NDArray[Any]]:
    """Counts, expected counts and log odds ratios of every cell of the pairs, by name.

    The log odds ratio of class k in a cell is log((n_k + ½)/(n − n_k + ½)) minus that of the
    expected counts: zero if main effects explain the cell, positive if class k is more frequent.
    """
    places, counts, fits = [], [], []
    classes = bit_rows.n_classes
    tables = bit_rows.tables(pairs, run)
    for rank, (a, b) in enumerate(pairs.tolist()):
        shape = (int(bit_rows.levels[a]), int(bit_rows.levels[b]), classes)
        counted = tables(np.array([rank]))[0, : shape[0], : shape[1]]
        table, expected = np.array(counted, dtype=np.float64), np.empty(shape)
        margins = (np.empty(shape[:2]), np.empty((shape[0], classes)), np.empty(shape[1:]))
        kirkwood(table, *margins, expected)
        fit(*margins, expected, FIT_TOLERANCE, FIT_ROUNDS)
        cells = np.moveaxis(np.indices(shape), 0, -1).reshape(-1, 3)
        places.append(np.column_stack([np.full(len(cells), rank), cells]))
        counts.append(table)
        fits.append(expected)
    if not places:
        return {}
    log_odds = [_log_odds(n) - _log_odds(m) for n, m in zip(counts, fits, strict=True)]
    return {
        "cells": np.concatenate(places).astype(np.int64),
        "cell_counts": np.concatenate([n.ravel() for n in counts]).astype(np.int64),
        "cell_expected": np.concatenate([m.ravel() for m in fits]),
        "cell_log_odds": np.concatenate([values.ravel() for values in log_odds]),
    }


def _log_odds(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    others = counts.sum(axis=2, keepdims=True) - counts
    return np.asarray(np.log((counts + 0.5) / (np.maximum(others, 0.0) + 0.5)))


_HALVES, _CHOICE, _TEST = 0, 1, 2  # first keys of the random streams


def choosing_half(data: Dataset, generator: np.random.Generator) -> NDArray[np.bool_]:
    """Mask of the rows for choosing, (n_samples,): half of every class, with groups kept whole.

    Raises
    ------
    DataError
        If a class has fewer than four rows, or lies within one group.

    Examples
    --------
    >>> data = Dataset.from_arrays(np.eye(10), np.arange(10) % 2)
    >>> half = choosing_half(data, np.random.default_rng(0))
    >>> int(half.sum()), int(half[data.y == 1].sum())
    (5, 3)
    """
    classes = data.task == "classification"
    labels = data.y if classes else np.zeros(data.n_samples, np.int64)
    if data.groups is not None:
        if classes:
            require_two(data.groups, labels, "interactions-split", data.classes)
        return deal_groups(labels, data.groups, 2, generator) == 0
    chosen = np.zeros(data.n_samples, dtype=bool)
    dealt = 0
    for label in np.unique(labels):
        rows = generator.permutation(np.flatnonzero(labels == label))
        if rows.size < 4:
            what = f"class {data.classes[label]!r}" if classes else "the table"
            raise DataError(
                f"interactions-split: {what} has {rows.size} rows; to be halved it needs at "
                "least four"
            )
        # The odd rows of classes go to the two halves alternately.
        half = (rows.size + dealt % 2) // 2
        chosen[rows[:half]] = True
        dealt += rows.size % 2
    return chosen


@attrs.frozen(kw_only=True)
class InteractionsSplit(WrappingSelector):
    """Features of pairs that interact on rows that were not used to choose them.

    The base runs on half of the rows of every class. The pairs of the features that it keeps are
    tested by `interactions` on the other half, where p keeps its level whatever the selection.
    Without `top`, the features of pairs with q ≤ `alpha` are kept, best pair first. Tables:
    ``pairs`` (m, 2), positions among the given columns, ``g2`` (or ``f``), ``freedom``,
    ``p_values``, ``q_values`` over the pairs of the chosen features, ``mean_ratio``,
    ``fitted_freedom``, ``n_tested``; ``chosen``, the features that the base kept, best first;
    ``choosing_rows`` (n_samples,) bool.

    Notes
    -----
    Data splitting: Cox 1975, Biometrika 62:441. Given the features, rows of the other half are
    independent of the choice. One fit of the base on half the rows, and one test.

    References
    ----------
    D. R. Cox 1975, A note on data-splitting for the evaluation of significance levels, Biometrika
    62:441. L. Wasserman, K. Roeder 2009, High-dimensional variable selection, Ann. Stat. 37:2178.
    """

    tasks: ClassVar[frozenset[str]] = frozenset({"classification", "regression"})
    takes_missing: ClassVar[bool] = True
    takes_groups: ClassVar[bool] = True
    uses_upstream_weights: ClassVar[bool] = True

    top: int | float | None = param(
        None,
        optional(count_or_fraction()),
        help="Number of the selected features to keep, ranked by their best pair: a count, or "
        "a fraction. By default those of all significant pairs, which may be none.",
    )
    alpha: float = _level()
    correction: str = param(
        "bh", choice("bh", "by"), help="Multiple-testing correction, as in `interactions`."
    )
    bins: int = param(3, integer(2, 16), help="Quantile bins for a numeric feature.")
    draws: int = param(200, integer(20, MOST_TIMES), help="Tables simulated per pair.")

    def _tester(self) -> Interactions:
        return Interactions(
            alpha=self.alpha, correction=self.correction, bins=self.bins, draws=self.draws
        )

    def statement(self, base: Selector | None = None) -> Statement:
        return INTERACTING

    def role_problems(self, data: Dataset) -> Iterator[str]:
        """Problems with groups whose rows do not share one label."""
        yield from super().role_problems(data)
        yield from self._tester().role_problems(data)

    def _select_wrapped(
        self, base: Base, data: Dataset, upstream: Selection | None, run: Run
    ) -> Selection:
        choosing = choosing_half(data, run.generator(_HALVES))
        [first] = select_resamples(
            base,
            data.with_counts(None),
            np.where(choosing, data.row_counts, 0)[None],
            run.child(_CHOICE),
            # A selection by the wrapped chain on the whole table must not be used on the half.
            upstream=upstream if self.base is not None else None,
        )
        chosen = np.sort(first.selected)
        notes = [*first.warnings, *self._notes(upstream, choosing, chosen)]
        none = np.empty((0, 2), dtype=np.intp)
        tests = self._tester().test_pairs(
            data.take_rows(np.flatnonzero(~choosing)), chosen, none, 0, run.child(_TEST)
        )
        with np.errstate(divide="ignore"):
            weights = -np.log10(np.maximum(tests.p_values, 1e-300))
        scores = np.full(data.n_features, np.nan)
        scores[chosen] = 0.0
        for column in (0, 1):
            np.maximum.at(scores, tests.pairs[:, column], weights)
        ranked = rank_by_score(scores)
        ranked = ranked[np.isin(ranked, chosen)]
        significant = tests.q_values <= self.alpha
        if self.top is None:
            kept = ranked[np.isin(ranked, np.unique(tests.pairs[significant]))]
        else:
            kept = ranked[: self.keep_count(chosen.size, 1)] if chosen.size else ranked
        if not significant.any() and chosen.size > 1:
            notes.append(
                f"none of the {tests.n_tested} pairs of the {chosen.size} features chosen "
                f"interacts significantly (q ≤ {self.alpha:g}) on the other rows"
            )
        return Selection(
            selected=kept,
            scores=scores,
            pair_weights=PairWeights.from_triplets(
                np.arange(data.n_features), tests.pairs[:, 0], tests.pairs[:, 1], weights
            ),
            tables={
                "pairs": tests.pairs,
                "p_values": tests.p_values,
                "q_values": tests.q_values,
                "n_tested": np.array([tests.n_tested]),
                "chosen": first.selected,
                "choosing_rows": choosing,
                **tests.tables,
            },
            warnings=tuple(notes),
        )

    def _notes(
        self, upstream: Selection | None, choosing: NDArray[np.bool_], chosen: NDArray[np.intp]
    ) -> Iterator[str]:
        yield (
            f"chosen on {int(choosing.sum())} rows, tested on the other {int((~choosing).sum())}; "
            "another seed halves the table differently"
        )
        if chosen.size < 2:
            yield f"{chosen.size} features were chosen, so there is no pair to test"
        if self.base is not None and upstream is not None:
            yield (
                "the earlier stages used all rows, so p keeps its level only for the choice of "
                "`base`; omit `base` to run the earlier stages on half of the rows as well"
            )

    def test_pairs(
        self,
        data: Dataset,
        columns: NDArray[np.intp],
        pairs: NDArray[np.intp],
        chosen_from: int,
        run: Run,
    ) -> PairTests:
        """As `Interactions.test_pairs`, since the pairs are already chosen."""
        return self._tester().test_pairs(data, columns, pairs, chosen_from, run)

    def tests_found(self, selection: Selection) -> PairTests:
        """The tests in a result of this method, with the column numbers of the whole table."""
        tests = self._tester().tests_found(selection)
        return attrs.evolve(tests, columns=np.sort(tests.columns[selection.tables["chosen"]]))
