"""Run a study that a TOML file describes."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fsframe.cli.log_file import check_log
from fsframe.cli.running import Talk, engine_options, run_chain
from fsframe.cli.saying import say, say_json, say_lines
from fsframe.cli.written import forget_written, note_written
from fsframe.errors import DataError, RequestError, StoreError

if TYPE_CHECKING:
    from fsframe.evaluation.cross_validation import CrossValidation
    from fsframe.evaluation.study_plan import StudyPlan, StudyTable
    from fsframe.execution import Engine
    from fsframe.storage.study_file import StudyCell, StudyRecord

__all__ = ["study"]

_FILE = "study.zip"


@click.command()
@click.argument("file", type=click.Path())
@click.option(
    "-o",
    "--out",
    metavar="FOLDER",
    help="Folder for the study and its tables. [default: named like the study, beside FILE]",
)
@click.option("--dry-run", is_flag=True, help="Only check FILE and say what would be computed.")
@click.option(
    "--overwrite",
    is_flag=True,
    help="Replace a different study in the folder, and files that this study has not written.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("-q", "--quiet", is_flag=True, help="No progress or notes on stderr.")
@engine_options
def study(file: str, **options: Any) -> None:
    """Run a study described in a TOML file: tables × chains × measures.

    Writes tables, figures and text for a paper.

    Everything in FILE is checked before anything is computed, and all errors are reported at once.
    An interrupted study continues when the same command is given again. In the end FOLDER holds
    study.zip with every run, results.csv, a LaTeX table for each measure, a paragraph of methods
    (methods.md, methods.tex), references.bib, figures and report.html. FILE may also be a
    study.zip, which is then shown; with --out its tables are written again.

    \b
    Example:
      fsframe study examples/study/study.toml --dry-run
    """
    from fsframe.analysis.study_tables import study_file_names
    from fsframe.evaluation.study_plan import read_plan
    from fsframe.storage.own_files import check_own_files
    from fsframe.storage.study_file import load_study

    path = Path(os.path.abspath(file))
    talk = Talk.asked(options)
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
    names = dict.fromkeys(study_file_names(plan.measures, len(plan.tables)))
    check_own_files(folder, names, overwrite=options["overwrite"])
    check_log(options["log"], [path, *(table.path for table in plan.tables)], folder)
    target = folder / _FILE
    if target.exists() and not options["overwrite"]:
        record = load_study(target)
        if record.asked() != plan.asked():
            raise StoreError(
                f"{target} is another study; choose another --out, or replace it (--overwrite)"
            )
        talk.note(f"{target} is the answer to this very study, and is shown")
        _finish(record, folder, options)
        return
    _finish(_run(plan, folder, target, options, talk), folder, options)


def _plan_lines(plan: StudyPlan) -> Iterator[str]:
    cells = list(_cells(plan))
    yield (
        f"{plan.name}: {len(plan.methods)} chains and {len(plan.beside)} classifiers on all "
        f"features, {len(plan.tables)} tables, {len(plan.seeds)} seeds: {len(cells)} runs"
    )
    for table in plan.tables:
        yield (
            f"table  {table.name}: {table.data.n_samples} × {table.data.n_features}, label: "
            f"{table.data.label_name}"
        )
    for method in plan.methods:
        yield f"chain  {method.base}"
    yield f"measures: {', '.join(plan.measures)}"


def _cells(plan: StudyPlan) -> Iterator[tuple[StudyCell, CrossValidation, StudyTable, int, bool]]:
    """Every run: its place, protocol, table and seed, and whether the chain may refuse it."""
    from fsframe.storage.study_file import StudyCell

    methods = [*plan.methods, *plan.beside.values()]
    for t, table in enumerate(plan.tables):
        for c, method in enumerate(methods):
            for s, seed in enumerate(plan.seeds):
                yield StudyCell(t, c, s), method, table, seed, c >= len(plan.methods)


def _run(
    plan: StudyPlan, folder: Path, target: Path, options: dict[str, Any], talk: Talk
) -> StudyRecord:
    from fsframe.execution import open_engine
    from fsframe.storage.study_file import load_study, write_study

    work = folder / "cells"
    _claim(work, plan)
    images: dict[StudyCell, bytes] = {}
    asked = tuple(options[name] for name in ("engine", "workers", "scheduler", "patience"))
    held = sum(t.data.nbytes for t in plan.tables)
    with open_engine(*asked, mixed=options["mixed"]) as engine:
        for cell, method, table, seed, optional in _cells(plan):
            out = work / Path(cell.member).name
            own = table.data.nbytes
            try:
                _one(method, table, seed, out, options, talk, engine, held - own)
            except (DataError, RequestError) as error:
                if not optional:
                    raise
                talk.note(f"{method.base} on all features of {table.name}: {error}")
                continue
            images[cell] = out.read_bytes()
    write_study(target, plan.asked(), images, plan.source, overwrite=options["overwrite"])
    # It holds the runs; their own files go.
    forget_written()
    note_written(target)
    record = load_study(target)
    try:
        shutil.rmtree(work)
    except OSError as error:
        talk.note(f"{target} is written; {work}, which can go, cannot be removed: {error.strerror}")
    return record


def _claim(work: Path, plan: StudyPlan) -> None:
    """Make the folder of finished runs, or see that it is of this study."""
    from fsframe.storage import place_file

    try:
        work.mkdir(parents=True, exist_ok=True)
        mark, text = work / "study.json", json.dumps(plan.asked(), indent=1)
        if not mark.exists():
            if any(work.iterdir()):
                raise StoreError(f"{work} holds something else; choose another --out")
            place_file(mark, text.encode())
        elif mark.read_text(encoding="utf-8") != text:
            raise StoreError(
                f"{work} is of another study, or of this one before it was changed; remove it, or "
                "choose another --out"
            )
    except OSError as error:
        raise StoreError(f"cannot use {work}: {error.strerror or error}") from error


def _one(
    method: CrossValidation,
    table: StudyTable,
    seed: int,
    out: Path,
    options: dict[str, Any],
    talk: Talk,
    engine: Engine | None,
    beside: int,
) -> None:
    """Have the run of one chain on one table with one seed at `out`."""
    from fsframe.analysis.comparison_run import as_chain, finished_run, request_problems

    chain = as_chain(method)
    if finished_run(out, chain, table.data, seed, options["mixed"]) is not None:
        return
    for problem in request_problems([method], table.data, seed):
        raise problem
    given = {**options, "seed": seed, "overwrite": False}
    run_chain(
        chain,
        table.data,
        out,
        given,
        talk=talk,
        path=table.path,
        source=str(table.path.name),
        engine=engine,
        beside=beside,
    )


def _finish(record: StudyRecord, folder: Path | None, options: Mapping[str, Any]) -> None:
    """Write the tables of a finished study, and show it."""
    from fsframe.analysis.comparison_display import comparison_lines, comparison_object
    from fsframe.analysis.study_tables import study_figures, study_files
    from fsframe.evaluation.study_results import study_comparisons
    from fsframe.storage.own_files import place_own_files

    try:
        found = study_comparisons(record)
    except (KeyError, ValueError) as error:
        raise StoreError(f"the runs of the study do not fit together: {error}") from error
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        # Made from the runs beside them, anew at every call.
        files = {name: text.encode() for name, text in study_files(record, found).items()}
        files |= study_figures(record)
        place_own_files(folder, files, overwrite=options["overwrite"])
    if options["as_json"]:
        objects = {metric: comparison_object(result) for metric, result in found.items()}
        say_json({**record.asked(), "comparisons": objects, "folder": folder and str(folder)})
        return
    say_lines(comparison_lines(found[record.measures[0]]))
    if folder is not None:
        say()
        say(f"folder: {os.path.relpath(folder)}")
