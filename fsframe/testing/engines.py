"""The checks of engines: equal bits, errors that reach the caller, nothing left running."""

from __future__ import annotations

import multiprocessing
import threading
import time
from collections.abc import Callable
from typing import Any, ClassVar

from fsframe.chains.chain import Chain
from fsframe.errors import DataError
from fsframe.execution.engine import Engine
from fsframe.method.run import Run
from fsframe.testing import tables
from fsframe.testing.conformance import Conformance, check
from fsframe.testing.tables import assert_equal

_CHAIN = "mim:top=2 npfs:n=8,null=published,alpha=0.3"
_SECONDS_TO_STOP = 10.0


class EngineConformance(Conformance):
    """Everything the core promises of an engine; inherit it and write `make`.

    `make` opens an engine with two workers, as ``--engine NAME --workers 2`` does; each check opens
    and closes one of its own.

    Attributes
    ----------
    name : str, optional
        The name it is registered under.
    """

    seconds: ClassVar[float] = 120.0

    @staticmethod
    def make() -> Engine:
        raise NotImplementedError("write make() so that it opens the engine to test")

    @check
    def test_declarations_are_complete(self) -> None:
        with self.make() as engine:
            assert isinstance(engine, Engine), f"make() returned {type(engine).__name__}"
            doc = (type(engine).__doc__ or "").strip()
            assert doc and doc != (Engine.__doc__ or "").strip(), "it has no docstring"
            unknown = set(engine.takes) - {"workers", "scheduler"}
            assert not unknown, f"takes names options that do not exist: {sorted(unknown)}"
            assert engine.workers >= 1, f"it has {engine.workers} workers"

    @check
    def test_results_are_those_without_it(self) -> None:
        data = tables.classes()
        alone = Chain.parse(_CHAIN).select(data, run=Run(entropy=3))
        with self.make() as engine:
            found = Chain.parse(_CHAIN).select(data, run=Run(entropy=3, executor=engine))
            again = Chain.parse(_CHAIN).select(data, run=Run(entropy=3, executor=engine))
        assert_equal(found, alone, "on the engine")
        assert_equal(again, alone, "on the engine, used again")

    @check
    def test_each_answer_is_that_of_its_task(self) -> None:
        with self.make() as engine:
            futures = [engine.submit(divmod, number, 7) for number in range(40)]
            found = [future.result(timeout=self.seconds) for future in futures]
        assert found == [divmod(number, 7) for number in range(40)], (
            "answers were exchanged between tasks"
        )

    @check
    def test_an_error_of_a_task_reaches_the_caller(self) -> None:
        with self.make() as engine:
            future = engine.submit(_refuse, "this table")
            error = future.exception(timeout=self.seconds)
            assert isinstance(error, DataError) and "this table" in str(error), (
                f"the task raised DataError('this table'), and the caller gets {error!r}"
            )
            assert not engine.died(error), "died() takes an error of a task for a lost worker"
            # The worker goes on.
            assert engine.submit(divmod, 9, 7).result(timeout=self.seconds) == (1, 2)

    @check
    def test_a_refused_table_is_refused_as_without_it(self) -> None:
        data = tables.target()
        with self.make() as engine:
            try:
                Chain.parse(_CHAIN.replace("mim", "relief")).select(data, run=Run(executor=engine))
            except DataError:
                return
        raise AssertionError("relief takes no numeric target, and on the engine it gives a result")

    @check
    def test_nothing_is_left_running(self) -> None:
        # What stays for the whole process, such as a resource tracker, is there after one use.
        self._use()
        threads, children = self._alive()
        self._use()
        end = time.monotonic() + _SECONDS_TO_STOP
        while time.monotonic() < end:
            found = self._alive()
            if found[0] <= threads and found[1] <= children:
                return
            time.sleep(0.05)
        raise AssertionError(
            f"after close() there are {found[0]} threads and {found[1]} processes of workers, "
            f"before there were {threads} and {children}"
        )

    @check
    def test_waiting_tasks_are_cancelled(self) -> None:
        start = time.monotonic()
        with self.make() as engine:
            futures = [engine.submit(time.sleep, 0.2) for _ in range(60)]
            engine.cancel(futures)
        taken = time.monotonic() - start
        most = _SECONDS_TO_STOP
        assert taken < most, f"cancel() and close() took {taken:.0f} s for tasks that had not begun"

    @check
    def test_closing_twice_is_harmless(self) -> None:
        engine = self.make()
        engine.close()
        engine.close()

    def _use(self) -> None:
        with self.make() as engine:
            engine.submit(divmod, 9, 7).result(timeout=self.seconds)

    @staticmethod
    def _alive() -> tuple[int, int]:
        return threading.active_count(), len(multiprocessing.active_children())


def _refuse(what: str) -> None:
    raise DataError(what)


def opening(cls: type[Engine]) -> Callable[[], Any]:
    """A function that opens an engine with two workers; RequestError if that is not enough."""
    from fsframe.errors import RequestError
    from fsframe.execution.engine import EngineOptions

    if "scheduler" in cls.takes:
        raise RequestError(
            f"{cls.__name__} needs a scheduler: test it with fsframe.testing.EngineConformance, "
            "whose make() starts one"
        )
    workers = 2 if "workers" in cls.takes else None
    return lambda: cls.open(EngineOptions(workers=workers))
