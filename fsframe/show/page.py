"""Self-contained HTML pages about a run or a study, and the files of a study."""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

import attrs

from fsframe.atomic import check_ending, check_tracked_files, place_tracked_files
from fsframe.errors import PluginError, RequestError
from fsframe.evaluation.comparison import Comparison, study_comparisons
from fsframe.evaluation.study_plan import StudyPlan
from fsframe.registry import report_sections
from fsframe.show.comparisons import (
    MARKS,
    against_best,
    baselines_on,
    make_folder,
    result_rows,
    results_csv,
    tested_pairs,
    words_of_tests,
)
from fsframe.show.methods_text import bibliography, checklist, methods_text, versions
from fsframe.show.plots import draw
from fsframe.show.plots.canvas import figure_bytes
from fsframe.show.section import (
    CHECKLIST_WORDS,
    STATES,
    About,
    Block,
    Bullets,
    Code,
    Heading,
    Picture,
    Table,
    Text,
    figures_of_several,
)
from fsframe.show.verdicts import heading, measure_words, verdict_of_comparison
from fsframe.storage import RunRecord
from fsframe.storage.study_file import StudyCell, StudyRecord
from fsframe.table.dataset import Dataset
from fsframe.text import counted, number_text, printable, safe, tex


def report_page(record: RunRecord, path: Path | None = None, data: Dataset | None = None) -> str:
    """The page about a run as HTML text.

    Parameters
    ----------
    record : RunRecord
    path : Path, optional
        The run file, named at the foot.
    data : Dataset, optional
        The table of the run, for means, directions and plots of values.

    Returns
    -------
    str
        Complete without scripts; with them, its tables sort and filter.

    Raises
    ------
    DataError
        If `data` is another table.
    """
    if data is not None:
        record.require_table(data)
    body = [
        f"<h1>{escape(heading(record))}</h1>",
        *_facts(record),
        *_sections(About(record=record, path=path, data=data)),
    ]
    return page_text(f"{record.chain} on {record.data.name}", body)


def page_text(title: str, body: Iterable[str]) -> str:
    """A whole page around the lines of its body, with its style, its script and its policy."""
    style, script = (
        (files("fsframe.show") / name).read_text("utf-8") for name in ("page.css", "page.js")
    )
    digest = base64.b64encode(hashlib.sha256(f"\n{script}".encode()).digest()).decode()
    # The browser runs only this script, whatever names in files contain.
    policy = (
        "default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
        f"script-src 'sha256-{digest}'"
    )
    text = "\n".join(body)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{safe(title)}</title><style>\n{style}</style></head>\n"
        f"<body>\n<main>\n{text}\n</main>\n<script>\n{script}</script>\n</body></html>\n"
    )


def _facts(record: RunRecord) -> Iterator[str]:
    classes = f", {len(record.class_names)} classes" if record.class_names else ""
    yield (
        f'<p class="quiet"><code>{safe(record.chain)}</code> on {record.n_samples} samples × '
        f"{record.n_features} features{classes}; seed {record.seed}, {safe(record.created)}</p>"
    )


def _sections(about: About) -> Iterator[str]:
    """The sections about one run, as offered by plugins, ordered by place."""
    offers: list[Any] = sorted(report_sections.offers(), key=lambda o: (o.entry.place, o.name))
    missing = [p for p in report_sections.unusable() if p.source.bundled]
    for plugin in missing:
        note = f"The sections of the plugin {plugin.name} are missing: it is {plugin.status}."
        yield from Text(note, "quiet").lines(about)
    for offer in offers:
        try:
            yield from report_sections[offer.name]().lines(about)
        except PluginError as error:
            if offer.plugin.source.bundled:
                raise
            # A failing section of another plugin does not prevent the page.
            yield from Bullets([str(error)], "warnings").lines(about)


_WARNINGS, _ANSWERS, _TABLES_DRAWN, _ROWS = 50, 5, 12, 1000
_FORMS = ("pdf", "svg")


