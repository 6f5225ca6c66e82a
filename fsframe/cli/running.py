"""A run from the command line: its engine, its checkpoint, its progress, and how it is stopped."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click

from fsframe.cli.progress import ProgressLine
from fsframe.errors import FsframeError

if TYPE_CHECKING:
    from fsframe.chain import Chain
    from fsframe.checkpoints import Checkpoint
    from fsframe.dataset import Dataset
    from fsframe.executors import Engine
    from fsframe.run import Progress
    from fsframe.store import RunRecord

__all__ = ["READING", "Talk", "engine_options", "run_chain"]

F = TypeVar("F", bound=Callable[..., Any])

READING = (
    "label",
    "task",
    "drop",
    "categorical",
    "delimiter",
    "header",
    "x_path",
    "y_path",
    "names_path",
)
"""The options that say how a table is read, as `reading_options` names them."""

_OPTIONS = (
    click.option(
        "--engine",
        type=click.Choice(["serial", "processes", "dask"]),
        help="Where resamples are computed; results do not depend on it. [default: serial, or what "
        "--workers or --scheduler imply]",
    ),
    click.option(
        "--workers",
        type=click.IntRange(min=1),
        help="Worker processes here. [default with --engine processes: one per processor]",
    ),
    click.option(
        "--scheduler", metavar="ADDRESS", help="Of a dask cluster, such as tcp://10.0.0.1:8786."
    ),
    click.option(
        "--events",
        type=click.Choice(["json"]),
        help="Tell what happens on stderr as JSON, one object a line, in place of progress.",
    ),
    click.option(
        "--restart", is_flag=True, help="Throw away what an interrupted run of this file has left."
    ),
    click.option(
        "--mixed",
        is_flag=True,
        help="Go on with what was computed on another kind of processor, or with other versions "
        "of the numerical libraries; the run file says so.",
    ),
)


def engine_options(function: F) -> F:
    """`function` with the options that `run_chain` takes."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


class Talk:
    """What is said on stderr while a run goes on: to people, to programs, or nothing.

    Parameters
    ----------
    quiet : bool
        Nothing but errors.
    events : bool
        JSON, one object a line, each with an ``event``.
    """

    def __init__(self, *, quiet: bool = False, events: bool = False) -> None:
        self.quiet, self.events = quiet, events
        self._line = None if quiet or events else ProgressLine()

    def __call__(self, progress: Progress) -> None:
        if self.events:
            self.event(
                "progress",
                label=progress.label,
                key=list(progress.key),
                done=progress.done,
                total=progress.total,
            )
        elif self._line is not None:
            self._line(progress)

    def event(self, event: str, **facts: Any) -> None:
        """Tell programs that something has happened."""
        if self.events:
            line = json.dumps({"event": event, **facts}, ensure_ascii=False)
            click.echo(line, err=True)

    def note(self, text: str) -> None:
        """Tell people, and programs, a remark."""
        if self.events:
            self.event("note", text=text)
        elif not self.quiet:
            self.close()
            click.echo(f"note: {text}", err=True)

    def close(self) -> None:
        """Wipe the progress line."""
        if self._line is not None:
            self._line.close()


