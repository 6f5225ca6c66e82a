"""Open an engine by name, or wrap an executor."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from concurrent.futures import Executor

from fsframe.errors import RequestError
from fsframe.execution.engine import PATIENCE, Engine, EngineOptions
from fsframe.registry import engines
from fsframe.registry.folders import ModulesAndPlugins

SERIAL = "serial"
"""No engine: this process computes everything."""

ENGINES = ModulesAndPlugins("fsframe.execution.engines", engines, "ENGINE")


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
            from fsframe.execution.engines.dask import ClusterEngine

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
