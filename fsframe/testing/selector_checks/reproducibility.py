"""Equal bits for any seed, threads, memory and batch; side effects; parameters without effect."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from functools import partial
from typing import Any

import attrs
import numpy as np

from fsframe.errors import FsframeError
from fsframe.method.run import Run
from fsframe.method.selector import Selector
from fsframe.params import Parameter
from fsframe.table.dataset import Dataset
from fsframe.testing import tables
from fsframe.testing.conformance import check, not_applicable
from fsframe.testing.selector_checks.results import SelectorChecks, resamples, some_upstream
from fsframe.testing.side_effects import changed_globals, peak_bytes, read_attributes, written_files
from fsframe.testing.tables import assert_close, assert_equal

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
        found = []
        for threads in (1, 2):
            with threadpool_limits(threads, user_api="blas"):
                found.append(method.select(data, run=Run(entropy=1)))
        assert_equal(found[1], found[0], "with two threads in the library of linear algebra")

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
        for b, (row, found) in enumerate(zip(counts, many, strict=True)):
            alone = method.select(data.with_counts(row), run=run.child(b))
            # Tables are for single results and may be left out here.
            assert_equal(found, alone, f"resample {b} among many", besides=_FOR_ONE)
        tail = method.select_many(data, counts[1:], run=run.batch(1))
        assert_equal(tail[0], many[1], "resample 1 in another batch")
        assert_equal(tail[-1], many[-1], "the last resample in another batch")

    @check
    def test_many_resamples_after_a_stage_equal_one_by_one(self) -> None:
        method, data, run = self.make(), self.table(), Run(entropy=5)
        counts, upstream = resamples(data, 2), some_upstream(data)
        many = method.select_many(data, counts, upstream, run)
        for b, (row, found) in enumerate(zip(counts, many, strict=True)):
            alone = method.select(data.with_counts(row), upstream, run.child(b))
            assert_equal(found, alone, f"resample {b} among many", besides=_FOR_ONE)

    @check
    def test_nothing_global_is_changed(self) -> None:
        changed = changed_globals(lambda: self.make().select(self.table(), seed=1))
        assert not changed, f"changed for the whole process: {'; '.join(changed)}"

    @check
    def test_no_file_is_written(self) -> None:
        found = written_files(lambda: self.make().select(self.table(), seed=1))
        assert not found, (
            f"writing files is left to the core (Selection.tables): {', '.join(found[:3])}"
        )

    @check
    def test_number_of_threads_changes_no_bit_on_many_rows(self) -> None:
        method, data = self.make(), self._many_rows()
        one = method.select(data, run=Run(entropy=1, threads=1))
        for threads in (2, 3):
            found = method.select(data, run=Run(entropy=1, threads=threads))
            assert_equal(found, one, f"with {threads} threads and {data.n_samples} rows")

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
        found = self.make().select(data)
        assert found.selected.size and found.selected[0] == 4, (
            f"the target is column 4 with a little noise, but {found.selected.tolist()} were kept"
        )

    @check
    def test_every_parameter_has_an_effect(self) -> None:
        method, data = self.make(), self.table()
        X = data.X.copy()
        X[::9, 2] = np.nan
        holed = Dataset.from_arrays(X, data.y, task=data.task)
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