def run_chain(
    chain: Chain,
    table: Dataset,
    out: Path | None,
    options: Mapping[str, Any],
    *,
    talk: Talk,
    path: Path,
    source: str,
    command: str | None = None,
    engine: Engine | None = None,
) -> RunRecord:
    """The record of `chain` on `table`, left at `out`; stopped by Ctrl-C and SIGTERM without loss.

    Parameters
    ----------
    chain, table, out
        As in `Chain.run`.
    options : mapping
        Of `engine_options`, and ``seed``, ``overwrite``, ``memory``, ``threads`` and those of
        `reading_options`, as far as the command has them.
    talk : Talk
    path : Path
        Where the table was read from.
    source, command : str
        As in `Chain.run`; the command of this process by default.
    engine : Engine, optional
        One that is open already, for commands that run many chains; it stays open.

    Raises
    ------
    FsframeError
        As running says.
    """
    from fsframe.executors import open_engine
    from fsframe.recording import open_checkpoint
    from fsframe.store import check_destination

    command = shlex.join(["fsframe", *sys.argv[1:]]) if command is None else command
    seed, overwrite = options.get("seed", 0), bool(options.get("overwrite"))
    if out is not None:
        check_destination(out, overwrite=overwrite, apart_from=[path])
    asked = (options.get("engine"), options.get("workers"), options.get("scheduler"))
    with open_engine(*asked) if engine is None else contextlib.nullcontext(engine) as engine:
        checkpoint = None
        if out is not None:
            checkpoint = open_checkpoint(
                chain,
                table,
                seed,
                out,
                overwrite=overwrite,
                restart=bool(options.get("restart")),
                mixed=bool(options.get("mixed")),
                path=os.path.abspath(path),
                source=source,
                command=command,
                memory=str(options.get("memory") or ""),
                reading=json.dumps({name: options.get(name) for name in READING}),
                csv=os.path.abspath(options["csv_out"]) if options.get("csv_out") else "",
            )
            _tell_of_earlier(checkpoint, talk)

        def work() -> RunRecord:
            # Not before: who waits for this may send a signal, and it has to be taken by then.
            talk.event(
                "begin",
                chain=str(chain),
                data=source,
                run_file=None if out is None else str(out),
                workers=1 if engine is None else engine.workers,
                kept=0 if checkpoint is None else checkpoint.n_parts,
            )
            # Results go to stdout; what a plugin prints while it works must not mix with them.
            with contextlib.redirect_stdout(sys.stderr):
                return chain.run(
                    table,
                    seed,
                    out,
                    overwrite=overwrite,
                    listener=talk,
                    memory=options.get("memory"),
                    threads=options.get("threads"),
                    executor=engine,
                    checkpoint=checkpoint,
                    source=source,
                    command=command,
                )

        try:
            record = _stoppable(work, lambda number: _stop(number, engine, checkpoint, talk))
        except FsframeError as error:
            talk.close()
            talk.event("error", kind=type(error).__name__, text=str(error))
            if checkpoint is not None and checkpoint.n_parts:
                talk.note(_way_on(checkpoint))
            raise
        finally:
            talk.close()
    talk.event("end", run_file=None if out is None else str(out))
    return record


def _tell_of_earlier(checkpoint: Checkpoint, talk: Talk) -> None:
    for note in checkpoint.notes:
        talk.note(note)
    if checkpoint.n_parts:
        talk.note(
            f"going on from {checkpoint.n_parts} finished resamples and stages in "
            f"{checkpoint.folder} (--restart throws them away)"
        )


def _way_on(checkpoint: Checkpoint) -> str:
    return (
        f"{checkpoint.n_parts} finished resamples and stages are kept in {checkpoint.folder}; "
        f"go on with: {shlex.join(['fsframe', 'resume', str(checkpoint.out)])}"
    )


def _stop(
    number: int, engine: Engine | None, checkpoint: Checkpoint | None, talk: Talk
) -> NoReturn:
    """Keep what is finished, say how to go on, and end the process, whatever is being computed."""
    with contextlib.suppress(ValueError):
        for each in (signal.SIGINT, signal.SIGTERM):
            signal.signal(each, signal.SIG_IGN)
    talk.close()
    problem = ""
    if engine is not None:
        # Not `close`: a cluster that does not answer must not keep the user waiting.
        engine.kill()
    if checkpoint is not None:
        try:
            checkpoint.close()
        except FsframeError as error:
            problem = str(error)
    kept = 0 if checkpoint is None else checkpoint.n_parts
    name = signal.Signals(number).name
    if talk.events:
        talk.event("stopped", signal=name, kept=kept, problem=problem)
    else:
        if problem:
            click.echo(f"fsframe: {problem}", err=True)
        word = "interrupted" if number == signal.SIGINT else "told to stop"
        rest = _way_on(checkpoint) if checkpoint is not None and kept else "nothing was written"
        click.echo(f"fsframe: {word}; {rest}", err=True)
    with contextlib.suppress(OSError):
        sys.stdout.flush()
        sys.stderr.flush()
    # A thread in compiled code cannot be asked to end; everything that matters is on disk.
    os._exit(128 + number)


class _Told(BaseException):
    """A signal came that shall stop the run."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


R = TypeVar("R")


def _stoppable(work: Callable[[], R], stop: Callable[[int], NoReturn]) -> R:
    """What `work` returns or raises; on Ctrl-C or SIGTERM `stop` is called at once.

    Compiled code does not look for signals. So the work is done by another thread, and this one has
    nothing to do but listen.
    """
    found: list[R] = []
    failed: list[BaseException] = []

    def target() -> None:
        try:
            found.append(work())
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=target, daemon=True, name="fsframe-run")
    # Around the handlers too: a signal may come while they are being put in place.
    try:
        with _signals_raise():
            thread.start()
            while thread.is_alive():
                thread.join(1.0)
    except _Told as told:
        stop(told.number)
    if failed:
        raise failed[0]
    return found[0]


@contextlib.contextmanager
def _signals_raise() -> Iterator[None]:
    """SIGINT and SIGTERM raise `_Told` in this thread, if it is the main one."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def tell(number: int, _: FrameType | None) -> None:
        raise _Told(number)

    before = {number: signal.signal(number, tell) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
