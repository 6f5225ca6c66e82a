"""Side effects that are not allowed, memory limits, and parameters that have an effect."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from functools import partial
from typing import Any

import attrs
import numpy as np

from fsframe.contracts.dataset import Dataset
from fsframe.contracts.params import Parameter
from fsframe.contracts.run import Run
from fsframe.contracts.selector import Selector
from fsframe.errors import FsframeError
from fsframe.testing import tables
from fsframe.testing.comparisons import assert_equal
from fsframe.testing.conformance import law, not_applicable
from fsframe.testing.selector_laws.base import SelectorLaws
from fsframe.testing.side_effects import changed_globals, peak_bytes, read_attributes, written_files

__all__ = ["SideEffectLaws"]

_MEMORY = 4 << 20
# Besides `run.memory` a fit may hold copies of so small a table, tables of counts and results.
_BESIDE = 4 << 20
_TRIED = 4


class SideEffectLaws(SelectorLaws):
    """Side effects, memory limits, and parameters without effect."""

    @law
    def test_nothing_global_is_changed(self) -> None:
        changed = changed_globals(lambda: self.make().select(self.table(), seed=1))
        assert not changed, f"changed for the whole process: {'; '.join(changed)}"

    @law
    def test_no_file_is_written(self) -> None:
        found = written_files(lambda: self.make().select(self.table(), seed=1))
        assert not found, (
            f"writing files is left to the core (Selection.tables): {', '.join(found[:3])}"
        )

    @law
    def test_number_of_threads_changes_no_bit_on_many_rows(self) -> None:
        method, data = self.make(), self._many_rows()
        one = method.select(data, run=Run(entropy=1, threads=1))
        for threads in (2, 3):
            found = method.select(data, run=Run(entropy=1, threads=threads))
            assert_equal(found, one, f"with {threads} threads and {data.n_samples} rows")

    @law
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

    @law
    def test_a_column_that_determines_the_target_comes_first(self) -> None:
        if "regression" not in self.make().tasks:
            raise not_applicable("it does not accept numeric targets")
        data = tables.followed()
        found = self.make().select(data)
        assert found.selected.size and found.selected[0] == 4, (
            f"the target is column 4 with a little noise, but {found.selected.tolist()} were kept"
        )

    @law
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
