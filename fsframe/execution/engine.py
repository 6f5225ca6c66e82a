"""Engines: executors together with what is needed to keep them going."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from typing import Any, ClassVar

import attrs

from fsframe.execution.sharing import SharedValue

__all__ = ["PATIENCE", "Engine", "EngineOptions"]

PATIENCE = 60.0
"""Seconds for which a worker may be silent before others do its work, unless told otherwise."""


@attrs.frozen(kw_only=True)
class EngineOptions:
    """What a user asks of an engine.

    Parameters
    ----------
    workers : int, optional
        How many worker processes to start.
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

    takes: ClassVar[frozenset[str]] = frozenset()
    """What `open` can make use of: "workers", "scheduler"."""
    mappable = True
    least_seconds = 0.05
    """What a task takes at least, where there is as much left to do."""

    def __init__(self, executor: Executor, workers: int | None = None) -> None:
        self.executor = executor
        self._workers = workers
        self.tell: Callable[[str], None] = lambda _: None
        """Is told of what happens to workers, for people."""
        # The matrix too, so that its id stays its own.
        self._tables: dict[int, tuple[Any, SharedValue]] = {}

    @classmethod
    def open(cls, options: EngineOptions) -> Engine:
        """An engine as the user asked for it; authors of engines that have a name write this.

        Raises
        ------
        RequestError
            If something is missing; what the engine does not take (`takes`) is refused before.
        EngineError
            If the scheduler cannot be reached.
        """
        raise NotImplementedError(f"{cls.__name__} cannot be opened by name")

    @property
    def workers(self) -> int:
        """How many tasks run at a time."""
        found = self._workers or getattr(self.executor, "_max_workers", None)
        return max(1, int(found or os.cpu_count() or 1))

    def share(self, value: Any) -> SharedValue:
        """A value that many tasks will name; the caller releases it."""
        return SharedValue(value, mappable=self.mappable)

    def share_table(self, matrix: Any, value: Any) -> SharedValue:
        """The shared table that has `matrix`; kept, since the next call will want it too."""
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

    def reference(self, held: SharedValue, *, whole: bool) -> Any:
        """How a task names a held value; `whole` if the worker has said that it lacks it."""
        return held.parcel if whole else held.shared

    mixed = False
    """Whether workers whose numeric fingerprint is another may be handed work."""

    def other_numerics(self) -> tuple[str, ...]:
        """In what the numeric fingerprints of workers at work differ from that of this process."""
        return ()

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
