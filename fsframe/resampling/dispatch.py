"""Submit tasks to an engine and collect their results, also if workers die."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.errors import EngineError
from fsframe.execution.engine import Engine
from fsframe.resampling.batches import Batches
from fsframe.resampling.submitted_jobs import Job, SubmittedJobs
from fsframe.resampling.work import Call, Draws, Task, column_fields, work
from fsframe.table.dataset import Dataset

__all__ = ["Dispatcher"]


@attrs.define(kw_only=True, eq=False)
class _Resamples(Job):
    """Resamples `start` … `stop` - 1; `whole` are the values to send to its worker."""

    start: int
    stop: int
    whole: frozenset[str] = frozenset()


def _computed(jobs: Sequence[_Resamples]) -> str:
    return "computed resamples " + ", ".join(f"{job.start + 1}–{job.stop}" for job in jobs)


@attrs.frozen(eq=False)
class Dispatcher:
    """Sends the resamples of one call to an engine; the counts refer to the table."""

    _engine: Engine
    _data: Dataset
    _call: Call
    _counts: NDArray[np.integer[Any]] | Draws
    _batches: Batches

    def results(
        self, gaps: Iterable[tuple[int, int]], may_start: Callable[[int], bool]
    ) -> Iterator[tuple[int, int, bytes]]:
        """Start, stop and packed results of every task, in the order of completion.

        Parameters
        ----------
        gaps : iterable of (start, stop)
            The resamples to compute, in order.
        may_start : callable
            Whether the resamples from a given one on may be started now.

        Raises
        ------
        EngineError
            If workers died three times over the same resamples, a worker has other versions than
            this process, or the engine is lost.
        FsframeError, Exception
            As raised in a worker.
        """
        engine, waiting = self._engine, deque(gaps)
        submitted: SubmittedJobs[_Resamples] = SubmittedJobs(engine, _computed)
        if waiting:
            engine.admit(self._call.software)
        fields = column_fields(self._data)
        # One matrix may be that of two tables, with other kinds or roles of columns.
        parts = (self._data.matrix, *(fields[name] for name in fields if name != "matrix"))
        table = engine.share_table(parts, fields)
        call = engine.share(self._call)

        def submit(job: _Resamples) -> None:
            references = [
                engine.reference(held, whole=held.shared.token in job.whole)
                for held in (table, call)
            ]
            submitted.submit(job, work, *references, self._task(job.start, job.stop))

        try:
            while waiting or submitted.again or submitted.pending:
                # Every worker is kept busy, with one task ready for each.
                ahead = 2 if self._batches.known else 1
                while submitted.has_capacity(ahead * engine.workers):
                    lost = submitted.take_lost()
                    if lost is not None:
                        submit(lost)
                    elif waiting and may_start(waiting[0][0]):
                        submit(self._next(waiting))
                    else:
                        break
                for job, answer in submitted.answers():
                    if answer.refusal:
                        raise EngineError(answer.refusal)
                    if answer.lacking:
                        job.whole |= set(answer.lacking)
                        submitted.again.append(job)
                        continue
                    self._batches.record(job.stop - job.start, answer.seconds)
                    yield job.start, job.stop, answer.content
        finally:
            submitted.cancel()
            call.release()

    def _next(self, waiting: deque[tuple[int, int]]) -> _Resamples:
        """The next batch, taken from the first gap."""
        engine = self._engine
        start, stop = waiting.popleft()
        left = stop - start + sum(end - begin for begin, end in waiting)
        middle = self._batches.stop(start, stop, engine.workers, left, engine.least_seconds)
        if middle < stop:
            waiting.appendleft((middle, stop))
        return _Resamples(start=start, stop=middle)

    def _task(self, start: int, stop: int) -> Task:
        counts = None
        if isinstance(self._counts, np.ndarray):
            counts = self._counts[start:stop]
            # Small numbers are sent as one byte instead of eight.
            counts = counts.astype(np.min_scalar_type(int(counts.max(initial=0))))
        return Task(start=start, stop=stop, counts=counts)
