"""Run a study: finished runs in a folder, then in one file, with tables, plots and texts."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

import attrs

from fsframe.analysis.comparison_display import csv_text
from fsframe.analysis.comparison_run import (
    as_chain,
    bytes_in_memory,
    finished_run,
    request_problems,
)
from fsframe.chains.chain import Chain
from fsframe.errors import DataError, PluginError, RequestError, StoreError
from fsframe.escaping import tex
from fsframe.evaluation.comparison import Comparison
from fsframe.evaluation.cross_validation import CrossValidation
from fsframe.evaluation.study_plan import StudyPlan, StudyTable
from fsframe.plots.canvas import figure_bytes
from fsframe.plots.kinds import draw
from fsframe.report.study_page import report_page_of_study
from fsframe.report.study_text import bibliography, methods_text
from fsframe.storage import RunRecord, place_file
from fsframe.storage.study_file import StudyCell, StudyRecord, load_study, write_study
from fsframe.storage.tracked_files import check_tracked_files, place_tracked_files

__all__ = [
    "STUDY_FILE",
    "StudyRun",
    "check_folder",
    "finished_study",
    "run_study",
    "study_runs",
    "write_folder",
]

STUDY_FILE = "study.zip"
"""Name of the file of a finished study in its folder."""

_MARK = "study.json"
_FORMS = ("pdf", "svg")


@attrs.frozen(kw_only=True, eq=False)
class StudyRun:
    """One run of a study, of all `total` runs the one with this `number`, from 1.

    It is `optional` if it is a classifier on all features, which may refuse a table.
    """

    cell: StudyCell
    method: CrossValidation
    table: StudyTable
    seed: int
    optional: bool
    number: int
    total: int

    @property
    def chain(self) -> Chain:
        """The protocol as a chain."""
        return as_chain(self.method)


def study_runs(plan: StudyPlan) -> Iterator[StudyRun]:
    """Every run of a study, in the order in which they are computed."""
    methods = [*plan.methods, *plan.beside.values()]
    total = len(plan.tables) * len(methods) * len(plan.seeds)
    number = 0
    for t, table in enumerate(plan.tables):
        for c, method in enumerate(methods):
            for s, seed in enumerate(plan.seeds):
                number += 1
                yield StudyRun(
                    cell=StudyCell(t, c, s),
                    method=method,
                    table=table,
                    seed=seed,
                    optional=c >= len(plan.methods),
                    number=number,
                    total=total,
                )


def check_folder(folder: Path, plan: StudyPlan, *, overwrite: bool = False) -> None:
    """Raise StoreError if `folder` holds files that no study has written."""
    names = dict.fromkeys(study_file_names(plan.measures, len(plan.tables)))
    check_tracked_files(folder, names, overwrite=overwrite)


def finished_study(folder: Path, plan: StudyPlan) -> StudyRecord | None:
    """The finished study in `folder`; None if there is none.

    Raises
    ------
    StoreError
        If another study is there, or it is damaged.
    """
    target = folder / STUDY_FILE
    if not target.exists():
        return None
    record = load_study(target)
    # The chains of the runs include how rows are split.
    chains = {run.cell: str(run.chain) for run in study_runs(plan)}
    if record.asked() != plan.asked() or any(
        record.runs[cell].chain != chains[cell] for cell in record.runs
    ):
        raise StoreError(
            f"{target} is another study; choose another --out, or replace it (--overwrite)"
        )
    return record


def run_study(
    plan: StudyPlan,
    run: Callable[[StudyRun, Path | None, int], RunRecord],
    folder: Path | None = None,
    *,
    overwrite: bool = False,
    mixed: bool = False,
    tell: Callable[[str], None] = lambda text: None,
    placed: Callable[[Path], None] = lambda path: None,
) -> StudyRecord:
    """Compute every run of a study that is not finished.

    Parameters
    ----------
    run : callable
        Computes a run, given the path for its file (or None) and the bytes of the other tables.
    folder : Path, optional
        Where finished runs are kept until all of them are in one file; those of an earlier call
        are verified and not computed again, and only with `mixed` may they be of another kind of
        processor. Only with `overwrite` is another study there replaced.
    tell : callable
        Called with a message for a classifier that refuses a table, or a file that cannot be
        removed.
    placed : callable
        Called with the path of the study file as soon as it exists.

    Raises
    ------
    StoreError
        If files in the folder belong to another study.
    """
    work = None if folder is None else folder / "cells"
    if work is not None:
        _claim(work, plan)
    runs: dict[StudyCell, RunRecord] = {}
    images: dict[StudyCell, bytes] = {}
    every = bytes_in_memory([table.data for table in plan.tables])
    for each in study_runs(plan):
        out = None if work is None else work / Path(each.cell.member).name
        try:
            found = _record(each, out, run, every - bytes_in_memory([each.table.data]), mixed)
        except (DataError, RequestError) as error:
            if not each.optional:
                raise
            tell(f"{each.method.base} on all features of {each.table.name}: {error}")
            continue
        if out is None:
            runs[each.cell] = found
        else:
            images[each.cell] = out.read_bytes()
    if folder is None or work is None:
        return plan.record(runs)
    target = folder / STUDY_FILE
    write_study(target, plan.asked(), images, plan.source, overwrite=overwrite)
    placed(target)
    record = load_study(target)
    try:
        # The mark is removed last: if this is killed, the folder is still known to be this study's.
        for path in work.iterdir():
            if path.is_dir():
                shutil.rmtree(path)
            elif path.name != _MARK:
                path.unlink()
        shutil.rmtree(work)
    except OSError as error:
        tell(
            f"{target} is written; {work} is no longer needed but cannot be removed: "
            f"{error.strerror}"
        )
    return record


def write_folder(
    record: StudyRecord,
    found: Mapping[str, Comparison],
    folder: Path,
    *,
    overwrite: bool = False,
) -> None:
    """Write the tables, texts and pictures of a finished study.

    Raises
    ------
    StoreError
        If a file is in the way or cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"cannot use {folder}: {error.strerror or error}") from error
    # Made again from the runs at every call.
    place_tracked_files(folder, _files(record, found), overwrite=overwrite)


