"""The method under test, its declarations and results, and how it takes covariates and groups."""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.errors import DataError, FsframeError
from fsframe.method.selection import PairWeights, Selection
from fsframe.method.selector import Selector
from fsframe.table.dataset import Dataset
from fsframe.table.side_columns import LABELS
from fsframe.testing import tables
from fsframe.testing.conformance import (
    CallChecks,
    check,
    check_declarations,
    not_applicable,
    numpy_warnings_raised,
)
from fsframe.testing.tables import assert_close, assert_equal

_SMALL_P = 0.05
# Of permutations row by row more than half of the values are small, of valid ones a twentieth.
_MOST_SMALL = 0.3
_MOST_PERMUTATIONS = 10_000
_GROUPS, _ROWS, _COLUMNS = 16, 6, 24


class SelectorChecks(CallChecks):
    """Base of the groups of checks; `SelectorConformance` documents `name` and `gives`."""

    gives: ClassVar[frozenset[str] | None] = None

    @staticmethod
    def make() -> Selector:
        raise NotImplementedError("write make() so that it returns the selector to test")

    def _use(self) -> None:
        self.make().select(self.table(), seed=1)

    def table(self) -> Dataset:
        """The table that most checks use: classes, else a numeric target, else survival times."""
        return tables.suited(self.make().tasks)

    def _with_levels(self) -> Dataset:
        """A table with nominal columns, and classes or a numeric target as in `table`."""
        taken = "classification" in self.make().tasks
        return tables.categories(task="classification" if taken else "regression")

    def _confounded(self) -> Dataset:
        """A covariate determines column 0 and the label; column 1 follows the label given it."""
        draw = np.random.Generator(np.random.PCG64(5))
        z = np.arange(120) % 3.0
        y = (draw.random(120) < 0.2 + 0.3 * z).astype(np.int64)
        X = draw.normal(size=(120, 5))
        X[:, 0], X[:, 1], X[:, 4] = z + 0.2 * X[:, 0], 1.2 * y + 0.6 * X[:, 1], z
        return self._adjusting(X, y, "f5")

    def _adjusting(self, X: NDArray[np.float64], y: NDArray[np.int64], *covariates: str) -> Dataset:
        """A table with covariates, whose label is of classes if the method takes these."""
        task = "classification" if "classification" in self.make().tasks else "regression"
        return Dataset.from_arrays(X, y, task=task).with_roles(adjust=covariates)

    def _of_classes(self) -> Dataset:
        if "classification" not in self.make().tasks:
            raise not_applicable("it does not accept classes")
        return self.table()

    def _quietly(self, table: Dataset) -> Selection:
        """The result on `table`, with RuntimeWarnings of numpy as errors."""
        with numpy_warnings_raised():
            return self.make().select(table)

    def _sound_or_refused(
        self, table: Dataset, select: Callable[[Dataset], Selection] | None = None
    ) -> None:
        """Assert that the method gives a valid result on `table`, or refuses it with a message."""
        try:
            with numpy_warnings_raised():
                selection = (select or self.make().select)(table)
        except FsframeError as error:
            assert isinstance(error, DataError) or error.exit_code == 2, (
                f"{type(error).__name__} instead of a DataError: {error}"
            )
            assert str(error).strip(), "refused without a message"
            return
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


def p_values_of(selection: Selection) -> dict[str, NDArray[np.float64]]:
    """The p-values of columns that are not adjusted for their number."""
    return {
        name: array
        for name, array in selection.tables.items()
        if name in ("p_values", "p-values") and array.shape == selection.scores.shape
    }


