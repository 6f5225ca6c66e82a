"""Options and execution shared by the commands that run a chain on a table."""

from __future__ import annotations

import contextlib
import os
import shlex
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fsframe.cli.log_file import check_log
from fsframe.cli.reading_options import read_data
from fsframe.cli.running import Reporter, engine_options, run_chain, this_command
from fsframe.cli.shared_options import all_options, json_option, quiet_option
from fsframe.cli.terminal import say, say_json, say_lines
from fsframe.contracts.grammar import StageText
from fsframe.errors import FsframeError, RequestError, StoreError

if TYPE_CHECKING:
    from fsframe.chains.chain import Chain
    from fsframe.contracts.dataset import Dataset
    from fsframe.storage import RunRecord

__all__ = [
    "existing_result",
    "fold_options",
    "output_options",
    "protocol_request",
    "run_on",
    "run_protocol",
    "show_result",
]

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
    click.option(
        "--dry-run", is_flag=True, help="Check the request and print the chain, but run nothing."
    ),
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
        "scikit-learn classifier. [default: weighted-knn]",
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
    from fsframe.analysis.display import protocol_csv, protocol_object, result_lines

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
    from fsframe.cli.run_file import run_path
    from fsframe.storage import check_destination
    from fsframe.tables import find_table

    path = find_table(data)
    out: Path | None = None
    if options["no_out"] and options["out"]:
        raise RequestError("--out and --no-out exclude each other: give one of them")
    if not options["no_out"]:
        out = Path(options["out"]) if options["out"] else run_path(path, named)
    found = None if out is None else existing_result(out, chain, options, path)
    used = [path, out]
    csv_out = options.get("csv_out")
    if csv_out is not None:
        check_destination(csv_out, overwrite=options["overwrite"], apart_from=used)
    check_log(options["log"], [*used, csv_out])
    reporter = Reporter.asked(options)
    table = read_data(str(path), **options)
    for warning in table.warnings:
        reporter.note(warning)
    record = _confirmed_result(found, out, chain, table, reporter)
    if record is None:
        record = run_chain(chain, table, out, options, reporter=reporter, path=path, source=data)
    return record, out


def existing_result(
    out: Path, chain: Chain, options: Mapping[str, Any], table: Path
) -> RunRecord | None:
    """The record at `out` if it matches this command, the table aside; None if there is no file.

    Raises
    ------
    StoreError
        If the file does not match, `out` cannot be written, or it is `table`.
    """
    from fsframe.storage import check_destination, load_run

    if options["overwrite"] or options["restart"] or not out.is_file():
        check_destination(out, overwrite=options["overwrite"], apart_from=[table])
        return None
    try:
        record = load_run(out)
    except FsframeError:
        record = None
    if record is None or not _same_request(record, chain, options):
        check_destination(out, apart_from=[table])
    return record


def _confirmed_result(
    record: RunRecord | None, out: Path | None, chain: Chain, table: Dataset, reporter: Reporter
) -> RunRecord | None:
    """`record`, if it was made from `table`; leftovers of an interrupted attempt are removed.

    Raises
    ------
    StoreError
        If it was made from another table.
    """
    from fsframe.chains.recording import open_checkpoint
    from fsframe.storage import check_destination

    if record is None or out is None:
        return None
    if record.data.sha256 != table.sha256:
        check_destination(out)
    with contextlib.suppress(StoreError):
        open_checkpoint(chain, table, record.seed or 0, out, overwrite=True).finish()
    reporter.note(
        f"{out} already holds the result of this request, which is shown; --overwrite computes it "
        "again"
    )
    return record


def _same_request(record: RunRecord, chain: Chain, options: Mapping[str, Any]) -> bool:
    """Whether chain, seed, memory limit and everything else that affects results are equal."""
    from fsframe.chains.recording import is_result_of

    same_memory = _memory(record.command) == _memory(this_command())
    return same_memory and is_result_of(record, chain, options["seed"])


def _memory(command: str) -> list[str]:
    """The values of ``--memory`` in a command.

    >>> _memory("fsframe chain mim on t.csv --memory 2GB"), _memory("fsframe chain --memory=1GB")
    (['2GB'], ['1GB'])
    """
    try:
        words = shlex.split(command)
    except ValueError:
        return []
    split = [part for word in words for part in (word.split("=", 1) if "--" in word else [word])]
    return [after for word, after in pairwise(split) if word == "--memory"]
