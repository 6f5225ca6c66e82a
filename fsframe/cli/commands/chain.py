"""Run selectors one after the other on a table."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fsframe.cli.reading_options import read_data, reading_options
from fsframe.cli.run_file import run_path
from fsframe.cli.running import Talk, engine_options, run_chain
from fsframe.cli.saying import say, say_json, say_lines
from fsframe.cli.stages import StageGroup, last_command
from fsframe.contracts.grammar import StageText
from fsframe.errors import RequestError

if TYPE_CHECKING:
    from fsframe.chains.chain import Chain

__all__ = ["chain"]


@click.argument("data", type=click.Path())
@reading_options
@click.option(
    "-o",
    "--out",
    metavar="FILE",
    help="Where to leave the run file. [default: DATA.STAGES.h5 beside the data]",
)
@click.option("--no-out", is_flag=True, help="Leave no run file.")
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Equal seed, equal bits on the same kind of processor.",
)
@click.option("--overwrite", is_flag=True, help="Replace the run file if it is there.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("-q", "--quiet", is_flag=True, help="No progress and no remarks on stderr.")
@click.option(
    "--threads",
    type=click.IntRange(min=1),
    help="Threads to use; results do not depend on it. [default: all]",
)
@engine_options
@click.option("--dry-run", is_flag=True, help="Only check the request and print the chain.")
def _on(data: str, **options: Any) -> dict[str, Any]:
    """The table to run on: delimited text (also packed), NPZ or HDF5.

    DATA is a path, or - for standard input; its content decides what it is. An ending may be left
    out where only one known file matches. The label is the last column unless `--label` says
    otherwise.

    \b
    Example:
      fsframe chain immigrate npfs on examples/parkinsons.csv --label class --seed 7
    """
    return {"data": data, **options}


_EPILOG = """\b
A stage's parameters follow it as options, or behind a colon:
  fsframe chain immigrate --sigma 0.5 npfs --alpha 0.05 on examples/parkinsons.csv
  fsframe chain immigrate:sigma=0.5 npfs:alpha=0.05 on examples/parkinsons.csv
`fsframe chain immigrate --help` explains the parameters of a stage.
"""


@click.group(
    cls=StageGroup,
    last=last_command("on", _on, help=_on.__doc__),
    epilog=_EPILOG,
    subcommand_metavar="STAGES",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.option("--dry-run", is_flag=True, help="Only check the request and print the chain.")
def chain(dry_run: bool) -> None:
    """Run selectors one after the other on a table.

    Each stage sees the columns that the stage on its left kept, and the weights that travel with
    them. A stage that resamples (npfs) wraps everything on its left.
    """


@chain.result_callback()
def _run(results: list[StageText | dict[str, Any]], dry_run: bool) -> None:
    from fsframe.chains.chain import Chain

    texts = tuple(result for result in results if isinstance(result, StageText))
    requests = [result for result in results if isinstance(result, dict)]
    if not texts:
        raise RequestError("name at least one stage before `on`, such as `immigrate`")
    if len(requests) > 1 or (requests and isinstance(results[-1], StageText)):
        raise RequestError("`on DATA` comes once, after the last stage")
    parsed = Chain.from_texts(texts)
    options = requests[0] if requests else {}
    if dry_run or options.get("dry_run"):
        say(str(parsed))
        return
    if not requests:
        raise RequestError(
            f"say which data to run on: fsframe chain {shlex.join(str(parsed).split())} on DATA"
        )
    _run_on(parsed, **options)


def _run_on(parsed: Chain, *, data: str, **options: Any) -> None:
    from fsframe.analysis.display import result_lines, result_object
    from fsframe.cli.finished import answer_of_this, likely_answer
    from fsframe.tables import find_table

    path = find_table(data)
    out: Path | None = None
    if options["no_out"] and options["out"]:
        raise RequestError("--out says where to leave a run file, --no-out to leave none: say one")
    if not options["no_out"]:
        names = [stage.name for stage in parsed.stages]
        out = Path(options["out"]) if options["out"] else run_path(path, names)
    found = None if out is None else likely_answer(out, parsed, options, path)
    talk = Talk(quiet=options["quiet"], events=options["events"] == "json")
    table = read_data(str(path), **options)
    for warning in table.warnings:
        talk.note(warning)
    record = answer_of_this(found, out, parsed, table, talk)
    if record is None:
        record = run_chain(parsed, table, out, options, talk=talk, path=path, source=data)
    if options["as_json"]:
        say_json(result_object(record, out))
        return
    say_lines(result_lines(record, out))
