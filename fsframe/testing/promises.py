"""Checks that declarations are true, in a chain and on tables of all kinds."""

from __future__ import annotations

import contextlib
import io
import time
from collections.abc import Callable, Mapping
from functools import partial

import attrs
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fsframe.errors import DataError
from fsframe.method.run import Progress, Run
from fsframe.method.selection import Selection
from fsframe.table.arrays import SparseColumns
from fsframe.table.dataset import Dataset
from fsframe.testing import tables
from fsframe.testing.conformance import assert_refused, not_applicable, only_if
from fsframe.testing.results import (
    SMALL_P,
    SelectorChecks,
    assert_first,
    assert_sound,
    p_values_of,
    resamples,
    small_p_values,
    some_upstream,
)
from fsframe.testing.tables import assert_close, frozen_bytes, shuffled

# Five standard deviations: the fixed table of noise fails no valid test.
_DEVIATIONS = 5.0
# Among so many columns of noise, any valid test gives a small p-value.
_MANY = 500
_COST_FACTOR = 100.0
_SPARED_SECONDS = 1.0
# Changes that leave scores as they are if values are compared only within a column.
_MOVES: Mapping[str, Callable[[NDArray[np.float64]], NDArray[np.float64]]] = {
    "64 added to all": lambda X: X + 64.0,
    "the sign changed of all": np.negative,
}


