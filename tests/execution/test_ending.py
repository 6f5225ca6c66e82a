"""Closing an engine ends it in bounded time, whatever has become of its workers."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time

import pytest
from executor_bases import Noise, half_an_answer, stop_here

from fsframe.execution.processes import ProcessEngine
from fsframe.method.run import Run


def pids(engine: ProcessEngine) -> list[int]:
    return [process.pid for process in engine.executor._processes.values()]


def idle(workers: int) -> ProcessEngine:
    """An engine whose workers all wait for a task; one of them holds the queue's lock."""
    engine = ProcessEngine(workers)
    for future in [engine.submit(int) for _ in range(4 * workers)]:
        future.result()
    time.sleep(0.2)
    return engine


def gone(pid: int) -> bool:
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def close_in_time(engine: ProcessEngine) -> None:
    workers = pids(engine)
    closing = threading.Thread(target=engine.close, daemon=True)
    closing.start()
    # Far above what it takes; what is tested is that it ends at all.
    closing.join(30)
    hangs = closing.is_alive()
    if hangs:
        for pid in workers:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    assert not hangs
    assert all(gone(pid) for pid in workers)


def test_workers_that_are_stopped_do_not_keep_an_engine_from_closing():
    engine = idle(2)
    for pid in pids(engine):
        os.kill(pid, signal.SIGSTOP)
    close_in_time(engine)


@pytest.mark.parametrize("which", [0, 1])
def test_a_worker_killed_while_the_engine_closes_leaves_no_other_waiting(which):
    """One of the two holds the lock of the queue of tasks, and the other waits for it for ever."""
    engine = idle(2)
    workers = pids(engine)
    for pid in workers:
        os.kill(pid, signal.SIGSTOP)

    def kill_one() -> None:
        time.sleep(0.3)
        with contextlib.suppress(ProcessLookupError):
            os.kill(workers[which], signal.SIGKILL)
        for pid in workers:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)

    killer = threading.Thread(target=kill_one)
    killer.start()
    close_in_time(engine)
    killer.join()


def test_a_worker_killed_half_way_through_its_answer_is_survived(bits, table, counts, monkeypatch):
    monkeypatch.setattr("fsframe.execution.processes._LOOK_SECONDS", 0.2)
    monkeypatch.setattr("fsframe.execution.processes._SEEN_SECONDS", 0.5)
    with ProcessEngine(2) as engine:
        half = engine.submit(half_an_answer)
        # The answers of all workers come through one pipe, which now is waited at for ever.
        found = bits(Noise(), table, counts, Run(entropy=5, executor=engine))
        assert found == bits(Noise(), table, counts, Run(entropy=5))
        assert half.exception(30) is not None


def test_a_worker_that_is_stopped_costs_patience_and_no_more(bits, table, counts, monkeypatch):
    monkeypatch.setattr("fsframe.execution.processes._LOOK_SECONDS", 0.1)
    with ProcessEngine(1, patience=0.3) as engine:
        [first] = pids(engine)
        engine.submit(stop_here)
        found = bits(Noise(), table, counts, Run(entropy=5, executor=engine))
        assert found == bits(Noise(), table, counts, Run(entropy=5))
        assert first not in pids(engine)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_process_that_is_being_started_gets_everything_before_a_signal_ends_this_one(number):
    """What reads half of what it shall be complains on stderr, with a traceback."""
    with contextlib.closing(ProcessEngine(1)) as engine:
        told = []

        class Slow:
            def submit(self, *_):
                signal.raise_signal(number)
                time.sleep(0.01)
                told.append("all")

        class Ended(BaseException):
            pass

        def end(*_):
            raise Ended

        before, pool = signal.signal(number, end), engine.executor
        try:
            engine.executor = Slow()
            with pytest.raises(Ended):
                engine.submit(int)
            assert told == ["all"] and signal.getsignal(number) is end
        finally:
            engine.executor = pool
            signal.signal(number, before)
