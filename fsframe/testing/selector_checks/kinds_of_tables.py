"""Behaviour in a chain, and on tables of all kinds."""

from __future__ import annotations

import contextlib
import io
from functools import partial

import attrs
import numpy as np
from scipy import sparse

from fsframe.errors import DataError
from fsframe.method.run import Progress, Run
from fsframe.method.selection import Selection
from fsframe.table.arrays import SparseColumns
from fsframe.table.dataset import Dataset
from fsframe.testing import tables
from fsframe.testing.conformance import assert_refused, check, not_applicable
from fsframe.testing.selector_checks.results import (
    SelectorChecks,
    assert_sound,
    resamples,
    some_upstream,
)
from fsframe.testing.tables import assert_close


class TableChecks(SelectorChecks):
    """Behaviour in a chain, and on tables of all kinds."""

    # In a chain

    @check
    def test_only_columns_kept_upstream_are_seen(self) -> None:
        data = self.table()
        scores = np.full(data.n_features, np.nan)
        scores[[1, 3, 4]] = [0.9, 0.5, 0.7]
        upstream = Selection(selected=[1, 4, 3], scores=scores)
        found = self.make().select(data, upstream)
        alone = self.make().select(data.take_columns(np.array([1, 3, 4])))
        expected = alone.lift(np.array([1, 3, 4]), data.n_features)
        assert_close(found, expected, "after another stage", 1e-9)

    @check
    def test_upstream_weights_matter_as_declared(self) -> None:
        data, method = self.table(), self.make()
        weighted = some_upstream(data)
        plain = attrs.evolve(weighted, weights=None, pair_weights=None, instance_weights=None)
        found, without = method.select(data, weighted), method.select(data, plain)
        assert_sound(found, data)
        same = found.scores.tobytes() == without.scores.tobytes()
        if method.uses_upstream_weights:
            assert not same, "uses_upstream_weights is declared, but they change no score"
        else:
            assert same, "scores depend on weights from upstream; declare uses_upstream_weights"

    # Tables of all kinds

    @check
    def test_missing_values_are_accepted_or_refused_as_declared(self) -> None:
        data = self.table()
        X = data.X.copy()
        X[::5, 0] = np.nan
        X[3, 1] = np.nan
        table = Dataset.from_arrays(X, data.y, task=data.task)
        if not self.make().takes_missing:
            assert_refused(lambda: self.make().select(table), "missing values")
            return
        try:
            found = self.make().select(table)
        except DataError as error:
            # A method may require a parameter for them.
            assert "missing" in str(error), f"missing values are declared as accepted: {error}"
            return
        assert_sound(found, table)

    @check
    def test_tasks_are_accepted_or_refused_as_declared(self) -> None:
        for table in (tables.classes(), tables.target(), tables.survival()):
            task = table.task
            if task in self.make().tasks:
                assert_sound(self.make().select(table), table)
            else:
                assert_refused(partial(self.make().select, table), task)

    @check
    def test_three_classes_are_accepted(self) -> None:
        self._of_classes()
        data = tables.classes(45, n_classes=3)
        found = self.make().select(data)
        assert_sound(found, data)
        assert found.selected.size and found.selected[0] == 1

    @check
    def test_a_class_without_rows_in_a_resample_is_handled(self) -> None:
        self._of_classes()
        data = tables.classes(45, n_classes=3)
        self._sound_or_refused(data.with_counts((data.y != 1) * 1))

    @check
    def test_a_class_of_one_row_is_handled(self) -> None:
        self._of_classes()
        data = tables.classes(30, n_classes=3)
        lonely = (data.y != 2) | (np.arange(30) == 5)
        self._sound_or_refused(data.with_counts(lonely * 1))

    @check
    def test_ties_and_contradictory_rows_are_handled(self) -> None:
        self._of_classes()
        data = tables.ties()
        found = self._quietly(lambda: self.make().select(data))
        assert_sound(found, data)

    @check
    def test_nominal_columns_are_accepted_or_refused_as_declared(self) -> None:
        data = self._with_levels()
        refused = list(self.make().role_problems(data))
        if refused:
            assert_refused(lambda: self.make().select(data), "nominal columns")
            return
        assert_sound(self._quietly(lambda: self.make().select(data)), data)

    @check
    def test_names_of_levels_do_not_matter(self) -> None:
        data = self._with_levels()
        if list(self.make().role_problems(data)):
            raise not_applicable("it does not accept nominal columns")
        found, expected = self.make().select(tables.recoded(data)), self.make().select(data)
        assert_close(found, expected, "with other codes of levels", self.rtol)

    @check
    def test_nominal_codes_do_not_order_rows(self) -> None:
        data = self._with_levels()
        if list(self.make().role_problems(data)):
            raise not_applicable("it does not accept nominal columns")
        if "order_of_rows_does_not_matter" in self.exceptions:
            raise not_applicable("it depends on the order of rows")
        order = np.random.Generator(np.random.PCG64(2)).permutation(data.n_samples)
        found = self.make().select(tables.recoded(data).take_rows(order))
        assert_close(found, self.make().select(data), "with shuffled rows", self.rtol)

    @check
    def test_sparse_and_dense_tables_give_equal_bits(self) -> None:
        data = self.table()
        X = np.where(np.quantile(data.X, 0.75, axis=0) < data.X, data.X, 0.0)
        dense = Dataset.from_arrays(X, data.y, task=data.task)
        thin = Dataset.from_arrays(sparse.csr_array(X), data.y, task=data.task)
        assert isinstance(thin.matrix, SparseColumns) and thin.sha256 == dense.sha256
        counts = resamples(data, 2)
        for found, expected in zip(
            (self.make().select(thin), *self.make().select_many(thin, counts)),
            (self.make().select(dense), *self.make().select_many(dense, counts)),
            strict=True,
        ):
            assert found.selected.tolist() == expected.selected.tolist(), "columns kept differ"
            for name in ("scores", "weights"):
                here, there = getattr(found, name), getattr(expected, name)
                same = here is there if there is None else here.tobytes() == there.tobytes()
                assert same, f"{name} of the sparse and the dense table differ in some bits"

    @check
    def test_groups_of_features_are_kept_or_dropped_whole(self) -> None:
        data, method = self.table(), self.make()
        names = data.feature_names
        sets = {"a": (names[0], names[3]), "b": (names[1], names[4])}
        grouped = attrs.evolve(data, feature_groups=sets)
        few = grouped.take_columns(np.array([0, 3, 5, 1, 4]))
        found = (method.select(grouped), *method.select_many(grouped, resamples(data, 2)))
        for kept in (*({names[k] for k in one.selected} for one in found),
                     {few.feature_names[k] for k in method.select(few).selected}):  # fmt: skip
            for members in sets.values():
                assert len(kept & set(members)) != 1, f"one of {members} was kept, one dropped"

    @check
    def test_covariates_are_adjusted_for_or_refused(self) -> None:
        data, method = self._confounded(), self.make()
        if list(method.role_problems(data)):
            assert_refused(lambda: method.select(data), "covariates")
            return
        found = method.select(data).selected.tolist()
        assert 0 not in found or (1 in found and found.index(1) < found.index(0)), (
            "a column that adds no information to the covariate is ranked before one that does"
        )

    @check
    def test_columns_always_kept_are_kept_or_refused(self) -> None:
        plain, method = self.table(), self.make()
        keep = np.zeros(plain.n_features, dtype=bool)
        keep[[4, 0]] = True
        data = attrs.evolve(plain, keep=keep)
        if list(method.role_problems(data)):
            assert_refused(lambda: method.select(data), "columns that are always kept")
            return
        counts = resamples(data, 2)
        for found in (method.select(data), *method.select_many(data, counts)):
            problems = found.problems(data.n_features, data.n_samples)
            assert not problems, "; ".join(problems)
            assert {0, 4} <= set(found.selected.tolist()), "an always-kept column was dropped"
        few = data.take_columns(np.array([4, 5, 1]))
        assert 0 in method.select(few).selected, (
            "an always-kept column was dropped after another stage"
        )

    @check
    def test_row_weights_count_as_copies_or_are_refused(self) -> None:
        plain, method = self.table(), self.make()
        counts = np.arange(plain.n_samples) % 3
        drawn = plain.with_counts(counts)
        data = attrs.evolve(drawn, weight_name="times")
        if list(method.role_problems(data)):
            assert_refused(lambda: method.select(data), "weights of rows")
            return
        found, expected = method.select(data), method.select(drawn)
        assert found.scores.tobytes() == expected.scores.tobytes(), (
            "rows of weight 2 and rows drawn twice give different results"
        )

    @check
    def test_extreme_magnitudes_are_handled(self) -> None:
        data = self.table()
        factors = np.array([1e140, 1.0, 1e-140, 1e100, 1e-100, 1.0])[: data.n_features]
        self._sound_or_refused(Dataset.from_arrays(data.X * factors, data.y, task=data.task))

    @check
    def test_small_and_constant_tables_are_handled(self) -> None:
        data = self.table()
        for rows, columns in ((4, 6), (2, 2), (12, 1)):
            small = Dataset.from_arrays(data.X[:rows, :columns], data.y[:rows], task=data.task)
            self._sound_or_refused(small)
        flat = np.full((10, 3), 7.0)
        self._sound_or_refused(Dataset.from_arrays(flat, data.y[:10], task=data.task))

    @check
    def test_nothing_is_printed_and_progress_only_grows(self) -> None:
        heard: list[Progress] = []
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            self.make().select(self.table(), run=Run(listener=heard.append))
        assert not out.getvalue(), (
            f"stdout is for results, but the method printed {out.getvalue()[:60]!r}"
        )
        done: dict[tuple[str, tuple[int, ...]], int] = {}
        for report in heard:
            last = done.get((report.label, report.key), 0)
            assert last <= report.done <= report.total, f"progress went from {last} to {report}"
            done[report.label, report.key] = report.done
