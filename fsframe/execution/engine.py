"""Engines: executors together with what is needed to keep them going."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from typing import Any

from fsframe.errors import RequestError
from fsframe.execution.sharing import hold

__all__ = ["ENGINES", "PATIENCE", "Engine", "as_engine", "open_engine"]

ENGINES = ("serial", "processes", "dask")
PATIENCE = 60.0
"""Seconds for which a worker may be silent before others do its work, unless told otherwise."""


class Engine:
    """Any `concurrent.futures.Executor`, with workers that get each table once.

    Parameters
    ----------
    executor : Executor
        Threads, processes, or anything with that interface. It stays its owner's: `close` leaves it
        open.
    workers : int, optional
        How many tasks it runs at a time; asked of the executor by default.

    Examples
    --------
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> with ThreadPoolExecutor(2) as pool, Engine(pool) as engine:
    ...     engine.workers
    2
    """

    mappable = True
    least_seconds = 0.05
    """What a task takes at least, where there is as much left to do."""

    def __init__(self, executor: Executor, workers: int | None = None) -> None:
        self.executor = executor
        self._workers = workers
        self.tell: Callable[[str], None] = lambda _: None
        """Is told of what happens to workers, for people."""
        # The matrix too, so that its id stays its own.
        self._tables: dict[int, tuple[Any, hold]] = {}

    @property
    def workers(self) -> int:
        """How many tasks run at a time."""
        found = self._workers or getattr(self.executor, "_max_workers", None)
        return max(1, int(found or os.cpu_count() or 1))

    def share(self, value: Any) -> hold:
        """A hold on a value that many tasks will name; the caller releases it."""
        return hold(value, mappable=self.mappable)

    def share_table(self, matrix: Any, value: Any) -> hold:
        """The hold on the table that has `matrix`; kept, since the next call will want it too."""
        found = self._tables.get(id(matrix))
        if found is None:
            # Tables change seldom; two, so that one that comes and goes does not push out the
            # other.
            while len(self._tables) >= 2:
                self._tables.pop(next(iter(self._tables)))[1].release()
            found = self._tables[id(matrix)] = (matrix, self.share(value))
        return found[1]

    def submit(self, function: Any, *arguments: Any) -> Future[Any]:
        """A future of ``function(*arguments)``, as the executor gives it."""
        return self.executor.submit(function, *arguments)

    def reference(self, held: hold, *, whole: bool) -> Any:
        """How a task names a held value; `whole` if the worker has said that it lacks it."""
        return held.parcel if whole else held.shared

    def admit(self, needed: Mapping[str, str]) -> None:
        """See to it that no worker has other versions than `needed`, before work starts.

        Workers that are not told beforehand say so themselves, with the first task.

        Raises
        ------
        EngineError
            Naming the workers that differ, and in what.
        """

    @property
    def ready(self) -> bool:
        """Whether there is a worker to hand work to, now."""
        return True

    def replace_lost(self) -> bool:
        """Put new workers in the place of dead ones; False where that is not ours to do."""
        return False

    def died(self, error: BaseException) -> bool:
        """Whether an error means that a worker was lost, not that the work is wrong."""
        return isinstance(error, (BrokenExecutor, CancelledError))

    def lost_tables(self) -> bool:
        """Whether a table was found gone, so that what was handed out waits for it in vain."""
        return False

    def stalled(self, seconds: float) -> bool:
        """Whether what was handed out will not come by itself, after so long without an answer."""
        return False

    def cancel(self, futures: Iterable[Future[Any]]) -> None:
        """Give up what was handed out, as far as it has not begun."""
        for future in futures:
            future.cancel()

    def check(self) -> None:
        """Raise EngineError if the engine as a whole is lost."""

    def kill(self) -> None:
        """End what is being computed, at once."""

    def close(self) -> None:
        """Let go of shared tables, and of what the engine itself started."""
        while self._tables:
            self._tables.popitem()[1][1].release()

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def as_engine(executor: Engine | Executor) -> Engine:
    """The engine itself, or one around an executor.

    Raises
    ------
    RequestError
        If it is neither.
    """
    if isinstance(executor, Engine):
        return executor
    if hasattr(executor, "submit"):
        client = getattr(executor, "_client", None)
        if client is not None and type(executor).__module__.startswith("distributed"):
            from fsframe.execution.cluster import ClusterEngine

            return ClusterEngine(client, owned=False)
        return Engine(executor)
    raise RequestError(
        f"executor must be a concurrent.futures.Executor, not {type(executor).__name__}; a dask "
        "client gives one: client.get_executor()"
    )


@contextlib.contextmanager
def open_engine(
    kind: str | None = None,
    workers: int | None = None,
    scheduler: str | None = None,
    patience: float | None = None,
) -> Iterator[Engine | None]:
    """The engine that is asked for, closed in the end; None computes here, one after the other.

    Parameters
    ----------
    kind : {"serial", "processes", "dask"}, optional
        By default dask where a scheduler is named, processes where a number of workers is, else
        serial.
    workers : int, optional
        Processes to start; as many as this process may use processors by default.
    scheduler : str, optional
        Address of a dask scheduler, such as ``tcp://10.0.0.1:8786``.
    patience : float, optional
        Seconds for which a worker or a scheduler may be silent before the run goes on without it;
        60 by default.

    Raises
    ------
    RequestError
        If these do not go together.
    EngineError
        If the scheduler cannot be reached.
    """
    chosen = kind or ("dask" if scheduler else "processes" if workers else "serial")
    if chosen not in ENGINES:
        raise RequestError(f"there is no engine {chosen!r}; there are {', '.join(ENGINES)}")
    if scheduler and chosen != "dask":
        raise RequestError(f"a scheduler is for the engine dask, not {chosen}")
    if workers and chosen != "processes":
        raise RequestError(
            f"a number of workers is for the engine processes, not {chosen}"
            + (": a cluster has the workers it has" if chosen == "dask" else "")
        )
    if patience is not None and not 0 < patience < float("inf"):
        raise RequestError(f"patience must be a number of seconds above 0, not {patience!r}")
    if chosen == "serial":
        yield None
        return
    engine: Engine
    seconds = PATIENCE if patience is None else float(patience)
    if chosen == "processes":
        from fsframe.execution.processes import ProcessEngine

        engine = ProcessEngine(workers, seconds)
    else:
        if not scheduler:
            raise RequestError(
                "the engine dask needs the address of a scheduler, such as "
                "scheduler tcp://10.0.0.1:8786 (--scheduler)"
            )
        from fsframe.execution.cluster import connect

        engine = connect(scheduler, seconds)
    try:
        with engine:
            yield engine
    except BaseException:
        engine.kill()
        raise