def report_page_of_study(
    record: StudyRecord, where: Mapping[StudyCell, Path] | None = None, path: Path | None = None
) -> str:
    """The page about a comparison or a study as HTML text.

    Parameters
    ----------
    record : StudyRecord
        From `load_study` or `study_of_runs`.
    where : mapping of StudyCell to Path, optional
        The run files; by default they are members of `path`.
    path : Path, optional
        The file of the study.

    Returns
    -------
    str
        Complete without scripts; with them, its tables sort and filter.

    Raises
    ------
    StoreError
        If the runs do not fit together.
    """
    first, *others = study_comparisons(record).values()
    several = len(record.chains) > 1
    number = f"{counted(len(record.chains), 'chain')} on {counted(len(record.tables), 'table')}"
    facts = (
        f"{'Compared by' if several else 'By'} {measure_words(first.metric)}"
        f"{' on identical folds' if several else ''}; {counted(len(record.runs), 'run')}, "
        f"seed{'' if len(record.seeds) == 1 else 's'} {', '.join(map(str, record.seeds))}."
    )
    blocks: list[Block] = [
        Text(facts, "quiet"),
        Text(" ".join(verdict_of_comparison(first)), "verdict"),
        *_warnings(record),
        *_results(first),
        *_pictures(record, first.metric),
        *(block for comparison in others for block in _results(comparison)),
        *_tests(first),
        *_checklist(record),
        Heading("For the methods section"),
        Text(methods_text(record, lambda keys: f" [{', '.join(keys)}]", printable)),
        Code(bibliography(record).splitlines(), "references as BibTeX"),
        *_how_made(record, where, path),
    ]
    about = About(record=next(iter(record.runs.values())))
    lines = [line for block in blocks for line in block.lines(about)]
    heading = printable(f"{record.name}: {number}")
    return page_text(heading, [f"<h1>{safe(heading)}</h1>", *lines])


def _warnings(record: StudyRecord) -> Iterator[Block]:
    """Warnings of the runs, each once, with the run or the number of runs."""
    cells_by_text: dict[str, list[StudyCell]] = {}
    for cell, run in record.in_order():
        for text in dict.fromkeys(run.all_warnings()):
            cells_by_text.setdefault(text, []).append(cell)
    if not cells_by_text:
        return
    yield Heading("Limitations of these results")
    lines = []
    for text, cells in sorted(cells_by_text.items(), key=lambda item: (-len(item[1]), item[0])):
        table, chain = record.named(cells[0])
        one = f"{chain} on {table}"
        whose = one if len(cells) == 1 else f"{len(cells)} of {len(record.runs)} runs"
        lines.append(f"{text} ({whose})")
    yield Bullets(lines[:_WARNINGS], "warnings")
    if len(lines) > _WARNINGS:
        yield Text(f"… and {len(lines) - _WARNINGS} more warnings in the run files.", "quiet")


def _results(comparison: Comparison) -> Iterator[Block]:
    """Results of every chain on every table, and of the baselines."""
    shown = [result_rows(comparison, d, comparison.chains) for d in range(len(comparison.data))]
    rows = [
        [data, *row] for data, (_, of, _) in zip(comparison.data, shown, strict=True) for row in of
    ]
    name = measure_words(comparison.metric)
    yield Heading(f"Results by {name}")
    yield Text(f"{MARKS} all: a classifier on all features.", "quiet")
    header = ["table", "chain", name, *shown[0][0][2:-1], "mark"]
    yield from _long(header, rows, f"results by {name}", {place + 1 for place in shown[0][2]})


def _long(
    header: list[str], rows: list[list[str]], name: str, numbers: Iterable[int]
) -> Iterator[Block]:
    """The first rows of a table that may be long."""
    yield Table(header, rows[:_ROWS], name, numbers)
    if len(rows) > _ROWS:
        yield Text(f"The first {_ROWS} of {len(rows)}; results.csv has all.", "quiet")


def _pictures(record: StudyRecord, metric: str) -> Iterator[Block]:
    """Figures of the first seed: mean ranks over the tables, then every table."""
    rows = record.first_runs()
    seed = f" Of seed {record.seeds[0]}." if len(record.seeds) > 1 else ""
    kinds = {"pareto": metric, "roc": None, "sets": None}
    if len(rows) > 1:
        together = [run for row in rows for run in row]
        yield from _named(figures_of_several(together, {"cd": metric}), "all", "", seed)
        kinds = {"pareto": metric}
    for table, row in enumerate(rows[:_TABLES_DRAWN]):
        name = f": {record.tables[table]}" if len(rows) > 1 else ""
        yield from _named(figures_of_several(row, kinds), f"table{table}", name, seed)
    if len(rows) > _TABLES_DRAWN:
        yield Text(f"The first {_TABLES_DRAWN} tables are drawn.", "quiet")