def resamples(data: Dataset, n: int) -> NDArray[np.int64]:
    """Bootstraps as counts, at least two rows of every class in each."""
    generator = np.random.Generator(np.random.PCG64(4))
    counts = generator.multinomial(data.n_samples, np.full(data.n_samples, 1 / data.n_samples), n)
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
    """The declarations and the results of a selector."""

    @check
    def test_declarations_are_complete(self) -> None:
        method = self.make()
        assert isinstance(method, Selector), f"make() returned {type(method).__name__}"
        check_declarations(method, self.name)
        known = set(LABELS)
        assert method.tasks and method.tasks <= known, f"tasks must be among {known}"

    @check
    def test_pickles(self) -> None:
        method = self.make()
        assert pickle.loads(pickle.dumps(method)) == method
        selection = method.select(self.table())
        assert_equal(pickle.loads(pickle.dumps(selection)), selection, "the pickled result")

    @check
    def test_result_is_sound(self) -> None:
        data = self.table()
        selection = self.make().select(data)
        assert_sound(selection, data)
        assert selection.selected.size, "nothing was kept of a table with two informative columns"

    @check
    def test_what_the_entry_promises_is_given(self) -> None:
        if self.gives is None:
            raise not_applicable("it is not registered")
        selection = self.make().select(self.table())
        carried = {
            "weights": selection.weights,
            "pair-weights": selection.pair_weights,
            "instance-weights": selection.instance_weights,
            "fill": selection.fill,
        }
        extra = [key for key, value in carried.items() if value is not None]
        extra = [key for key in extra if key not in self.gives]
        assert not extra, f"the result has {', '.join(extra)}, which the entry's gives lacks"
        missing = [key for key in self.gives if key in carried and carried[key] is None]
        assert not missing, f"the entry promises {', '.join(missing)}; the result has none"

    @check
    def test_a_univariate_score_needs_no_other_column(self) -> None:
        if not self.make().univariate:
            raise not_applicable("it does not declare univariate")
        data = self.table()
        few = np.arange(0, data.n_features, 2)
        scores = self.make().select(data).scores[few]
        alone = self.make().select(data.take_columns(few)).scores
        assert np.allclose(alone, scores, self.rtol, equal_nan=True), (
            "scores change when other columns are left out, though it declares univariate"
        )

    @check
    def test_kept_columns_come_best_first(self) -> None:
        selection = self.make().select(self.table())
        scores = selection.scores[selection.selected]
        slack = 1e-9 * np.nanmax(np.abs(selection.scores), initial=0.0)
        assert (np.diff(scores) <= slack).all(), f"scores in the order kept: {scores.tolist()}"

    @check
    def test_a_column_that_separates_the_classes_comes_first(self) -> None:
        if "classification" not in self.make().tasks:
            assert self.make().select(self.table()).selected[0] == 1
            return
        for column in (0, 4):
            selected = self.make().select(tables.planted(column)).selected
            assert selected.size and selected[0] == column, (
                f"column {column} separates the classes, but {selected.tolist()} were kept"
            )

    @check
    def test_top_is_honoured(self) -> None:
        data = self.table()
        p = data.n_features
        for top, kept in ((1, 1), (3, 3), (p, p), (p + 10, p), (0.5, -(-p // 2)), (1.0, p)):
            selection = attrs.evolve(self.make(), top=top).select(data)
            assert selection.selected.size == kept, (
                f"top={top} of {p} kept {selection.selected.size}"
            )

    @check
    def test_a_larger_top_only_adds(self) -> None:
        data = self.table()
        few = attrs.evolve(self.make(), top=2).select(data).selected
        many = attrs.evolve(self.make(), top=4).select(data).selected
        assert many[: few.size].tolist() == few.tolist(), (
            f"top=2 keeps {few.tolist()}, top=4 {many.tolist()}"
        )

    @check
    def test_arrays_of_the_model_are_declared(self) -> None:
        selection = self.make().select(self.table())
        missing = sorted({*selection.model} - {*selection.model_columns})
        assert not missing, (
            f"model_columns does not say which axes of {', '.join(missing)} run over columns "
            "(`()` for none): a stage after one that drops columns will not get them"
        )

    @check
    def test_declared_axes_of_the_model_follow_the_columns(self) -> None:
        if "order_of_columns_does_not_matter" in self.exceptions:
            raise not_applicable("it depends on the order of columns")
        data = self.table()
        order = np.random.Generator(np.random.PCG64(1)).permutation(data.n_features)
        selection, turned = self.make().select(data), self.make().select(data.take_columns(order))
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

    @check
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


class RoleChecks(SelectorChecks):
    """Covariates beside the columns, and permutations of rows that belong together."""

    @check
    def test_how_covariates_are_given_does_not_matter(self) -> None:
        method, data = self.make(), self._adjusted("f5", "f6")
        if method.wrapping or not method.adjusts() or list(method.role_problems(data)):
            raise not_applicable("it does not adjust for covariates itself")
        expected = method.select(data)
        given = data.covariates
        assert given is not None
        moved = attrs.evolve(given, values=given.values + 64.0)
        cases = {
            "with the covariates in another order": self._adjusted("f6", "f5"),
            "with 64 added to the covariates": attrs.evolve(data, covariates=moved),
        }
        if "order_of_rows_does_not_matter" not in self.exceptions:
            order = np.random.Generator(np.random.PCG64(2)).permutation(data.n_samples)
            cases["with rows and their covariates shuffled"] = data.take_rows(order)
        for what, other in cases.items():
            assert_close(method.select(other), expected, what, max(self.rtol, 1e-6))

    def _adjusted(self, *names: str) -> Dataset:
        """Two covariates, each of which determines much of the label and of one column."""
        draw = np.random.Generator(np.random.PCG64(6))
        first, second = np.arange(120) % 3.0, np.arange(120) // 3 % 4.0
        y = (draw.random(120) < 0.1 + 0.2 * first + 0.12 * second).astype(np.int64)
        X = draw.normal(size=(120, 6))
        X[:, 0] = first + 0.2 * X[:, 0]
        X[:, 1] = 1.2 * y + 0.6 * X[:, 1]
        X[:, 2] = second + 0.2 * X[:, 2]
        X[:, 4], X[:, 5] = first, second
        return self._adjusting(X, y, *names)

    @check
    def test_p_values_hold_their_level_given_covariates(self) -> None:
        method = self.make()
        if method.wrapping or not method.adjusts() or not p_values_of(method.select(self.table())):
            raise not_applicable("it gives no p-values that are adjusted for covariates")
        draw = np.random.Generator(np.random.PCG64(8))
        z = np.arange(240) % 3.0
        y = (draw.random(240) < 0.2 + 0.3 * z).astype(np.int64)
        X = np.column_stack([draw.normal(size=(240, 200)) + z[:, None], z])
        data = self._adjusting(X, y, "f201")
        if list(method.role_problems(data)):
            raise not_applicable("it refuses this table")
        for name, p in p_values_of(method.select(data)).items():
            tested = p[~np.isnan(p)]
            small, mean = int((tested <= _SMALL_P).sum()), _SMALL_P * tested.size
            assert small <= 3 * mean, (
                f"{small} of {tested.size} values of {name!r} are at most {_SMALL_P} where a "
                f"covariate explains all that columns say about the label, and about {mean:.0f} "
                "are expected"
            )

    @check
    def test_labels_are_permuted_in_whole_groups(self) -> None:
        method = self.make()
        if not {"classification", "regression"} & method.tasks:
            raise not_applicable("it takes neither classes nor numeric targets")
        if not p_values_of(method.select(self.table())):
            raise not_applicable("it gives no p-values")
        data = self._noise_in_groups()
        if list(method.role_problems(data)):
            raise not_applicable("it refuses a table with groups")
        p_values = p_values_of(method.select(data)).items()
        # A method that neither samples nor permutes leaves groups as they are.
        counted = {name: tested for name, p in p_values if _counted(tested := p[~np.isnan(p)])}
        if not counted:
            raise not_applicable("its p-values are not counted over permutations")
        for name, tested in counted.items():
            small = int((tested <= _SMALL_P).sum())
            assert small <= _MOST_SMALL * tested.size, (
                f"{small} of {tested.size} values of {name!r} are at most {_SMALL_P} on noise that "
                "is nearly the same in all rows of a group: permute the labels of whole groups "
                "(fsframe.resampling.groups), or say in ignores_groups() why not"
            )

    def _noise_in_groups(self) -> Dataset:
        """Rows that differ little from others of their group, and have its label."""
        draw = np.random.Generator(np.random.PCG64(7))
        group = np.repeat(np.arange(_GROUPS), _ROWS)
        X = draw.normal(size=(_GROUPS, _COLUMNS))[group]
        X = X + 0.05 * draw.normal(size=X.shape)
        if "classification" in self.make().tasks:
            return Dataset.from_arrays(X, (np.arange(_GROUPS) % 2)[group], groups=group)
        y = draw.normal(size=_GROUPS)[group]
        return Dataset.from_arrays(X, y, groups=group, task="regression")


def _counted(p: NDArray[np.float64]) -> bool:
    """Whether p-values are counts out of one number of permutations, (1 + b) / (1 + n)."""
    for many in range(2, _MOST_PERMUTATIONS + 2):
        times = p * many
        if (np.abs(times - np.rint(times)) < 1e-9 * many).all() and (times > 0.5).all():
            return True
    return False
