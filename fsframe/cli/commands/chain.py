"""Run selectors one after the other on a table."""

from __future__ import annotations

import shlex
from typing import Any

import click

from fsframe.cli.options import output_options
from fsframe.cli.reading_options import reading_options
from fsframe.cli.running import run_on
from fsframe.cli.stages import StageGroup, last_command
from fsframe.cli.terminal import say, say_json, say_lines
from fsframe.errors import RequestError
from fsframe.grammar import StageText


@click.argument("data", type=click.Path())
@reading_options
@output_options
@click.option(
    "--threads",
    type=click.IntRange(min=1),
    help="Threads to use; results do not depend on it. [default: all]",
)
def _on(data: str, **options: Any) -> dict[str, Any]:
    """The table to run on: delimited text (also compressed), NPZ or HDF5.

    DATA is a path, or - for standard input; the format is detected from the content. The file
    extension may be left out where only one known file matches. A pattern ('parts/*.parquet') or a
    folder of Parquet, Arrow or HDF5 files is one table in parts. The label is the last column
    unless `--label` says otherwise.

    \b
    Example:
      fsframe chain immigrate npfs on examples/parkinsons.csv --label class --seed 7
    """
    return {"data": data, **options}


_EPILOG = """\b
A stage's parameters follow it as options, or after a colon:
  fsframe chain immigrate --sigma 0.5 npfs --alpha 0.05 on examples/parkinsons.csv
  fsframe chain immigrate:sigma=0.5 npfs:alpha=0.05 on examples/parkinsons.csv
`fsframe chain immigrate --help` explains the parameters of a stage.
"""


@click.group(
    cls=StageGroup,
    last=last_command(_on),
    epilog=_EPILOG,
)
@click.option("--dry-run", is_flag=True, help="Check and print the request; run nothing.")
def chain(dry_run: bool) -> None:
    """Run selectors one after the other on a table.

    Each stage gets the features that the stage on its left kept, with their weights. A stage that
    resamples (npfs) wraps everything on its left.
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
            f"name the table to run on: fsframe chain {shlex.join(str(parsed).split())} on DATA"
        )
    from fsframe.show.display import result_lines, result_object

    record, out = run_on(parsed, [stage.text for stage in parsed.stages], **options)
    if options["as_json"]:
        say_json(result_object(record, out))
        return
    say_lines(result_lines(record, out))
