"""Opening the engine that is asked for, or that an executor stands for."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from concurrent.futures import Executor

from fsframe.errors import RequestError
from fsframe.execution.engine import PATIENCE, Engine

__all__ = ["ENGINES", "as_engine", "open_engine"]

ENGINES = ("serial", "processes", "dask")


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
    *,
    mixed: bool = False,
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
    mixed : bool
        Whether workers of a cluster may have another numeric fingerprint (another kind of
        processor, or other BLAS kernels); the run then says so.

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

        engine = connect(scheduler, seconds, mixed=mixed)
    try:
        with engine:
            yield engine
    except BaseException:
        engine.kill()
        raise
