"""A study as files: tables of results (CSV, LaTeX), pictures, methods text, its BibTeX."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from fsframe.analysis.citations import OF_PROTOCOL, bibtex_of, cited_keys, references_of
from fsframe.analysis.comparison_display import csv_text
from fsframe.errors import PluginError, RequestError
from fsframe.escaping import tex
from fsframe.evaluation.comparison import Comparison
from fsframe.evaluation.study_results import described_tables
from fsframe.plots.canvas import figure_bytes
from fsframe.plots.kinds import draw
from fsframe.storage.study_file import StudyCell, StudyRecord

__all__ = ["latex_table", "methods_text", "study_figures", "study_file_names", "study_files"]


def study_files(record: StudyRecord, found: Mapping[str, Comparison]) -> dict[str, str]:
    """Every file of results, by name."""
    files = {"results.csv": csv_text(found.values()), "methods.md": _markdown(record)}
    for metric, result in found.items():
        files[_table_name(metric)] = latex_table(result)
    text = methods_text(record, lambda keys: f"~\\cite{{{','.join(keys)}}}", tex)
    files["methods.tex"] = text + "\n"
    files["references.bib"] = _bibliography(record)
    return files


def _table_name(metric: str) -> str:
    plain = "".join(c if c.isalnum() else "-" for c in metric)
    return f"table-{plain}.tex"


def study_figures(record: StudyRecord) -> dict[str, bytes]:
    """The pictures of a study as PDF and SVG, by name; none where matplotlib is not installed.

    Mean ranks over the tables, and for each table what chains reach against their stability, of the
    first seed. One that the study has not enough for (one table; no stability) is left out.
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
            figure = draw(name.partition("-")[0], runs)
        except RequestError:
            continue
        except PluginError:
            return {}
        found |= {f"figure-{name}.{form}": figure_bytes(figure, form) for form in _FORMS}
    return found


_FORMS = ("pdf", "svg")


def study_file_names(measures: Iterable[str], n_tables: int) -> list[str]:
    """The names of the files of `study_files` and `study_figures`, known before anything is
    computed; some figures may be left out.

    >>> study_file_names(["auc"], 1)[:5]
    ['results.csv', 'methods.md', 'table-auc.tex', 'methods.tex', 'references.bib']
    """
    tables = [_table_name(measure) for measure in measures]
    kinds = ["cd", *(f"pareto-{place + 1}" for place in range(n_tables))]
    figures = [f"figure-{kind}.{form}" for kind in kinds for form in _FORMS]
    return ["results.csv", "methods.md", *tables, "methods.tex", "references.bib", *figures]


def latex_table(result: Comparison) -> str:
    """Chains down, tables across: mean ± corrected standard error, the best in bold (booktabs).

    Parameters
    ----------
    result : Comparison
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


Cite = Callable[[Sequence[str]], str]


def methods_text(record: StudyRecord, cite: Cite, plain: Callable[[str], str] = str) -> str:
    """A paragraph for a methods section: what was done, on what, with which tests.

    Parameters
    ----------
    record : StudyRecord
    cite : callable
        Makes a citation of keys, such as ``~\\cite{a,b}``.
    plain : callable
        Escapes names for where the text goes.
    """
    return " ".join(_sentences(record, cite, plain))


def _sentences(record: StudyRecord, cite: Cite, plain: Callable[[str], str]) -> Iterator[str]:
    run = record.runs[StudyCell(0, 0, 0)]
    params = run.stages[-1].params
    scheme = params.get("scheme")
    repeats, seeds = params.get("repeats"), len(record.seeds)
    grouped = run.groups is not None
    tables = "; ".join(plain(text) for text in described_tables(record))
    number = len(record.tables)
    chains = _count(len(record.chains), "chain")
    yield f"We compared {chains} of methods on {_count(number, 'table')}: {tables}."
    references = references_of((*record.chains, *record.beside), ())
    named = ", ".join(
        f"{plain(name)}{cite(cited_keys(text))}" if cited_keys(text) else plain(name)
        for name, text in references.items()
    )
    if named:
        yield f"Methods were {named}."
    if scheme == "leave-one-out":
        folds = "leave-one-out cross-validation" + (" by group" if grouped else "")
    elif scheme == "five-by-two":
        folds = "five times two-fold cross-validation"
    else:
        folds = f"stratified {params.get('folds')}-fold cross-validation"
    times = seeds * (repeats if isinstance(repeats, int) and scheme == "folds" else 1)
    repeated = f", repeated {times} times," if times > 1 else ""
    apart = " Rows of one group were never separated." if grouped else ""
    yield (
        f"Performance was estimated by {folds}{repeated} on identical folds for all chains; "
        "scaling, discretisation, selection, tuning and classification were learned from the "
        f"training rows of each fold alone{cite(['ambroise2002'])}.{apart}"
    )
    metrics = references_of((), record.measures)
    measured = ", ".join(
        f"{plain(m)}{cite(cited_keys(metrics[_name(m)]))}" if _name(m) in metrics else plain(m)
        for m in record.measures
    )
    yield f"Measures were {measured}; chains were compared by {plain(record.measures[0])}."
    yield (
        "Standard errors and paired tests are corrected for overlapping training sets"
        f"{cite(['nadeau2003'])}; stability is the measure of Nogueira et al. over the sets "
        f"kept in the folds{cite(['nogueira2018'])}."
    )
    if number > 1:
        yield (
            "Over the tables we report mean ranks with Friedman's test and Nemenyi's critical "
            f"difference{cite(['demsar2006'])}, Wilcoxon's signed-rank tests with Holm's "
            "adjustment, and the Bayesian signed-rank test with a region of practical equivalence "
            f"of ±{record.rope:g}{cite(['benavoli2017'])}."
        )
    else:
        yield (
            "We also report the correlated Bayesian t-test with a region of practical equivalence "
            f"of ±{record.rope:g}{cite(['benavoli2017'])}."
        )
    listed = ", ".join(map(str, record.seeds))
    yield (
        f"Computations were done with fsframe {plain(run.fsframe_version)} "
        f"({'seed' if seeds == 1 else 'seeds'} {listed})."
    )


def _name(metric: str) -> str:
    return metric.partition(":")[0]


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}{'' if number == 1 else 's'}"


def _markdown(record: StudyRecord) -> str:
    text = methods_text(record, lambda keys: " [" + "; ".join(f"@{key}" for key in keys) + "]")
    return f"# Methods of {record.name}\n\n{text}\n"


def _bibliography(record: StudyRecord) -> str:
    references = references_of((*record.chains, *record.beside), record.measures)
    of_methods = bibtex_of(references.values())
    return "\n\n".join([*OF_PROTOCOL.values(), of_methods]).rstrip() + "\n"
