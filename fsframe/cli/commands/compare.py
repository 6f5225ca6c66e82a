"""Compare how well several chains predict."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fsframe.cli.log_file import check_log
from fsframe.cli.options import engine_options, fold_options
from fsframe.cli.reading_options import read_data, reading_options
from fsframe.cli.running import Reporter, requested_engine, run_request, with_options
from fsframe.cli.terminal import json_option, quiet_option, say, say_json, say_lines
from fsframe.errors import FsframeError, RequestError
from fsframe.show.comparisons import comparison_lines, comparison_object

if TYPE_CHECKING:
    from fsframe.chains.request import Request
    from fsframe.evaluation.cross_validation import CrossValidation
    from fsframe.execution import Engine
    from fsframe.storage import RunRecord
    from fsframe.table.dataset import Dataset


@click.command()
@click.argument("words", nargs=-1, required=True, metavar="CHAIN CHAIN... on DATA...")
@reading_options
@fold_options
@click.option(
    "--metric",
    metavar="NAME",
    help="Measure to compare by, such as auc or balanced-accuracy. [default: accuracy, or r2 "
    "for numeric targets]",
)
@click.option(
    "--rope",
    type=click.FloatRange(min=0),
    default=0.01,
    show_default=True,
    metavar="X",
    help="Region of practical equivalence: smaller differences count as none.",
)
@click.option(
    "--all-features/--no-all-features",
    default=True,
    help="Also evaluate every classifier on all features, for comparison. [default: all-features]",
)
@click.option(
    "-o",
    "--out",
    metavar="FOLDER",
    help="Keep a run file for every chain and table there, with results.csv and results.h5. A "
    "second call verifies what is there and computes only the rest.",
)
@click.option("--csv", "csv_out", metavar="FILE", help="Also write the table of results.")
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Random seed: the same seed gives the same folds, and the same bits on the same kind of "
    "processor.",
)
@click.option("--overwrite", is_flag=True, help="Replace the file of --csv if it exists.")
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
    from fsframe.ask.evaluations import check_names, compare_on, compared_methods
    from fsframe.evaluation.comparison import leading_measure
    from fsframe.evaluation.study_plan import StudyTable
    from fsframe.show.comparisons import RESULTS, check_folder
    from fsframe.storage import check_destination
    from fsframe.table.reader import find_table

    chains, paths = _split(words)
    names = ("folds", "repeats", "scheme", "classifier", "inner_folds", "stratify")
    given = {name: options.pop(name) for name in names}
    methods, metric = compared_methods(chains, given, options["metric"] or None)
    found_paths = [find_table(path) for path in paths]
    # Absolute: a plugin may change the current folder.
    folder = Path(os.path.abspath(options["out"])) if options["out"] else None
    csv_out = None
    if options["csv_out"]:
        own = [] if folder is None else [folder / name for name in RESULTS]
        csv_out = check_destination(
            options["csv_out"], overwrite=options["overwrite"], apart_from=[*found_paths, *own]
        )
    if folder is not None:
        check_folder(folder, found_paths)
    check_log(options["log"], [*found_paths, csv_out], folder)
    tables = _read_all(methods, found_paths, options)
    check_names(tables)
    leading = leading_measure(tables)
    reporter = Reporter.asked(options)
    # --overwrite applies to the tables of results, not to run files.
    of_runs = {**options, "overwrite": False}
    for table in tables:
        for warning in table.warnings:
            reporter.note(f"{table.name}: {warning}")
    with requested_engine(options) as engine:

        def ask(asked: Request) -> RunRecord:
            return run_request(with_options(asked, of_runs), of_runs, reporter, engine)

        result = compare_on(
            methods,
            [
                StudyTable(name=table.name, data=table, path=path, source=source)
                for table, path, source in zip(tables, found_paths, paths, strict=True)
            ],
            ask,
            folder,
            csv_out,
            overwrite=options["overwrite"],
            seed=options["seed"],
            memory=options["memory"],
            mixed=options["mixed"],
            metric=metric or leading,
            rope=options["rope"],
            all_features=options["all_features"],
            before=lambda requests: _check_memory(requests, options["memory"], engine),
            tell=reporter.note,
        )
    if options["as_json"]:
        say_json(comparison_object(result.comparison))
        return
    from fsframe.show.run_display import table_facts

    for runs in result.records:
        say(f"{runs[0].data.name}: {table_facts(runs[0])}")
    say()
    say_lines(comparison_lines(result.comparison))
    if folder is not None:
        say()
        say(f"folder: {options['out']}")


def _check_memory(requests: Sequence[Request], memory: int | None, engine: Engine | None) -> None:
    """Refuse a limit that is too small for some requests, naming one that is enough for all."""
    from fsframe.chains.stage import LimitTooSmall, shares_of

    refused = []
    for each in requests:
        try:
            shares_of(each.chain, each.data, memory, engine, beside=each.beside)
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
    """The chains; a grid (SELECTORS x CLASSIFIERS) is expanded."""
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


def _read_all(
    methods: Sequence[CrossValidation], paths: Sequence[Path], options: dict[str, Any]
) -> list[Dataset]:
    """Read the tables; problems foreseeable on any of them are reported together."""
    from fsframe.ask.evaluations import request_problems

    tables: list[Dataset] = []
    problems: dict[str, FsframeError] = {}
    for path in paths:
        try:
            table = read_data(str(path), **options)
        except FsframeError as error:
            problems.setdefault(str(error), error)
            continue
        tables.append(table)
        for problem in request_problems(methods, table, options["seed"]):
            problems.setdefault(f"{table.name}: {problem}", problem)
    if len(problems) == 1:
        raise next(iter(problems.values()))
    if problems:
        raise type(next(iter(problems.values())))("\n".join(problems))
    return tables
