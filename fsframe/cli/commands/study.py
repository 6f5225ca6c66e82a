"""Run a study that a TOML file describes."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import click

from fsframe.cli.log_file import check_log
from fsframe.cli.options import engine_options
from fsframe.cli.running import Reporter, requested_engine, run_request, with_options
from fsframe.cli.signals import WRITTEN
from fsframe.cli.terminal import json_option, quiet_option, say, say_json, say_lines
from fsframe.errors import StoreError

if TYPE_CHECKING:
    from fsframe.chains.request import Request
    from fsframe.evaluation.study_plan import StudyPlan
    from fsframe.storage import RunRecord
    from fsframe.storage.study_file import StudyRecord


@click.command()
@click.argument("file", type=click.Path())
@click.option(
    "-o",
    "--out",
    metavar="FOLDER",
    help="Folder for the study and its tables. [default: named like the study, beside FILE]",
)
@click.option("--dry-run", is_flag=True, help="Only check FILE and print what would be computed.")
@click.option(
    "--overwrite",
    is_flag=True,
    help="Replace a different study in the folder, and files that this study has not written.",
)
@json_option
@quiet_option
@engine_options
def study(file: str, **options: Any) -> None:
    """Run a study described in a TOML file: tables × chains × measures.

    Writes tables, figures and text for a paper.

    Everything in FILE is checked before anything is computed, and all errors are reported at once.
    An interrupted study continues when the same command is given again. At the end, FOLDER holds
    study.zip with every run, results.csv, a LaTeX table for each measure, a paragraph of methods
    (methods.md, methods.tex), references.bib, figures and report.html. FILE may also be a
    study.zip, which is then shown; with --out its tables are written again.

    \b
    Example:
      fsframe study examples/study/study.toml --dry-run
    """
    from fsframe.ask.evaluations import finished_study
    from fsframe.evaluation.study_plan import read_plan
    from fsframe.show.study_page import check_folder
    from fsframe.storage.study_file import STUDY_FILE, load_study

    path = Path(os.path.abspath(file))
    reporter = Reporter.asked(options)
    if path.suffix == ".zip":
        record = load_study(path)
        folder = Path(os.path.abspath(options["out"])) if options["out"] else None
        _finish(record, folder, options)
        return
    plan = read_plan(path)
    folder = Path(os.path.abspath(options["out"])) if options["out"] else path.parent / plan.name
    if options["dry_run"]:
        say_lines(_plan_lines(plan))
        return
    check_folder(folder, plan, overwrite=options["overwrite"])
    tables = [table.path for table in plan.tables if table.path is not None]
    check_log(options["log"], [path, *tables], folder)
    answer = None if options["overwrite"] else finished_study(folder, plan)
    if answer is not None:
        reporter.note(
            f"{folder / STUDY_FILE} already holds the results of this study, which are shown"
        )
    _finish(answer or _run(plan, folder, options, reporter), folder, options)


def _plan_lines(plan: StudyPlan) -> Iterator[str]:
    from fsframe.ask.evaluations import planned_runs
    from fsframe.text import counted

    total = len(planned_runs(plan))
    yield (
        f"{plan.name}: {counted(len(plan.methods), 'chain')} and "
        f"{counted(len(plan.beside), 'classifier')} on all features, "
        f"{counted(len(plan.tables), 'table')}, {counted(len(plan.seeds), 'seed')}: "
        f"{counted(total, 'run')}"
    )
    for table in plan.tables:
        yield (
            f"table  {table.name}: {table.data.n_samples} × {table.data.n_features}, label: "
            f"{table.data.label_name}"
        )
    for method in plan.methods:
        yield f"chain  {method.base}"
    yield f"measures: {', '.join(plan.measures)}"


def _run(plan: StudyPlan, folder: Path, options: dict[str, Any], reporter: Reporter) -> StudyRecord:
    from fsframe.ask.evaluations import run_study

    of_runs = {**options, "overwrite": False}
    with requested_engine(options) as engine:

        def ask(asked: Request) -> RunRecord:
            asked = attrs.evolve(with_options(asked, of_runs), source=Path(asked.path).name)
            return run_request(asked, of_runs, reporter, engine)

        def placed(target: Path) -> None:
            # It contains the runs, whose own files are removed.
            WRITTEN.clear()
            WRITTEN[str(target)] = None

        return run_study(
            plan,
            ask,
            folder,
            overwrite=options["overwrite"],
            memory=options["memory"],
            mixed=options["mixed"],
            tell=reporter.note,
            placed=placed,
        )


def _finish(record: StudyRecord, folder: Path | None, options: Mapping[str, Any]) -> None:
    """Write the tables of a finished study, and show it."""
    from fsframe.evaluation.comparison import study_comparisons
    from fsframe.show.comparisons import comparison_lines, comparison_object
    from fsframe.show.study_page import write_folder

    try:
        found = study_comparisons(record)
    except (KeyError, ValueError) as error:
        raise StoreError(f"the runs of the study are inconsistent: {error}") from error
    if folder is not None:
        write_folder(record, found, folder, overwrite=options["overwrite"])
    if options["as_json"]:
        objects = {metric: comparison_object(result) for metric, result in found.items()}
        say_json({**record.asked(), "comparisons": objects, "folder": folder and str(folder)})
        return
    say_lines(comparison_lines(found[record.measures[0]]))
    if folder is not None:
        say()
        say(f"folder: {os.path.relpath(folder)}")
