"""Engines: executors together with what is needed to keep them going, opened by name."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from typing import Any, ClassVar

import attrs

from fsframe.errors import RequestError
from fsframe.execution.workers import SharedValue
from fsframe.registry import OwnAndPlugins, engines

PATIENCE = 60.0
"""Default for the seconds after which a silent worker is replaced."""


@attrs.frozen(kw_only=True)
class EngineOptions:
    """The user's options for an engine.

    Parameters
    ----------
    workers : int, optional
        Number of worker processes to start.
    scheduler : str, optional
        The address of a scheduler.
    patience : float
        Seconds for which a worker or scheduler may be silent.
    mixed : bool
        Whether workers may have another numeric fingerprint.
    """

    workers: int | None = None
    scheduler: str | None = None
    patience: float = PATIENCE
    mixed: bool = False


class Engine:
    """Any `concurrent.futures.Executor`, with workers that get each table once.

    Parameters
    ----------
    executor : Executor
        Threads, processes, or anything with that interface. It belongs to the caller: `close`
        leaves it open.
    workers : int, optional
        Number of tasks it runs at a time; by default that of the executor.

    Examples
    --------
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> with ThreadPoolExecutor(2) as pool, Engine(pool) as engine:
    ...     engine.workers
    2
    """

    takes: ClassVar[frozenset[str]] = frozenset()
    """Options that `open` supports: "workers", "scheduler"."""
    mappable = True
    least_seconds = 0.05
    """Minimum duration of a task, if enough work is left."""

    def __init__(self, executor: Executor, workers: int | None = None) -> None:
        self.executor = executor
        self._workers = workers
        self.tell: Callable[[str], None] = lambda _: None
        """Called with messages about workers, for users."""
        # With the objects, so that their ids are not used again.
        self._tables: dict[tuple[int, ...], tuple[Any, SharedValue]] = {}

    @classmethod
    def open(cls, options: EngineOptions) -> Engine:
        """Open an engine with the user's options; authors of named engines write this.

        Raises
        ------
        RequestError
            If an option is missing; options it does not support (`takes`) raise an error before.
        EngineError
            If the scheduler cannot be reached.
        """
        raise NotImplementedError(f"{cls.__name__} cannot be opened by name")

    @property
    def workers(self) -> int:
        """Number of tasks that run at a time."""
        found = self._workers or getattr(self.executor, "_max_workers", None)
        return max(1, int(found or os.cpu_count() or 1))

    def share(self, value: Any) -> SharedValue:
        """Share a value that many tasks use; the caller releases it."""
        return SharedValue(value, mappable=self.mappable)

    def share_table(self, parts: tuple[Any, ...], value: Any) -> SharedValue:
        """The shared `value` of a table that consists of these objects; cached for later calls."""
        key = tuple(map(id, parts))
        found = self._tables.get(key)
        if found is None:
            # Two, so that a temporary table does not evict the main one.
            while len(self._tables) >= 2:
                self._tables.pop(next(iter(self._tables)))[1].release()
            found = self._tables[key] = (parts, self.share(value))
        return found[1]

    def submit(self, function: Any, *arguments: Any) -> Future[Any]:
        """A future of ``function(*arguments)``, as the executor gives it."""
        return self.executor.submit(function, *arguments)

    def reference(self, held: SharedValue, *, whole: bool) -> Any:
        """The reference of a shared value in a task; `whole` if the worker has reported that it
        lacks it.
        """
        return held.parcel if whole else held.shared

    mixed = False
    """Whether workers with another numeric fingerprint are accepted."""

    def other_numerics(self) -> tuple[str, ...]:
        """Differences of the numeric fingerprints of working workers from that of this process."""
        return ()

    def admit(self, needed: Mapping[str, str]) -> None:
        """Ensure that no worker has other versions than `needed`, before work starts.

        Engines that cannot ask beforehand leave the check to the first task.

        Raises
        ------
        EngineError
            Listing the workers that differ, and their differences.
        """

    @property
    def ready(self) -> bool:
        """Whether a worker is available now."""
        return True

    def replace_lost(self) -> bool:
        """Replace dead workers; False if the engine does not manage them."""
        return False

    def died(self, error: BaseException) -> bool:
        """Whether an error means that a worker was lost, not that the task failed."""
        return isinstance(error, (BrokenExecutor, CancelledError))

    def lost_tables(self) -> bool:
        """Whether a shared table was lost, so that submitted tasks would wait for it forever."""
        return False

    def stalled(self, seconds: float) -> bool:
        """Whether submitted tasks will not finish, after so long without an answer."""
        return False

    def cancel(self, futures: Iterable[Future[Any]]) -> None:
        """Cancel submitted tasks that have not started."""
        for future in futures:
            future.cancel()

    def check(self) -> None:
        """Raise EngineError if the engine as a whole is lost."""

    def kill(self) -> None:
        """Stop all computation immediately."""

    def close(self) -> None:
        """Release shared tables, and whatever the engine itself started."""
        while self._tables:
            self._tables.popitem()[1][1].release()

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


SERIAL = "serial"
"""No engine: this process computes everything."""

ENGINES = OwnAndPlugins(
    {
        "dask": (
            "fsframe.execution.engines.dask:ClusterEngine",
            "A cluster of machines through dask.distributed.",
        ),
        "processes": (
            "fsframe.execution.engines.processes:ProcessEngine",
            "Worker processes on this machine, one thread each, replaced when they die.",
        ),
    },
    engines,
)


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
            cluster: Any = ENGINES.get("dask")
            return cluster(client, owned=False)  # type: ignore[no-any-return]
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
    *,
    mixed: bool = False,
) -> Iterator[Engine | None]:
    """Context manager of the requested engine; None for computing in this process.

    Parameters
    ----------
    kind : str, optional
        "serial", "processes", "dask", or one that a plugin offers. By default dask where a
        scheduler is named, processes where a number of workers is, else serial.
    workers : int, optional
        Processes to start; as many as this process may use processors by default.
    scheduler : str, optional
        Address of a scheduler, such as ``tcp://10.0.0.1:8786``.
    patience : float, optional
        Seconds for which a worker or a scheduler may be silent before the run goes on without it;
        60 by default.
    mixed : bool
        Whether workers of a cluster may have another numeric fingerprint (another kind of
        processor, or other BLAS kernels); the run then says so.

    Raises
    ------
    RequestError
        If the options contradict each other.
    EngineError
        If the scheduler cannot be reached.
    """
    chosen = kind or ("dask" if scheduler else "processes" if workers else SERIAL)
    found: type[Engine] | None = None if chosen == SERIAL else ENGINES.get(chosen)
    if found is None and chosen != SERIAL:
        raise ENGINES.unknown(chosen)
    takes = frozenset() if found is None else found.takes
    for name, value, of in (
        ("scheduler", scheduler, "dask"),
        ("number of workers", workers, "processes"),
    ):
        if value and name.rpartition(" ")[2] not in takes:
            raise RequestError(f"a {name} is for engines such as {of}, not for {chosen}")
    if patience is not None and not 0 < patience < float("inf"):
        raise RequestError(f"patience must be a number of seconds above 0, not {patience!r}")
    if found is None:
        yield None
        return
    seconds = PATIENCE if patience is None else float(patience)
    engine = found.open(
        EngineOptions(workers=workers, scheduler=scheduler, patience=seconds, mixed=mixed)
    )
    try:
        with engine:
            yield engine
    except BaseException:
        engine.kill()
        raise
