"""Tasks at the workers of an engine; those of a lost worker are submitted again."""

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

__all__ = ["HandedOut", "Job"]

_TICK = 0.25
_MOST_DEATHS = 3


@attrs.define(kw_only=True, eq=False)
class Job:
    """A piece of work, and how often workers have died while it was in hand."""

    deaths: int = 0

    @property
    def suspect(self) -> bool:
        """Whether one more death would be one too many."""
        return self.deaths >= _MOST_DEATHS - 1


J = TypeVar("J", bound=Job)


class HandedOut(Generic[J]):
    """The jobs that workers have in hand, and those that have to be done again.

    Parameters
    ----------
    engine : Engine
    doing : callable
        What workers did when they died over some jobs, for messages.

    Attributes
    ----------
    pending : dict of Future to Job
        What was handed out.
    again : deque of Job
        What was lost with its worker.
    """

    def __init__(self, engine: Engine, doing: Callable[[Sequence[J]], str]) -> None:
        self._engine = engine
        self._doing = doing
        self.pending: dict[Future[Any], J] = {}
        self.again: deque[J] = deque()
        self._last = time.monotonic()

    def room(self, most: int) -> bool:
        """Whether a job may be handed out now, `most` at a time."""
        if not self._engine.ready or len(self.pending) >= most:
            return False
        # A job that may kill its worker is handed out alone, so that it takes no other down.
        return not self.pending or not any(
            job.suspect for job in (*self.again, *self.pending.values())
        )

    def take_lost(self) -> J | None:
        """The lost job to hand out next, a suspect one first; None if there is none."""
        if not self.again:
            return None
        job = next((job for job in self.again if job.suspect), self.again[0])
        self.again.remove(job)
        return job

    def submit(self, job: J, function: Any, *arguments: Any) -> None:
        """Hand a job out: a worker shall call ``function(*arguments)``."""
        try:
            self.pending[self._engine.submit(function, *arguments)] = job
        except BrokenExecutor as error:
            self._lost([job], error)

    def answers(self) -> Iterator[tuple[J, Any]]:
        """The jobs that were finished within a moment, with what came of them.

        Raises
        ------
        EngineError
            If workers died three times over the same job, or the engine is lost.
        Exception
            What a worker raised.
        """
        engine = self._engine
        if not self.pending:
            # Nobody is there to hand work to; `stalled` says when to give up.
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
            self._take_back()
            self._last = time.monotonic()

    def cancel(self) -> None:
        """Give up what workers have in hand, as far as it has not begun."""
        self._engine.cancel(self.pending)

    def _take_back(self) -> None:
        """Hand everything out anew."""
        jobs = list(self.pending.values())
        self.cancel()
        self.pending.clear()
        self._lost(jobs, CancelledError())

    def _lost(self, dead: list[J], reason: BaseException) -> None:
        """Workers died: put others in their place, and do again what was in their hands."""
        self._engine.check()
        if isinstance(reason, BrokenExecutor):
            # The whole pool is gone: no future of it will come any more, finished ones apart.
            dead = dead + [self.pending.pop(f) for f in list(self.pending) if not _came(f)]
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


def _came(future: Future[Any]) -> bool:
    """Whether a future has a result (or an error of the work itself) that can still be taken."""
    if not future.done() or future.cancelled():
        return False
    return not isinstance(future.exception(), BrokenExecutor)