def _record(
    each: StudyRun,
    out: Path | None,
    run: Callable[[StudyRun, Path | None, int], RunRecord],
    beside: int,
    mixed: bool,
) -> RunRecord:
    """The run, read if it is finished, else computed."""
    data = each.table.data
    if out is not None:
        found = finished_run(out, each.chain, data, each.seed, mixed)
        if found is not None:
            return found
    for problem in request_problems([each.method], data, each.seed):
        raise problem
    return run(each, out, beside)


def _claim(work: Path, plan: StudyPlan) -> None:
    """Make the folder of finished runs, or check that it belongs to this study."""
    try:
        work.mkdir(parents=True, exist_ok=True)
        mark, text = work / _MARK, json.dumps(plan.asked(), indent=1)
        if not mark.exists():
            # A command that was killed while it wrote the mark leaves a part of it.
            for begun in work.glob(f".{mark.name}.*.partial"):
                begun.unlink()
            if any(work.iterdir()):
                raise StoreError(f"{work} holds something else; choose another --out")
            place_file(mark, text.encode())
        elif mark.read_text(encoding="utf-8") != text:
            raise StoreError(
                f"{work} belongs to another study, or to this one before it was changed; remove "
                "it, or choose another --out"
            )
    except OSError as error:
        raise StoreError(f"cannot use {work}: {error.strerror or error}") from error


def _files(record: StudyRecord, found: Mapping[str, Comparison]) -> dict[str, bytes]:
    """The contents of the files of results, by name."""
    texts = {name: text.encode() for name, text in _texts(record, found).items()}
    return texts | _figures(record)


