"""Worker processes on this machine, one thread each, replaced when they die."""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor
from multiprocessing import connection
from typing import Any

from fsframe.execution.engine import (
    PATIENCE,
    Engine,
    EngineOptions,
    call_with_timeout,
    check_classes,
)
from fsframe.execution.process_start import leave_unguarded_script, start_worker
from fsframe.system import (
    STOPPING,
    available_processors,
    process_status,
    signals_handled,
    terminal_signals_blocked,
    track_semaphores,
)
from fsframe.text import counted, remark

_LOOK_SECONDS = 1.0
# Time for the standard library to notice that processes of a pool are dead.
_SEEN_SECONDS = 2.0
_END_SECONDS = 5.0
# Started on any machine: runs with several workers can be tried, and tested, on one processor.
_FEW = 4


class ProcessEngine(Engine):
    """Worker processes, started by spawn, all at once and in the background.

    Parameters
    ----------
    workers : int, optional
        Their number; by default that of the available processors, which is also the largest that
        is started, except that four always are.
    patience : float
        Seconds for which a worker may be stopped (SIGSTOP) before it is replaced; detected on
        Linux only.

    Notes
    -----
    Nothing waits for a worker to end by itself. A worker that is killed while it holds a lock of
    the pool's queues, or half-way through an answer, would leave all others, and the pool's own
    thread, waiting forever.
    """

    takes = frozenset({"workers"})

    @classmethod
    def open(cls, options: EngineOptions) -> ProcessEngine:
        """A pool with the number of workers in the options."""
        return cls(options.workers, options.patience)

    def __init__(self, workers: int | None = None, patience: float = PATIENCE) -> None:
        leave_unguarded_script()
        count, most = workers or available_processors(), max(available_processors(), _FEW)
        if count > most:
            remark(
                f"{counted(most, 'worker')} started, not {count}: more than there are "
                "processors make no run faster"
            )
            count = most
        super().__init__(_pool(count), count)
        self._patience = patience
        self._looked = time.monotonic()
        self._looks_dead = 0
        self._stopped: dict[int, float] = {}
        self._ended = False
        self._starting = threading.Lock()
        for _ in range(count):
            # The pool starts a process when a task finds none idle.
            self.submit(int)

    def admit(self, needed: Mapping[str, str]) -> None:
        """Refuse classes that workers cannot import; they have this process's own versions."""
        check_classes(needed, program=True)

    def submit(self, function: Any, *arguments: Any) -> Future[Any]:
        """As in the base class; processes started here never receive Ctrl-C or SIGHUP."""
        with _deferred_signals(), self._starting, terminal_signals_blocked():
            return self.executor.submit(function, *arguments)

    def replace_lost(self) -> bool:
        """Make a new pool: one dead process breaks a pool of the standard library."""
        _end(self.executor)
        if self._ended:
            return False
        self.executor = _pool(self.workers)
        if self._ended:
            # Another thread has called `kill` meanwhile.
            self.kill()
            return False
        self._looks_dead = 0
        self._stopped.clear()
        return True

    def stalled(self, seconds: float) -> bool:
        """Kill what blocks the pool, so that its tasks are submitted again; always False."""
        now = time.monotonic()
        passed = now - self._looked
        if passed < _LOOK_SECONDS:
            return False
        self._looked = now
        processes = _processes(self.executor)
        dead = connection.wait([process.sentinel for process in processes], 0)
        self._looks_dead = self._looks_dead + 1 if dead else 0
        if self._looks_dead * _LOOK_SECONDS > _SEEN_SECONDS:
            # The pool's thread is reading an answer from a dead process; end it, and the pool.
            _kill(self.executor)
        # Bounded, since this process may have been stopped too.
        passed = min(passed, 2 * _LOOK_SECONDS)
        self._stopped = {
            process.pid: self._stopped.get(process.pid, 0.0) + passed
            for process in processes
            if process_status(process.pid)[:1] == ["T"]
        }
        for process in processes:
            if self._stopped.get(process.pid, 0.0) > self._patience:
                process.kill()
        return False

    def kill(self) -> None:
        """Kill the processes immediately; they are not replaced."""
        self._ended = True
        # A process that is just starting is not in the pool's list yet.
        started = self._starting.acquire(timeout=_END_SECONDS)
        try:
            pool, self.executor = self.executor, _Ended()
            _end(pool)
        finally:
            if started:
                self._starting.release()

    def close(self) -> None:
        """Kill the processes: all answers have arrived, or are not wanted."""
        self.kill()
        super().close()


class _Ended(Executor):
    """Replaces a pool that has been shut down."""

    def submit(self, *_: Any, **__: Any) -> Any:
        raise BrokenExecutor("the worker processes were terminated")


def _pool(workers: int) -> ProcessPoolExecutor:
    context = multiprocessing.get_context("spawn")
    with terminal_signals_blocked():
        # It tracks the pool's semaphores. Signals of the terminal would end it, and its successor
        # would warn about each semaphore.
        track_semaphores()
        return ProcessPoolExecutor(workers, mp_context=context, initializer=start_worker)


def _processes(pool: Executor) -> list[Any]:
    # There is no public interface before Python 3.14.
    return list((getattr(pool, "_processes", None) or {}).values())


def _kill(pool: Executor) -> None:
    """Kill the processes of a pool, and wake its own thread."""
    for process in _processes(pool):
        process.kill()
    answers = getattr(getattr(pool, "_result_queue", None), "_writer", None)
    if answers is not None:
        # Reading half an answer ends only when no writer is left.
        with contextlib.suppress(OSError):
            answers.close()


def _end(pool: Executor) -> None:
    _kill(pool)
    with contextlib.suppress(TimeoutError):
        # Returns once the pool has noticed that they are dead and released its semaphores.
        call_with_timeout(_END_SECONDS, pool.shutdown, wait=True, cancel_futures=True)


@contextlib.contextmanager
def _deferred_signals() -> Iterator[None]:
    """Defer signals that would end this process.

    A process that is being started reads its setup from this one, and prints a traceback if that is
    cut off.
    """
    came: list[int] = []
    try:
        with signals_handled(STOPPING, lambda number, _: came.append(number)):
            yield
    finally:
        for number in came:
            signal.raise_signal(number)
