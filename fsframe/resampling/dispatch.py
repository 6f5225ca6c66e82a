"""Handing tasks to an engine and taking in their answers, whatever happens to workers meanwhile."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Future, wait
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.contracts.dataset import Dataset
from fsframe.errors import EngineError
from fsframe.execution.engine import Engine
from fsframe.execution.sharing import SharedValue
from fsframe.resampling.batches import Batches
from fsframe.resampling.work import Answer, Call, Draws, Task, split, work

__all__ = ["Dispatcher"]

_TICK = 0.25
_MOST_DEATHS = 3


@attrs.define(eq=False)
class _Job:
    """Resamples `start` … `stop` - 1, and how often workers have died while they were in hand."""

    start: int
    stop: int
    deaths: int = 0
    whole: frozenset[str] = frozenset()

    @property
    def suspect(self) -> bool:
        """Whether one more death would be one too many."""
        return self.deaths >= _MOST_DEATHS - 1


class Dispatcher:
    """Sends the resamples of one call to an engine.

    Parameters
    ----------
    engine : Engine
    data : Dataset
        The table that the counts refer to.
    call : Call
    counts : (n_resamples, n_samples) int, or Draws
    batches : Batches
    """

    def __init__(
        self,
        engine: Engine,
        data: Dataset,
        call: Call,
        counts: NDArray[np.integer[Any]] | Draws,
        batches: Batches,
    ) -> None:
        self._engine = engine
        self._data = data
        self._call = call
        self._batches = batches
        self._counts = counts
        self._pending: dict[Future[Any], _Job] = {}
        self._again: deque[_Job] = deque()

    def results(
        self, gaps: Iterable[tuple[int, int]], room: Callable[[int], bool]
    ) -> Iterator[tuple[int, int, bytes]]:
        """Start, stop and packed results of every task, in the order in which they are finished.

        Parameters
        ----------
        gaps : iterable of (start, stop)
            The resamples to compute, in order.
        room : callable
            Whether the resamples from a given one on may be begun, now.

        Raises
        ------
        EngineError
            If workers died three times over the same resamples, a worker has other versions than
            this process, or the engine is lost.
        FsframeError, Exception
            What a worker raised.
        """
        engine = self._engine
        waiting = deque(gaps)
        if waiting:
            engine.admit(self._call.software)
        table = engine.share_table(self._data.matrix, split(self._data))
        call = engine.share(self._call)
        last = time.monotonic()
        try:
            while waiting or self._again or self._pending:
                self._fill(waiting, table, call, room)
                if not self._pending:
                    # Nobody is there to hand work to; `stalled` says when to give up.
                    time.sleep(_TICK)
                done, _ = wait(self._pending, timeout=_TICK, return_when=FIRST_COMPLETED)
                engine.check()
                yield from self._take(done, table, call)
                if done:
                    last = time.monotonic()
                if engine.lost_tables() or engine.stalled(0 if done else time.monotonic() - last):
                    self._take_back()
                    last = time.monotonic()
        finally:
            engine.cancel(self._pending)
            call.release()

    def _fill(
        self,
        waiting: deque[tuple[int, int]],
        table: SharedValue,
        call: SharedValue,
        room: Callable[[int], bool],
    ) -> None:
        """Keep every worker busy, and one task ready for each."""
        while self._engine.ready and len(self._pending) < self._most():
            alone = [job for job in (*self._again, *self._pending.values()) if job.suspect]
            if alone and self._pending:
                # So that a job that kills its worker takes no other down with it.
                return
            if self._again:
                job = alone[0] if alone else self._again[0]
                self._again.remove(job)
                self._submit(job, table, call)
                continue
            if not waiting or not room(waiting[0][0]):
                return
            start, stop = waiting.popleft()
            left = stop - start + sum(end - begin for begin, end in waiting)
            engine = self._engine
            middle = self._batches.stop(start, stop, engine.workers, left, engine.least_seconds)
            if middle < stop:
                waiting.appendleft((middle, stop))
            self._submit(_Job(start, middle), table, call)

    def _most(self) -> int:
        return (2 if self._batches.known else 1) * self._engine.workers

    def _submit(self, job: _Job, table: SharedValue, call: SharedValue) -> None:
        references = [
            self._engine.reference(held, whole=held.shared.token in job.whole)
            for held in (table, call)
        ]
        counts = None
        if isinstance(self._counts, np.ndarray):
            counts = self._counts[job.start : job.stop]
            # Small numbers: one byte each instead of eight on the way.
            counts = counts.astype(np.min_scalar_type(int(counts.max(initial=0))))
        task = Task(start=job.start, stop=job.stop, counts=counts)
        try:
            future = self._engine.submit(work, *references, task)
        except BrokenExecutor as error:
            self._lost([job], error)
            return
        self._pending[future] = job

    def _take(
        self, done: Iterable[Future[Any]], table: SharedValue, call: SharedValue
    ) -> Iterator[tuple[int, int, bytes]]:
        dead: list[_Job] = []
        reason: BaseException | None = None
        for future in done:
            job = self._pending.pop(future)
            try:
                answer: Answer = future.result()
            except (Exception, CancelledError) as error:
                if not self._engine.died(error):
                    raise
                dead.append(job)
                reason = error
                continue
            if answer.differing:
                raise EngineError(answer.differing)
            if answer.lacking:
                self._again.append(attrs.evolve(job, whole=job.whole | set(answer.lacking)))
                continue
            self._batches.saw(job.stop - job.start, answer.seconds)
            yield job.start, job.stop, answer.content
        if dead:
            assert reason is not None
            self._lost(dead, reason)

    def _take_back(self) -> None:
        """Hand everything out anew."""
        jobs = list(self._pending.values())
        self._engine.cancel(self._pending)
        self._pending.clear()
        self._lost(jobs, CancelledError())

    def _lost(self, dead: list[_Job], reason: BaseException) -> None:
        """Workers died: put others in their place, and do again what was in their hands."""
        self._engine.check()
        if isinstance(reason, BrokenExecutor):
            # The whole pool is gone: no future of it will come any more, finished ones apart.
            dead = dead + [self._pending.pop(f) for f in list(self._pending) if not _came(f)]
            if not self._engine.replace_lost():
                raise EngineError(
                    f"the executor broke ({reason}); run again with a new one"
                ) from reason
        for job in dead:
            job.deaths += 1
        unlucky = [job for job in dead if job.deaths >= _MOST_DEATHS]
        if unlucky:
            which = ", ".join(f"{job.start + 1}–{job.stop}" for job in unlucky)
            raise EngineError(
                f"worker processes died {_MOST_DEATHS} times while they computed resamples {which};"
                " usually memory was short: take fewer workers (--workers), or a smaller --memory"
            ) from reason
        self._again.extend(sorted(dead, key=lambda job: job.start))


def _came(future: Future[Any]) -> bool:
    """Whether a future has a result (or an error of the work itself) that can still be taken."""
    if not future.done() or future.cancelled():
        return False
    return not isinstance(future.exception(), BrokenExecutor)
