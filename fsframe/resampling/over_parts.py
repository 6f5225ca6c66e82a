"""Work on the parts of a table, here or in workers; parts of a lost worker are done again."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import attrs

from fsframe.errors import EngineError
from fsframe.execution import as_engine
from fsframe.execution.worker_versions import refusal_here
from fsframe.method.run import Run
from fsframe.resampling.submitted_jobs import Job, SubmittedJobs
from fsframe.resampling.work import needed_by

__all__ = ["equal_parts", "over_parts"]

_SHARED_EVENLY = 4
"""The number of parts is a multiple of this, so that two or four workers get equal shares."""

_MANY = 24
"""Parts that share out evenly whatever their number: unequal shares differ by one part."""

_LEAST_ROWS = 1 << 14
"""Rows of a part below which parts are not made smaller for equal shares."""


def equal_parts(n: int, most: int) -> int:
    """Rows of each part of a table, so that parts have nearly equal sizes and are shared evenly.

    Parameters
    ----------
    n : int ≥ 1
        Rows of the table.
    most : int ≥ 1
        Maximum number of rows of a part.

    Returns
    -------
    int
        At most `most`; the last part may be smaller.

    Examples
    --------
    >>> equal_parts(400_000, 1 << 17), equal_parts(6_400_000, 1 << 17), equal_parts(1000, 300)
    (100000, 131072, 250)
    """
    parts = -(-n // most)
    if parts > _MANY:
        return most
    if n >= _SHARED_EVENLY * _LEAST_ROWS:
        parts += -parts % _SHARED_EVENLY
    return -(-n // parts)


@attrs.define(kw_only=True, eq=False)
class _Share(Job):
    """Parts that are processed together."""

    parts: list[Any]


def over_parts(
    run: Run,
    work: Callable[[Any, list[Any], int], Any],
    ask: Any,
    parts: Sequence[Any],
    threads: int,
) -> Iterator[Any]:
    """The results of `work` for shares of the parts, in the order of completion.

    Parameters
    ----------
    run : Run
        The workers of its executor do the work, if it has one; else this process.
    work : callable
        ``work(ask, parts, threads)``, from a module that workers can import.
    ask : object
        The work to be done; small, since it is sent with every share.
    parts : sequence
        A small object that identifies each part.
    threads : int
        Number of threads in this process; a worker uses one.

    Raises
    ------
    EngineError
        If workers died three times over the same share, one has other versions than this process,
        or the engine is lost.

    Examples
    --------
    >>> sorted(over_parts(Run(), lambda ask, parts, threads: ask * sum(parts), 10, [1, 2, 3], 1))
    [60]
    """
    if run.executor is None:
        yield work(ask, list(parts), threads)
        return
    engine = as_engine(run.executor)
    software = needed_by(work)
    engine.admit(software)
    # Two for each worker, so that others do not wait long for a slow one.
    many = min(len(parts), 2 * engine.workers)
    waiting = deque(_Share(parts=list(parts[k::many])) for k in range(many))
    submitted: SubmittedJobs[_Share] = SubmittedJobs(
        engine, lambda shares: "counted the same parts of the table"
    )
    try:
        while waiting or submitted.again or submitted.pending:
            while submitted.has_capacity(2 * engine.workers):
                share = submitted.take_lost() or (waiting.popleft() if waiting else None)
                if share is None:
                    break
                submitted.submit(share, _in_worker, software, work, ask, share.parts)
            for _, (refusal, found) in submitted.answers():
                if refusal:
                    raise EngineError(refusal)
                yield found
    finally:
        submitted.cancel()
        if engine is not run.executor:
            engine.close()


def _in_worker(
    software: Mapping[str, str], work: Callable[..., Any], ask: Any, parts: list[Any]
) -> tuple[str, Any]:
    """Why this process may not do the work, or else the result of `work` on one thread."""
    refusal = refusal_here(software)
    return (refusal, None) if refusal else ("", work(ask, parts, 1))
