"""Submit tasks to an engine and collect their results, whatever happens to workers."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.contracts.dataset import Dataset
from fsframe.errors import EngineError
from fsframe.execution.engine import Engine
from fsframe.execution.shared_values import SharedValue
from fsframe.resampling.batches import Batches
from fsframe.resampling.submitted_jobs import Job, SubmittedJobs
from fsframe.resampling.work import Call, Draws, Task, split, work

__all__ = ["Dispatcher"]


@attrs.define(kw_only=True, eq=False)
class _Resamples(Job):
    """Resamples `start` … `stop` - 1; `whole` are the values that its worker has to be sent."""

    start: int
    stop: int
    whole: frozenset[str] = frozenset()


def _computed(jobs: Sequence[_Resamples]) -> str:
    return "computed resamples " + ", ".join(f"{job.start + 1}–{job.stop}" for job in jobs)


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
        self._submitted = SubmittedJobs(engine, _computed)

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
        engine, submitted = self._engine, self._submitted
        waiting = deque(gaps)
        if waiting:
            engine.admit(self._call.software)
        table = engine.share_table(self._data.matrix, split(self._data))
        call = engine.share(self._call)
        try:
            while waiting or submitted.again or submitted.pending:
                self._fill(waiting, table, call, room)
                for job, answer in submitted.answers():
                    if answer.differing:
                        raise EngineError(answer.differing)
                    if answer.lacking:
                        job.whole |= set(answer.lacking)
                        submitted.again.append(job)
                        continue
                    self._batches.record(job.stop - job.start, answer.seconds)
                    yield job.start, job.stop, answer.content
        finally:
            submitted.cancel()
            call.release()

    def _fill(
        self,
        waiting: deque[tuple[int, int]],
        table: SharedValue,
        call: SharedValue,
        room: Callable[[int], bool],
    ) -> None:
        """Keep every worker busy, and one task ready for each."""
        while self._submitted.has_capacity(
            (2 if self._batches.known else 1) * self._engine.workers
        ):
            lost = self._submitted.take_lost()
            if lost is not None:
                self._submit(lost, table, call)
                continue
            if not waiting or not room(waiting[0][0]):
                return
            start, stop = waiting.popleft()
            left = stop - start + sum(end - begin for begin, end in waiting)
            engine = self._engine
            middle = self._batches.stop(start, stop, engine.workers, left, engine.least_seconds)
            if middle < stop:
                waiting.appendleft((middle, stop))
            self._submit(_Resamples(start=start, stop=middle), table, call)

    def _submit(self, job: _Resamples, table: SharedValue, call: SharedValue) -> None:
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
        self._submitted.submit(job, work, *references, task)
