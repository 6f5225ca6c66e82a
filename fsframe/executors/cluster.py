"""A cluster of machines through dask.distributed."""

from __future__ import annotations

import contextlib
import logging
import math
import time
from collections.abc import Iterable
from concurrent.futures import CancelledError, Future
from typing import Any

from fsframe.errors import EngineError, RequestError
from fsframe.executors.engine import Engine
from fsframe.executors.patience import within
from fsframe.executors.sharing import Scattered, hold

__all__ = ["ClusterEngine", "connect"]

_CONNECT_SECONDS = 10
_COUNT_SECONDS = 3
# How long a scheduler may take to answer, a table to travel, and to forget what was asked.
_ANSWER_SECONDS = 60
_SEND_SECONDS = 900
_CANCEL_SECONDS = 1
# Without a finished task for so long, it is asked whether anybody is at work, and then again.
_QUIET_SECONDS = 10
_LOOK_SECONDS = 5
_IDLE_LOOKS = 3
_ALONE_SECONDS = 300
_GONE = ("lost", "cancelled", "error")


def connect(scheduler: str) -> ClusterEngine:
    """The engine of the cluster whose scheduler is at that address, such as ``tcp://10.0.0.1:8786``.

    Raises
    ------
    RequestError
        If dask.distributed is not installed.
    EngineError
        If nobody answers.
    """
    try:
        from distributed import Client
    except ImportError:
        raise RequestError(
            "the engine dask needs dask.distributed: pip install 'fsframe[dask]'"
        ) from None
    # A lost scheduler is told in one sentence of ours, not in tracebacks of its own.
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    try:
        client = Client(scheduler, timeout=_CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise EngineError(f"cannot reach a dask scheduler at {scheduler}: {reason}") from error
    return ClusterEngine(client, owned=True)


class ClusterEngine(Engine):
    """The workers of a dask cluster; tables are scattered to each of them once.

    Parameters
    ----------
    client : distributed.Client
    owned : bool
        Whether `close` closes the client.

    Notes
    -----
    The scheduler gives the tasks of a dead worker to another by itself. A scheduler that dies takes
    the results that were not yet fetched with it; the run ends with EngineError, and what was
    committed is gone on from.
    """

    mappable = False
    least_seconds = 0.2

    def __init__(self, client: Any, *, owned: bool) -> None:
        super().__init__(client.get_executor(pure=False))
        self._client = client
        self._owned = owned
        self._scattered: dict[str, Any] = {}
        self._threads = 1
        self._counted = -math.inf
        self._looked = self._staffed = -math.inf
        self._idle = self._stalls = 0

    @property
    def workers(self) -> int:
        """Threads of all workers that there are now."""
        self.check()
        # Asking takes a round trip; workers come and go seldom.
        if time.monotonic() - self._counted > _COUNT_SECONDS:
            self._threads = sum(self._ask(_ANSWER_SECONDS, self._client.nthreads).values())
            self._counted = time.monotonic()
        return max(1, self._threads)

    def reference(self, held: hold, *, whole: bool) -> Any:
        """The value as the cluster keeps it; kept anew where it was lost with its workers."""
        token = held.shared.token
        future = self._scattered.get(token)
        if future is None or future.status in _GONE:
            self.check()
            value = Scattered(token, held.value)
            scatter = self._client.scatter
            future = self._ask(_SEND_SECONDS, scatter, value, broadcast=True, hash=False)
            self._scattered[token] = future
        # The cluster forgets a value when the last future of it goes.
        for gone in [known for known in self._scattered if not hold.holds(known)]:
            del self._scattered[gone]
        return future

    def _ask(self, seconds: float, question: Any, *arguments: Any, **options: Any) -> Any:
        """The scheduler's answer; EngineError if it is gone, or silent for so long."""
        try:
            return within(seconds, question, *arguments, **options)
        except TimeoutError as error:
            # Ours, or that of dask itself, which waits for a first worker.
            raise EngineError(
                f"the dask cluster does not answer ({error}); what was finished is kept"
            ) from error
        except (OSError, RuntimeError, CancelledError) as error:
            raise _lost() from error

    def stalled(self, seconds: float) -> bool:
        """Whether nobody works on what was handed out, so that it had better be handed out anew.

        Raises
        ------
        EngineError
            If there is no worker for five minutes, or handing out anew did not help.
        """
        now = time.monotonic()
        if seconds < _QUIET_SECONDS:
            self._staffed, self._idle = now, 0
            if seconds == 0:
                self._stalls = 0
            return False
        if now - self._looked < _LOOK_SECONDS:
            return False
        self._looked = now
        at_work = self._ask(_ANSWER_SECONDS, self._client.processing)
        if not at_work:
            if now - self._staffed > _ALONE_SECONDS:
                raise EngineError(
                    f"the cluster has had no worker for {_ALONE_SECONDS} s; what was finished is "
                    "kept"
                )
            return False
        self._staffed = now
        self._idle = 0 if any(at_work.values()) else self._idle + 1
        if self._idle < _IDLE_LOOKS:
            return False
        self._idle, self._stalls = 0, self._stalls + 1
        if self._stalls >= _IDLE_LOOKS:
            raise EngineError(
                "the workers of the cluster are idle, but tasks do not come back; what was "
                "finished is kept"
            )
        return True

    def cancel(self, futures: Iterable[Future[Any]]) -> None:
        """As for any engine, but for a second at most: the scheduler may be gone."""
        with contextlib.suppress(Exception):
            within(_CANCEL_SECONDS, super().cancel, list(futures))

    def died(self, error: BaseException) -> bool:
        """As for any engine; the scheduler also gives up tasks whose workers died several times."""
        from distributed.comm import CommClosedError
        from distributed.scheduler import KilledWorker

        return super().died(error) or isinstance(error, (KilledWorker, CommClosedError))

    def lost_tables(self) -> bool:
        """Whether the last worker that held a table is gone; its tasks would wait for ever."""
        gone = [token for token, future in self._scattered.items() if future.status in _GONE]
        for token in gone:
            del self._scattered[token]
        return bool(gone)

    def check(self) -> None:
        """Raise EngineError if the scheduler is gone."""
        if self._client.status != "running":
            raise _lost()

    def kill(self) -> None:
        """Have the cluster drop what it was asked for."""
        with contextlib.suppress(Exception):
            within(_CANCEL_SECONDS, self.executor.shutdown, wait=False)

    def close(self) -> None:
        """Let go of what was scattered, and of the client if it is ours."""
        super().close()
        self._scattered.clear()
        if self._owned:
            with contextlib.suppress(Exception):
                within(3, self._client.close, timeout=2)


def _lost() -> EngineError:
    return EngineError("the connection to the dask scheduler is lost; what was finished is kept")