def _texts(record: StudyRecord, found: Mapping[str, Comparison]) -> dict[str, str]:
    files = {"results.csv": csv_text(found.values()), "methods.md": _markdown(record)}
    for metric, result in found.items():
        files[_table_name(metric)] = _latex_table(result)
    text = methods_text(record, lambda keys: f"~\\cite{{{','.join(keys)}}}", tex)
    files["methods.tex"] = text + "\n"
    files["references.bib"] = bibliography(record)
    return files


def _table_name(metric: str) -> str:
    plain = "".join(c if c.isalnum() else "-" for c in metric)
    return f"table-{plain}.tex"


def _figures(record: StudyRecord) -> dict[str, bytes]:
    """The plots of a study as PDF and SVG, and its page; none if matplotlib is not installed.

    Of the first measure and seed: mean ranks over the tables, and for each table the measure
    against stability. A plot that does not apply (one table; no stability) is left out.
    """
    first = [
        [record.runs[StudyCell(table, chain, 0)] for chain in range(len(record.chains))]
        for table in range(len(record.tables))
    ]
    asked = {"cd": [run for row in first for run in row]}
    asked |= {f"pareto-{place + 1}": row for place, row in enumerate(first)}
    found: dict[str, bytes] = {}
    for name, runs in asked.items():
        try:
            figure = draw(name.partition("-")[0], runs, metric=record.measures[0])
        except RequestError:
            continue
        except PluginError:
            return {}
        found |= {f"figure-{name}.{form}": figure_bytes(figure, form) for form in _FORMS}
    found["report.html"] = report_page_of_study(record, path=Path("study.zip")).encode()
    return found


def study_file_names(measures: Iterable[str], n_tables: int) -> list[str]:
    """The names of all files that `study_files` may give, known before anything is computed.

    >>> study_file_names(["auc"], 1)[:5]
    ['results.csv', 'methods.md', 'table-auc.tex', 'methods.tex', 'references.bib']
    """
    tables = [_table_name(measure) for measure in measures]
    kinds = ["cd", *(f"pareto-{place + 1}" for place in range(n_tables))]
    figures = [f"figure-{kind}.{form}" for kind in kinds for form in _FORMS]
    texts = ["results.csv", "methods.md", *tables, "methods.tex", "references.bib"]
    return [*texts, "report.html", *figures]


def _latex_table(result: Comparison) -> str:
    """LaTeX table (booktabs) of mean ± corrected standard error: chains in rows, tables in columns,
    the best in bold.
    """
    tables = " & ".join(tex(name) for name in result.data)
    lines = [
        f"% {result.metric}: mean ± standard error corrected for overlapping training sets",
        rf"\begin{{tabular}}{{l{'r' * len(result.data)}}}",
        r"\toprule",
        rf"{tex(result.metric)} & {tables} \\",
        r"\midrule",
    ]
    for c, chain in enumerate(result.chains):
        cells = []
        for d in range(len(result.data)):
            column = result.values[d]
            best = column.max() if result.larger_is_better else column.min()
            error = result.standard_error[d, c]
            shown = f"{column[c]:.3f}" + ("" if error != error else rf" \pm {error:.3f}")
            cells.append(rf"$\mathbf{{{shown}}}$" if column[c] == best else f"${shown}$")
        lines.append(rf"\texttt{{{tex(chain)}}} & {' & '.join(cells)} \\")
    lines.append(r"\midrule")
    beside = {result.rule: result.larger_class}
    beside |= {f"{name}, all features": of for name, of in result.all_features.items()}
    for name, of in beside.items():
        cells = ["---" if value != value else f"${value:.3f}$" for value in of.tolist()]
        lines.append(rf"{tex(name)} & {' & '.join(cells)} \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"]) + "\n"


def _markdown(record: StudyRecord) -> str:
    text = methods_text(record, lambda keys: " [" + "; ".join(f"@{key}" for key in keys) + "]")
    return f"# Methods of {record.name}\n\n{text}\n"
