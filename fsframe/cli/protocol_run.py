"""Options and execution shared by the commands that run a chain on a table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fsframe.cli.log_file import check_log
from fsframe.cli.reading_options import read_data
from fsframe.cli.running import Reporter, engine_options, run_chain
from fsframe.cli.shared_options import all_options, json_option, quiet_option
from fsframe.contracts.grammar import StageText
from fsframe.errors import RequestError

if TYPE_CHECKING:
    from fsframe.chains.chain import Chain
    from fsframe.storage import RunRecord

__all__ = [
    "fold_options",
    "output_options",
    "protocol_named",
    "protocol_request",
    "run_on",
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


def protocol_named(command: str, chain: Chain, texts: Sequence[StageText]) -> list[StageText]:
    """Parts of the name of a protocol's run file: the command with changed options, the stages.

    Parameters
    ----------
    command : str
    chain : Chain
        The protocol as a stage; its base is given by `texts`.
    """
    (stage,) = chain.stages
    changed = {name: value for name, value in stage.text.params.items() if name != "base"}
    # The default of the command differs from that of the stage.
    if "all_features" in stage.method.values() and changed.pop("all_features", None) is None:
        changed["all-features"] = "no"
    return [StageText(command, changed), *texts]


def run_on(
    chain: Chain,
    named: Sequence[StageText],
    data: str,
    *,
    also_written: Sequence[str | None] = (),
    **options: Any,
) -> tuple[RunRecord, Path | None]:
    """Run `chain` on the table `data`; the record, and the path of its file.

    Parameters
    ----------
    chain : Chain
    named : sequence of StageText
        Parts of the default name of the run file (`run_path`).
    also_written : paths
        Other files that will be written, checked before any work starts.

    Raises
    ------
    FsframeError
        As reading and running say.
    """
    from fsframe.cli.existing_result import confirmed_result, existing_result
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
    used: list[str | Path | None] = [path, out]
    for written in also_written:
        if written is not None:
            check_destination(written, overwrite=options["overwrite"], apart_from=used)
            used.append(written)
    check_log(options["log"], used)
    reporter = Reporter.asked(options)
    table = read_data(str(path), **options)
    for warning in table.warnings:
        reporter.note(warning)
    record = confirmed_result(found, out, chain, table, reporter)
    if record is None:
        record = run_chain(chain, table, out, options, reporter=reporter, path=path, source=data)
    return record, out