def _named(pictures: Iterator[Picture], prefix: str, name: str, seed: str) -> Iterator[Picture]:
    for one in pictures:
        heading, caption = f"{one.heading}{name}", f"{one.caption}{seed}"
        yield attrs.evolve(one, heading=heading, caption=caption, prefix=prefix)


def _tests(comparison: Comparison) -> Iterator[Block]:
    """The chains compared with the best, and all pairs of chains on every table."""
    if not comparison.papers and comparison.ranks is None:
        return
    yield Heading("The chains against the best")
    yield Text(" ".join(words_of_tests(comparison)), "quiet")
    header, rows, numbers = against_best(comparison, comparison.chains)
    yield Table(["chain", *header[1:]], rows, "chains against the best", numbers)
    if not comparison.papers:
        return
    rows = []
    for pair in tested_pairs(comparison):
        p_values = [f"{pair[name]:.3g}" for name in ("p_corrected", "p_paired")]
        chances = [f"{chance:.2f}" for chance in reversed(pair["posterior"])]
        named = [pair["data"], pair["a"], pair["b"]]
        rows.append([*named, f"{pair['difference']:.4f}", *p_values, *chances])
    yield Heading("All pairs of chains, by table")
    yield Text(
        "Corrected: the corrected resampled t-test, which keeps its level; paired: Student's "
        "t-test over the folds, as in many papers, which does not. Neither is adjusted for the "
        "number of pairs. The last columns are the probabilities that the first is better by "
        f"more than {comparison.rope:g}, practically equal, or worse by more than that (correlated "
        "Bayesian t-test).",
        "quiet",
    )
    header = ["table", "first", "second", "difference", "p corrected", "p paired"]
    header += ["better", "equal", "worse"]
    yield from _long(header, rows, "pairs of chains", range(3, 9))


def _checklist(record: StudyRecord) -> Iterator[Block]:
    """Each question with the answers of the runs and their frequencies."""
    answers: dict[tuple[str, str], Counter[tuple[str, str]]] = {}
    for run in record.runs.values():
        for item in checklist(run):
            key = (item.question, item.source)
            answers.setdefault(key, Counter())[STATES[item.state], item.answer] += 1
    rows = []
    for (question, source), given in answers.items():
        for (state, answer), number in given.most_common(_ANSWERS):
            of = "all" if number == len(record.runs) else f"{number} of {len(record.runs)}"
            rows.append([question, state, answer, of, source])
        if len(given) > _ANSWERS:
            rows.append([question, "", f"… and {len(given) - _ANSWERS} more answers", "", source])
    yield Heading("Checklist: data leakage, and other questions of a reader")
    yield Text(CHECKLIST_WORDS, "quiet")
    yield Table(["question", "answer", "what the runs know", "runs", "from"], rows, "checklist")


def _how_made(
    record: StudyRecord, where: Mapping[StudyCell, Path] | None, path: Path | None
) -> Iterator[Block]:
    yield Heading("How it was made")
    typed = dict.fromkeys(printable(run.command) for run in record.runs.values() if run.command)
    if typed:
        yield Code(list(typed)[:_ANSWERS], "commands")
    rows = []
    for cell, run in record.in_order():
        file = cell.member if where is None else str(where[cell])
        seed, digest = str(record.seeds[cell.seed]), run.stages[-1].digest()[:16]
        rows.append([*record.named(cell), seed, file, digest])
    inside = f", members of {path}" if where is None and path is not None else ""
    yield Text(f"Run files{inside}; `fsframe report FILE` makes the page of one.", "quiet")
    header = ["table", "chain", "seed", "run file", "digest, first 16 characters"]
    yield from _long(header, rows, "runs", {2})
    digests = [list(pair) for pair in zip(record.tables, record.sha256, strict=True)]
    yield Table(["table", "SHA-256"], digests, "tables")
    made = dict.fromkeys(versions(run) for run in record.runs.values())
    yield Bullets(list(made)[:_ANSWERS])


def check_study_folder(folder: Path, plan: StudyPlan, *, overwrite: bool) -> None:
    """Raise StoreError if `folder` has files that are not from a study, or a name like a file."""
    check_ending(folder, holds="a study", instead="its tables are files in it")
    names = dict.fromkeys(study_file_names(plan.measures, len(plan.tables)))
    check_tracked_files(folder, names, overwrite=overwrite)


