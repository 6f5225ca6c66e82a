"""The method under test, its declarations and results, and how it takes covariates and groups."""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.method.run import Run
from fsframe.method.selection import PairWeights, Selection
from fsframe.method.selector import Selector
from fsframe.table.dataset import Dataset
from fsframe.table.side_columns import LABELS
from fsframe.testing import tables
from fsframe.testing.conformance import (
    CallChecks,
    MethodChecks,
    assert_refused,
    numpy_warnings_raised,
    only_if,
    unless_refused,
)
from fsframe.testing.tables import assert_close, assert_equal, drawing, shuffled

SMALL_P = 0.05
# If single rows are permuted, more than half of the values are small; if groups, a twentieth.
_MOST_SMALL = 0.3
_MOST_PERMUTATIONS = 10_000
_GROUPS, _ROWS, _COLUMNS = 16, 6, 24


class FitChecks(MethodChecks, CallChecks):
    """Checks of the results of selectors, classifiers and regressors alike."""

    def _tasks(self) -> frozenset[str]:
        """The kinds of label that the method takes."""
        return frozenset(self.make().tasks)

    def table(self, n_samples: int = 96, n_features: int = 6) -> Dataset:
        """The table that most checks use: classes, else a numeric target, else survival times."""
        return tables.suited(self._tasks(), n_samples, n_features)

    def _with_levels(self) -> Dataset:
        """A table with nominal columns, and classes or a numeric target as in `table`."""
        taken = "classification" in self._tasks()
        return tables.categories(task="classification" if taken else "regression")

    def _result(self, data: Dataset, **options: Any) -> Any:
        """The result of a new object of the method for the table."""
        raise NotImplementedError

    def _assert_same_bits(self, result: Any, expected: Any, what: str) -> None:
        raise NotImplementedError

    def _use(self) -> None:
        self._result(self.table(), seed=1)

    def test_equal_seeds_give_equal_bits(self) -> None:
        data = self.table()
        first = self._result(data, seed=7)
        np.random.default_rng().random()  # Global state must neither matter nor change.
        before = repr(np.random.get_state())
        self._assert_same_bits(self._result(data, seed=7), first, "the second run with one seed")
        after = repr(np.random.get_state())
        assert before == after, "numpy's global random state was used; use run.generator()"

    def test_number_of_threads_changes_no_bit(self) -> None:
        data = self.table(150, 12)
        one, two = (self._result(data, run=Run(entropy=1, threads=n)) for n in (1, 2))
        self._assert_same_bits(two, one, "with two threads")

    def test_number_of_threads_changes_no_bit_on_many_rows(self) -> None:
        data = self.table(1200, 4)
        one, three = (self._result(data, run=Run(entropy=1, threads=n)) for n in (1, 3))
        self._assert_same_bits(three, one, f"with three threads and {data.n_samples} rows")


