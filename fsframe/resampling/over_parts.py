"""Work on the parts of a table, here or by workers; a lost worker's part is done again."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import attrs

from fsframe.contracts.run import Run
from fsframe.errors import EngineError
from fsframe.execution import as_engine
from fsframe.execution.worker_versions import refusal_here
from fsframe.resampling.needed_versions import needed_by
from fsframe.resampling.submitted_jobs import Job, SubmittedJobs

__all__ = ["equal_parts", "over_parts"]

_SHARED_EVENLY = 4
"""Parts come in multiples of this, so that two or four workers get equal shares of a few parts."""

_LEAST_ROWS = 1 << 14
"""Rows of a part below which parts are not made smaller for the sake of equal shares."""


def equal_parts(n: int, most: int) -> int:
    """Rows of each part of a table, so that parts are of nearly equal size and share out evenly.

    Parameters
    ----------
    n : int ≥ 1
        Rows of the table.
    most : int ≥ 1
        Most rows of a part.

    Returns
    -------
    int
        At most `most`; the last part may be smaller.

    Examples
    --------
    >>> equal_parts(400_000, 1 << 17), equal_parts(6_400_000, 1 << 17), equal_parts(1000, 300)
    (100000, 123077, 250)
    """
    parts = -(-n // most)
    if n >= _SHARED_EVENLY * _LEAST_ROWS:
        parts += -parts % _SHARED_EVENLY
    return -(-n // parts)


@attrs.define(kw_only=True, eq=False)
class _Share(Job):
    """Parts that are done together."""

    parts: list[Any]


def over_parts(
    run: Run,
    work: Callable[[Any, list[Any], int], Any],
    ask: Any,
    parts: Sequence[Any],
    threads: int,
) -> Iterator[Any]:
    """What `work` gives for shares of the parts, in the order in which they are finished.

    Parameters
    ----------
    run : Run
        Its executor's workers do the work where it has one; otherwise it is done here.
    work : callable
        ``work(ask, parts, threads)``; of a module that workers can import.
    ask : object
        What is to be done; small, since it is sent with every share.
    parts : sequence
        What names each part; small.
    threads : int
        How many threads may be used here; a worker uses one.

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
    # Two for each worker, so that a slow one does not hold up the others for long.
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
    """Why this process may not do the work, or else what `work` gives, on one thread."""
    refusal = refusal_here(software)
    return (refusal, None) if refusal else ("", work(ask, parts, 1))
