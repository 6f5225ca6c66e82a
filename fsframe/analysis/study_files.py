"""The files of a finished study: tables, plots, texts and a page, made from its runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from fsframe.analysis.comparison_display import csv_text
from fsframe.atomic import check_tracked_files, place_tracked_files
from fsframe.errors import PluginError, RequestError, StoreError
from fsframe.evaluation.comparison import Comparison
from fsframe.evaluation.study_plan import StudyPlan
from fsframe.plots.canvas import figure_bytes
from fsframe.plots.kinds import draw
from fsframe.report.study_page import bibliography, methods_text, report_page_of_study
from fsframe.storage.study_file import StudyCell, StudyRecord
from fsframe.text import number_text, tex

_FORMS = ("pdf", "svg")


def check_folder(folder: Path, plan: StudyPlan, *, overwrite: bool = False) -> None:
    """Raise StoreError if `folder` holds files that no study has written."""
    names = dict.fromkeys(study_file_names(plan.measures, len(plan.tables)))
    check_tracked_files(folder, names, overwrite=overwrite)


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
            shown = number_text(column[c], 3) + ("" if error != error else rf" \pm {error:.3f}")
            cells.append(rf"$\mathbf{{{shown}}}$" if column[c] == best else f"${shown}$")
        lines.append(rf"\texttt{{{tex(chain)}}} & {' & '.join(cells)} \\")
    lines.append(r"\midrule")
    beside = {result.rule: result.larger_class}
    beside |= {f"{name}, all features": of for name, of in result.all_features.items()}
    for name, of in beside.items():
        cells = ["---" if value != value else f"${number_text(value, 3)}$" for value in of.tolist()]
        lines.append(rf"{tex(name)} & {' & '.join(cells)} \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"]) + "\n"


def _markdown(record: StudyRecord) -> str:
    text = methods_text(record, lambda keys: " [" + "; ".join(f"@{key}" for key in keys) + "]")
    return f"# Methods of {record.name}\n\n{text}\n"