class PromiseChecks(SelectorChecks):
    """Promises that can be broken silently, behaviour in a chain, and tables of all kinds."""

    def test_covariates_change_scores_of_methods_that_adjust(self) -> None:
        data = self._confounded()
        method = self._adjusting(data)
        plain = attrs.evolve(data, covariates=None)
        turned = attrs.evolve(plain, y=np.roll(plain.y, 1))
        without = method.select(plain).scores.tobytes()
        only_if(method.select(turned).scores.tobytes() != without, "it does not use the label")
        selection = method.select(data)
        assert selection.scores.tobytes() != without, (
            "adjusts() is declared, but scores with a covariate that determines most of the label "
            "are those without it: use data.covariates"
        )
        drawn = data.with_counts(np.ones(data.n_samples, dtype=np.int64))
        assert_close(method.select(drawn), selection, "adjusted, with counts of 1", 1e-9)

    def test_p_values_hold_their_level_on_noise(self) -> None:
        method = self.make()
        # Only a thousand columns show twice as many small values as allowed with certainty.
        n_columns = 24 if method.wrapping else 1000 if method.univariate else 200
        only_if(p_values_of(self._plain()), "it gives no p-values")
        for task in sorted(method.tasks_taken()):
            self._assert_level(method.select(tables.noise({task}, 90, n_columns)), task)

    def _assert_level(self, selection: Selection, task: str) -> None:
        for name, tested, small, said in small_p_values(selection):
            mean = SMALL_P * tested.size
            most = mean + _DEVIATIONS * np.sqrt(mean * (1 - SMALL_P))
            where = f"on a table of noise ({task}), where about {mean:.0f} are expected"
            assert small <= most, f"{said} {where}"
            # Values that barely vary are scores. Among few columns, counted ones may not be small.
            assert tested.size < _MANY or small, (
                f"none of {tested.size} values of {name!r} is at most {SMALL_P} {where}: they are "
                "no p-values"
            )

    def test_p_values_are_those_of_their_columns(self) -> None:
        p_values = p_values_of(self._plain())
        only_if(p_values, "it gives no p-values")
        for name, p in p_values.items():
            assert p[1] <= np.nanmin(p), (
                f"column 1 is the most informative, but its value of {name!r} is {p[1]:.3g}, and "
                f"that of column {int(np.nanargmin(p))} is {np.nanmin(p):.3g}"
            )

    def test_each_resample_has_a_stream_of_its_own(self) -> None:
        method, data = self.make(), self.table()

        def frozen(run: Run) -> list[bytes]:
            return frozen_bytes(method.select(data, run=run))

        first = frozen(Run(entropy=1))
        drawn = any(frozen(Run(entropy=entropy)) != first for entropy in (2, 3, 4))
        only_if(drawn, "it draws no random numbers")
        run = Run(entropy=1)
        first = frozen(run.child(0))
        assert any(frozen(run.child(b)) != first for b in range(1, 9)), (
            "all resamples of a run draw the same random numbers: use run.generator()"
        )

    def test_a_natural_zero_is_the_lowest_score(self) -> None:
        only_if(self.make().natural_zero, "it does not declare natural_zero")
        scores = self._result(self._of(np.insert(self.table().X, 2, 4.2, axis=1))).scores
        assert np.isnan(scores[2]) or scores[2] == 0, (
            f"natural_zero is declared, but a constant column scores {scores[2]:.3g}"
        )
        assert not (scores < 0).any(), (
            f"natural_zero is declared, but a score is {np.nanmin(scores):.3g}"
        )

    def test_results_that_top_only_cuts_are_beginnings(self) -> None:
        only_if(self.make().top_only_cuts(), "it does not declare top_only_cuts()")
        data = self.table()
        few, many = (attrs.evolve(self.make(), top=top).select(data) for top in (2, 4))
        begun = attrs.evolve(many, selected=many.selected[:2])
        alone, of_more = (
            frozen_bytes(attrs.evolve(one.restrict(np.sort(few.selected)), tables={}))
            for one in (few, begun)
        )
        assert alone == of_more, (
            "top_only_cuts() is declared, but top=2 gives other columns, scores, weights or model "
            "than the first two of top=4"
        )

    def test_a_large_offset_changes_nothing(self) -> None:
        method, X = self.make(), self._rounded()
        expected = method.select(self._of(X))
        unmoved = _alike(method.select(self._of(X + 64.0)), expected)
        only_if(unmoved, "its scores depend on the origin of the columns")
        # As large as times in seconds; the sums are exact.
        moved = method.select(self._of(X + 2.0**26))
        assert_close(moved, expected, "with 2²⁶ added to all values", 1e-4)

    def test_unit_and_origin_of_the_target_do_not_matter(self) -> None:
        only_if("regression" in self.make().tasks, "it does not accept numeric targets")
        data = tables.target()
        y = np.round(data.y * 2**20) / 2**20
        expected = self._result(data.with_labels(y))
        for what, turned in (("of another unit", y / 64.0), ("of another origin", y + 64.0)):
            other = data.with_labels(turned)
            self._assert_unchanged(other, expected, f"with a target {what}", 1e-6)

    def test_a_later_call_leaves_results_as_they_are(self) -> None:
        data, method = self.table(), self.make()
        selection = method.select(data)
        before = frozen_bytes(selection)
        method.select(data.take_columns(np.arange(data.n_features)[::-1]))
        assert frozen_bytes(selection) == before, (
            "the arrays of a result changed when the method was called again: give each result "
            "arrays of its own"
        )

    def test_the_label_decides(self) -> None:
        self._of_classes()
        first = self._promises("a_column_that_separates_the_classes_comes_first")
        only_if(first, "it does not put such a column first")
        data = tables.planted_twice()
        # Rows of X are shuffled rather than labels: a method may keep what it found about X.
        other = Dataset.from_arrays(data.X[shuffled(data.n_samples, 2)], data.y)
        only_if(not _alike(self._result(other), self._result(data)), "it does not use the label")
        for column in (0, 4):
            label = (data.X[:, column] > data.X[:, column].mean()) * 1
            why = "of the same columns separates the classes of another label"
            assert_first(self._result(data.with_labels(label)), column, why)

    def test_every_class_counts(self) -> None:
        self._of_classes()
        method, data = self.make(), tables.only_two_apart((1, 2))
        self._assert_takes(data)
        turned = data.with_labels(np.roll(data.y, 1))
        only_if(not _same(method.select(data), method.select(turned)), "it does not use the label")
        for pair in ((0, 1), (0, 2), (1, 2)):
            data = tables.only_two_apart(pair)
            y = data.y.copy()
            both = np.flatnonzero(np.isin(y, pair))
            y[both] = y[both][shuffled(both.size, 2)]
            assert not _same(method.select(data), method.select(data.with_labels(y))), (
                f"exchanging rows of classes {pair[0]} and {pair[1]}, which column 4 tells apart, "
                "changes no score: are the two merged?"
            )

    def test_ties_keep_the_order_of_the_table(self) -> None:
        ranked = self._promises("kept_columns_come_best_first", "top_is_honoured")
        only_if(ranked, "it does not keep the columns of the largest scores")
        data, method = self.table(), self.make()
        columns = np.concatenate([np.arange(data.n_features), np.tile([0, 2], 17)])
        # Equal columns, and constant ones of different values.
        X = np.insert(data.X[:, columns], [5, 20, 35], [7.0, 3.0, 5.0], axis=1)
        p = X.shape[1]
        names = tuple(f"x{p - column:02}" for column in range(p))
        table = attrs.evolve(self._of(X), feature_names=names)
        for top in (p, p // 2, p // 3):
            _assert_ties_in_order(attrs.evolve(method, top=top).select(table))

    def test_missing_values_are_not_read_as_numbers(self) -> None:
        method, data = self.make(), self.table()
        only_if(method.takes_missing, "it does not take missing values")
        only_if(data.task != "survival", "it is made for survival times")
        full = self._rounded()
        holed = full.copy()
        # A quarter of each class, so that the remaining rows still divide into equal parts.
        eighth = np.arange(len(full)) % 8
        holed[np.isin(eighth, (0, 5)), 1] = np.nan
        holed[np.isin(eighth, (3, 6)), 2] = np.nan
        try:
            expected = method.select(self._of(holed))
        except DataError:
            raise not_applicable("it requires a parameter for missing values") from None
        of_full = method.select(self._of(full))
        same = {
            what: change
            for what, change in _MOVES.items()
            if _alike(method.select(self._of(change(full))), of_full)
        }
        only_if(same, "its scores depend on the origin of the columns")
        for what, change in same.items():
            moved = method.select(self._of(change(holed)))
            assert_close(moved, expected, f"with {what} values that are not missing", 1e-5)

    def _rounded(self) -> NDArray[np.float64]:
        """The columns of `table` as multiples of 2⁻²⁰, so that adding 64 is exact."""
        return np.round(self.table().X * 2**20) / 2**20

    def _of(self, X: NDArray[np.float64]) -> Dataset:
        """A table of other columns with the label of `table`."""
        return tables.with_columns(self.table(), X)

    def test_the_declared_cost_is_near_the_time_taken(self) -> None:
        method, data = self.make(), self.table(150, 12)
        cost = method.cost(data.n_samples, data.n_features)
        only_if(cost is not None, "it declares no cost")
        method.select(data)  # Compiles.
        start = time.process_time()
        method.select(data)
        taken = time.process_time() - start
        assert 0 <= cost.seconds <= _SPARED_SECONDS + _COST_FACTOR * taken, (
            f"cost() says {cost.seconds:.3g} s for {data.n_samples} rows and {data.n_features} "
            f"columns ({cost.formula}); it took {taken:.3g} s"
        )

    # In a chain

    def test_only_columns_kept_upstream_are_seen(self) -> None:
        data = self.table()
        scores = np.full(data.n_features, np.nan)
        scores[[1, 3, 4]] = [0.9, 0.5, 0.7]
        upstream = Selection(selected=[1, 4, 3], scores=scores)
        columns = np.array([1, 3, 4])
        expected = self._result(data.take_columns(columns)).lift(columns, data.n_features)
        assert_close(self._result(data, upstream), expected, "after another stage", 1e-9)

    def test_upstream_weights_matter_as_declared(self) -> None:
        data, method = self.table(), self.make()
        weighted = some_upstream(data)
        plain = attrs.evolve(weighted, weights=None, pair_weights=None, instance_weights=None)
        selection, without = method.select(data, weighted), method.select(data, plain)
        assert_sound(selection, data)
        same = selection.scores.tobytes() == without.scores.tobytes()
        if method.uses_upstream_weights:
            assert not same, "uses_upstream_weights is declared, but they change no score"
        else:
            assert same, "scores depend on weights from upstream; declare uses_upstream_weights"

    # Tables of all kinds

    def test_missing_values_are_accepted_or_refused_as_declared(self) -> None:
        data = self.table()
        X = data.X.copy()
        X[::5, 0] = np.nan
        X[3, 1] = np.nan
        table = tables.with_columns(data, X)
        if not self.make().takes_missing:
            assert_refused(lambda: self._result(table), "missing values")
            return
        try:
            selection = self._result(table)
        except DataError as error:
            # A method may require a parameter for them.
            assert "missing" in str(error), f"missing values are declared as accepted: {error}"
            return
        assert_sound(selection, table)

    def test_tasks_are_accepted_or_refused_as_declared(self) -> None:
        for table in (tables.classes(), tables.target(), tables.survival()):
            task = table.task
            if task in self.make().tasks:
                assert_sound(self._result(table), table)
            else:
                assert_refused(partial(self._result, table), task)

    def test_three_classes_are_accepted(self) -> None:
        self._of_classes()
        data = tables.classes(45, n_classes=3)
        self._assert_takes(data)
        selection = self._result(data)
        assert_sound(selection, data)
        assert_first(selection, 1, "separates three classes")

    def test_a_class_without_rows_in_a_resample_is_handled(self) -> None:
        self._of_classes()
        data = tables.classes(45, n_classes=3)
        self._sound_or_refused(data.with_counts((data.y != 1) * 1))

    def test_a_class_of_one_row_is_handled(self) -> None:
        self._of_classes()
        data = tables.classes(30, n_classes=3)
        lonely = (data.y != 2) | (np.arange(30) == 5)
        self._sound_or_refused(data.with_counts(lonely * 1))

    def test_ties_and_contradictory_rows_are_handled(self) -> None:
        self._of_classes()
        self._assert_sound_on(tables.ties())

    def test_nominal_columns_are_accepted_or_refused_as_declared(self) -> None:
        data = self._with_levels()
        if not self._refuses(data, "nominal columns"):
            self._assert_sound_on(data)

    def _levels_taken(self) -> Dataset:
        data = self._with_levels()
        only_if(not list(self.make().role_problems(data)), "it does not accept nominal columns")
        return data

    def test_names_of_levels_do_not_matter(self) -> None:
        data = self._levels_taken()
        self._assert_unchanged(
            tables.recoded(data), self._result(data), "with other codes of levels"
        )

    def test_nominal_codes_do_not_order_rows(self) -> None:
        data = self._levels_taken()
        in_any_order = self._promises("order_of_rows_does_not_matter")
        only_if(in_any_order, "it depends on the order of rows")
        other = tables.recoded(data).take_rows(shuffled(data.n_samples, 2))
        self._assert_unchanged(other, self._result(data), "with shuffled rows")

    def test_sparse_and_dense_tables_give_equal_bits(self) -> None:
        data = self.table()
        X = np.where(np.quantile(data.X, 0.75, axis=0) < data.X, data.X, 0.0)
        dense = tables.with_columns(data, X)
        thin = tables.with_columns(data, sparse.csr_array(X))
        assert isinstance(thin.matrix, SparseColumns) and thin.sha256 == dense.sha256
        counts = resamples(data, 2)
        for selection, expected in zip(
            (self._result(thin), *self.make().select_many(thin, counts)),
            (self._result(dense), *self.make().select_many(dense, counts)),
            strict=True,
        ):
            assert selection.selected.tolist() == expected.selected.tolist(), "columns kept differ"
            for name in ("scores", "weights"):
                here, there = (frozen_bytes(getattr(one, name)) for one in (selection, expected))
                assert here == there, (
                    f"{name} of the sparse and the dense table differ in some bits"
                )

    def test_groups_of_features_are_kept_or_dropped_whole(self) -> None:
        data, method = self.table(), self.make()
        names = data.feature_names
        sets = {"a": (names[0], names[3]), "b": (names[1], names[4])}
        grouped = attrs.evolve(data, feature_groups=sets)
        few = grouped.take_columns(np.array([0, 3, 5, 1, 4]))
        selections = (method.select(grouped), *method.select_many(grouped, resamples(data, 2)))
        for kept in (*({names[k] for k in one.selected} for one in selections),
                     {few.feature_names[k] for k in method.select(few).selected}):  # fmt: skip
            for members in sets.values():
                assert len(kept & set(members)) != 1, f"one of {members} was kept, one dropped"

    def test_covariates_are_adjusted_for_or_refused(self) -> None:
        data = self._confounded()
        if self._refuses(data, "covariates"):
            return
        kept = self._result(data).selected.tolist()
        assert 0 not in kept or (1 in kept and kept.index(1) < kept.index(0)), (
            "a column that adds no information to the covariate is ranked before one that does"
        )

    def test_columns_always_kept_are_kept_or_refused(self) -> None:
        plain, method = self.table(), self.make()
        keep = np.zeros(plain.n_features, dtype=bool)
        keep[[4, 0]] = True
        data = attrs.evolve(plain, keep=keep)
        if self._refuses(data, "columns that are always kept"):
            return
        counts = resamples(data, 2)
        for selection in (method.select(data), *method.select_many(data, counts)):
            problems = selection.problems(data.n_features, data.n_samples)
            assert not problems, "; ".join(problems)
            assert {0, 4} <= set(selection.selected.tolist()), "an always-kept column was dropped"
        few = data.take_columns(np.array([4, 5, 1]))
        assert 0 in method.select(few).selected, (
            "an always-kept column was dropped after another stage"
        )

    def test_row_weights_count_as_copies_or_are_refused(self) -> None:
        plain = self.table()
        drawn = plain.with_counts(np.arange(plain.n_samples) % 3)
        data = attrs.evolve(drawn, weight_name="times")
        if self._refuses(data, "weights of rows"):
            return
        scores, expected = self._result(data).scores, self._result(drawn).scores
        assert scores.tobytes() == expected.tobytes(), (
            "rows of weight 2 and rows drawn twice give different results"
        )

    def test_extreme_magnitudes_are_handled(self) -> None:
        data = self.table()
        factors = np.array([1e140, 1.0, 1e-140, 1e100, 1e-100, 1.0])[: data.n_features]
        self._sound_or_refused(tables.with_columns(data, data.X * factors))

    def test_small_and_constant_tables_are_handled(self) -> None:
        data = self.table()
        small = [data.X[:rows, :columns] for rows, columns in ((4, 6), (2, 2), (12, 1))]
        for X in (*small, np.full((10, 3), 7.0)):
            self._sound_or_refused(Dataset.from_arrays(X, data.y[: len(X)], task=data.task))

    def test_nothing_is_printed_and_progress_only_grows(self) -> None:
        heard: list[Progress] = []
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            self._result(self.table(), run=Run(listener=heard.append))
        assert not out.getvalue(), (
            f"stdout is for results, but the method printed {out.getvalue()[:60]!r}"
        )
        done: dict[tuple[str, tuple[int, ...]], int] = {}
        for report in heard:
            last = done.get((report.label, report.key), 0)
            assert last <= report.done <= report.total, f"progress went from {last} to {report}"
            done[report.label, report.key] = report.done


def _same(selection: Selection, expected: Selection) -> bool:
    kept = selection.selected.tolist() == expected.selected.tolist()
    return kept and selection.scores.tobytes() == expected.scores.tobytes()


def _alike(selection: Selection, expected: Selection) -> bool:
    try:
        assert_close(selection, expected, "", 1e-6)
    except AssertionError:
        return False
    return True


def _assert_ties_in_order(selection: Selection) -> None:
    """Assert that among equal scores the first columns are kept, in the order of the table."""
    scores = selection.scores
    for score in np.unique(scores[selection.selected]):
        equal = np.flatnonzero(scores == score)
        kept = selection.selected[scores[selection.selected] == score]
        assert kept.tolist() == equal[: kept.size].tolist(), (
            f"columns {equal.tolist()} have equal scores; kept are {kept.tolist()}, not the first "
            "in the order of the table: rank with rank_by_score"
        )
