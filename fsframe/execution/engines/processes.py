"""Worker processes on this machine, one thread each, replaced when they die."""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor
from multiprocessing import connection, resource_tracker
from pathlib import Path
from typing import Any

from fsframe.contracts.run import available_threads
from fsframe.execution.engine import PATIENCE, Engine, EngineOptions
from fsframe.execution.timeouts import call_with_timeout
from fsframe.execution.worker_start import start_worker
from fsframe.execution.worker_versions import check_classes

__all__ = ["ENGINE", "ProcessEngine"]

_LOOK_SECONDS = 1.0
# How long the standard library may take to see that the processes of a pool are dead.
_SEEN_SECONDS = 2.0
_END_SECONDS = 5.0
_ENDING = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)


class ProcessEngine(Engine):
    """Worker processes, started afresh (spawn), all at once and while their maker goes on.

    Parameters
    ----------
    workers : int, optional
        How many; as many as this process may use processors by default.
    patience : float
        Seconds for which a worker may be stopped (SIGSTOP) before another takes its place; seen
        where the system tells (Linux).

    Notes
    -----
    Nothing waits for a worker to end by itself. The pool's queues have locks that die with the
    process that holds them: one killed while it waits for a task, or half-way through an answer,
    leaves all others, and the pool's own thread, waiting for ever.
    """

    takes = frozenset({"workers"})

    @classmethod
    def open(cls, options: EngineOptions) -> ProcessEngine:
        """A pool of so many processes."""
        return cls(options.workers, options.patience)

    def __init__(self, workers: int | None = None, patience: float = PATIENCE) -> None:
        count = workers or available_threads()
        super().__init__(_pool(count), count)
        self._patience = patience
        self._looked = time.monotonic()
        self._looks_dead = 0
        self._stopped: dict[int, float] = {}
        self._ended = False
        self._starting = threading.Lock()
        for _ in range(count):
            # The pool starts a process with a task that finds none idle.
            self.submit(int)

    def admit(self, needed: Mapping[str, str]) -> None:
        """Refuse classes that workers cannot import; they have this process's own versions."""
        check_classes(needed, program=True)

    def submit(self, function: Any, *arguments: Any) -> Future[Any]:
        """As the pool gives it; the processes that this starts never see Ctrl-C or SIGHUP."""
        with _deferred_signals(), self._starting, _without_signals():
            return self.executor.submit(function, *arguments)

    def replace_lost(self) -> bool:
        """A new pool: one dead process makes the standard library give up the whole pool."""
        _end(self.executor)
        if self._ended:
            return False
        self.executor = _pool(self.workers)
        if self._ended:
            # By another thread, meanwhile.
            self.kill()
            return False
        self._looks_dead = 0
        self._stopped.clear()
        return True

    def stalled(self, seconds: float) -> bool:
        """False; but sees to it that what dead and stopped processes had in hand comes back."""
        now = time.monotonic()
        passed = now - self._looked
        if passed < _LOOK_SECONDS:
            return False
        self._looked = now
        processes = _processes(self.executor)
        dead = connection.wait([process.sentinel for process in processes], 0)
        self._looks_dead = self._looks_dead + 1 if dead else 0
        if self._looks_dead * _LOOK_SECONDS > _SEEN_SECONDS:
            # The pool's thread reads an answer whose writer is dead; this ends it, and the pool.
            _kill(self.executor)
        # Not by the clock: this process may have been stopped too.
        passed = min(passed, 2 * _LOOK_SECONDS)
        self._stopped = {
            process.pid: self._stopped.get(process.pid, 0.0) + passed
            for process in processes
            if _is_stopped(process.pid)
        }
        for process in processes:
            if self._stopped.get(process.pid, 0.0) > self._patience:
                process.kill()
        return False

    def kill(self) -> None:
        """End the processes, at once and whatever they are doing; no others take their place."""
        self._ended = True
        # One that is just being started is not in the pool's list yet.
        started = self._starting.acquire(timeout=_END_SECONDS)
        try:
            pool, self.executor = self.executor, _Ended()
            _end(pool)
        finally:
            if started:
                self._starting.release()

    def close(self) -> None:
        """End the processes: whoever closes has all answers, or wants none."""
        self.kill()
        super().close()


class _Ended(Executor):
    """What stands where a pool was that has been ended."""

    def submit(self, *_: Any, **__: Any) -> Any:
        raise BrokenExecutor("the worker processes were terminated")


def _pool(workers: int) -> ProcessPoolExecutor:
    context = multiprocessing.get_context("spawn")
    with _without_signals():
        # It keeps the list of the pool's semaphores; what a terminal sends to the whole group would
        # end it, and another in its place would complain of each.
        resource_tracker.ensure_running()
        return ProcessPoolExecutor(workers, mp_context=context, initializer=start_worker)


def _processes(pool: Executor) -> list[Any]:
    # No public way exists before Python 3.14.
    return list((getattr(pool, "_processes", None) or {}).values())


def _kill(pool: Executor) -> None:
    """Kill the processes of a pool, and let its own thread see it, wherever it waits."""
    for process in _processes(pool):
        process.kill()
    answers = getattr(getattr(pool, "_result_queue", None), "_writer", None)
    if answers is not None:
        # Reading half an answer ends only when nobody can write the rest.
        with contextlib.suppress(OSError):
            answers.close()


def _end(pool: Executor) -> None:
    _kill(pool)
    with contextlib.suppress(TimeoutError):
        # Returns once the pool has seen that they are dead, and has let go of its semaphores.
        call_with_timeout(_END_SECONDS, pool.shutdown, wait=True, cancel_futures=True)


def _is_stopped(pid: int) -> bool:
    """Whether a process was stopped (SIGSTOP); False where the system does not tell."""
    try:
        # The name of the program, in parentheses, may itself hold blanks and parentheses.
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return False
    return state == "T"


@contextlib.contextmanager
def _deferred_signals() -> Iterator[None]:
    """What would end this process ends it afterwards.

    A process that is being started reads from this one what it shall be, and complains on stderr
    where that breaks off.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    before = {}
    for number in _ENDING:
        if signal.getsignal(number) not in (signal.SIG_IGN, None):
            before[number] = signal.signal(number, lambda number, _: came.append(number))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for number in came:
            signal.raise_signal(number)


@contextlib.contextmanager
def _without_signals() -> Iterator[None]:
    """Processes started here have Ctrl-C and the end of the terminal blocked from the first moment.

    These reach every process of the group and are the parent's to handle.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGHUP})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


ENGINE = ProcessEngine
