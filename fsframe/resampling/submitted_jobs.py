"""Jobs submitted to the workers of an engine; those of a lost worker are submitted again."""

from __future__ import annotations

import contextlib
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Future, wait
from pathlib import Path
from typing import Any, Generic, TypeVar

import attrs

from fsframe.errors import EngineError
from fsframe.execution.engine import Engine

__all__ = ["Job", "SubmittedJobs"]

_TICK = 0.25
_MOST_DEATHS = 3


@attrs.define(kw_only=True, eq=False)
class Job:
    """A piece of work, and how often workers died while they computed it."""

    deaths: int = 0

    @property
    def suspect(self) -> bool:
        """Whether one more death would be one too many."""
        return self.deaths >= _MOST_DEATHS - 1


J = TypeVar("J", bound=Job)


class SubmittedJobs(Generic[J]):
    """Submitted jobs without a result, and lost ones that have to be submitted again.

    Parameters
    ----------
    engine : Engine
    doing : callable
        What workers did when they died over some jobs, for messages.

    Attributes
    ----------
    pending : dict of Future to Job
        Submitted jobs.
    again : deque of Job
        Jobs lost with their worker.
    """

    def __init__(self, engine: Engine, doing: Callable[[Sequence[J]], str]) -> None:
        self._engine = engine
        self._doing = doing
        self.pending: dict[Future[Any], J] = {}
        self.again: deque[J] = deque()
        self._last = time.monotonic()

    def has_capacity(self, most: int) -> bool:
        """Whether a job may be submitted now, with at most `most` at a time."""
        if not self._engine.ready or len(self.pending) >= most:
            return False
        # A job that may kill its worker is submitted alone, so that no other is lost with it.
        return not self.pending or not any(
            job.suspect for job in (*self.again, *self.pending.values())
        )

    def take_lost(self) -> J | None:
        """The lost job to submit next, a suspect one first; None if there is none."""
        if not self.again:
            return None
        job = next((job for job in self.again if job.suspect), self.again[0])
        self.again.remove(job)
        return job

    def submit(self, job: J, function: Any, *arguments: Any) -> None:
        """Submit a job: a worker will call ``function(*arguments)``."""
        try:
            self.pending[self._engine.submit(function, *arguments)] = job
        except BrokenExecutor as error:
            self._lost([job], error)

    def answers(self) -> Iterator[tuple[J, Any]]:
        """Jobs that finished within a moment, with their results.

        Raises
        ------
        EngineError
            If workers died three times over the same job, or the engine is lost.
        Exception
            What a worker raised.
        """
        engine = self._engine
        if not self.pending:
            # No worker is available; `stalled` says when to give up.
            time.sleep(_TICK)
        done, _ = wait(self.pending, timeout=_TICK, return_when=FIRST_COMPLETED)
        engine.check()
        dead: list[J] = []
        reason: BaseException | None = None
        for future in done:
            job = self.pending.pop(future)
            try:
                answer = future.result()
            except (Exception, CancelledError) as error:
                if not engine.died(error):
                    raise
                dead.append(job)
                reason = error
                continue
            yield job, answer
        if reason is not None:
            self._lost(dead, reason)
        if done:
            self._last = time.monotonic()
        if engine.lost_tables() or engine.stalled(0 if done else time.monotonic() - self._last):
            self._resubmit_all()
            self._last = time.monotonic()

    def cancel(self) -> None:
        """Cancel submitted jobs that have not started."""
        self._engine.cancel(self.pending)

    def _resubmit_all(self) -> None:
        """Cancel all submitted jobs and queue them again."""
        jobs = list(self.pending.values())
        self.cancel()
        self.pending.clear()
        self._lost(jobs, CancelledError())

    def _lost(self, dead: list[J], reason: BaseException) -> None:
        """Workers died: replace them, and queue their jobs again."""
        self._engine.check()
        if isinstance(reason, BrokenExecutor):
            # The whole pool is lost: only futures that have finished still give a result.
            dead = dead + [self.pending.pop(f) for f in list(self.pending) if not _has_result(f)]
            if not self._engine.replace_lost():
                raise EngineError(
                    f"the executor broke ({reason}); run again with a new one"
                ) from reason
        for job in dead:
            job.deaths += 1
        unlucky = [job for job in dead if job.deaths >= _MOST_DEATHS]
        if unlucky:
            raise EngineError(
                f"worker processes died {_MOST_DEATHS} times while they {self._doing(unlucky)}; "
                + (
                    "they import the script that asks for them: put its actions under "
                    '`if __name__ == "__main__":`'
                    if _is_unguarded_script(sys.modules.get("__main__"))
                    else "usually for lack of memory: use fewer workers (--workers), or a smaller "
                    "--memory"
                )
            ) from reason
        self.again.extend(dead)


def _is_unguarded_script(main: object) -> bool:
    """Whether the main module is a file that looks nowhere at its ``__name__``."""
    with contextlib.suppress(OSError, UnicodeError, TypeError):
        return "__name__" not in Path(getattr(main, "__file__", None) or "").read_text("utf-8")
    return False


def _has_result(future: Future[Any]) -> bool:
    """Whether a future has a result (or an error of the work itself) that can still be taken."""
    if not future.done() or future.cancelled():
        return False
    return not isinstance(future.exception(), BrokenExecutor)
