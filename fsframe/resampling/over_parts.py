"""Work on the parts of a table, here or by workers; a lost worker's part is done again."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Future, wait
from typing import Any

import attrs

from fsframe.contracts.run import Run
from fsframe.errors import EngineError
from fsframe.execution import as_engine
from fsframe.execution.engine import Engine

__all__ = ["over_parts"]

_TICK = 0.25
_MOST_DEATHS = 3


@attrs.define(eq=False)
class _Share:
    """Parts that are done together, and how often workers have died meanwhile."""

    parts: list[Any]
    deaths: int = 0


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
        If workers died three times over the same share, or the engine is lost.

    Examples
    --------
    >>> sorted(over_parts(Run(), lambda ask, parts, threads: ask * sum(parts), 10, [1, 2, 3], 1))
    [60]
    """
    if run.executor is None:
        yield work(ask, list(parts), threads)
        return
    engine = as_engine(run.executor)
    workers = min(engine.workers, len(parts))
    # Two for each worker, so that a slow one does not hold up the others for long.
    many = min(len(parts), 2 * workers)
    waiting = deque(_Share(list(parts[k::many])) for k in range(many))
    pending: dict[Future[Any], _Share] = {}
    last = time.monotonic()
    try:
        while waiting or pending:
            while waiting and engine.ready and len(pending) < 2 * engine.workers:
                share = waiting.popleft()
                try:
                    pending[engine.submit(work, ask, share.parts, 1)] = share
                except BrokenExecutor as error:
                    _again(engine, [share], waiting, pending, error)
            if not pending:
                time.sleep(_TICK)
            done, _ = wait(pending, timeout=_TICK, return_when=FIRST_COMPLETED)
            engine.check()
            for future in done:
                if future not in pending:
                    continue
                share = pending.pop(future)
                try:
                    found = future.result()
                except (Exception, CancelledError) as error:
                    if not engine.died(error):
                        raise
                    _again(engine, [share], waiting, pending, error)
                    continue
                yield found
            if done:
                last = time.monotonic()
            if engine.stalled(0 if done else time.monotonic() - last):
                taken = list(pending.values())
                engine.cancel(pending)
                pending.clear()
                _again(engine, taken, waiting, pending, CancelledError())
                last = time.monotonic()
    finally:
        engine.cancel(pending)


def _again(
    engine: Engine,
    lost: list[_Share],
    waiting: deque[_Share],
    pending: dict[Future[Any], _Share],
    reason: BaseException,
) -> None:
    """Put others in the place of dead workers, and have their parts done again."""
    engine.check()
    if isinstance(reason, BrokenExecutor):
        # The whole pool is gone: no future of it will come any more, finished ones apart.
        broken = [future for future in pending if not future.done() or future.exception()]
        lost = lost + [pending.pop(future) for future in broken]
        if not engine.replace_lost():
            raise EngineError(
                f"the executor broke ({reason}); run again with a new one"
            ) from reason
    for share in lost:
        share.deaths += 1
        if share.deaths >= _MOST_DEATHS:
            raise EngineError(
                f"worker processes died {_MOST_DEATHS} times while they counted the same parts; "
                "usually memory was short: take fewer workers (--workers), or a smaller --memory"
            ) from reason
    waiting.extend(lost)
