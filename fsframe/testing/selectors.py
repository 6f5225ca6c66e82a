"""The laws of selectors."""

from __future__ import annotations

import contextlib
import io
import pickle
import tempfile
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.dataset import Dataset
from fsframe.errors import DataError, FsframeError
from fsframe.params import format_value
from fsframe.run import Progress, Run
from fsframe.selection import PairWeights, Selection
from fsframe.selector import Selector
from fsframe.testing import tables
from fsframe.testing.comparing import assert_close, assert_equal, frozen_bytes
from fsframe.testing.conformance import Conformance, check_declarations, law, not_applicable

__all__ = ["SelectorConformance"]

_FOR_ONE = ("model", "tables", "warnings")


class SelectorConformance(Conformance):
    """Everything the core promises of a selector; inherit it and write `make`.

    Attributes
    ----------
    name : str, optional
        The name it is registered under, if it is.
    gives : frozenset of str, optional
        What its entry says that it gives.

    Notes
    -----
    A stage that resamples others is made with a base, such as ``Npfs(base="mim:top=2")``.
    """

    name: ClassVar[str | None] = None
    gives: ClassVar[frozenset[str] | None] = None

    @staticmethod
    def make() -> Selector:
        raise NotImplementedError("write make() so that it returns the selector to test")

    def table(self) -> Dataset:
        """The table that most laws are tried on: classes, or a target where only that is taken."""
        return tables.classes() if "classification" in self.make().tasks else tables.target()

    # What it is

    @law
    def test_declarations_are_complete(self) -> None:
        method = self.make()
        assert isinstance(method, Selector), f"make() returned {type(method).__name__}"
        check_declarations(method, self.name)
        known = {"classification", "regression"}
        assert method.tasks and method.tasks <= known, f"tasks must be among {known}"

    @law
    def test_parameters_read_back_from_text(self) -> None:
        method = self.make()
        texts = {name: format_value(value) for name, value in method.changed().items()}
        assert type(method).from_texts(texts) == method
        every = {name: format_value(value) for name, value in method.values().items()}
        assert type(method).from_texts(every) == method

    @law
    def test_pickles(self) -> None:
        method = self.make()
        assert pickle.loads(pickle.dumps(method)) == method
        found = method.select(self.table())
        assert_equal(pickle.loads(pickle.dumps(found)), found, "the pickled result")

    # What comes back

    @law
    def test_result_is_sound(self) -> None:
        data = self.table()
        found = self.make().select(data)
        _assert_sound(found, data)
        assert found.selected.size, "nothing was kept of a table with two columns that matter"

    @law
    def test_what_the_entry_promises_is_given(self) -> None:
        if self.gives is None:
            raise not_applicable("it is not registered")
        found = self.make().select(self.table())
        carried = {
            "weights": found.weights,
            "pair-weights": found.pair_weights,
            "instance-weights": found.instance_weights,
        }
        silent = [key for key, held in carried.items() if held is not None]
        silent = [key for key in silent if key not in self.gives]
        assert not silent, f"the result has {', '.join(silent)}; the entry's gives does not say so"
        missing = [key for key in self.gives if key in carried and carried[key] is None]
        assert not missing, f"the entry promises {', '.join(missing)}; the result has none"

    @law
    def test_kept_columns_come_best_first(self) -> None:
        found = self.make().select(self.table())
        scores = found.scores[found.selected]
        slack = 1e-9 * np.nanmax(np.abs(found.scores), initial=0.0)
        assert (np.diff(scores) <= slack).all(), f"scores in the order kept: {scores.tolist()}"

    @law
    def test_a_column_that_separates_the_classes_comes_first(self) -> None:
        if "classification" not in self.make().tasks:
            data = tables.target()
            assert self.make().select(data).selected[0] == 1
            return
        for column in (0, 4):
            selected = self.make().select(tables.planted(column)).selected
            assert selected.size and selected[0] == column, (
                f"column {column} separates the classes, kept were {selected.tolist()}"
            )

    @law
    def test_result_can_be_stored_and_read(self) -> None:
        from fsframe.store import DataRecord, RunRecord, StageRecord, load_run, write_run

        data, method = self.table(), self.make()
        found = method.select(data)
        params = {k: list(v) if isinstance(v, tuple) else v for k, v in method.values().items()}
        record = RunRecord(
            chain="tested",
            data=DataRecord.from_dataset(data),
            stages=(StageRecord(name="tested", params=params, selection=found),),
            selected=found.selected,
            scores=found.scores,
        )
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "tested.h5"
            write_run(path, record)
            assert load_run(path).digests() == record.digests()

    # Same again

    @law
    def test_equal_seeds_give_equal_bits(self) -> None:
        data = self.table()
        first = self.make().select(data, seed=7)
        np.random.default_rng().random()  # Nothing global may matter, nor be moved.
        before = repr(np.random.get_state())
        assert_equal(self.make().select(data, seed=7), first, "the second run with one seed")
        after = repr(np.random.get_state())
        assert before == after, "numpy's global random state was used; use run.generator()"

    @law
    def test_number_of_threads_changes_no_bit(self) -> None:
        method = self.make()
        data = tables.classes(150, 12) if "classification" in method.tasks else tables.target(150)
        one = method.select(data, run=Run(entropy=1, threads=1))
        assert_equal(method.select(data, run=Run(entropy=1, threads=2)), one, "with two threads")

    @law
    def test_a_small_bound_on_memory_changes_nothing(self) -> None:
        method = self.make()
        data = tables.classes(150, 12) if "classification" in method.tasks else tables.target(150)
        wide = method.select(data, run=Run(entropy=1))
        try:
            tight = method.select(data, run=Run(entropy=1, memory=1 << 18))
        except FsframeError as error:
            # What cannot be done in blocks may be refused, saying what it is that is too small.
            assert "memory" in str(error), f"refused with 256 KB: {error}"
            return
        assert_close(tight, wide, "with 256 KB for temporaries", self.rtol)

    @law
    def test_many_resamples_equal_one_by_one(self) -> None:
        method, data, run = self.make(), self.table(), Run(entropy=5, key=(2,))
        counts = _resamples(data, 4)
        many = method.select_many(data, counts, run=run)
        assert len(many) == len(counts)
        for b, (row, found) in enumerate(zip(counts, many, strict=True)):
            alone = method.select(data.with_counts(row), run=run.child(b))
            # Tables are for people who look at one result; among many they may be left out.
            assert_equal(found, alone, f"resample {b} among many", besides=_FOR_ONE)
        tail = method.select_many(data, counts[1:], run=run.batch(1))
        assert_equal(tail[0], many[1], "resample 1 in another batch")
        assert_equal(tail[-1], many[-1], "the last resample in another batch")

    @law
    def test_many_resamples_behind_a_stage_equal_one_by_one(self) -> None:
        method, data, run = self.make(), self.table(), Run(entropy=5)
        counts, upstream = _resamples(data, 2), _upstream(data)
        many = method.select_many(data, counts, upstream, run)
        for b, (row, found) in enumerate(zip(counts, many, strict=True)):
            alone = method.select(data.with_counts(row), upstream, run.child(b))
            assert_equal(found, alone, f"resample {b} among many", besides=_FOR_ONE)

    # What must not matter

    @law
    def test_inputs_are_not_modified(self) -> None:
        data = self.table()
        X, y = data.X.copy(), data.y.copy()
        mine = Dataset.from_arrays(X, y, task=data.task)
        counts = _resamples(mine, 2)
        resample, upstream = mine.with_counts(counts[0]), _upstream(mine)
        before = frozen_bytes(X, y, counts, upstream, resample.counts)
        self.make().select(mine)
        self.make().select(mine, upstream)
        self.make().select(resample)
        self.make().select_many(mine, counts)
        assert frozen_bytes(X, y, counts, upstream, resample.counts) == before

    @law
    def test_order_of_columns_does_not_matter(self) -> None:
        data = self.table()
        order = np.random.Generator(np.random.PCG64(1)).permutation(data.n_features)
        found = self.make().select(data.take_columns(order))
        # Column p of the shuffled table is column order[p] of the first.
        back = Selection(selected=order[found.selected], scores=found.scores[np.argsort(order)])
        assert_close(back, self.make().select(data), "with shuffled columns", self.rtol)

    @law
    def test_order_of_rows_does_not_matter(self) -> None:
        data = self.table()
        order = np.random.Generator(np.random.PCG64(2)).permutation(data.n_samples)
        found = self.make().select(data.take_rows(order))
        assert_close(found, self.make().select(data), "with shuffled rows", self.rtol)

    @law
    def test_names_do_not_matter(self) -> None:
        data = self.table()
        labels = data.y if data.task == "regression" else np.array([f"c{code}" for code in data.y])
        renamed = Dataset.from_arrays(
            data.X, labels, [f"größe {i}" for i in range(data.n_features)], task=data.task
        )
        found, expected = self.make().select(renamed), self.make().select(data)
        assert_equal(found, expected, "with other names", besides=("warnings",))

    @law
    def test_order_of_classes_does_not_matter(self) -> None:
        data = self._of_classes()
        turned = data.with_labels(data.n_classes - 1 - data.y)
        found = self.make().select(turned)
        assert_close(found, self.make().select(data), "with classes in reverse", self.rtol)

    @law
    def test_scale_changes_nothing(self) -> None:
        data = self.table()
        powers = 2.0 ** np.array([3, -5, 0, 7, -2, 11])
        scaled = Dataset.from_arrays(data.X * powers[: data.n_features], data.y, task=data.task)
        found = self.make().select(scaled)
        assert_close(found, self.make().select(data), "with other units", self.rtol)

    @law
    def test_a_constant_column_comes_last(self) -> None:
        data = self.table()
        X = np.insert(data.X, 2, 4.2, axis=1)
        table = Dataset.from_arrays(X, data.y, task=data.task)
        found = self.make().select(table)
        _assert_sound(found, table)
        assert 2 not in found.selected[:2], "a constant column was kept before informative ones"
        if "kept_columns_come_best_first" in self.exceptions:
            return  # Scores of different columns are not compared there.
        score, others = found.scores[2], np.delete(found.scores, 2)
        # Where noise may score below zero, zero is what a column without information deserves.
        least = max(0.0, float(np.nanmin(others)))
        assert np.isnan(score) or score <= least + 1e-12, (
            f"the constant column scores {score:.3g}, others from {least:.3g}"
        )

    @law
    def test_a_duplicated_column_scores_as_its_original(self) -> None:
        data = self.table()
        X = np.insert(data.X, 4, data.X[:, 1], axis=1)
        found = self.make().select(Dataset.from_arrays(X, data.y, task=data.task))
        first, second = found.scores[1], found.scores[4]
        close = abs(first - second) <= self.rtol * max(abs(first), abs(second))
        assert close or (np.isnan(first) and np.isnan(second)), (
            f"equal columns score {first:.6g} and {second:.6g}"
        )

    # Counts

    @law
    def test_counts_of_one_change_nothing(self) -> None:
        data = self.table()
        ones = data.with_counts(np.ones(data.n_samples, dtype=np.int64))
        assert_close(self.make().select(ones), self.make().select(data), "with counts of 1", 1e-12)

    @law
    def test_rows_with_count_zero_are_left_out(self) -> None:
        data = self.table()
        counts = (np.arange(data.n_samples) % 7 > 1).astype(np.int64)
        without = data.take_rows(np.flatnonzero(counts))
        found = self.make().select(data.with_counts(counts))
        assert_close(found, self.make().select(without), "with rows left out", 1e-9)

    @law
    def test_counts_equal_copies(self) -> None:
        data = self.table()
        counts = _resamples(data, 1)[0]
        copied = data.take_rows(np.repeat(np.arange(data.n_samples), counts))
        found = self.make().select(data.with_counts(counts))
        assert_close(found, self.make().select(copied), "with rows copied", self.rtol)

    @law
    def test_equal_counts_change_nothing(self) -> None:
        data = self.table()
        if not self.make().takes_counts:
            raise not_applicable("counts are not taken; rows are copied")
        threes = data.with_counts(np.full(data.n_samples, 3))
        found = self.make().select(threes)
        assert_close(found, self.make().select(data), "with every count 3", self.rtol)

    # top

    @law
    def test_top_is_honoured(self) -> None:
        data = self.table()
        p = data.n_features
        for top, kept in ((1, 1), (3, 3), (p, p), (p + 10, p), (0.5, -(-p // 2)), (1.0, p)):
            found = attrs.evolve(self.make(), top=top).select(data)
            assert found.selected.size == kept, f"top={top} of {p} kept {found.selected.size}"

    @law
    def test_a_larger_top_only_adds(self) -> None:
        data = self.table()
        few = attrs.evolve(self.make(), top=2).select(data).selected
        many = attrs.evolve(self.make(), top=4).select(data).selected
        assert many[: few.size].tolist() == few.tolist(), (
            f"top=2 keeps {few.tolist()}, top=4 {many.tolist()}"
        )

    # In a chain

    @law
    def test_only_columns_left_upstream_are_seen(self) -> None:
        data = self.table()
        scores = np.full(data.n_features, np.nan)
        scores[[1, 3, 4]] = [0.9, 0.5, 0.7]
        upstream = Selection(selected=[1, 4, 3], scores=scores)
        found = self.make().select(data, upstream)
        alone = self.make().select(data.take_columns(np.array([1, 3, 4])))
        assert_close(found, alone.lift(np.array([1, 3, 4]), data.n_features), "behind", 1e-9)

    @law
    def test_upstream_weights_matter_as_declared(self) -> None:
        data, method = self.table(), self.make()
        weighted = _upstream(data)
        plain = attrs.evolve(weighted, weights=None, pair_weights=None, instance_weights=None)
        found, without = method.select(data, weighted), method.select(data, plain)
        _assert_sound(found, data)
        same = found.scores.tobytes() == without.scores.tobytes()
        if method.uses_upstream_weights:
            assert not same, "uses_upstream_weights is declared, but they change no score"
        else:
            assert same, "scores depend on weights from upstream; declare uses_upstream_weights"

    # Tables of all kinds

    @law
    def test_missing_values_are_taken_or_refused_as_declared(self) -> None:
        data = self.table()
        X = data.X.copy()
        X[::5, 0] = np.nan
        X[3, 1] = np.nan
        table = Dataset.from_arrays(X, data.y, task=data.task)
        if not self.make().takes_missing:
            _assert_refused(lambda: self.make().select(table), "missing values")
            return
        try:
            found = self.make().select(table)
        except DataError as error:
            # A method may ask to be told what to do with them.
            assert "missing" in str(error), f"missing values are declared to be taken: {error}"
            return
        _assert_sound(found, table)

    @law
    def test_tasks_are_taken_or_refused_as_declared(self) -> None:
        for task, table in (("classification", tables.classes()), ("regression", tables.target())):
            if task in self.make().tasks:
                _assert_sound(self.make().select(table), table)
            else:
                _assert_refused(partial(self.make().select, table), task)

    @law
    def test_three_classes_are_taken(self) -> None:
        self._of_classes()
        data = tables.classes(45, n_classes=3)
        found = self.make().select(data)
        _assert_sound(found, data)
        assert found.selected.size and found.selected[0] == 1

    @law
    def test_a_class_without_rows_in_a_resample_is_borne(self) -> None:
        self._of_classes()
        data = tables.classes(45, n_classes=3)
        self._sound_or_refused(data.with_counts((data.y != 1) * 1))

    @law
    def test_a_class_of_one_row_is_borne(self) -> None:
        self._of_classes()
        data = tables.classes(30, n_classes=3)
        lonely = (data.y != 2) | (np.arange(30) == 5)
        self._sound_or_refused(data.with_counts(lonely * 1))

    @law
    def test_ties_and_contradicting_rows_are_borne(self) -> None:
        self._of_classes()
        data = tables.ties()
        found = self._quietly(lambda: self.make().select(data))
        _assert_sound(found, data)

    @law
    def test_categorical_columns_are_borne(self) -> None:
        self._of_classes()
        data = tables.categories()
        _assert_sound(self._quietly(lambda: self.make().select(data)), data)

    @law
    def test_extreme_magnitudes_are_borne(self) -> None:
        data = self.table()
        factors = np.array([1e150, 1.0, 1e-150, 1e100, 1e-100, 1.0])[: data.n_features]
        self._sound_or_refused(Dataset.from_arrays(data.X * factors, data.y, task=data.task))

    @law
    def test_small_and_flat_tables_are_borne(self) -> None:
        data = self.table()
        for rows, columns in ((4, 6), (2, 2), (12, 1)):
            small = Dataset.from_arrays(data.X[:rows, :columns], data.y[:rows], task=data.task)
            self._sound_or_refused(small)
        flat = np.full((10, 3), 7.0)
        self._sound_or_refused(Dataset.from_arrays(flat, data.y[:10], task=data.task))

    @law
    def test_nothing_is_printed_and_progress_only_grows(self) -> None:
        heard: list[Progress] = []
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            self.make().select(self.table(), run=Run(listener=heard.append))
        assert not out.getvalue(), f"stdout is for results; printed was {out.getvalue()[:60]!r}"
        done: dict[tuple[str, tuple[int, ...]], int] = {}
        for report in heard:
            last = done.get((report.label, report.key), 0)
            assert last <= report.done <= report.total, f"progress went from {last} to {report}"
            done[report.label, report.key] = report.done

    # Helpers

    def _of_classes(self) -> Dataset:
        if "classification" not in self.make().tasks:
            raise not_applicable("it takes no classes")
        return self.table()

    @staticmethod
    def _quietly(select: Callable[[], Selection]) -> Selection:
        """What `select` returns, a RuntimeWarning of numpy counting as an error."""
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            return select()

    def _sound_or_refused(self, table: Dataset) -> None:
        """Assert that the method gives a sound result on `table`, or refuses it in words."""
        try:
            found = self._quietly(lambda: self.make().select(table))
        except FsframeError as error:
            assert isinstance(error, DataError) or error.exit_code == 2, (
                f"{type(error).__name__} where the data are at fault: {error}"
            )
            assert str(error).strip(), "refused without a word"
            return
        _assert_sound(found, table)


def _assert_sound(found: Selection, data: Dataset) -> None:
    problems = found.problems(data.n_features, data.n_samples)
    assert not problems, "; ".join(problems)
    unranked = [int(column) for column in found.selected if np.isnan(found.scores[column])]
    assert not unranked, f"columns {unranked} are kept but have no score"
    for name, array in _own_arrays(found):
        assert not array.flags.writeable, f"{name} can be written to"
    if found.pair_weights is not None:
        weights = found.pair_weights.triplets()[2]
        assert np.isfinite(weights).all(), "pair_weights hold non-finite values"


def _own_arrays(found: Selection) -> Iterator[tuple[str, NDArray[Any]]]:
    yield "selected", found.selected
    yield "scores", found.scores
    for name, group in (("model", found.model), ("tables", found.tables)):
        for key, array in group.items():
            yield f"{name}[{key!r}]", array


def _assert_refused(select: Callable[[], Any], what: str) -> None:
    try:
        select()
    except DataError as error:
        assert str(error).strip(), f"{what}: refused without a word"
        return
    raise AssertionError(f"{what}: neither declared nor refused")


def _resamples(data: Dataset, n: int) -> NDArray[np.int64]:
    """Bootstraps as counts, at least two rows of every class in each."""
    generator = np.random.Generator(np.random.PCG64(4))
    counts = generator.multinomial(data.n_samples, np.full(data.n_samples, 1 / data.n_samples), n)
    if data.task == "classification":
        for code in range(data.n_classes):
            counts[:, np.flatnonzero(data.y == code)[:2]] += 1
    return counts.astype(np.int64)


def _upstream(data: Dataset) -> Selection:
    """A stage on the left that kept five columns and sends weights of every kind."""
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
