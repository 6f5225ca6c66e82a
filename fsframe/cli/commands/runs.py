"""Commands that continue, recompute and check runs: resume, audit, verify."""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import click

from fsframe import execution, storage
from fsframe.cli.options import (
    COUNT,
    MemorySize,
    engine_options,
    reading_arguments,
    reading_options,
)
from fsframe.cli.run_file import (
    files_named,
    is_unfinished,
    open_run,
    source_of_run,
    table_after_on,
    table_of_run,
    tables_at,
    valid_reading,
)
from fsframe.cli.running import (
    Reporter,
    check_log,
    environment_with,
    run_request,
    show_result,
    stop_command,
    stoppable,
    with_options,
)
from fsframe.cli.terminal import json_option, option, quiet_option, say
from fsframe.errors import FsframeError, RequestError, StoreError
from fsframe.text import counted

if TYPE_CHECKING:
    from fsframe.storage.unit_files import Manifest


_PREFER = "FSFRAME_PREFER"


@click.command()
@click.argument("run", type=click.Path())
@option("--data PATH", "Path of the table. [default: that of the interrupted run]")
@reading_options
@engine_options
@option("--threads", "Threads to use. [default: all]", type=COUNT)
@option("--overwrite", "Replace the run file if it exists.")
@json_option
@quiet_option
def resume(run: str, **options: Any) -> None:
    """Continue an interrupted run from its finished part.

    RUN is the run file to write. Chain, seed and table must be those of the interrupted run, and so
    must versions and processor where they could change a bit of the result (--mixed accepts that).
    The result is bit for bit what it would have been without the interruption. The engine may
    differ.

    Only RUN is written: the leftovers of an interrupted run may come from somebody else, and must
    not decide which files are replaced.

    \b
    Example:
      fsframe resume parkinsons.immigrate-npfs.h5 --workers 4
    """
    from fsframe.storage.checkpoint import units_folder

    out = Path(run.rstrip("/").removesuffix(".units"))
    folder = units_folder(out)
    if not is_unfinished(out) and (out.is_file() or not folder.is_dir()):
        if out.is_dir():
            raise StoreError(
                f"{out} is a folder, as written by `compare --out`: repeat that compare command, "
                "and it continues from the finished runs"
            )
        if not out.is_file():
            raise StoreError(
                f"there is nothing to resume: neither {out} nor {folder.name} exists; start the "
                "run again, or give the right path"
            )
        record = storage.load_run(out)
        if not options["quiet"]:
            say(f"note: {out} is already finished", err=True)
        show_result(record, out, as_json=options["as_json"])
        return
    manifest = _manifest(folder)
    asked = options["data"] or manifest.request.get("path", "")
    check_log(options["log"], [out, asked, *tables_at(asked, out)])
    finished = _finished(out, manifest, overwrite=options["overwrite"])
    record = _continue(out, manifest, options) if finished is None else finished
    show_result(record, out, as_json=options["as_json"])


def _manifest(folder: Path) -> Manifest:
    from fsframe.storage.unit_files import Manifest

    try:
        manifest = Manifest.of_folder(folder)
    except StoreError as error:
        raise StoreError(
            f"{error}, so it is not known which run {folder} belongs to: restore `manifest`, or "
            "repeat the original command with --restart, which discards what was finished"
        ) from error
    if manifest is None:
        raise StoreError(
            f"there is nothing to resume: {folder} does not say which run it belongs to; repeat "
            "the original command"
        )
    return manifest


def _finished(out: Path, manifest: Manifest, *, overwrite: bool) -> storage.RunRecord | None:
    """Return the record at `out` if the run was killed after writing it, and remove its units."""
    from fsframe.chains.request import recorded_request
    from fsframe.storage.checkpoint import Checkpoint

    if not out.is_file():
        return None
    try:
        record = storage.load_run(out)
    except FsframeError:
        record = None
    asked = attrs.evolve(manifest, numerics={})
    if record is not None and not recorded_request(record).differences(asked):
        Checkpoint.open(out, manifest, overwrite=True).finish()
        return record
    if overwrite:
        return None
    raise StoreError(
        f"{out} is the file of another run and was left unchanged; use --overwrite to replace it"
    )


