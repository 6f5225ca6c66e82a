"""Recompute stages of a run and compare them with its file."""

from __future__ import annotations

from typing import Any

import click

from fsframe.cli.options import MemorySize
from fsframe.cli.reading_options import (
    reading_arguments,
    reading_options,
    source_of_run,
    table_of_run,
)
from fsframe.cli.run_file import open_run
from fsframe.cli.signals import stop_command, stoppable
from fsframe.cli.terminal import say
from fsframe.errors import RequestError, StoreError


@click.command()
@click.argument("run", type=click.Path())
@click.argument("words", nargs=-1, metavar="[on DATA]")
@click.option(
    "--share",
    type=click.FloatRange(0, 1, min_open=True),
    default=1.0,
    show_default=True,
    help="Recompute a random choice of stages that took at most this share of the run's time; "
    "at least one stage.",
)
@click.option("--workers", type=click.IntRange(1), help="Worker processes. [default: none]")
@click.option(
    "--memory",
    type=MemorySize(),
    help="Memory limit, such as 2GB; a run that was allowed more needs as much again.",
)
@reading_options
def audit(
    run: str,
    words: tuple[str, ...],
    share: float,
    workers: int | None,
    memory: int | None,
    **reading: Any,
) -> None:
    """Recompute stages of a finished run and compare them with its file.

    Each stage starts from the stored results of the stages before it, on the table of the run, with
    its seed. On the same processor and libraries every bit must be equal; elsewhere numbers may
    differ by rounding (1e-9 of the largest), and the output says so. Exit code 5 if a stage
    differs.

    \b
    Examples:
      fsframe audit examples/parkinsons.immigrate-npfs.h5
      fsframe audit examples/parkinsons.immigrate-npfs.h5 on examples/parkinsons.csv --share 0.2
    """
    from fsframe.chains.audit import StageAudit, audit_run, choose_stages
    from fsframe.execution import open_engine
    from fsframe.method.run import Run

    if words and (len(words) != 2 or words[0] != "on"):
        raise RequestError("name the table: fsframe audit RUN.h5 on DATA")
    path, record = open_run(run)
    source = source_of_run(record, words[1] if words else None, "fsframe audit RUN.h5 on DATA")
    data = table_of_run(record, source, **reading_arguments(**reading))
    chosen = choose_stages(record, share)
    took = sum(record.stages[number].seconds for number in chosen)
    say(f"{path}: {len(chosen)} of {len(record.stages)} stages, which took {took:.2f} s", err=True)
    failed: list[str] = []

    def told(found: StageAudit) -> None:
        say(f"{found.path.removeprefix('/stages/').lstrip('/'):24} {_words(found)}")
        if not found.passed:
            failed.append(found.path)

    with open_engine("processes" if workers else None, workers) as engine:
        stoppable(
            lambda: audit_run(
                record, data, Run(executor=engine), chosen, memory=memory, report=told
            ),
            lambda number: stop_command(number, engine),
        )
    if failed:
        raise StoreError(
            f"{path}: {', '.join(failed)} could not be reproduced: the file was altered, or was "
            "made by another version of a method or with another --memory"
        )


def _words(found: Any) -> str:
    if found.verdict == "same bits":
        return "same bits"
    largest = f"largest relative difference {found.difference:.1e} in {found.where}"
    if found.verdict == "within rounding":
        return f"equal within rounding: {largest}; another kind of processor or library"
    return f"DIFFERS: {found.where}" if found.difference == float("inf") else f"DIFFERS: {largest}"
