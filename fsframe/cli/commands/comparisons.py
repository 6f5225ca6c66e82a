"""Commands that evaluate chains on identical folds: compare, study."""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import click

from fsframe import execution, storage
from fsframe.cli.options import (
    engine_options,
    fold_options,
    reading_arguments,
    reading_options,
    ways_as_lines,
)
from fsframe.cli.running import (
    Reporter,
    check_log,
    requested_engine,
    run_request,
    show_study,
    this_command,
    with_options,
)
from fsframe.cli.terminal import (
    REPEATABLE,
    WRITTEN,
    json_option,
    option,
    quiet_option,
    say,
    say_json,
    say_lines,
)
from fsframe.errors import DataError, RequestError, UntidyTableError
from fsframe.show.comparisons import comparison_lines, comparison_object

if TYPE_CHECKING:
    from fsframe.chains.request import Request
    from fsframe.evaluation.study_plan import StudyPlan
    from fsframe.show.results import StudyResult


_LIMITS = ("overwrite", "memory", "mixed")


@click.command()
@click.argument("words", nargs=-1, required=True, metavar="CHAIN CHAIN... on DATA...")
@reading_options
@fold_options
@option(
    "--metric NAME",
    "Measure to compare by, such as auc or balanced-accuracy. [default: accuracy, or r2 for "
    "numeric targets]",
)
@option(
    "--rope X",
    "Region of practical equivalence: smaller differences count as none.",
    type=click.FloatRange(min=0),
    default=0.01,
)
@option(
    "--all-features/--no-all-features",
    "Also evaluate every classifier on all features, for comparison. [default: all-features]",
    default=True,
)
@option(
    "-o --out FOLDER",
    "Keep a run file for every chain and table there, with results.csv. A second call verifies "
    "what is there and computes only the rest.",
)
@option(
    "--seed",
    "Random seed: the same seed gives the same folds, and the same bits on the same kind of "
    "processor.",
    type=click.IntRange(min=0),
    default=0,
)
@option(
    "--overwrite",
    "Replace a table of results in the folder that has other chains or tables.",
)
@json_option
@quiet_option
@engine_options
def compare(words: tuple[str, ...], **options: Any) -> None:
    """Compare how well chains predict, on identical folds of one table or several.

    Each CHAIN is one argument in quotes. SELECTORS x CLASSIFIERS on DATA combines every chain of
    selectors left of the word x with every classifier right of it; sets in braces are expanded,
    whether or not the shell has already done so.

    The baselines are the largest class and every classifier on all features. The output gives
    win/tie/loss by the paired t-test, as in the papers, and by the corrected resampled t-test,
    which keeps its level; over several tables the Friedman and Wilcoxon tests with mean ranks, and
    the Bayesian signed-rank test. It marks the chains that are Pareto-optimal in accuracy and
    stability, and the one with the fewest features within one standard error of the best.

    \b
    Example:
      fsframe compare "immigrate margin" "mim:top=5 knn" on examples/parkinsons.csv --repeats 1
      fsframe compare {mim,jmi}:top={5,10} x knn margin on examples/parkinsons.csv --metric auc
    """
    from fsframe.ask.evaluations import compare_on, compared_methods, comparison_plan
    from fsframe.evaluation.study_plan import StudyTable
    from fsframe.show.comparisons import check_folder
    from fsframe.table.read import read
    from fsframe.table.reader import find_table

    chains, paths = _split(words)
    names = ("folds", "repeats", "scheme", "classifier", "inner_folds", "stratify")
    given = {name: options.pop(name) for name in names}
    methods, metric = compared_methods(chains, given, options["metric"] or None)
    found_paths = [find_table(path) for path in paths]
    folder = _folder(options)
    if folder is not None:
        check_folder(folder, found_paths)
    check_log(options["log"], found_paths, folder)

    def study_table(path: Path, source: str) -> StudyTable:
        try:
            table = read(path, **reading_arguments(**options))
        except UntidyTableError as error:
            if len(found_paths) == 1:
                raise
            # Options that settle it for this table may not fit the others.
            apart = "options hold for all tables; in a file for `fsframe study` each has its own"
            lines = [error.problem, *ways_as_lines(error, (), None), apart]
            raise DataError("\n".join(lines)) from None
        return StudyTable(name=table.name, data=table, path=path, source=source)

    reading = [partial(study_table, *each) for each in zip(found_paths, paths, strict=True)]
    of_plan = {name: options[name] for name in ("seed", "rope", "all_features")}
    plan = comparison_plan(methods, metric, reading, **of_plan)
    reporter = Reporter(options)
    for table in plan.tables:
        for warning in table.data.warnings:
            reporter.note(f"{table.name}: {warning}")
    if folder is not None:
        REPEATABLE.append(this_command())
    with requested_engine(options) as engine:
        result = compare_on(
            plan,
            _runner(options, reporter, engine),
            folder,
            **{name: options[name] for name in _LIMITS},
            before=lambda requests: _check_memory(requests, engine),
            tell=reporter.note,
        )
    if options["as_json"]:
        say_json(comparison_object(result.comparison))
        return
    from fsframe.show.display import table_facts

    for place, name in enumerate(result.data):
        say(f"{name}: {table_facts(result.result(0, place))}")
    say()
    say_lines(comparison_lines(result.comparison))
    if folder is not None:
        say()
        say(f"folder: {options['out']}")


