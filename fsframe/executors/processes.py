"""A pool of worker processes on this machine, one thread each, replaced when they die."""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor
from typing import Any

from fsframe.executors.engine import Engine
from fsframe.executors.starting import start_worker
from fsframe.run import available_threads

__all__ = ["ProcessEngine"]


class ProcessEngine(Engine):
    """Worker processes, started afresh (spawn), all at once and while their maker goes on.

    Parameters
    ----------
    workers : int, optional
        How many; as many as this process may use processors by default.
    """

    def __init__(self, workers: int | None = None) -> None:
        count = workers or available_threads()
        super().__init__(_pool(count), count)
        self._going: set[Future[Any]] = set()
        self._ended = False
        for _ in range(count):
            # The pool starts a process with a task that finds none idle.
            self.submit(int)

    def submit(self, function: Any, *arguments: Any) -> Future[Any]:
        """As the pool gives it; the processes that this starts never see Ctrl-C."""
        with _without_interrupts():
            future = self.executor.submit(function, *arguments)
        self._going.add(future)
        future.add_done_callback(self._going.discard)
        return future

    def replace_lost(self) -> bool:
        """A new pool: one dead process makes the standard library give up the whole pool."""
        if self._ended:
            return False
        self._end_processes()
        self.executor = _pool(self.workers)
        return True

    def kill(self) -> None:
        """End the processes, at once and whatever they are doing; no others take their place."""
        self._ended = True
        self._end_processes()

    def _end_processes(self) -> None:
        # No public way exists before Python 3.14.
        for process in list((getattr(self.executor, "_processes", None) or {}).values()):
            process.kill()
        # Returns once the pool has seen that they are dead, and has let go of its semaphores.
        self.executor.shutdown(wait=True, cancel_futures=True)
        self.executor = _Ended()

    def close(self) -> None:
        """End the processes; those that still compute what nobody waits for, at once."""
        if any(not future.done() for future in set(self._going)):
            self.kill()
        self.executor.shutdown(wait=True, cancel_futures=True)
        super().close()


class _Ended(Executor):
    """What stands where a pool was that has been ended."""

    def submit(self, *_: Any, **__: Any) -> Any:
        raise BrokenExecutor("the worker processes were ended")


def _pool(workers: int) -> ProcessPoolExecutor:
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(workers, mp_context=context, initializer=start_worker)


@contextlib.contextmanager
def _without_interrupts() -> Iterator[None]:
    """Processes started here have Ctrl-C blocked from their first moment."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
