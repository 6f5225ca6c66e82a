"""What must not matter: order, names, scale, copies, seed, threads, memory; and whole groups."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from functools import partial
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.errors import FsframeError
from fsframe.method.run import Run
from fsframe.method.selection import Selection
from fsframe.method.selector import Selector
from fsframe.method.stage_view import Base
from fsframe.params import Parameter
from fsframe.table.dataset import Dataset
from fsframe.table.side_columns import SideColumns
from fsframe.testing import tables
from fsframe.testing.conformance import (
    assert_refused,
    check,
    not_applicable,
    peak_bytes,
    read_attributes,
)
from fsframe.testing.results import (
    SelectorChecks,
    assert_sound,
    p_values_of,
    resamples,
    some_upstream,
)
from fsframe.testing.tables import assert_close, assert_equal, frozen_bytes


class Probe(Base):
    """A base that checks that no resample splits a group; its scores are random."""

    def __init__(self) -> None:
        self.seen: list[NDArray[Any]] = []

    def __str__(self) -> str:
        return "probe"

    def select(
        self, data: Dataset, upstream: Selection | None = None, run: Run | None = None
    ) -> Selection:
        counts = np.ones(data.n_samples, np.int64) if data.counts is None else data.counts
        self._check(data, counts)
        self.seen.append(np.where(counts > 0, data.y, -1))
        scores = (Run() if run is None else run).generator().random(data.n_features)
        return Selection(selected=np.argsort(-scores)[:2], scores=scores)

    def _check(self, data: Dataset, counts: NDArray[np.int64]) -> None:
        assert data.groups is not None, "a resample has lost its groups"
        for group in np.unique(data.groups):
            rows = data.groups == group
            assert np.unique(counts[rows]).size == 1, "a resample splits a group"
            assert np.unique(data.y[rows]).size == 1, "labels are permuted within a group"


class TimeProbe(Probe):
    """A base that checks that no resample splits a block of time."""

    def _check(self, data: Dataset, counts: NDArray[np.int64]) -> None:
        assert data.together is not None, "a resample has lost its times"
        for block in np.unique(data.together):
            drawn = counts[data.together == block]
            assert np.unique(drawn).size == 1, "a resample splits a block of time"


class GroupChecks(SelectorChecks):
    """Groups of rows, and blocks of time."""

    def _grouped(self) -> Dataset:
        """The table of most checks, with its rows in groups of two or three of equal label."""
        data = self.table()
        place = np.empty(data.n_samples, dtype=np.int64)
        place[np.argsort(data.y, kind="stable")] = np.arange(data.n_samples)
        _, groups = np.unique(place // 3 * data.n_samples + data.y, return_inverse=True)
        y = data.y
        if data.task != "classification":
            groups, y = place // 3, np.sort(data.y)[place // 3 * 3]
        return attrs.evolve(data, y=y, groups=groups.astype(np.int64), group_name="person")

    @check
    def test_groups_are_accepted_or_refused_as_declared(self) -> None:
        data, method = self._grouped(), self.make()
        if method.ignores_groups():
            assert_refused(lambda: method.select(data), "groups")
            return
        assert_sound(self._quietly(data), data)

    @check
    def test_resamples_keep_blocks_of_time_whole(self) -> None:
        plain = self.table()
        self._probe(plain.with_roles(time=plain.feature_names[-1]), "time", TimeProbe())

    def _probe(self, data: Dataset, what: str, *probes: Probe) -> None:
        """Assert that a table with times is refused, or each resample passes the probes."""
        method = self.make()
        if list(method.role_problems(data)):
            assert_refused(lambda: method.select(data), what)
            return
        if not method.wrapping or getattr(method, "reads_own_base", False):
            assert_sound(self._quietly(data), data)
            return
        wrapping = attrs.evolve(method, base=None)  # type: ignore[call-arg]
        for probe in probes:
            wrapping.select_wrapped(probe, data, None, Run())  # type: ignore[attr-defined]
            assert len(probe.seen) > 1, "the base was given no resample"

    @check
    def test_resamples_keep_consecutive_groups_whole_in_time(self) -> None:
        grouped, method = self._grouped(), self.make()
        day = np.random.default_rng(11).permutation(grouped.n_groups)[grouped.groups]
        hours = np.linspace(0, 0.9, grouped.n_samples)
        times = SideColumns.of({"day": day + hours}, [False], "column")
        data = attrs.evolve(grouped, times=times)
        self._probe(data, "day", Probe(), TimeProbe())
        overlapping = attrs.evolve(data, times=attrs.evolve(times, values=times.values % 1.0))
        if list(method.role_problems(overlapping)):
            assert_refused(lambda: method.select(overlapping), "overlap in time")

    @check
    def test_resamples_keep_groups_whole(self) -> None:
        data, method = self._grouped(), self.make()
        if not method.wrapping or getattr(method, "reads_own_base", False):
            raise not_applicable("it does not resample a base")
        if method.ignores_groups():
            raise not_applicable("it refuses a table with groups")
        probe, wrapping = Probe(), attrs.evolve(method, base=None)  # type: ignore[call-arg]
        selection = wrapping.select_wrapped(probe, data, None, Run())  # type: ignore[attr-defined]
        assert_sound(selection, data)
        assert len(probe.seen) > 1, "the base was given no resample"
        assert len({seen.tobytes() for seen in probe.seen}) > 1, "all resamples are the same"


class InvarianceChecks(SelectorChecks):
    """What must not matter: order, names, scale, constant and duplicated columns, equal counts."""

    @check
    def test_inputs_are_not_modified(self) -> None:
        data = self.table()
        X, y = data.X.copy(), data.y.copy()
        mine = Dataset.from_arrays(X, y, task=data.task)
        counts = resamples(mine, 2)
        resample, upstream = mine.with_counts(counts[0]), some_upstream(mine)
        before = frozen_bytes(X, y, counts, upstream, resample.counts)
        self.make().select(mine)
        self.make().select(mine, upstream)
        self.make().select(resample)
        self.make().select_many(mine, counts)
        assert frozen_bytes(X, y, counts, upstream, resample.counts) == before

    @check
    def test_order_of_columns_does_not_matter(self) -> None:
        data = self.table()
        order = np.random.Generator(np.random.PCG64(1)).permutation(data.n_features)
        selection = self.make().select(data.take_columns(order))
        # Column p of the shuffled table is column order[p] of the first.
        back = Selection(
            selected=order[selection.selected], scores=selection.scores[np.argsort(order)]
        )
        assert_close(back, self.make().select(data), "with shuffled columns", self.rtol)

    @check
    def test_order_of_rows_does_not_matter(self) -> None:
        data = self.table()
        order = np.random.Generator(np.random.PCG64(2)).permutation(data.n_samples)
        selection = self.make().select(data.take_rows(order))
        assert_close(selection, self.make().select(data), "with shuffled rows", self.rtol)

    @check
    def test_names_do_not_matter(self) -> None:
        data = self.table()
        named = data.task == "classification"
        labels = np.array([f"c{code}" for code in data.y]) if named else data.y
        renamed = Dataset.from_arrays(
            data.X, labels, [f"größe {i}" for i in range(data.n_features)], task=data.task
        )
        selection, expected = self.make().select(renamed), self.make().select(data)
        assert_equal(selection, expected, "with other names", besides=("warnings",))

    @check
    def test_order_of_classes_does_not_matter(self) -> None:
        data = self._of_classes()
        turned = data.with_labels(data.n_classes - 1 - data.y)
        selection = self.make().select(turned)
        assert_close(selection, self.make().select(data), "with classes in reverse", self.rtol)
        # The reverse of three classes is their order to whatever takes codes for numbers.
        data = tables.classes(45, n_classes=3)
        selection = self.make().select(data.with_labels((data.y + 1) % 3))
        assert_close(selection, self.make().select(data), "with three classes turned", self.rtol)

    @check
    def test_scale_changes_nothing(self) -> None:
        data = self.table()
        powers = 2.0 ** np.array([3, -5, 0, 7, -2, 11])
        scaled = tables.with_columns(data, data.X * powers[: data.n_features])
        selection = self.make().select(scaled)
        assert_close(selection, self.make().select(data), "with other units", self.rtol)

    @check
    def test_a_constant_column_comes_last(self) -> None:
        data = self.table()
        X = np.insert(data.X, 2, 4.2, axis=1)
        table = tables.with_columns(data, X)
        selection = self.make().select(table)
        assert_sound(selection, table)
        assert 2 not in selection.selected[:2], "a constant column was kept before informative ones"
        if "kept_columns_come_best_first" in self.exceptions:
            return  # Scores of different columns are not comparable.
        score, others = selection.scores[2], np.delete(selection.scores, 2)
        # Noise may score below zero, and a constant column zero.
        least = max(0.0, float(np.nanmin(others)))
        assert np.isnan(score) or score <= least + 1e-12, (
            f"the constant column scores {score:.3g}, others from {least:.3g}"
        )

    @check
    def test_a_duplicated_column_scores_as_its_original(self) -> None:
        data = self.table()
        X = np.insert(data.X, 4, data.X[:, 1], axis=1)
        selection = self.make().select(tables.with_columns(data, X))
        first, second = selection.scores[1], selection.scores[4]
        close = abs(first - second) <= self.rtol * max(abs(first), abs(second))
        assert close or (np.isnan(first) and np.isnan(second)), (
            f"equal columns score {first:.6g} and {second:.6g}"
        )

    # Bootstraps as counts

    @check
    def test_counts_of_one_change_nothing(self) -> None:
        data = self.table()
        ones = data.with_counts(np.ones(data.n_samples, dtype=np.int64))
        assert_close(self.make().select(ones), self.make().select(data), "with counts of 1", 1e-12)

    @check
    def test_rows_with_count_zero_are_left_out(self) -> None:
        data = self.table()
        counts = (np.arange(data.n_samples) % 7 > 1).astype(np.int64)
        without = data.take_rows(np.flatnonzero(counts))
        selection = self.make().select(data.with_counts(counts))
        assert_close(selection, self.make().select(without), "with rows left out", 1e-9)

    @check
    def test_counts_equal_copies(self) -> None:
        reason = self.make().unlike_copies()
        if reason:
            raise not_applicable(reason)
        data = self.table()
        counts = resamples(data, 1)[0]
        copied = data.take_rows(np.repeat(np.arange(data.n_samples), counts))
        selection = self.make().select(data.with_counts(counts))
        expected = self.make().select(copied)
        assert_close(selection, expected, "with rows copied", self.rtol)
        for name, p in p_values_of(expected).items():
            assert np.allclose(selection.tables[name], p, 1e-6, 1e-12, equal_nan=True), (
                f"{name!r} of rows with counts are not those of as many copies"
            )

    @check
    def test_equal_counts_change_nothing(self) -> None:
        data = self.table()
        if not self.make().takes_counts:
            raise not_applicable("counts are not taken; rows are copied")
        threes = data.with_counts(np.full(data.n_samples, 3))
        selection = self.make().select(threes)
        assert_close(selection, self.make().select(data), "with every count 3", self.rtol)


_MEMORY = 4 << 20
# Besides `run.memory` a fit may hold copies of so small a table, tables of counts and results.
_BESIDE = 4 << 20
_TRIED = 4
_FOR_ONE = ("model", "tables", "warnings")


class ReproducibilityChecks(SelectorChecks):
    """Equal bits for any seed, threads, memory and batch; no side effects."""

    @check
    def test_equal_seeds_give_equal_bits(self) -> None:
        data = self.table()
        first = self.make().select(data, seed=7)
        np.random.default_rng().random()  # Global state must neither matter nor change.
        before = repr(np.random.get_state())
        assert_equal(self.make().select(data, seed=7), first, "the second run with one seed")
        after = repr(np.random.get_state())
        assert before == after, "numpy's global random state was used; use run.generator()"

    @check
    def test_number_of_threads_changes_no_bit(self) -> None:
        method = self.make()
        data = tables.suited(method.tasks, 150, 12)
        one = method.select(data, run=Run(entropy=1, threads=1))
        assert_equal(method.select(data, run=Run(entropy=1, threads=2)), one, "with two threads")

    @check
    def test_threads_of_linear_algebra_change_no_bit(self) -> None:
        from threadpoolctl import threadpool_limits

        method = self.make()
        # Large enough for a library to divide its products among threads.
        data = tables.suited(method.tasks, 60, 130)
        selections = []
        for threads in (1, 2):
            with threadpool_limits(threads, user_api="blas"):
                selections.append(method.select(data, run=Run(entropy=1)))
        assert_equal(
            selections[1], selections[0], "with two threads in the library of linear algebra"
        )

    @check
    def test_a_small_memory_limit_changes_nothing(self) -> None:
        method = self.make()
        data = tables.suited(method.tasks, 150, 12)
        wide = method.select(data, run=Run(entropy=1))
        try:
            tight = method.select(data, run=Run(entropy=1, memory=1 << 18))
        except FsframeError as error:
            # A method that cannot work in blocks may refuse, and must name the limit.
            assert "memory" in str(error), f"refused with 256 KB: {error}"
            return
        assert_close(tight, wide, "with 256 KB for temporaries", self.rtol)

    @check
    def test_many_resamples_equal_one_by_one(self) -> None:
        method, data, run = self.make(), self.table(), Run(entropy=5, key=(2,))
        counts = resamples(data, 4)
        many = method.select_many(data, counts, run=run)
        assert len(many) == len(counts)
        for b, (row, selection) in enumerate(zip(counts, many, strict=True)):
            alone = method.select(data.with_counts(row), run=run.child(b))
            # Tables are for single results and may be left out here.
            assert_equal(selection, alone, f"resample {b} among many", besides=_FOR_ONE)
        tail = method.select_many(data, counts[1:], run=run.batch(1))
        assert_equal(tail[0], many[1], "resample 1 in another batch")
        assert_equal(tail[-1], many[-1], "the last resample in another batch")

    @check
    def test_many_resamples_after_a_stage_equal_one_by_one(self) -> None:
        method, data, run = self.make(), self.table(), Run(entropy=5)
        counts, upstream = resamples(data, 2), some_upstream(data)
        many = method.select_many(data, counts, upstream, run)
        for b, (row, selection) in enumerate(zip(counts, many, strict=True)):
            alone = method.select(data.with_counts(row), upstream, run.child(b))
            assert_equal(selection, alone, f"resample {b} among many", besides=_FOR_ONE)

    @check
    def test_number_of_threads_changes_no_bit_on_many_rows(self) -> None:
        method, data = self.make(), self._many_rows()
        one = method.select(data, run=Run(entropy=1, threads=1))
        for threads in (2, 3):
            selection = method.select(data, run=Run(entropy=1, threads=threads))
            assert_equal(selection, one, f"with {threads} threads and {data.n_samples} rows")

    @check
    def test_the_memory_limit_holds_on_many_rows(self) -> None:
        method, data = self.make(), self._many_rows()

        def select() -> None:
            method.select(data, run=Run(entropy=1, memory=_MEMORY))

        try:
            select()
            peak = peak_bytes(select)
        except FsframeError as error:
            assert "memory" in str(error) or "allowed" in str(error), f"refused: {error}"
            return
        allowed = 2 * _MEMORY + _BESIDE
        assert peak <= allowed, (
            f"run.memory is {_MEMORY >> 20} MiB, but {peak / 2**20:.0f} MiB were held for "
            f"{data.n_samples} rows: work in blocks, or refuse with run.must_hold()"
        )

    def _many_rows(self) -> Dataset:
        return tables.suited(self.make().tasks, 1200, 4)

    @check
    def test_a_column_that_determines_the_target_comes_first(self) -> None:
        if "regression" not in self.make().tasks:
            raise not_applicable("it does not accept numeric targets")
        data = tables.followed()
        selection = self.make().select(data)
        assert selection.selected.size and selection.selected[0] == 4, (
            "the target is column 4 with a little noise, but "
            f"{selection.selected.tolist()} were kept"
        )

    @check
    def test_every_parameter_has_an_effect(self) -> None:
        method, data = self.make(), self.table()
        X = data.X.copy()
        X[::9, 2] = np.nan
        holed = tables.with_columns(data, X)
        wanted = {p.name for p in method.parameters()} - {"top", "base"}
        # A parameter may matter only with other values of another: change one at a time.
        for variant in (method, *_variants(method)):
            if not wanted:
                return
            for each in (data, holed) if method.takes_missing else (data,):
                with contextlib.suppress(FsframeError):
                    read = read_attributes(variant, partial(_asked, variant, each))
                    wanted -= read
        idle = [p for p in method.parameters() if p.name in wanted]
        unread = [p.name for p in idle if not _refuses(method, p, data)]
        assert not unread, f"never read for any value of the other parameters: {', '.join(unread)}"


def _others(parameter: Parameter, value: Any) -> Iterator[Any]:
    """Some other valid values of a parameter."""
    number = value if isinstance(value, (int, float)) and not isinstance(value, bool) else None
    wanted: list[Any] = [not value if isinstance(value, bool) else None]
    wanted += parameter.kind.choices()
    if number is not None:
        wanted += [number * 2, number / 2, number + 1, number - 1]
    wanted += [1, 2, 3, 0.1, 0.5, 0.9, 10]
    given: list[Any] = [value]
    for each in wanted:
        if each is None or len(given) > _TRIED:
            continue
        try:
            taken = parameter.kind.convert(each)
        except (ValueError, TypeError):
            continue
        # A parameter of free text would accept anything.
        if isinstance(taken, str) and not isinstance(each, str):
            continue
        if not any(type(taken) is type(old) and taken == old for old in given):
            given.append(taken)
            yield taken


def _variants(method: Selector) -> Iterator[Selector]:
    """The method with one parameter changed."""
    for parameter in method.parameters():
        if parameter.name in ("top", "base"):
            continue
        for value in _others(parameter, getattr(method, parameter.name)):
            with contextlib.suppress(FsframeError):
                yield attrs.evolve(method, **{parameter.name: value})


def _asked(method: Selector, data: Dataset) -> None:
    """Check the request, then select, as a chain does."""
    list(method.check_request(data))
    method.select(data, seed=2)


def _refuses(method: Selector, parameter: Parameter, data: Dataset) -> bool:
    """Whether another value of it is refused, so that it is not ignored."""
    for value in _others(parameter, getattr(method, parameter.name)):
        try:
            attrs.evolve(method, **{parameter.name: value}).select(data, seed=2)
        except FsframeError:
            return True
    return False
