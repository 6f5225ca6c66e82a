"""Methods paragraphs of runs and studies, the checklist on data leakage, and BibTeX of sources."""

from __future__ import annotations

import contextlib
import re
import tomllib
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.resources import files
from typing import Any

import attrs

from fsframe.chains.repeated_rows import warns_of_repeated_rows
from fsframe.errors import RequestError
from fsframe.evaluation.comparison import described_tables
from fsframe.evaluation.recorded import (
    RecordedEvaluation,
    RecordedStability,
    recorded_evaluation,
    recorded_protocol,
)
from fsframe.grammar import parse_stages
from fsframe.params import format_value
from fsframe.registry import Offer, classifiers, measures, selectors, stability_metrics
from fsframe.show.verdicts import known_offer, statements
from fsframe.storage import RunRecord, StageRecord
from fsframe.storage.records import protocol_name
from fsframe.storage.study_file import StudyRecord
from fsframe.text import counted, printable, tex

_NAMED_LIBRARIES = ("python", "numpy", "scipy", "numba")


Cite = Callable[[Sequence[str]], str]


def references(record: RunRecord) -> list[tuple[str, str]]:
    """(method, reference) of every method of the run that is installed."""
    offers = [(name, _offer(name)) for name in record.providers()]
    sources = [(name, offer.entry.reference) for name, offer in offers if offer is not None]
    return [(name, source) for name, source in sources if source]


def _offer(name: str) -> Offer | None:
    return known_offer(name, selectors, classifiers, stability_metrics)


def methods_paragraph(record: RunRecord) -> str:
    """A paragraph for the methods section: data, chain, parameters, protocol, program, seed."""
    return " ".join(_sentences_of_run(record))


def _sentences_of_run(record: RunRecord) -> Iterator[str]:
    data = record.data
    size = f"{record.n_samples} samples and {record.n_features} features"
    other = "times until an event" if data.task == "survival" else "a number"
    classes = f"{len(data.class_names)} classes" if data.class_names else other
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
    versions = {name: record.environment.get(name) for name in _NAMED_LIBRARIES}
    libraries = [f"{name} {text}" for name, text in versions.items() if isinstance(text, str)]
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

    def cited(name: str, reference: str) -> str:
        keys = cited_keys(reference)
        return plain(name) + (cite(keys) if keys else "")

    if references:
        yield f"Methods were {', '.join(cited(*each) for each in references.items())}."
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
    measured = ", ".join(cited(name, metrics.get(name, "")) for name in record.measures)
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


# "Title, Journal 29(6):1035-1051"; title, number and pages are optional.
_ARTICLE = re.compile(
    r"(?:(?P<title>.+), )?(?P<journal>[^,:;()]+?) (?P<volume>(?:[A-Z]-)?\d+)"
    r"(?:\((?P<number>\d+)\))?(?::(?P<pages>[A-Za-z]*\d+(?:[-–]+\d+)?))?"
)
_IN_PROCEEDINGS = re.compile(
    r"(?P<title>.+), (?P<booktitle>[^,:;()]+), pp\. (?P<pages>\d+[-–]+\d+)"
)
_IDENTIFIERS = {
    "doi": re.compile(r"\bdoi:\s*(10\.\d+/\S+[^\s.,;)])"),
    "eprint": re.compile(r"\barXiv:\s*((?:[a-z-]+/)?[\d.]*\d)"),
    "isbn": re.compile(r"\bISBN ([\d-]+[\dX])"),
}
_PLACE = re.compile(r", ((?:eq\.|ch\.|Algorithm|Figure) [\d.]+)$")
_YEAR = re.compile(r"\b(1[89]\d\d|20\d\d)\b")


def references_of(chains: Iterable[str], metrics: Iterable[str]) -> dict[str, str]:
    """References declared by the methods in `chains`, nested ones too, and by the measures.

    Returns
    -------
    mapping of str to str
        References by name, those of measures by their text in `metrics`; methods that are not
        installed or declare none are left out.
    """
    names = [name for text in chains for name in _names(text)]
    offers = {name: known_offer(name, selectors, classifiers) for name in names}
    offers |= {text: known_offer(text.partition(":")[0], measures) for text in metrics}
    sources = {name: offer.entry.reference for name, offer in offers.items() if offer is not None}
    return {name: source for name, source in sources.items() if source}


