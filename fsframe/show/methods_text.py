"""Methods paragraphs of runs and studies, with sources, and the checklist on data leakage."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.resources import files
from typing import Any

import attrs

from fsframe.chains.repeated_rows import warns_of_repeated_rows
from fsframe.evaluation.comparison import described_tables
from fsframe.evaluation.recorded import (
    RecordedEvaluation,
    RecordedStability,
    recorded_evaluation,
    recorded_protocol,
)
from fsframe.params import format_value
from fsframe.registry import Offer, classifiers, selectors, stability_metrics
from fsframe.show.citations import bibtex_of, cited_keys, references_of
from fsframe.show.verdicts import only_offer, statements
from fsframe.storage import RunRecord, StageRecord
from fsframe.storage.records import protocol_name
from fsframe.storage.study_file import StudyRecord
from fsframe.text import counted, printable

_NAMED_LIBRARIES = ("python", "numpy", "scipy", "numba")


Cite = Callable[[Sequence[str]], str]


def references(record: RunRecord) -> list[tuple[str, str]]:
    """(method, reference) of every method of the run that is installed."""
    offers = [(name, _offer(name)) for name in record.providers()]
    sources = [(name, offer.entry.reference) for name, offer in offers if offer is not None]
    return [(name, source) for name, source in sources if source]


def _offer(name: str) -> Offer | None:
    return only_offer(name, selectors, classifiers, stability_metrics)


def methods_paragraph(record: RunRecord) -> str:
    """A paragraph for the methods section: data, chain, parameters, protocol, program, seed."""
    return " ".join(_sentences_of_run(record))


def _sentences_of_run(record: RunRecord) -> Iterator[str]:
    data = record.data
    size = f"{record.n_samples} samples and {record.n_features} features"
    classes = f"{len(data.class_names)} classes" if data.class_names else "a number"
    label = f" (label {printable(data.label)}, {classes})" if data.label else ""
    sha256 = f"the SHA-256 of its values is {printable(data.sha256)}"
    yield f"The table {printable(data.name)} has {size}{label}; {sha256}."
    numbers = {name: place for place, (name, _) in enumerate(references(record), start=1)}
    protocol = recorded_protocol(record)
    version = record.fsframe_version or "(version not recorded)"
    yield f"Features were selected with fsframe {version} by {_selected_by(record)}."
    for stage in record.stages if protocol is None else record.stages[:-1]:
        offer = _offer(stage.name)
        mark = f" [{numbers[stage.name]}]" if stage.name in numbers else ""
        given = given_params(stage, " = ")
        what = f": {offer.entry.summary}" if offer is not None and offer.entry.summary else ""
        params = f" ({printable(given, longest=600)})" if given else ""
        yield f"{printable(stage.name)}{mark}{printable(what.removesuffix('.'))}{params}."
    yield from _from_plugins([record])
    yield from statements(record)
    if record.groups is not None:
        name, number = record.groups
        kept = f"kept together in every resample ({number} groups)"
        yield f"Rows of one {printable(name)} were {kept}."
    if record.pair_tests is not None:
        name, tests = record.pair_tests.name, record.pair_tests.tests
        mark = f" [{numbers[name]}]" if name in numbers else ""
        yield (
            f"{tests.n_tested} pairs of features were tested for interaction by "
            f"{printable(name)}{mark}; q-values allow for {tests.n_chosen_from} pairs."
        )
    if protocol is not None:
        yield "Intervals are 95 % intervals."
    elif record.pair_tests is not None or "q" in record.feature_table().columns:
        yield (
            "q-values without another name are those of Benjamini and Hochberg (1995, Controlling "
            "the false discovery rate, J. R. Stat. Soc. B 57:289-300, "
            "doi:10.1111/j.2517-6161.1995.tb02031.x)."
        )
    yield f"The random seed was {record.seed}."
    if record.command:
        yield f"The command was `{printable(record.command, longest=600)}`."
    there = {name: record.environment.get(name) for name in _NAMED_LIBRARIES}
    libraries = [f"{name} {version}" for name, version in there.items() if isinstance(version, str)]
    if libraries:
        yield f"It ran with {', '.join(libraries)}."


def _selected_by(record: RunRecord) -> str:
    """The chain of a run, and how it was evaluated or studied."""
    protocol = recorded_protocol(record)
    if protocol is None:
        return f"the chain `{printable(record.chain)}`"
    base = f"`{printable(protocol.base)}`"
    if isinstance(protocol, RecordedStability):
        return f"{base} on {len(protocol.tables.kept)} resamples ({printable(protocol.resample)})"
    repeated = _repeated(_repeats(record))
    return (
        f"{base}, evaluated by {_folds(record, bool(record.groups))}{repeated} in which every step "
        "that uses labels was fitted to the training rows of each fold alone"
    )


def _repeats(record: RunRecord) -> int:
    """How often an evaluation repeated its folds."""
    params = record.stages[-1].params
    repeats = params.get("repeats")
    return repeats if isinstance(repeats, int) and params.get("scheme") == "folds" else 1


def _repeated(times: int) -> str:
    return f", repeated {times} times," if times > 1 else ""


def _folds(record: RunRecord, grouped: bool, plain: Callable[[str], str] = printable) -> str:
    """How an evaluation split the rows, such as "stratified 10-fold cross-validation"."""
    params, time = record.stages[-1].params, record.environment.get("time")
    if params.get("scheme") == "leave-one-out":
        return "leave-one-out cross-validation" + (" by group" if grouped else "")
    if params.get("scheme") == "five-by-two":
        return "five times two-fold cross-validation"
    if isinstance(time, str):
        return (
            f"prediction of {params.get('folds')} successive blocks of {plain(time)}, each from "
            "the rows before it,"
        )
    by_class = record.data.task == "classification" and params.get("stratify") is not False
    return f"{'stratified ' if by_class else ''}{params.get('folds')}-fold cross-validation"


def _from_plugins(
    records: Iterable[RunRecord], plain: Callable[[str], str] = printable
) -> Iterator[str]:
    """A sentence for each third-party plugin whose methods the runs used, with its version."""
    offers = [offer for registry in (selectors, classifiers) for offer in registry.offers()]
    bundled = {
        name
        for offer in offers
        if offer.plugin.source.bundled
        for name in (offer.provider, offer.entry.former_provider)
    }
    methods: dict[str, dict[str, None]] = {}
    for record in records:
        for name, provider in record.providers().items():
            version = record.environment.get(f"plugin {provider}")
            if provider not in bundled and isinstance(version, str):
                methods.setdefault(f"{provider} {version}", {})[name] = None
    for plugin, names in methods.items():
        are = "is" if len(names) == 1 else "are"
        yield f"{plain(', '.join(names))} {are} provided by the plugin {plain(plugin)}."


def given_params(stage: StageRecord, equals: str = "=") -> str:
    """The parameters of a stage that have a value, those that it chose itself included."""
    given = {name: value for name, value in stage.params.items() if value is not None}
    given |= _chosen(stage, given)
    return ", ".join(f"{name}{equals}{format_value(value)}" for name, value in given.items())


def _chosen(stage: StageRecord, given: Mapping[str, Any]) -> dict[str, Any]:
    """Values of parameters that the method chose, from the tables that its entry names."""
    offer = _offer(stage.name)
    declared: Mapping[str, tuple[str, ...]] = getattr(offer and offer.entry, "chosen", {})
    chosen: dict[str, Any] = {}
    for table, names in declared.items():
        values = stage.tables.get(table)
        # The run file may be untrusted.
        if values is None or values.shape != (len(names),) or values.dtype.kind not in "iuf":
            continue
        pairs = zip(names, values.tolist(), strict=True)
        chosen |= {name: value for name, value in pairs if name not in given}
    return chosen


def versions(record: RunRecord) -> str:
    """Versions of the program, its libraries and the machine."""
    plain = {k: v for k, v in record.environment.items() if not isinstance(v, Mapping)}
    return ", ".join(f"{k} {v}" for k, v in plain.items())


def commands(record: RunRecord, path: str | None) -> list[str]:
    """The command of the run, and commands to verify and export it."""
    lines = [printable(record.command)] if record.command else []
    if not protocol_name(record) and record.data.source and not record.command:
        lines.append(
            f'fsframe chain "{printable(record.chain)}" on {printable(record.data.source)} '
            f"--seed {record.seed}"
        )
    where = "RUN.h5" if path is None else printable(path)
    return [*lines, f"fsframe verify {where}", f"fsframe table {where} -o features.csv"]


@attrs.frozen
class Item:
    """One item of the checklist: question, source, state and answer."""

    question: str
    source: str
    state: str
    answer: str


def checklist(record: RunRecord) -> Iterator[Item]:
    """Items of REFORMS and TRIPOD+AI that can be answered from a run.

    State is ``yes``, ``no``, ``open`` (only the author can say) or ``n/a``.

    References
    ----------
    Kapoor et al. 2024, REFORMS: Consensus-based recommendations for machine-learning-based science,
    Sci. Adv. 10:eadk3452. Collins et al. 2024, TRIPOD+AI statement, BMJ 385:e078378.
    """
    protocol = recorded_protocol(record)
    recorded = protocol if isinstance(protocol, RecordedEvaluation) else None
    texts = tomllib.loads((files("fsframe.show") / "checklist.toml").read_text("utf-8"))

    def item(name: str, state: str, **told: Any) -> Item:
        declared = texts[name]
        answer = declared[state].format(**told)
        return Item(declared["question"], declared["source"], state, answer)

    judged = "n/a" if recorded is None else "yes"
    yield item("selected", judged)
    yield item("learned", judged)
    if recorded is not None:
        number = len(recorded.chains)
        yield item("tuned", "yes" if number > 1 else "n/a", chains=number)
    if record.groups is not None:
        column, groups = record.groups
        yield item("together", "yes", column=printable(column), groups=groups)
    else:
        repeated = warns_of_repeated_rows(record.all_warnings())
        yield item("together", "no" if repeated else "open")
    yield item("known", "open")
    yield item("drawn", "open", samples=record.n_samples)
    table = record.feature_table() if record.stages and recorded is None else None
    if table is not None and {"p", "q"} <= table.columns.keys():
        yield item("adjusted", "yes")
    if recorded is not None:
        evaluation = recorded.evaluation
        baselines = evaluation.baseline.name
        baselines += " and all features" if evaluation.all_features is not None else ""
        state = "yes" if evaluation.leading.interval is not None else "no"
        yield item("reported", state, splits=evaluation.n_splits, baselines=baselines)
    yield item("repeated", "yes", seed=record.seed)


def methods_text(record: StudyRecord, cite: Cite, plain: Callable[[str], str] = str) -> str:
    """A paragraph for a methods section: what was done, on what, with which tests.

    `cite` makes a citation of keys, such as ``~\\cite{a,b}``; `plain` escapes names for the format
    of the text.
    """
    return " ".join(_sentences(record, cite, plain))


def _sentences(record: StudyRecord, cite: Cite, plain: Callable[[str], str]) -> Iterator[str]:
    of_tables = [row[0] for row in record.first_runs()]
    run, groups = of_tables[0], [run.groups for run in of_tables]
    seeds = len(record.seeds)
    tables = "; ".join(map(plain, described_tables(record)))
    number, several = len(record.tables), len(record.chains) > 1
    yield (
        f"We {'compared' if several else 'evaluated'} {counted(len(record.chains), 'chain')} of "
        f"methods on {counted(number, 'table')}: {tables}."
    )
    references = references_of((*record.chains, *record.beside), ())
    named = ", ".join(
        f"{plain(name)}{cite(cited_keys(text))}" if cited_keys(text) else plain(name)
        for name, text in references.items()
    )
    if named:
        yield f"Methods were {named}."
    yield from _from_plugins(record.runs.values(), plain)
    repeated = _repeated(seeds * _repeats(run))
    identical = " on identical folds for all chains" if several else ""
    together: dict[str, list[str]] = {}
    for name, found in zip(record.tables, groups, strict=True):
        if found is not None:
            together.setdefault(found[0], []).append(name)
    apart = "".join(
        f" Rows of one {plain(column)}"
        + (f" of {', '.join(map(plain, names))}" if len(names) < number else "")
        + " were kept together in every fold."
        for column, names in together.items()
    )
    yield (
        f"Performance was estimated by {_folds(run, all(groups), plain)}{repeated}{identical}; "
        "scaling, discretisation, selection, tuning and classification were learned from the "
        f"training rows of each fold alone{cite(['ambroise2002'])}.{apart}"
    )
    metrics = references_of((), record.measures)
    measured = ", ".join(
        f"{plain(m)}{cite(cited_keys(metrics[m]))}" if m in metrics else plain(m)
        for m in record.measures
    )
    compared = f"; chains were compared by {plain(record.measures[0])}" if several else ""
    yield f"Measures were {measured}{compared}."
    tested = _tested_in_pairs(record)
    yield (
        f"Standard errors {'and paired tests ' if tested else ''}are corrected for overlapping "
        f"training sets{cite(['nadeau2003'])}; stability is the measure of Nogueira et al. over "
        f"the sets kept in the folds{cite(['nogueira2018'])}."
    )
    if several and number > 1:
        yield (
            "Over the tables we report mean ranks with Friedman's test and Nemenyi's critical "
            f"difference{cite(['demsar2006'])}, Wilcoxon's signed-rank tests with Holm's "
            "adjustment, and the Bayesian signed-rank test with a region of practical equivalence "
            f"of ±{record.rope:g}{cite(['benavoli2017'])}."
        )
    elif tested:
        yield (
            "We also report the correlated Bayesian t-test with a region of practical equivalence "
            f"of ±{record.rope:g}{cite(['benavoli2017'])}."
        )
    listed = ", ".join(map(str, record.seeds))
    yield (
        f"Computations were done with fsframe {plain(run.fsframe_version)} "
        f"({'seed' if seeds == 1 else 'seeds'} {listed})."
    )


def _tested_in_pairs(record: StudyRecord) -> bool:
    """Whether chains were tested on some table: there are two, and the first measure has a value in
    every fold."""
    leading = record.measures[0]
    return len(record.chains) > 1 and any(
        not any(recorded_evaluation(run).evaluation.measures[leading].pooled for run in row)
        for row in record.first_runs()
    )


def bibliography(record: StudyRecord) -> str:
    """BibTeX of everything that the text cites."""
    references = references_of((*record.chains, *record.beside), record.measures)
    of_protocol = (files("fsframe.show") / "study.bib").read_text("utf-8")
    return f"{of_protocol}\n{bibtex_of(references.values())}".rstrip() + "\n"
