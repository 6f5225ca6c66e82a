"""Options and execution shared by the commands that run a chain on a table."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fsframe.cli.log_file import check_log
from fsframe.cli.reading_options import read_data
from fsframe.cli.running import Reporter, engine_options, run_request, with_options
from fsframe.cli.shared_options import all_options, json_option, quiet_option
from fsframe.cli.terminal import say, say_json, say_lines
from fsframe.errors import RequestError, StoreError
from fsframe.grammar import StageText
from fsframe.registry import classifiers, default_names

if TYPE_CHECKING:
    from fsframe.chains.chain import Chain
    from fsframe.storage import RunRecord

output_options = all_options(
    click.option(
        "-o",
        "--out",
        metavar="FILE",
        help="Where to write the run file. [default: DATA.STAGES.h5 beside the data, with the "
        "parameters of the stages]",
    ),
    click.option("--no-out", is_flag=True, help="Write no run file."),
    click.option(
        "--seed",
        type=click.IntRange(min=0),
        default=0,
        show_default=True,
        help="Random seed: the same seed gives the same bits on the same kind of processor.",
    ),
    click.option("--overwrite", is_flag=True, help="Replace existing files."),
    json_option,
    quiet_option,
    click.option("--dry-run", is_flag=True, help="Check and print the request; run nothing."),
    engine_options,
)
"""The options that `run_on` takes."""

fold_options = all_options(
    click.option("--folds", metavar="N", help="Number of folds. [default: 10]"),
    click.option("--repeats", metavar="N", help="Number of repetitions. [default: 10]"),
    click.option(
        "--scheme",
        metavar="folds|five-by-two|leave-one-out",
        help="How rows are split into training and test rows. [default: folds]",
    ),
    click.option(
        "--classifier",
        metavar="STAGE|PATH",
        help="Classifier for a chain that does not end with one: a stage, or the name of a "
        f"scikit-learn classifier. [default: {', '.join(default_names(classifiers))}]",
    ),
    click.option(
        "--unstratified",
        "stratify",
        flag_value="no",
        default=None,
        help="Do not stratify folds by class. [default: stratified]",
    ),
    click.option(
        "--inner-folds", metavar="N", help="Number of inner folds, for tuning. [default: 5]"
    ),
)
"""The options of cross-validation."""


def protocol_request(
    results: Sequence[StageText | dict[str, Any]], example: str
) -> tuple[tuple[StageText, ...], dict[str, Any]]:
    """The stages and the options of ``COMMAND STAGES on DATA``.

    Raises
    ------
    RequestError
        If there are no stages, or `on DATA` does not come once at the end.
    """
    texts = tuple(result for result in results if isinstance(result, StageText))
    requests = [result for result in results if isinstance(result, dict)]
    if not texts:
        raise RequestError(f"name at least one stage before `on`, such as `{example}`")
    if len(requests) != 1 or isinstance(results[-1], StageText):
        raise RequestError("give the data once, after the last stage: on DATA")
    return texts, requests[0]


def run_protocol(
    command: str, chain: Chain, texts: Sequence[StageText], options: Mapping[str, Any]
) -> None:
    """Run the protocol `chain`, which evaluates the stages `texts`, and show the result."""
    if options["dry_run"]:
        say(str(chain))
        return
    # Absolute: a plugin may change the current folder.
    csv_out = os.path.abspath(options["csv_out"]) if options.get("csv_out") else None
    record, out = run_on(chain, _protocol_named(command, chain, texts), **options)
    show_result(record, out, options, csv_out)


def show_result(
    record: RunRecord, out: Path | None, options: Mapping[str, Any], csv_out: str | None
) -> None:
    """Print a result as its command does, and write its folds to `csv_out`."""
    from fsframe.show.display import protocol_csv, protocol_object, result_lines

    if csv_out is not None:
        protocol_csv(record, Path(csv_out), overwrite=options["overwrite"])
    if options["as_json"]:
        say_json(protocol_object(record, out))
    else:
        say_lines(result_lines(record, out))


def _protocol_named(command: str, chain: Chain, texts: Sequence[StageText]) -> list[StageText]:
    """Parts of the name of a protocol's run file: the command with changed options, the stages."""
    (stage,) = chain.stages
    changed = {name: value for name, value in stage.text.params.items() if name != "base"}
    # The default of the command differs from that of the stage.
    if "all_features" in stage.method.values() and changed.pop("all_features", None) is None:
        changed["all-features"] = "no"
    return [StageText(command, changed), *texts]


def run_on(
    chain: Chain, named: Sequence[StageText], data: str, **options: Any
) -> tuple[RunRecord, Path | None]:
    """Run `chain` on the table `data`; the record, and the path of its file.

    `named` are the parts of the default name of the run file (`run_path`). All files that the
    command writes are checked before any work starts.
    """
    from fsframe.ask.request import Request
    from fsframe.chains.recording import stored_answer
    from fsframe.cli.run_file import run_path
    from fsframe.storage import check_destination
    from fsframe.table.locate import find_table

    path = find_table(data)
    out: Path | None = None
    if options["no_out"] and options["out"]:
        raise RequestError("--out and --no-out exclude each other: give one of them")
    if not options["no_out"]:
        out = Path(options["out"]) if options["out"] else run_path(path, named)
    if out is not None and (options["overwrite"] or options["restart"]):
        check_destination(out, overwrite=options["overwrite"], apart_from=[path])
    elif out is not None:
        # Refused before the table is read, which may take long.
        stored_answer(out, chain, options["seed"], apart_from=[path])
    used = [path, out]
    csv_out = options.get("csv_out")
    if csv_out is not None:
        check_destination(csv_out, overwrite=options["overwrite"], apart_from=used)
    check_log(options["log"], [*used, csv_out])
    reporter = Reporter.asked(options)
    table = read_data(str(path), **options)
    for warning in table.warnings:
        reporter.note(warning)
    request = Request(
        chain=chain, data=table, seed=options["seed"], out=out, path=path, source=data
    )
    request = with_options(request, options)
    record = request.answer()
    if record is None:
        return run_request(request, options, reporter), out
    # Leftovers of an interrupted attempt.
    with contextlib.suppress(StoreError):
        leftovers = request.checkpoint(overwrite=True)
        assert leftovers is not None
        leftovers.finish()
    reporter.note(
        f"{out} already holds the result of this request, which is shown; --overwrite computes it "
        "again"
    )
    return record, out
