"""The methods paragraph of a study, and its citations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from fsframe.evaluation.study_results import described_tables
from fsframe.report.citations import OF_PROTOCOL, bibtex_of, cited_keys, references_of
from fsframe.showing import counted
from fsframe.storage.study_file import StudyCell, StudyRecord

__all__ = ["bibliography", "methods_text"]

Cite = Callable[[Sequence[str]], str]


def methods_text(record: StudyRecord, cite: Cite, plain: Callable[[str], str] = str) -> str:
    """A paragraph for a methods section: what was done, on what, with which tests.

    `cite` makes a citation of keys, such as ``~\\cite{a,b}``; `plain` escapes names for where the
    text goes.
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
    chains = counted(len(record.chains), "chain")
    yield f"We compared {chains} of methods on {counted(number, 'table')}: {tables}."
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


def bibliography(record: StudyRecord) -> str:
    """BibTeX of everything that the text cites."""
    references = references_of((*record.chains, *record.beside), record.measures)
    of_methods = bibtex_of(references.values())
    return "\n\n".join([*OF_PROTOCOL.values(), of_methods]).rstrip() + "\n"


def _name(metric: str) -> str:
    return metric.partition(":")[0]
