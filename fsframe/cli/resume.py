"""``fsframe resume RUN.h5``: go on with a run that was interrupted."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fsframe.cli.reading_options import read_data, reading_options
from fsframe.cli.running import READING, Talk, engine_options, run_chain
from fsframe.errors import FsframeError, RequestError, StoreError

if TYPE_CHECKING:
    from fsframe.checkpoints import Manifest
    from fsframe.store import RunRecord

__all__ = ["resume"]

_PREFER = "FSFRAME_PREFER"


@click.command()
@click.argument("run", type=click.Path())
@click.option("--data", metavar="PATH", help="Where the table is now. [default: where it was]")
@reading_options
@engine_options
@click.option("--threads", type=click.IntRange(min=1), help="Threads to use. [default: all]")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("-q", "--quiet", is_flag=True, help="No progress and no remarks on stderr.")
def resume(run: str, **options: Any) -> None:
    """Go on with a run that was interrupted, from what it has finished.

    RUN is the run file that shall be there in the end. The chain, the seed and the table must be
    those of the interrupted run, and so must versions and processor where they could change a bit
    of the result (--mixed accepts that); the result is the same, bit by bit, as without the
    interruption. The engine may be another.

    \b
    Example:
      fsframe resume parkinsons.immigrate-npfs.h5 --workers 4
    """
    from fsframe.checkpoints import Manifest, units_folder

    out = Path(run.rstrip("/").removesuffix(".units"))
    folder = units_folder(out)
    if not folder.is_dir():
        if out.is_dir():
            raise StoreError(
                f"{out} is a folder, such as `compare --out` keeps: give the same compare again, "
                "and it goes on from what is finished"
            )
        if not out.is_file():
            raise StoreError(
                f"there is nothing to resume: neither {out} nor {folder.name} is there; start the "
                "run again, or say where it is"
            )
        from fsframe.store import load_run

        record = load_run(out)
        if not options["quiet"]:
            click.echo(f"note: {out} is finished already", err=True)
        _show(record, out, options["as_json"])
        return
    if not (folder / "manifest").is_file():
        raise StoreError(
            f"there is nothing to resume: {folder} holds nothing finished; start the run again"
        )
    manifest = Manifest.read(folder / "manifest")
    csv_out = _also_asked(manifest, [out, options["data"] or manifest.request.get("path")])
    finished = _finished(out, manifest)
    record = _go_on(out, manifest, options) if finished is None else finished
    if csv_out is not None:
        from fsframe.cli.protocol_display import protocol_csv

        protocol_csv(record, csv_out, overwrite=bool(manifest.request.get("overwrite")))
    _show(record, out, options["as_json"])


def _also_asked(manifest: Manifest, used: list[Any]) -> Path | None:
    """Where the interrupted command was to write its table of folds, if it still can."""
    from fsframe.store import check_destination

    name = manifest.request.get("csv", "")
    if name:
        check_destination(name, overwrite=bool(manifest.request.get("overwrite")), apart_from=used)
    return Path(name) if name else None


def _finished(out: Path, manifest: Manifest) -> RunRecord | None:
    """The record at `out`, if the run was killed after it was written; the leftovers go."""
    from fsframe.checkpoints import Checkpoint
    from fsframe.store import load_run

    if not out.is_file():
        return None
    try:
        record = load_run(out)
    except FsframeError:
        record = None
    asked = (manifest.chain, manifest.seed, manifest.sha256)
    if record is not None and (record.chain, record.seed, record.data.sha256) == asked:
        Checkpoint.open(out, manifest, overwrite=True).finish()
        return record
    if manifest.request.get("overwrite"):
        return None
    raise StoreError(f"{out} is the file of another run and was left as it is; move it away first")


def _go_on(out: Path, manifest: Manifest, options: dict[str, Any]) -> RunRecord:
    from fsframe.chain import Chain

    request = manifest.request
    path = options["data"] or request.get("path", "")
    if not path:
        raise RequestError(
            f"{out} was begun from Python, which does not say where the table is: give --data, or "
            "call Chain.run again"
        )
    if not Path(path).is_file():
        raise StoreError(f"the table {path} is no longer there; say where it is now (--data)")
    reading = _stored_reading(request.get("reading", "{}"))
    reading |= {name: options[name] for name in READING if options[name] is not None}
    talk = Talk(quiet=options["quiet"], events=options["events"] == "json")
    table = read_data(path, **reading)
    memory = request.get("memory", "")
    with _as_begun(request.get("providers", "{}")):
        return run_chain(
            Chain.parse(manifest.chain),
            table,
            out,
            {
                **options,
                **reading,
                "seed": manifest.seed,
                "overwrite": bool(request.get("overwrite")),
                "memory": int(memory) if memory.isdecimal() else None,
            },
            talk=talk,
            path=Path(path),
            source=request.get("source", ""),
            command=request.get("command", ""),
        )


@contextlib.contextmanager
def _as_begun(text: str) -> Iterator[None]:
    """Names mean the methods that they meant when the run was begun, in workers too.

    Another plugin may have been installed since that offers one of them.
    """
    try:
        found = json.loads(text)
    except ValueError:
        found = {}
    items = found.items() if isinstance(found, dict) else ()
    before = os.environ.get(_PREFER)
    chosen = [f"{provider}/{name}" for name, provider in items]
    os.environ[_PREFER] = ",".join([*chosen, *([before] if before else [])])
    try:
        yield
    finally:
        if before is None:
            del os.environ[_PREFER]
        else:
            os.environ[_PREFER] = before


def _stored_reading(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise StoreError("the manifest does not say how the table was read; start the run again")
    return {name: found[name] for name in READING if isinstance(found.get(name), (str, bool))}


def _show(record: RunRecord, out: Path, as_json: bool) -> None:
    from fsframe.cli.display import result_lines
    from fsframe.cli.protocol_display import protocol_object

    if as_json:
        click.echo(json.dumps(protocol_object(record, out), ensure_ascii=False, allow_nan=False))
        return
    for line in result_lines(record, out):
        click.echo(line)
