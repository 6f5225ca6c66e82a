"""Runs from the command line: request, engine, checkpoint, progress, interruption, log, result."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import shlex
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import wait
from functools import partial
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import attrs
import click

from fsframe import execution, storage
from fsframe.atomic import as_store_errors, check_destination, place_file
from fsframe.cli.options import reading_arguments
from fsframe.cli.terminal import (
    REPEATABLE,
    WRITTEN,
    say,
    say_error,
    say_json,
    say_lines,
    written_summary,
)
from fsframe.errors import Forewarning, FsframeError, RequestError, StoreError
from fsframe.grammar import StageText
from fsframe.show.progress import MINUTE, Pace, ProgressBars
from fsframe.system import STOPPING, signals_handled
from fsframe.table.reading_options import with_further_files
from fsframe.text import REMARKS_VARIABLE, clearing_progress, duration, facts, printable

if TYPE_CHECKING:
    from fsframe.chains.chain import Chain
    from fsframe.chains.request import Request
    from fsframe.method.run import Progress
    from fsframe.show.results import ComparisonResult
    from fsframe.storage.checkpoint import Checkpoint


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
    """Progress and notes on stderr during a run, as the options of a command ask for them.

    With ``--quiet`` only errors are printed, with ``--progress json`` objects in JSON, one per
    line, each with an ``event``.
    """

    def __init__(self, options: Mapping[str, Any]) -> None:
        self.quiet, self.events = options["quiet"], options["progress"] == "json"
        if self.events or self.quiet:
            # Set until the command has ended.
            remarks = environment_with(REMARKS_VARIABLE, "json" if self.events else "none")
            click.get_current_context().with_resource(remarks)
        self._line = None if self.quiet or self.events else ProgressBars()
        self._pace: Pace | None = None
        # Whether a forecast was given, for the first of many runs.
        self.forecast_shown = False

    def __call__(self, progress: Progress) -> None:
        if self.events:
            self.event("progress", **facts(progress, "label", "key", "done", "total"))
        elif self._line is not None:
            self._line(progress)
        if self._pace is not None:
            self._pace(progress)

    def watch_pace(self, hint: str) -> None:
        """From now on, note how long the work may still take (`Pace`)."""
        if self._pace is None:
            self._pace = Pace(self.note, hint)

    def event(self, event: str, **about: Any) -> None:
        """Print an event, if JSON is requested."""
        if self.events:
            say_json({"event": event, **about}, err=True)

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


@contextlib.contextmanager
def requested_engine(options: Mapping[str, Any]) -> Iterator[execution.Engine | None]:
    """Context with the engine that the options of a command ask for, from `open_engine`."""
    names = ("engine", "workers", "scheduler", "patience")
    given = (options.get(name) for name in names)
    # Results go to stdout; what an engine of a plugin prints as it opens must not mix with them.
    with contextlib.ExitStack() as stack:
        with contextlib.redirect_stdout(sys.stderr):
            engine = stack.enter_context(
                execution.open_engine(*given, mixed=bool(options.get("mixed")))
            )
        yield engine


def this_command() -> str:
    """The command line of this process."""
    return shlex.join(["fsframe", *sys.argv[1:]])


def with_options(request: Request, options: Mapping[str, Any]) -> Request:
    """The request with the limits from this command's options, and with details for a resumption.

    `options` are those of `engine_options` and, if the command has them, ``overwrite`` and
    ``threads``.
    """
    # With absolute paths, since the run may be continued in another folder.
    reading = with_further_files(request.data.reading, Path())
    details = {
        "path": os.path.abspath(request.path),
        "limit": str(options.get("memory") or ""),
        "reading": json.dumps(reading),
    }
    return attrs.evolve(request.within(options, this_command()), details=details)


def run_request(
    request: Request,
    options: Mapping[str, Any],
    reporter: Reporter,
    engine: execution.Engine | None = None,
) -> storage.RunRecord:
    """Compute a request and write its file; signals stop it without loss.

    `options` are those of `engine_options`; the command has checked the log (`check_log`) and the
    destination. A given `engine`, that of a command with many requests, stays open.
    """
    with (
        logging_to(options.get("log"), this_command(), reporter.note),
        requested_engine(options) if engine is None else contextlib.nullcontext(engine) as engine,
    ):
        if engine is not None:
            engine.tell = reporter.note
        # Refuses a memory limit that is too small, before anything is written.
        request.shares(engine)
        checkpoint = request.checkpoint()
        if checkpoint is not None:
            _report_earlier(checkpoint, reporter)
        for text in request.chain.forewarnings(request.data):
            reporter.note(text)
        from fsframe.chains.stage import resamples

        # Tables in parts are counted by as many threads as there are workers.
        if options.get("workers") and not (resamples(request.chain) or request.data.in_parts):
            reporter.note("nothing is resampled: --workers has no effect")
        _show_forecast(request, engine, reporter)

        def work() -> storage.RunRecord:
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

        stop = partial(_stop, engine, checkpoint, reporter, request.out)
        try:
            record = stoppable(work, stop)
        except FsframeError as error:
            reporter.close()
            reporter.event("error", kind=type(error).__name__, text=str(error))
            error.told = True
            if checkpoint is not None and checkpoint.n_parts:
                reporter.note(_how_to_resume(checkpoint))
            raise
        except KeyboardInterrupt:
            # A stage has handled the signal itself, or it came between our handlers.
            stop(signal.SIGINT)
        finally:
            reporter.close()
    reporter.event("end", run_file=None if request.out is None else str(request.out))
    return record


def tell_early(error: FsframeError, options: Mapping[str, Any]) -> None:
    """Write an error that came before a run began to the log, and as an event.

    `options` are those of `engine_options`, as far as they are known.
    """
    if options.get("progress") == "json":
        say_json({"event": "error", "kind": type(error).__name__, "text": str(error)}, err=True)
    used = [options.get(name) for name in ("out", "data", "run")]
    with contextlib.suppress(FsframeError, OSError):
        log = check_log(options.get("log"), used, Path(used[0]) if used[0] else None)
        with logging_to(log, this_command(), lambda _: None):
            LOG.error("%s: %s", type(error).__name__, error)


_HOUR = 3600.0


def _show_forecast(request: Request, engine: execution.Engine | None, reporter: Reporter) -> None:
    """Note how long a run of minutes may take, and how to divide it among processors.

    If a stage does not declare its cost, the time is estimated from the progress of the run. Runs
    of hours are reported by `Chain.forewarnings`.
    """
    from fsframe.chains.chain import Chain
    from fsframe.chains.stage import workers_hint

    chain, data = request.chain, request.data
    hint = "" if engine is not None else workers_hint(chain, "--workers ")
    if reporter.forecast_shown:
        # The runs of a comparison or a study are alike.
        return
    cost = chain.cost(data.n_samples, data.n_features) if isinstance(chain, Chain) else None
    reporter.forecast_shown = cost is not None and cost.seconds > MINUTE
    if cost is None:
        reporter.watch_pace(hint)
    elif cost.seconds > _HOUR:
        if hint:
            reporter.note(hint)
    elif cost.seconds > MINUTE:
        about = duration(cost.seconds)
        forecast = f"forecast: about {about} of processor time, accurate to a factor of three"
        reporter.note(f"{forecast}; {hint}" if hint else forecast)


def _report_earlier(checkpoint: Checkpoint, reporter: Reporter) -> None:
    for note in checkpoint.notes:
        reporter.note(note)
    if checkpoint.n_parts:
        reporter.note(
            f"continuing from {checkpoint.n_parts} finished resamples and stages in "
            f"{checkpoint.folder} (--restart discards them)"
        )


def _how_to_resume(checkpoint: Checkpoint) -> str:
    # A run of a comparison or a study is continued with the others.
    command = REPEATABLE or [shlex.join(["fsframe", "resume", str(checkpoint.out)])]
    return (
        f"{checkpoint.n_parts} finished resamples and stages are kept in {checkpoint.folder}; "
        f"continue with: {command[0]}"
    )


def _stop(
    engine: execution.Engine | None,
    checkpoint: Checkpoint | None,
    reporter: Reporter,
    out: str | os.PathLike[str] | None,
    number: int,
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


def show_result(record: storage.RunRecord, out: Path | None, *, as_json: bool) -> None:
    """Print a result as its command does."""
    from fsframe.show.display import protocol_object, result_lines

    if as_json:
        say_json(protocol_object(record, out))
    else:
        say_lines(result_lines(record, out))


def show_study(result: ComparisonResult, *, as_json: bool, **more: Any) -> None:
    """Print a study or a comparison; as one object in JSON, with `more` fields."""
    from fsframe.show.comparisons import comparison_lines, study_object

    if as_json:
        say_json({**study_object(result.record, result.comparisons), **more})
    else:
        say_lines(comparison_lines(result.comparison))


def run_on(
    chain: Chain, named: Sequence[StageText], data: str, **options: Any
) -> tuple[storage.RunRecord, Path | None]:
    """Run `chain` on the table `data`, and return the record and the path of its file.

    `named` holds the parts of the default name of the run file (`run_path`). All files that the
    command writes are checked before any work starts.
    """
    from fsframe.chains.request import Request, stored_answer
    from fsframe.cli.run_file import run_path
    from fsframe.storage.write import check_run_name
    from fsframe.table.read import read
    from fsframe.table.reader import find_table

    path = find_table(data)
    out: Path | None = None
    if options["no_out"] and options["out"]:
        raise RequestError("--out and --no-out contradict each other: give one of them")
    if not options["no_out"]:
        out = Path(options["out"]) if options["out"] else run_path(path, named)
    if out is not None and (options["overwrite"] or options["restart"]):
        check_destination(out, overwrite=options["overwrite"], apart_from=[path])
    elif out is not None:
        # Refused before the table is read, which may take long.
        stored_answer(out, chain, options["seed"], apart_from=[path])
    if out is not None:
        check_run_name(out)
    check_log(options["log"], [path, out])
    reporter = Reporter(options)
    table = read(path, **reading_arguments(**options))
    if reporter.events:
        # As text, they are printed with the result.
        for warning in table.warnings:
            reporter.note(warning)
    request = Request(
        chain=chain, data=table, seed=options["seed"], out=out, path=path, source=data
    )
    request = with_options(request, options)
    record = request.answer()
    if record is None:
        return run_request(request, options, reporter), out
    # Remove the leftovers of an interrupted attempt.
    with contextlib.suppress(StoreError):
        leftovers = request.checkpoint(overwrite=True)
        assert leftovers is not None
        leftovers.finish()
    reporter.note(
        f"{out} already holds the result of this request, which is shown; --overwrite computes it "
        "again"
    )
    return record, out


def stop_command(number: int, engine: execution.Engine | None) -> NoReturn:
    """End the process of a command that stores nothing."""
    ignore_signals()
    if engine is not None:
        engine.kill()
    end_process(number, written_summary())


def end_process(number: int, rest: str = "") -> NoReturn:
    """Print a message, if there is one, and end the process with the code of the signal."""
    if rest:
        name = signal.Signals(number).name
        word = "interrupted" if number == signal.SIGINT else f"stopped by a signal ({name})"
        say_error(f"{word}; {rest}")
    with contextlib.suppress(OSError, StoreError):
        sys.stdout.flush()
        sys.stderr.flush()
    # Threads in compiled code cannot be stopped; everything of value is on disk.
    os._exit(128 + number)


def ignore_signals() -> None:
    """Ignore signals that stop a process."""
    with contextlib.suppress(ValueError):
        for each in STOPPING:
            signal.signal(each, _ignored)


def _ignored(number: int, frame: FrameType | None) -> None:
    """Ignore a signal; unlike SIG_IGN, without an error for one that has already arrived."""


class _Stopped(BaseException):
    """A signal that stops the run has arrived; the argument is its number."""


R = TypeVar("R")


def stoppable(work: Callable[[], R], stop: Callable[[int], NoReturn]) -> R:
    """Call `work` and return its result; on a signal of `STOPPING`, call `stop` at once.

    Compiled code does not check for signals, so `work` runs in another thread while this one waits.
    """
    from fsframe.execution.engine import call_in_thread

    def tell(number: int, _: FrameType | None) -> None:
        # Signals come in bursts; the cleanup must not be interrupted.
        ignore_signals()
        raise _Stopped(number)

    # The handlers are installed inside, since a signal may arrive meanwhile.
    try:
        with signals_handled(STOPPING, tell):
            outcome = call_in_thread(work)
            while not wait([outcome], 1.0).done:
                pass
    except _Stopped as stopped:
        stop(*stopped.args)
    return outcome.result()


FIRST_LINE = "# fsframe log"
"""The first line of a log: later commands append only to a file that begins with it."""

LOG = logging.getLogger("fsframe.run")
# Without a handler, Python writes errors to stderr; commands may fail before runs are imported.
LOG.addHandler(logging.NullHandler())


def check_log(
    path: str | None,
    apart_from: Iterable[str | os.PathLike[str] | None],
    folder: Path | None = None,
) -> Path | None:
    """Check and return the path of the log, which must be a new file or a log already.

    It may not be one of the files `apart_from`, nor in `folder`, which the command writes.

    Raises
    ------
    StoreError
        If the log cannot be written there.
    """
    if path is None:
        return None
    target = check_destination(path, overwrite=True, apart_from=apart_from)
    if folder is not None and Path(os.path.realpath(folder)) in target.parents:
        raise StoreError(
            f"cannot write the log {path}: {folder} is reserved for files that the command "
            "writes; name a file elsewhere"
        )
    if not target.exists():
        return target
    with as_store_errors(f"cannot write the log {path}"), open(target, "rb") as file:
        known = file.readline(80).rstrip(b"\r\n") == FIRST_LINE.encode()
    if not known:
        raise StoreError(
            f"cannot write the log {path}: it exists and is not a log of fsframe (its first line "
            f"is not {FIRST_LINE!r}), so it was left unchanged; name another file"
        )
    return target


class _LogFile(logging.FileHandler):
    """A handler that appends lines to a file; an error while writing is reported once."""

    def __init__(self, path: Path, tell: Callable[[str], None]) -> None:
        if not path.exists() or not path.stat().st_size:
            # Atomically, since a file with half of this line would not be taken for a log.
            place_file(path, f"{FIRST_LINE}\n".encode(), overwrite=True)
        super().__init__(path, mode="a", encoding="utf-8", errors="backslashreplace")
        self._tell: Callable[[str], None] | None = tell

    def format(self, record: logging.LogRecord) -> str:
        when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(record.created))
        return f"{when} {record.levelname} {printable(record.getMessage())}"

    def handleError(self, record: logging.LogRecord) -> None:
        if self._tell is not None:
            tell, self._tell = self._tell, None
            tell(f"{self.baseFilename} can no longer be written; the run continues without its log")


@contextlib.contextmanager
def logging_to(
    path: str | os.PathLike[str] | None, command: str, tell: Callable[[str], None]
) -> Iterator[None]:
    """Context that writes the log records of runs to the file at `path`, after the command.

    Nothing is written if `path` is None. `tell` is called with a note for the user if the file can
    no longer be written.

    Raises
    ------
    StoreError
        If the file cannot be opened.
    """
    if path is None:
        yield
        return
    with as_store_errors(f"cannot write the log {path}"):
        handler = _LogFile(Path(path), tell)
    before = LOG.level
    LOG.addHandler(handler)
    LOG.setLevel(min(LOG.getEffectiveLevel(), logging.INFO))
    try:
        LOG.info("%s", command)
        yield
    finally:
        LOG.removeHandler(handler)
        LOG.setLevel(before)
        handler.close()