class SelectorChecks(FitChecks):
    """Base of the groups of checks; `SelectorConformance` documents `name` and `gives`."""

    kind = Selector
    gives: ClassVar[frozenset[str] | None] = None
    _found: ClassVar[Selection]

    def _result(
        self, data: Dataset, upstream: Selection | None = None, **options: Any
    ) -> Selection:
        return self.make().select(data, upstream, **options)

    def _plain(self) -> Selection:
        """The result for `table`, computed once for all checks that compare others with it."""
        suite = type(self)
        if "_found" not in vars(suite):
            suite._found = self._result(self.table())
        return suite._found

    def _assert_same_bits(self, result: Selection, expected: Selection, what: str) -> None:
        assert_equal(result, expected, what)

    def _confounded(self) -> Dataset:
        """A table whose covariate determines column 0 and much of the label, as column 1 does."""
        draw = drawing(5)
        z = np.arange(120) % 3.0
        y = (draw.random(120) < 0.2 + 0.3 * z).astype(np.int64)
        X = draw.normal(size=(120, 5))
        X[:, 0], X[:, 1], X[:, 4] = z + 0.2 * X[:, 0], 1.2 * y + 0.6 * X[:, 1], z
        return self._with_covariates(X, y, "f5")

    def _with_covariates(
        self, X: NDArray[np.float64], y: NDArray[np.int64], *covariates: str
    ) -> Dataset:
        """A table with covariates, whose label holds classes if the method accepts them."""
        task = "classification" if "classification" in self.make().tasks else "regression"
        return Dataset.from_arrays(X, y, task=task).with_roles(adjust=covariates)

    def _assert_takes(self, data: Dataset) -> None:
        """Not applicable if `task_problems` refuses the label of `data`, which must stop a run."""
        problems = list(self.make().task_problems(data))
        if problems:
            assert_refused(partial(self._result, data), "a label that task_problems refuses")
        only_if(not problems, "; ".join(problems))

    def _of_classes(self) -> Dataset:
        only_if("classification" in self.make().tasks, "it does not accept classes")
        return self.table()

    def _promises(self, *checks: str) -> bool:
        """Whether no exception to these checks is declared."""
        return not {*checks} & {*self.exceptions}

    def _assert_unchanged(
        self, other: Dataset, expected: Selection, what: str, rtol: float | None = None
    ) -> None:
        """Assert that columns of the `other` table are kept and scored as in `expected`."""
        tolerance = self.rtol if rtol is None else rtol
        assert_close(self._result(other), expected, what, tolerance)

    def _refuses(self, data: Dataset, what: str) -> bool:
        """Whether the method declares that it refuses this table; asserts that it then does."""
        method = self.make()
        if not list(method.role_problems(data)):
            return False
        assert_refused(lambda: method.select(data), what)
        return True

    def _adjusting(self, data: Dataset) -> Selector:
        """The method; not applicable if it does not adjust for the covariates of this table."""
        method = self.make()
        itself = not method.wrapping and method.adjusts() and not list(method.role_problems(data))
        only_if(itself, "it does not adjust for covariates itself")
        return method

    def _assert_sound_on(self, table: Dataset) -> None:
        """Assert a valid result on `table`, without a RuntimeWarning of numpy."""
        with numpy_warnings_raised():
            selection = self._result(table)
        assert_sound(selection, table)

    def _sound_or_refused(
        self, table: Dataset, select: Callable[[Dataset], Selection] | None = None
    ) -> None:
        """Assert that the method gives a valid result on `table`, or refuses it with a message."""
        selection = unless_refused(partial(select or self._result, table))
        if selection is not None:
            assert_sound(selection, table)


def assert_sound(selection: Selection, data: Dataset) -> None:
    problems = selection.problems(data.n_features, data.n_samples)
    assert not problems, "; ".join(problems)
    unranked = [int(column) for column in selection.selected if np.isnan(selection.scores[column])]
    assert not unranked, f"columns {unranked} are kept but have no score"
    arrays = [("selected", selection.selected), ("scores", selection.scores)]
    for name, array in (*arrays, *selection.model.items(), *selection.tables.items()):
        assert not array.flags.writeable, f"{name} can be written to"
    if selection.pair_weights is not None:
        weights = selection.pair_weights.triplets()[2]
        assert np.isfinite(weights).all(), "pair_weights hold non-finite values"


def assert_first(selection: Selection, column: int, why: str) -> None:
    selected = selection.selected.tolist()
    assert selected[:1] == [column], f"column {column} {why}, but {selected} were kept"


def p_values_of(selection: Selection) -> dict[str, NDArray[np.float64]]:
    """The p-values of the columns, not adjusted for the number of columns."""
    return {
        name: array
        for name, array in selection.tables.items()
        if name in ("p_values", "p-values") and array.shape == selection.scores.shape
    }


def small_p_values(selection: Selection) -> Iterator[tuple[str, NDArray[np.float64], int, str]]:
    """Name of each table of p-values, those that columns have, how many are small, and words."""
    for name, p in p_values_of(selection).items():
        tested = p[~np.isnan(p)]
        small = int((tested <= SMALL_P).sum())
        words = f"{small} of {tested.size} values of {name!r} are at most {SMALL_P}"
        yield name, tested, small, words


def resamples(data: Dataset, n: int) -> NDArray[np.int64]:
    """Bootstraps as counts, each with at least two rows of every class."""
    n_rows = data.n_samples
    counts = drawing(4).multinomial(n_rows, np.full(n_rows, 1 / n_rows), n)
    if data.task == "classification":
        for code in range(data.n_classes):
            counts[:, np.flatnonzero(data.y == code)[:2]] += 1
    return counts.astype(np.int64)


def some_upstream(data: Dataset) -> Selection:
    """The selection of an upstream stage: five columns, and weights of every kind."""
    p, n = data.n_features, data.n_samples
    columns = np.arange(min(5, p))
    weights = np.zeros(p)
    weights[columns] = 1.0 / (1.0 + columns)
    matrix = np.diag(1.0 / (1.0 + columns)) + 0.1
    return Selection(
        selected=columns,
        scores=np.where(np.arange(p) < 5, 1.0 / (1.0 + np.arange(p)), np.nan),
        weights=weights,
        pair_weights=PairWeights(columns, matrix),
        instance_weights=np.linspace(0.1, 3.0, n),
        features_in=np.arange(p),
    )


