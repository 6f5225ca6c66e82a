"""A run from the command line: its engine, checkpoint, progress, and interruption."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import signal
import sys
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import attrs
import click
from click.shell_completion import CompletionItem

from fsframe.cli.log_file import LOG, check_log, logging_to
from fsframe.cli.reading_options import READING
from fsframe.cli.shared_options import all_options, traceback_option
from fsframe.cli.signals import (
    WRITTEN,
    end_process,
    ignore_signals,
    stoppable,
    written_summary,
)
from fsframe.cli.terminal import say, say_error, say_json
from fsframe.errors import Forewarning, FsframeError
from fsframe.remarks import REMARKS_VARIABLE, clearing_progress
from fsframe.show.progress import ProgressBars

if TYPE_CHECKING:
    from fsframe.ask.request import Request
    from fsframe.execution import Engine
    from fsframe.method.run import Progress
    from fsframe.storage import RunRecord
    from fsframe.storage.units.checkpoint import Checkpoint


class MemorySize(click.ParamType):
    name = "size"

    def convert(self, value: Any, param: Any, ctx: Any) -> int:
        if isinstance(value, int):
            return value
        found = re.fullmatch(r"([0-9.]+)\s*([KMGT]?)(I?)B?", str(value).strip().upper())
        try:
            number, unit, binary = found.groups() if found else ("", "", "")
            # 2GB is 2·10⁹ bytes, 2GiB is 2·2³⁰.
            amount = int(float(number) * (1024 if binary else 1000) ** " KMGT".index(unit or " "))
        except (ValueError, OverflowError):
            amount = 0
        if amount < 1 << 24:
            self.fail(
                f"{value!r} is not a size of at least 16 MiB, such as 500MB or 2GB", param, ctx
            )
        return amount


class EngineName(click.ParamType):
    """The name of an engine; the shell completes it."""

    name = "name"

    def convert(self, value: Any, param: Any, ctx: Any) -> str:
        from fsframe.execution.engine import ENGINES, SERIAL

        if value != SERIAL and ENGINES.get(value) is None:
            self.fail(str(ENGINES.unknown(value)), param, ctx)
        return str(value)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        from fsframe.execution.engine import ENGINES, SERIAL

        known = {SERIAL: "This process computes everything.", **ENGINES.listed()}
        return [CompletionItem(n, help=h) for n, h in known.items() if n.startswith(incomplete)]


class EarlierName(click.ParamType):
    """The value of ``--events``; the error mentions ``--event``."""

    name = "json"

    def convert(self, value: Any, param: Any, ctx: Any) -> str:
        if value != "json":
            self.fail(
                f"{value!r} is not a progress format (use --progress json); the column of events "
                f"is --event {value}",
                param,
                ctx,
            )
        return "json"


engine_options = all_options(
    click.option(
        "--memory",
        type=MemorySize(),
        help="Bound on the memory of the run, such as 2GB: table, copies, workers and fits. "
        "[default: 2 GiB for each fit, besides the table]",
    ),
    click.option(
        "--engine",
        type=EngineName(),
        help="Where resamples are computed: serial, processes, dask, or a plugin's engine. "
        "[default: serial, or as --workers or --scheduler imply]",
    ),
    click.option(
        "--workers",
        type=click.IntRange(min=1),
        help="Number of worker processes on this machine. [default with --engine processes: one "
        "per processor]",
    ),
    click.option(
        "--scheduler",
        metavar="ADDRESS",
        help="Address of a dask scheduler, such as tcp://10.0.0.1:8786.",
    ),
    click.option(
        "--patience",
        type=click.FloatRange(min=0, min_open=True, max=1e9),
        metavar="SECONDS",
        help="Seconds without a response before a worker is replaced. [default: 60]",
    ),
    click.option(
        "--progress",
        type=click.Choice(["json"]),
        help="Report events on stderr as JSON lines.",
    ),
    # The earlier name; easily confused with --event, the column of survival data.
    click.option(
        "--events", type=EarlierName(), hidden=True, help="The earlier name of --progress."
    ),
    click.option(
        "--log",
        metavar="FILE",
        help="Append a line to FILE for each stage, each warning and the end of the run.",
    ),
    traceback_option,
    click.option("--restart", is_flag=True, help="Discard an interrupted run and start again."),
    click.option(
        "--mixed",
        is_flag=True,
        help="Accept workers and results from other processors or libraries; this is recorded.",
    ),
)
"""The options that `with_options` and `run_request` take."""


@contextlib.contextmanager
def environment_with(name: str, value: str) -> Iterator[None]:
    """Context with an environment variable, for this process and its workers."""
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = before


class Reporter:
    """Progress and notes on stderr during a run: as text, as JSON, or none.

    Parameters
    ----------
    quiet : bool
        Print errors only.
    events : bool
        Print JSON, one object per line, each with an ``event``.
    """

    def __init__(self, *, quiet: bool = False, events: bool = False) -> None:
        self.quiet, self.events = quiet, events
        if events or quiet:
            # Until the command has ended.
            remarks = environment_with(REMARKS_VARIABLE, "json" if events else "none")
            click.get_current_context().with_resource(remarks)
        self._line = None if quiet or events else ProgressBars()

    @classmethod
    def asked(cls, options: Mapping[str, Any]) -> Reporter:
        """The reporter that the options of a command ask for."""
        reporter = cls(
            quiet=options["quiet"], events="json" in (options["progress"], options["events"])
        )
        if options["events"]:
            reporter.note("--events is deprecated and will be removed; use --progress")
        return reporter

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
        """Print an event, if JSON is requested."""
        if self.events:
            say_json({"event": event, **facts}, err=True)

    def note(self, text: str) -> None:
        """Print a note."""
        if self.events:
            self.event("note", text=text)
        elif not self.quiet:
            self.close()
            say(f"note: {text}", err=True)

    def close(self) -> None:
        """Clear the progress line."""
        if self._line is not None:
            self._line.close()


def requested_engine(
    options: Mapping[str, Any],
) -> contextlib.AbstractContextManager[Engine | None]:
    """The engine that the options of a command ask for, as `open_engine` gives it."""
    from fsframe.execution import open_engine

    names = ("engine", "workers", "scheduler", "patience")
    return open_engine(*(options.get(n) for n in names), mixed=bool(options.get("mixed")))


def this_command() -> str:
    """The command line of this process."""
    return shlex.join(["fsframe", *sys.argv[1:]])


def with_options(request: Request, options: Mapping[str, Any]) -> Request:
    """The request within the limits that the options of this command say.

    `options` are those of `engine_options`, and as far as the command has them ``overwrite``,
    ``threads``, ``csv_out`` and those of `reading_options`.
    """
    memory, csv_out = options.get("memory"), options.get("csv_out")
    details = {
        "path": os.path.abspath(request.path),
        "limit": str(memory or ""),
        "reader": str(request.data.reading.get("reader", "")),
        "reading": json.dumps({name: options.get(name) for name in READING}),
        "csv": os.path.abspath(csv_out) if csv_out else "",
    }
    return attrs.evolve(
        request,
        command=this_command(),
        memory=memory,
        threads=options.get("threads"),
        overwrite=bool(options.get("overwrite")),
        restart=bool(options.get("restart")),
        mixed=bool(options.get("mixed")),
        details=details,
    )


def run_request(
    request: Request,
    options: Mapping[str, Any],
    reporter: Reporter,
    engine: Engine | None = None,
) -> RunRecord:
    """Compute a request and write its file; signals stop it without loss.

    `options` are those of `engine_options`. An `engine` of a command that makes many requests stays
    open.
    """
    from fsframe.chains.stage import shares_of
    from fsframe.storage import check_destination

    out = None
    if request.out is not None:
        own = [request.path]
        out = check_destination(request.out, overwrite=request.overwrite, apart_from=own)
    log = check_log(options.get("log"), [Path(request.path), out, options.get("csv_out")])
    with (
        logging_to(log, this_command(), reporter.note),
        requested_engine(options) if engine is None else contextlib.nullcontext(engine) as engine,
    ):
        if engine is not None:
            engine.tell = reporter.note
        # Before anything is written.
        shares_of(
            request.chain, request.data, request.memory, engine, beside=request.beside,
            route=request.route,
        )  # fmt: skip
        checkpoint = request.checkpoint()
        if checkpoint is not None:
            _report_earlier(checkpoint, reporter)
        for text in request.chain.forewarnings(request.data):
            reporter.note(text)

        def work() -> RunRecord:
            # Only now: programs may send a signal after this event, and it must be handled.
            reporter.event(
                "begin",
                chain=str(request.chain),
                data=request.source,
                run_file=None if request.out is None else str(request.out),
                workers=1 if engine is None else engine.workers,
                kept=0 if checkpoint is None else checkpoint.n_parts,
            )
            # Results go to stdout; what a plugin prints while it works must not mix with them.
            with (
                contextlib.redirect_stdout(sys.stderr),
                clearing_progress(reporter.close),
                warnings.catch_warnings(),
            ):
                # Already reported above.
                warnings.simplefilter("ignore", Forewarning)
                record = request.run(engine, reporter, checkpoint)
            # In this thread, so that no interrupt comes between the file and its record.
            if request.out is not None:
                WRITTEN[str(request.out)] = None
            return record

        try:
            record = stoppable(
                work, lambda number: _stop(number, engine, checkpoint, reporter, request.out)
            )
        except FsframeError as error:
            reporter.close()
            reporter.event("error", kind=type(error).__name__, text=str(error))
            if checkpoint is not None and checkpoint.n_parts:
                reporter.note(_how_to_resume(checkpoint))
            raise
        except KeyboardInterrupt:
            # A stage has caught the signal, or it came between handlers.
            _stop(signal.SIGINT, engine, checkpoint, reporter, request.out)
        finally:
            reporter.close()
    reporter.event("end", run_file=None if request.out is None else str(request.out))
    return record


def _report_earlier(checkpoint: Checkpoint, reporter: Reporter) -> None:
    for note in checkpoint.notes:
        reporter.note(note)
    if checkpoint.n_parts:
        reporter.note(
            f"continuing from {checkpoint.n_parts} finished resamples and stages in "
            f"{checkpoint.folder} (--restart discards them)"
        )


def _how_to_resume(checkpoint: Checkpoint) -> str:
    return (
        f"{checkpoint.n_parts} finished resamples and stages are kept in {checkpoint.folder}; "
        f"continue with: {shlex.join(['fsframe', 'resume', str(checkpoint.out)])}"
    )


def _stop(
    number: int,
    engine: Engine | None,
    checkpoint: Checkpoint | None,
    reporter: Reporter,
    out: str | os.PathLike[str] | None,
) -> NoReturn:
    """Store finished units, say how to resume, and end the process immediately.

    `out` is the run file as it was asked for.
    """
    ignore_signals()
    reporter.close()
    problem = ""
    if engine is not None:
        # Not `close`: a cluster that does not answer must not keep the user waiting.
        engine.kill()
    if checkpoint is not None:
        try:
            checkpoint.hold()
        except FsframeError as error:
            problem = str(error)
    kept = 0 if checkpoint is None else checkpoint.n_parts
    if checkpoint is not None and checkpoint.finished:
        WRITTEN[str(out)] = None
    name = signal.Signals(number).name
    LOG.error("stopped by %s; %s finished resamples and stages are kept", name, kept)
    if reporter.events:
        reporter.event("stopped", signal=name, kept=kept, written=list(WRITTEN), problem=problem)
    else:
        if problem:
            say_error(problem)
        rest = _how_to_resume(checkpoint) if checkpoint is not None and kept else written_summary()
        end_process(number, rest)
    end_process(number)
