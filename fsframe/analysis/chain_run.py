"""Run a chain from a program: workers, memory, progress, and reuse of an existing result."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from concurrent.futures import Executor
from typing import TYPE_CHECKING, TypedDict

from fsframe.analysis.progress import ProgressBars, progress_shown
from fsframe.chains.chain import Chain
from fsframe.chains.memory_shares import route_of
from fsframe.chains.recording import check_answer, stored_answer
from fsframe.contracts.dataset import Dataset
from fsframe.errors import RequestError
from fsframe.execution import open_engine
from fsframe.storage import RunRecord
from fsframe.storage.units.manifest import Manifest

if TYPE_CHECKING:
    from fsframe.execution import Engine

__all__ = ["RunOptions", "Target", "check_run_options", "run_chain", "shared_engine"]

Target = str | os.PathLike[str] | None


class RunOptions(TypedDict, total=False):
    """How a run is executed; nothing here changes a result, except `memory` (docs/memory.md).

    Parameters
    ----------
    workers : int
        Number of worker processes that compute resamples. A script then calls this below
        ``if __name__ == "__main__":``, since each worker imports the script.
    executor : Engine or concurrent.futures.Executor
        Instead of `workers`: an open pool, or ``client.get_executor()`` of a dask client.
    threads : int
        Maximum number of threads of a fit.
    memory : int
        Memory limit of the whole run, in bytes.
    progress : bool
        Whether to show a bar, in a terminal or a notebook, once a run takes more than two seconds;
        True by default.
    overwrite : bool
        Whether a file at `out` may be replaced.
    restart : bool
        Whether to discard what an interrupted run to `out` has left.
    mixed : bool
        Whether to continue such a run on another kind of processor.
    """

    workers: int
    executor: Engine | Executor
    threads: int
    memory: int
    progress: bool
    overwrite: bool
    restart: bool
    mixed: bool


def check_run_options(function: str, options: RunOptions) -> None:
    """Raise TypeError for unknown options, RequestError for two that exclude each other."""
    unknown = sorted(set(options) - set(RunOptions.__annotations__))
    if unknown:
        known = ", ".join(RunOptions.__annotations__)
        raise TypeError(f"{function}() got {', '.join(unknown)}; it also takes {known}")
    if options.get("workers") is not None and options.get("executor") is not None:
        raise RequestError("give workers= or executor=, not both")


@contextlib.contextmanager
def shared_engine(options: RunOptions) -> Iterator[RunOptions]:
    """The options for several runs that share one set of workers."""
    with open_engine(workers=options.get("workers")) as engine:
        own: RunOptions = {**options}
        if engine is not None:
            own.pop("workers")
            own["executor"] = engine
        yield own


def run_chain(
    function: str,
    chain: Chain,
    table: Dataset,
    source: str,
    seed: int,
    out: Target,
    options: RunOptions,
    beside: int = 0,
    bars: ProgressBars | None = None,
) -> RunRecord:
    """Run a chain on a table for one of the functions, which the run file records as its command.

    If `out` already holds the result of this request, it is read. `source` is the file of the
    table; `beside` are bytes that the caller holds in addition, which count towards the memory
    limit; `bars` show the progress of the caller's runs.

    Raises
    ------
    TypeError, RequestError
        As `check_run_options` and `Chain.run`.
    StoreError
        If another file is at `out`, saying in what its request differs.
    """
    check_run_options(function, options)
    workers, executor = options.get("workers"), options.get("executor")
    memory = options.get("memory")
    limit = "" if memory is None else f", memory={memory}"
    command = f"fsframe.{function}({str(chain)!r}, …, seed={seed}{limit})"
    overwrite = options.get("overwrite", False)
    restart = options.get("restart", False)
    if out is not None and not overwrite and not restart:
        answer = stored_answer(out, chain, seed, apart_from=[source] if source else [])
        if answer is not None:
            route = route_of(chain, table, memory, beside)
            check_answer(out, answer, Manifest.of(chain, table, seed, memory=route))
            return answer
    with (
        open_engine(workers=workers) as engine,
        progress_shown(options.get("progress", True), bars) as listener,
    ):
        return chain.run(
            table,
            seed,
            out,
            overwrite=overwrite,
            listener=listener,
            memory=memory,
            beside=beside,
            threads=options.get("threads"),
            executor=engine if executor is None else executor,
            restart=restart,
            mixed=options.get("mixed", False),
            source=source,
            command=command,
        )