class ResultChecks(SelectorChecks):
    """The declarations and the results of a selector, and how it takes covariates and groups."""

    def _check_declared(self, method: Selector) -> None:
        known = set(LABELS)
        assert method.tasks and method.tasks <= known, f"tasks must be among {known}"

    def _check_pickled(self) -> None:
        selection = self._plain()
        assert_equal(pickle.loads(pickle.dumps(selection)), selection, "the pickled result")

    def test_result_is_sound(self) -> None:
        selection = self._plain()
        assert_sound(selection, self.table())
        assert selection.selected.size, "nothing was kept of a table with two informative columns"

    def test_what_the_entry_promises_is_given(self) -> None:
        gives: Any = self.gives
        only_if(gives is not None, "it is not registered")
        selection = self._plain()
        known = ("weights", "pair-weights", "instance-weights", "fill")
        given = [key for key in known if getattr(selection, key.replace("-", "_")) is not None]
        extra = [key for key in given if key not in gives]
        assert not extra, f"the result has {', '.join(extra)}, which the entry's gives lacks"
        missing = [key for key in gives if key in known and key not in given]
        assert not missing, f"the entry promises {', '.join(missing)}; the result has none"

    def test_a_univariate_score_needs_no_other_column(self) -> None:
        only_if(self.make().univariate, "it does not declare univariate")
        data = self.table()
        few = np.arange(0, data.n_features, 2)
        scores = self._plain().scores[few]
        alone = self._result(data.take_columns(few)).scores
        assert np.allclose(alone, scores, self.rtol, equal_nan=True), (
            "scores change when other columns are left out, though it declares univariate"
        )

    def test_kept_columns_come_best_first(self) -> None:
        selection = self._plain()
        scores = selection.scores[selection.selected]
        slack = 1e-9 * np.nanmax(np.abs(selection.scores), initial=0.0)
        assert (np.diff(scores) <= slack).all(), f"scores in the order kept: {scores.tolist()}"

    def test_a_column_that_separates_the_classes_comes_first(self) -> None:
        if "classification" not in self.make().tasks:
            assert_first(self._plain(), 1, "determines the target")
            return
        for column in (0, 4):
            selection = self._result(tables.planted(column))
            assert_first(selection, column, "separates the classes")

    def test_top_is_honoured(self) -> None:
        data = self.table()
        p = data.n_features
        for top, kept in ((1, 1), (3, 3), (p, p), (p + 10, p), (0.5, -(-p // 2)), (1.0, p)):
            selection = attrs.evolve(self.make(), top=top).select(data)
            assert selection.selected.size == kept, (
                f"top={top} of {p} kept {selection.selected.size}"
            )

    def test_a_larger_top_only_adds(self) -> None:
        few, many = (
            attrs.evolve(self.make(), top=top).select(self.table()).selected for top in (2, 4)
        )
        assert many[: few.size].tolist() == few.tolist(), (
            f"top=2 keeps {few.tolist()}, top=4 {many.tolist()}"
        )

    def test_arrays_of_the_model_are_declared(self) -> None:
        selection = self._plain()
        missing = sorted({*selection.model} - {*selection.model_columns})
        assert not missing, (
            f"model_columns does not say which axes of {', '.join(missing)} run over columns "
            "(`()` for none): a stage after one that drops columns will not get them"
        )

    def test_declared_axes_of_the_model_follow_the_columns(self) -> None:
        in_any_order = self._promises("order_of_columns_does_not_matter")
        only_if(in_any_order, "it depends on the order of columns")
        data = self.table()
        order = shuffled(data.n_features, 1)
        selection, turned = self._plain(), self._result(data.take_columns(order))
        for name, axes in selection.model_columns.items():
            expected, array = selection.model[name], turned.model[name]
            for axis in axes:
                expected = expected.take(order, axis=axis)
            if expected.dtype.kind != "f":
                assert np.array_equal(array, expected), f"model[{name!r}] with shuffled columns"
                continue
            scale = float(np.nanmax(np.abs(expected), initial=0.0))
            assert np.allclose(array, expected, self.rtol, self.rtol * scale, equal_nan=True), (
                f"model[{name!r}] is not shuffled with the columns: its axes {axes} do not run "
                "over them"
            )

    def test_result_can_be_stored_and_read(self) -> None:
        from fsframe.storage import DataRecord, RunRecord, StageRecord, load_run, write_run

        data, method = self.table(), self.make()
        selection = method.select(data)
        params = {k: list(v) if isinstance(v, tuple) else v for k, v in method.values().items()}
        record = RunRecord(
            chain="tested",
            data=DataRecord.from_dataset(data),
            stages=(StageRecord(name="tested", params=params, selection=selection),),
            selected=selection.selected,
            scores=selection.scores,
        )
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "tested.h5"
            write_run(path, record)
            assert load_run(path).digests() == record.digests()

    # Covariates, and permutations of rows that belong together

    def test_how_covariates_are_given_does_not_matter(self) -> None:
        data = self._adjusted("f5", "f6")
        method = self._adjusting(data)
        expected = method.select(data)
        given = data.covariates
        assert given is not None
        moved = attrs.evolve(given, values=given.values + 64.0)
        cases = {
            "with the covariates in another order": self._adjusted("f6", "f5"),
            "with 64 added to the covariates": attrs.evolve(data, covariates=moved),
        }
        if self._promises("order_of_rows_does_not_matter"):
            rows = data.take_rows(shuffled(data.n_samples, 2))
            cases["with rows and their covariates shuffled"] = rows
        for what, other in cases.items():
            assert_close(method.select(other), expected, what, max(self.rtol, 1e-6))

    def _adjusted(self, *names: str) -> Dataset:
        """A table with two covariates; each determines much of the label and of one column."""
        draw = drawing(6)
        first, second = np.arange(120) % 3.0, np.arange(120) // 3 % 4.0
        y = (draw.random(120) < 0.1 + 0.2 * first + 0.12 * second).astype(np.int64)
        X = draw.normal(size=(120, 6))
        X[:, 0] = first + 0.2 * X[:, 0]
        X[:, 1] = 1.2 * y + 0.6 * X[:, 1]
        X[:, 2] = second + 0.2 * X[:, 2]
        X[:, 4], X[:, 5] = first, second
        return self._with_covariates(X, y, *names)

    def test_p_values_hold_their_level_given_covariates(self) -> None:
        method = self.make()
        itself = not method.wrapping and method.adjusts()
        given = itself and p_values_of(self._plain())
        only_if(given, "it gives no p-values that are adjusted for covariates")
        draw = drawing(8)
        z = np.arange(240) % 3.0
        y = (draw.random(240) < 0.2 + 0.3 * z).astype(np.int64)
        X = np.column_stack([draw.normal(size=(240, 200)) + z[:, None], z])
        data = self._with_covariates(X, y, "f201")
        only_if(not list(method.role_problems(data)), "it refuses this table")
        for _, tested, small, said in small_p_values(method.select(data)):
            mean = SMALL_P * tested.size
            assert small <= 3 * mean, (
                f"{said} where a covariate explains all that columns say about the label, and "
                f"about {mean:.0f} are expected"
            )

    def test_labels_are_permuted_in_whole_groups(self) -> None:
        method = self.make()
        taken = {"classification", "regression"} & method.tasks
        only_if(taken, "it takes neither classes nor numeric targets")
        only_if(p_values_of(self._plain()), "it gives no p-values")
        data = self._noise_in_groups()
        only_if(not list(method.role_problems(data)), "it refuses a table with groups")
        # A method that neither samples nor permutes leaves groups as they are.
        counted = [each for each in small_p_values(method.select(data)) if _counted(each[1])]
        only_if(counted, "its p-values are not counted over permutations")
        for _, tested, small, said in counted:
            assert small <= _MOST_SMALL * tested.size, (
                f"{said} on noise that is nearly the same in all rows of a group: permute the "
                "labels of whole groups (fsframe.resampling.groups), or say in ignores_groups() "
                "why not"
            )

    def _noise_in_groups(self) -> Dataset:
        """Rows that differ little from others of their group, and have its label."""
        draw = drawing(7)
        group = np.repeat(np.arange(_GROUPS), _ROWS)
        X = draw.normal(size=(_GROUPS, _COLUMNS))[group]
        X = X + 0.05 * draw.normal(size=X.shape)
        if "classification" in self.make().tasks:
            return Dataset.from_arrays(X, (np.arange(_GROUPS) % 2)[group], groups=group)
        y = draw.normal(size=_GROUPS)[group]
        return Dataset.from_arrays(X, y, groups=group, task="regression")


def _counted(p: NDArray[np.float64]) -> bool:
    """Whether all p-values are (1 + b) / (1 + n) for the same number n of permutations."""
    for many in range(2, _MOST_PERMUTATIONS + 2):
        times = p * many
        if (np.abs(times - np.rint(times)) < 1e-9 * many).all() and (times > 0.5).all():
            return True
    return False