def _names(text: str) -> Iterator[str]:
    """The methods of a chain, each followed by those of its base, if that can be read."""
    for stage in parse_stages(text):
        yield stage.name
        if base := stage.params.get("base"):
            with contextlib.suppress(RequestError):
                yield from _names(base)


def cited_keys(reference: str) -> list[str]:
    """Keys of the publications that a reference names, such as ``peng2005``.

    >>> cited_keys("John, Kohavi, Pfleger 1994, ICML; Kohavi, John 1997, Artif. Intell. 97:273")
    ['john1994', 'kohavi1997']
    """
    return [key for key, _ in _publications(reference)]


def _publications(reference: str) -> list[tuple[str, str]]:
    """(key, text) of each publication; the key is its first word and, if it has one, its year."""
    parts = []
    for text in publications(reference):
        if first := re.match(r"[^\W\d_]+", text):
            year = _YEAR.search(text)
            parts.append((_plain(first[0]) + (year[0] if year else ""), text))
    return parts


def publications(reference: str) -> list[str]:
    """The publications of a reference, which ``"; "`` separates."""
    return [part.strip() for part in re.split(r";\s", reference) if part.strip()]


def identifiers(publication: str) -> dict[str, str]:
    """The DOI, arXiv number (``eprint``) and ISBN that a publication gives.

    >>> identifiers("Breiman 2001, Random forests, Mach. Learn. 45:5, doi:10.1023/A:1010933404324")
    {'doi': '10.1023/A:1010933404324'}
    """
    matches = {name: pattern.search(publication) for name, pattern in _IDENTIFIERS.items()}
    return {name: match[1] for name, match in matches.items() if match}


def _plain(word: str) -> str:
    spelled = unicodedata.normalize("NFKD", word.lower())
    return "".join(c for c in spelled if c.isascii() and c.isalpha()) or "reference"


def bibtex_of(references: Iterable[str]) -> str:
    """BibTeX records of all publications in references, one for each key, in order.

    Examples
    --------
    >>> print(bibtex_of(["Hand, Till 2001, Machine Learning 45:171"]))
    @article{hand2001,
      author = {Hand and Till},
      year = {2001},
      journal = {Machine Learning},
      volume = {45},
      pages = {171}
    }
    """
    records: dict[str, str] = {}
    for reference in references:
        for key, text in _publications(reference):
            records.setdefault(key, _record(key, text))
    return "\n\n".join(records.values())


def _record(key: str, text: str) -> str:
    """One reference as a record: authors, year, publication, identifiers, place within it.

    It is an article if a journal, a volume, and a number or pages are given, part of proceedings if
    a book title and pages are given; otherwise the publication is a single field.
    """
    year = _YEAR.search(text)
    fields, rest = [], text
    if year and _are_names(text[: year.start()]):
        rest = text[year.end() :]
        names = text[: year.start()].replace("et al.", ", others")
        people = [name.strip() for name in re.split(r",|&|\band\b", names)]
        fields.append(("author", " and ".join(person for person in people if person)))
    if year:
        fields.append(("year", year[0]))
    place = _PLACE.search(rest)
    publication = _PLACE.sub("", rest)
    for pattern in _IDENTIFIERS.values():
        publication = pattern.sub("", publication)
    publication, kind = publication.strip(" ,.:"), "misc"
    if (article := _ARTICLE.fullmatch(publication)) and (article["number"] or article["pages"]):
        kind, details = "article", article.groupdict()
    elif part := _IN_PROCEEDINGS.fullmatch(publication):
        kind, details = "inproceedings", part.groupdict()
    else:
        details = {"howpublished": publication}
    if details.get("pages"):
        details["pages"] = re.sub("[-–]+", "--", details["pages"])
    fields += [(name, tex(value)) for name, value in details.items() if value]
    fields += list(identifiers(rest).items())
    if place:
        fields.append(("note", place[1]))
    body = ",\n".join(f"  {name} = {{{value}}}" for name, value in fields)
    return f"@{kind}{{{key},\n{body}\n}}"


def _are_names(text: str) -> bool:
    """Whether `text` is a list of family names: capitalised words and separators."""
    words = re.split(r"[\s,&]+", text.replace("et al.", "").strip(" ,"))
    return bool(words) and all(
        word[:1].isupper() or word in ("and", "de", "van", "von", "der") for word in words if word
    )