def write_folder(
    record: StudyRecord,
    comparisons: Mapping[str, Comparison],
    folder: Path,
    *,
    overwrite: bool,
) -> None:
    """Write the tables, texts and pictures of a finished study.

    Raises
    ------
    StoreError
        If a file is in the way or cannot be written.
    """
    make_folder(folder)
    # Rebuilt from the runs at every call.
    texts = {name: text.encode() for name, text in _texts(record, comparisons).items()}
    place_tracked_files(folder, texts | _figures(record), overwrite=overwrite)


def _texts(record: StudyRecord, comparisons: Mapping[str, Comparison]) -> dict[str, str]:
    text = methods_text(record, lambda keys: " [" + "; ".join(f"@{key}" for key in keys) + "]")
    files = {
        "results.csv": results_csv(comparisons.values()),
        "methods.md": f"# Methods of {record.name}\n\n{text}\n",
    }
    for metric, comparison in comparisons.items():
        files[_table_name(metric)] = _latex_table(comparison)
    text = methods_text(record, lambda keys: f"~\\cite{{{','.join(keys)}}}", tex)
    files["methods.tex"] = text + "\n"
    files["references.bib"] = bibliography(record)
    return files


def _table_name(metric: str) -> str:
    plain = "".join(c if c.isalnum() else "-" for c in metric)
    return f"table-{plain}.tex"


def _figures(record: StudyRecord) -> dict[str, bytes]:
    """The plots of a study as PDF and SVG, and its page.

    The plots show, by the first measure and seed, mean ranks over the tables, and for each table
    the measure against stability. Those that do not apply (one table; no stability) are left out.
    """
    rows = record.first_runs()
    together = [run for row in rows for run in row]
    files: dict[str, bytes] = {}
    for name, runs in zip(_plots(len(rows)), [together, *rows], strict=True):
        try:
            figure = draw(name.partition("-")[0], runs, metric=record.measures[0])
        except RequestError:
            continue
        files |= {f"figure-{name}.{form}": figure_bytes(figure, form) for form in _FORMS}
    files["report.html"] = report_page_of_study(record, path=Path("study.zip")).encode()
    return files


def _plots(n_tables: int) -> list[str]:
    """The names of the plots of a study: of all tables, then of each."""
    return ["cd", *(f"pareto-{place + 1}" for place in range(n_tables))]


def study_file_names(measures: Iterable[str], n_tables: int) -> list[str]:
    """The names of all files that `write_folder` may write, known before anything is computed.

    >>> study_file_names(["auc"], 1)[:5]
    ['results.csv', 'methods.md', 'table-auc.tex', 'methods.tex', 'references.bib']
    """
    tables = [_table_name(measure) for measure in measures]
    figures = [f"figure-{name}.{form}" for name in _plots(n_tables) for form in _FORMS]
    texts = ["results.csv", "methods.md", *tables, "methods.tex", "references.bib"]
    return [*texts, "report.html", *figures]


def _latex_table(result: Comparison) -> str:
    """LaTeX table (booktabs) of mean ± corrected standard error: chains in rows, tables in columns,
    the best in bold.
    """
    names = " & ".join(tex(name) for name in result.data)
    lines = [
        f"% {result.metric}: mean ± standard error corrected for overlapping training sets",
        rf"\begin{{tabular}}{{l{'r' * len(result.data)}}}",
        r"\toprule",
        rf"{tex(result.metric)} & {names} \\",
        r"\midrule",
    ]
    best = [column.max() if result.larger_is_better else column.min() for column in result.values]
    for c, chain in enumerate(result.chains):
        cells = []
        errors = result.standard_error[:, c]
        for value, error, largest in zip(result.values[:, c], errors, best, strict=True):
            shown = number_text(value, 3) + rf" \pm {error:.3f}" * bool(error == error)
            cells.append(rf"$\mathbf{{{shown}}}$" if value == largest else f"${shown}$")
        lines.append(rf"\texttt{{{tex(chain)}}} & {' & '.join(cells)} \\")
    lines.append(r"\midrule")
    for rows in zip(*(baselines_on(result, d) for d in range(len(result.data))), strict=True):
        name, alone, _ = rows[0]
        cells = ["---" if value != value else f"${number_text(value, 3)}$" for *_, value in rows]
        lines.append(rf"{tex(name if alone else f'{name}, all features')} & {' & '.join(cells)} \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"]) + "\n"