def _folder(options: Mapping[str, Any]) -> Path | None:
    """The folder of --out, absolute, since a plugin may change the current folder."""
    return Path(os.path.abspath(options["out"])) if options["out"] else None


def _runner(
    options: Mapping[str, Any], reporter: Reporter, engine: execution.Engine | None
) -> Callable[[Request], storage.RunRecord]:
    """A function that computes a run, within the limits that the command's options set."""
    # --overwrite applies to the tables of results, not to run files.
    of_runs = {**options, "overwrite": False}

    def ask(asked: Request) -> storage.RunRecord:
        return run_request(with_options(asked, of_runs), of_runs, reporter, engine)

    return ask


def _check_memory(requests: Sequence[Request], engine: execution.Engine | None) -> None:
    """Refuse a limit that is too small for some requests, naming one that is enough for all."""
    from fsframe.chains.stage import LimitTooSmall

    refused = []
    for each in requests:
        try:
            each.shares(engine)
        except LimitTooSmall as error:
            refused.append(error)
    if refused:
        raise max(refused, key=lambda error: error.needed)


def _split(words: Sequence[str]) -> tuple[list[str], list[str]]:
    if "on" not in words:
        raise RequestError("name the tables: fsframe compare CHAIN CHAIN … on DATA …")
    place = list(words).index("on")
    chains, paths = list(words[:place]), list(words[place + 1 :])
    if not paths:
        raise RequestError("name at least one table after `on`")
    return _chains(chains), paths


def _chains(words: list[str]) -> list[str]:
    """The chains that `words` name; a grid (SELECTORS x CLASSIFIERS) is expanded."""
    from fsframe.ask.options import classifier_text
    from fsframe.evaluation.grid import combined, spelled_out

    crosses = [place for place, word in enumerate(words) if word in ("x", "×")]
    if not crosses:
        if any(word.startswith("{") for word in words):
            raise RequestError(
                "a set of names makes a grid: name the classifiers to combine it with, such as "
                "{mim,jmi}:top={5,10} x knn margin"
            )
        return words
    if len(crosses) > 1:
        raise RequestError("a grid has one `x`: chains of selectors, x, classifiers")
    classifiers = [each for word in words[crosses[0] + 1 :] for each in spelled_out(word)]
    named = [classifier_text(each) or each for each in classifiers]
    return combined(words[: crosses[0]], named)


@click.command()
@click.argument("file", type=click.Path())
@option(
    "-o --out FOLDER",
    "Folder for the study and its tables. [default: named like the study, beside FILE]",
)
@option("--dry-run", "Only check FILE and print what would be computed.")
@option(
    "--overwrite",
    "Replace a different study in the folder, and files that this study has not written.",
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
    from fsframe.evaluation.study_plan import read_plan
    from fsframe.show.page import write_folder
    from fsframe.show.results import load_study

    path = Path(os.path.abspath(file))
    # Before anything is read, since it says where remarks go.
    reporter = Reporter(options)
    if path.suffix == ".zip":
        folder, result = _folder(options), load_study(path)
        if folder is not None:
            comparisons, overwrite = result.comparisons, options["overwrite"]
            write_folder(result.record, comparisons, folder, overwrite=overwrite)
    else:
        plan = read_plan(path)
        if options["dry_run"]:
            say_lines(_plan_lines(plan))
            return
        folder = _folder(options) or path.parent / plan.name
        tables = [table.path for table in plan.tables if table.path is not None]
        check_log(options["log"], [path, *tables], folder)
        result = _run(plan, folder, options, reporter)
    show_study(result, as_json=options["as_json"], folder=folder and str(folder))
    if folder is not None and not options["as_json"]:
        say()
        say(f"folder: {os.path.relpath(folder)}")


def _plan_lines(plan: StudyPlan) -> Iterator[str]:
    from fsframe.ask.evaluations import planned_requests
    from fsframe.text import counted

    total = len(planned_requests(plan))
    beside = (
        f" and {counted(len(plan.beside), 'classifier')} on all features" if plan.beside else ""
    )
    yield (
        f"{plan.name}: {counted(len(plan.methods), 'chain')}{beside}, "
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


def _run(plan: StudyPlan, folder: Path, options: dict[str, Any], reporter: Reporter) -> StudyResult:
    from fsframe.ask.evaluations import run_study
    from fsframe.storage.study_file import STUDY_FILE

    REPEATABLE.append(this_command())
    target = str(folder / STUDY_FILE)
    with contextlib.ExitStack() as opened:

        @functools.cache
        def runner() -> Callable[[Request], storage.RunRecord]:
            # Only now: a finished study needs no workers.
            return _runner(options, reporter, opened.enter_context(requested_engine(options)))

        def ask(asked: Request) -> storage.RunRecord:
            return runner()(attrs.evolve(asked, source=Path(asked.path).name))

        def placed(_: Path) -> None:
            # The study file contains the runs, whose own files are removed.
            WRITTEN.clear()
            WRITTEN[target] = None

        limits = {name: options[name] for name in _LIMITS}
        result = run_study(plan, ask, folder, **limits, tell=reporter.note, placed=placed)
    if target not in WRITTEN:
        reporter.note(f"{target} already holds the results of this study, which are shown")
    return result
