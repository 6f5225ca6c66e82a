"""How programs have a chain run: workers, memory, progress, and an answer that is there already."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from concurrent.futures import Executor
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from fsframe.analysis.progress import ProgressBars, progress_shown
from fsframe.chains.chain import Chain
from fsframe.chains.recording import is_answer_to
from fsframe.contracts.dataset import Dataset
from fsframe.errors import FsframeError, RequestError
from fsframe.execution import open_engine
from fsframe.storage import RunRecord, check_destination, load_run

if TYPE_CHECKING:
    from fsframe.execution import Engine

__all__ = ["Surroundings", "Target", "check_surroundings", "one_engine", "run_chain"]

Target = str | os.PathLike[str] | None


class Surroundings(TypedDict, total=False):
    """How a run is carried out; none of it changes a result, `memory` apart (docs/memory.md).

    Parameters
    ----------
    workers : int
        Worker processes; resamples are computed in them. In a script, what calls this then stands
        below ``if __name__ == "__main__":``, since each of them imports the script.
    executor : Engine or concurrent.futures.Executor
        In place of `workers`: an open pool, or ``client.get_executor()`` of a dask client.
    threads : int
        Bound on the threads of a fit.
    memory : int
        Bound in bytes on what the whole run holds.
    progress : bool
        Whether to show a bar, in a terminal or a notebook, once a run takes more than two seconds;
        True by default.
    overwrite : bool
        Whether a file at `out` may be replaced.
    restart : bool
        Whether to throw away what an interrupted run to `out` has left.
    mixed : bool
        Whether to go on with it on another kind of processor.
    """

    workers: int
    executor: Engine | Executor
    threads: int
    memory: int
    progress: bool
    overwrite: bool
    restart: bool
    mixed: bool


def check_surroundings(function: str, surroundings: Surroundings) -> None:
    """Refuse what cannot be a surrounding.

    Raises
    ------
    TypeError
        If there is no such surrounding.
    RequestError
        If two of them exclude each other.
    """
    unknown = sorted(set(surroundings) - set(Surroundings.__annotations__))
    if unknown:
        known = ", ".join(Surroundings.__annotations__)
        raise TypeError(f"{function}() got {', '.join(unknown)}; it also takes {known}")
    if surroundings.get("workers") is not None and surroundings.get("executor") is not None:
        raise RequestError("give workers= or executor=, not both")


@contextlib.contextmanager
def one_engine(surroundings: Surroundings) -> Iterator[Surroundings]:
    """The surroundings of several runs, with one set of workers for all of them."""
    with open_engine(workers=surroundings.get("workers")) as engine:
        own: Surroundings = {**surroundings}
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
    surroundings: Surroundings,
    beside: int = 0,
    bars: ProgressBars | None = None,
) -> RunRecord:
    """A chain run on a table for one of the functions, which the run file names as its command.

    Parameters
    ----------
    function : str
        Such as ``"select"``.
    chain, table, seed, out
        As in `fsframe.select`; an answer to this request that is at `out` already is read.
    source : str
        The table's file; empty without one.
    surroundings : Surroundings
        As the user gives them.
    beside : int
        Bytes that the caller holds besides, which count within `memory`.
    bars : ProgressBars, optional
        Those of the caller, for one of several runs.

    Raises
    ------
    TypeError
        As `check_surroundings`.
    RequestError
        As `check_surroundings` and `Chain.run`.
    """
    check_surroundings(function, surroundings)
    workers, executor = surroundings.get("workers"), surroundings.get("executor")
    memory = surroundings.get("memory")
    said = "" if memory is None else f", memory={memory}"
    command = f"fsframe.{function}({str(chain)!r}, …, seed={seed}{said})"
    overwrite = surroundings.get("overwrite", False)
    restart = surroundings.get("restart", False)
    if out is not None and not overwrite and not restart and os.path.lexists(out):
        answered = _answer(Path(out), chain, table, seed, command)
        if answered is not None:
            return answered
        check_destination(Path(out), apart_from=[source] if source else [])
    with (
        open_engine(workers=workers) as engine,
        progress_shown(surroundings.get("progress", True), bars) as listener,
    ):
        return chain.run(
            table,
            seed,
            out,
            overwrite=overwrite,
            listener=listener,
            memory=memory,
            beside=beside,
            threads=surroundings.get("threads"),
            executor=engine if executor is None else executor,
            restart=restart,
            mixed=surroundings.get("mixed", False),
            source=source,
            command=command,
        )


def _answer(out: Path, chain: Chain, table: Dataset, seed: int, command: str) -> RunRecord | None:
    """The run at `out`, if it is the answer to this very request: a cell that was run again."""
    try:
        record = load_run(out)
    except FsframeError:
        return None
    same = record.command == command and record.data.sha256 == table.sha256
    return record if same and is_answer_to(record, chain, seed) else None