def _continue(out: Path, manifest: Manifest, options: dict[str, Any]) -> storage.RunRecord:
    from fsframe.chains.chain import Chain
    from fsframe.chains.request import Request
    from fsframe.table.read import read
    from fsframe.table.reader import check_reader

    request = manifest.request
    # Before the table is read, to fail early if a method is not installed.
    with _original_providers(request.get("providers", "{}")):
        chain = Chain.recorded(manifest.chain)
    path = options["data"] or request.get("path", "")
    if not path:
        raise RequestError(
            f"{out} was started from Python, which does not record where the table is: give "
            "--data, or call Chain.run again"
        )
    places = tables_at(path, out)
    if not places:
        raise StoreError(f"the table {path} no longer exists; give its current path (--data)")
    path = places[0]
    stored = _json_object(request.get("reading", ""))
    check_reader(stored.get("reader"), path, request.get("path", ""))
    reporter = Reporter(options)
    table = read(path, **{**valid_reading(stored), **reading_arguments(**options)})
    limit = request.get("limit", "")
    begun = int(limit) if limit.isdecimal() else None
    with _original_providers(request.get("providers", "{}")):
        asked = Request(
            chain=chain,
            data=table,
            seed=manifest.seed,
            out=out,
            path=Path(path),
            source=request.get("source", ""),
            route=manifest.memory or None,
        )
        asked = attrs.evolve(
            with_options(asked, options),
            memory=options["memory"] or begun,
            command=request.get("command", ""),
        )
        return run_request(asked, options, reporter)


def _original_providers(text: str) -> contextlib.AbstractContextManager[None]:
    """Context that resolves method names as at the start of the run, in workers too.

    Another plugin with a method of the same name may have been installed since.
    """
    providers = _json_object(text)
    before = os.environ.get(_PREFER)
    chosen = [f"{provider}/{name}" for name, provider in providers.items()]
    return environment_with(_PREFER, ",".join([*chosen, *([before] if before else [])]))


def _json_object(text: str) -> dict[str, Any]:
    """The object in a text of the manifest, which may be untrusted; empty for anything else."""
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


@click.command()
@click.argument("run", type=click.Path())
@click.argument("words", nargs=-1, metavar="[on DATA]")
@option("--workers", "Worker processes. [default: none]", type=COUNT)
@option(
    "--memory",
    "Memory limit, such as 2GB; a run that was allowed more needs as much again.",
    type=MemorySize(),
)
@reading_options
def audit(run: str, words: tuple[str, ...], workers: int | None, **options: Any) -> None:
    """Recompute the stages of a finished run and compare them with its file.

    Each stage starts from the stored results of the stages before it, on the table of the run, with
    its seed. On the same processor and libraries every bit must be equal; elsewhere numbers may
    differ by rounding (1e-9 of the largest), and the output says so. Exit code 5 if a stage
    differs.

    \b
    Examples:
      fsframe audit examples/parkinsons.immigrate-npfs.h5
      fsframe audit examples/parkinsons.immigrate-npfs.h5 on examples/parkinsons.csv
    """
    from fsframe.chains.audit import StageAudit, audit_run
    from fsframe.method.run import Run

    table = table_after_on(words, example := "fsframe audit RUN.h5 on DATA")
    path, record = open_run(run)
    source = source_of_run(record, path, table, example)
    data = table_of_run(record, source, **reading_arguments(**options))
    took = sum(stage.seconds for stage in record.stages)
    stages = counted(len(record.stages), "stage")
    say(f"{path}: recomputing {stages}, which took {took:.2f} s in the run", err=True)
    failed: list[str] = []

    def report(outcome: StageAudit) -> None:
        say(f"{outcome.path.removeprefix('/stages/').lstrip('/'):24} {_verdict_text(outcome)}")
        if not outcome.passed:
            failed.append(outcome.path)

    with execution.open_engine("processes" if workers else None, workers) as engine:
        stoppable(
            lambda: audit_run(
                record, data, Run(executor=engine), memory=options["memory"], report=report
            ),
            lambda number: stop_command(number, engine),
        )
    if failed:
        raise StoreError(
            f"{path}: {', '.join(failed)} could not be reproduced: the file was altered, or was "
            "made by another version of a method or with another --memory"
        )


def _verdict_text(outcome: Any) -> str:
    if outcome.verdict == "same bits":
        return "same bits"
    largest = f"largest relative difference {outcome.difference:.1e} in {outcome.where}"
    if outcome.verdict == "within rounding":
        return f"equal within rounding: {largest}; another kind of processor or library"
    return (
        f"DIFFERS: {outcome.where}" if outcome.difference == float("inf") else f"DIFFERS: {largest}"
    )


@click.command()
@click.argument("runs", nargs=-1, required=True, type=click.Path())
def verify(runs: tuple[str, ...]) -> None:
    """Check the integrity of run files: the seal, the layout, every checksum and digest.

    A folder stands for all run files in it, and a study for the runs that it holds.

    \b
    Example:
      fsframe verify examples/parkinsons.immigrate-npfs.h5
    """
    from fsframe.storage.study_file import load_study

    for path in (path for run in runs for path in files_named(run)):
        if path.suffix == ".zip":
            say(f"{path}: sound, {counted(len(load_study(path).runs), 'run')}")
            continue
        record = storage.load_run(path)
        say(f"{path}: sound")
        mixed = record.environment.get("mixed")
        if mixed:
            say(f"  mixed: {mixed}")
        for name, digest in record.digests().items():
            say(f"  {digest}  {name}")
