"""The plan of a study, from a file or a program, checked as a whole before the study starts."""

from __future__ import annotations

import contextlib
import os
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from fsframe.chains.chain import Chain, Stage
from fsframe.errors import FsframeError, RequestError, UntidyTableError, refuse
from fsframe.evaluation.comparison import ROPE, leading_measure, on_all_features
from fsframe.evaluation.cross_validation import CrossValidation, grid_of
from fsframe.evaluation.grid import ChainGrid, combined
from fsframe.evaluation.measuring import find_measures
from fsframe.evaluation.summary import LEADING
from fsframe.grammar import format_list
from fsframe.method.run import Run
from fsframe.params import Kind, either, flag, integer, listing, real
from fsframe.params import text as any_text
from fsframe.storage import RunRecord
from fsframe.storage.study_file import StudyCell, StudyRecord
from fsframe.table.dataset import Dataset
from fsframe.table.guesses.doubts import SETTLES, as_settings
from fsframe.table.read import read
from fsframe.table.reading_options import stored_types, with_further_files
from fsframe.text import are_texts, did_you_mean, listed

_EVALUATES = "cross-validation"
_MOST_SEEDS = 1000
_PROTOCOL = ("folds", "repeats", "scheme", "inner-folds")
_TEXTS = listing(any_text("a text"))
_SETTINGS: dict[str, tuple[Kind, Any]] = {
    "name": (any_text("a text"), "study"),
    **dict.fromkeys(("chains", "selectors", "classifiers", "measures"), (_TEXTS, ())),
    "seeds": (either(listing(integer(0), least=1), integer(0)), (0,)),
    **dict.fromkeys(("folds", "repeats", "inner-folds"), (integer(), None)),
    "scheme": (any_text("a text"), None),
    "all-features": (flag(), True),
    "rope": (real(0), ROPE),
}
"""Key of a study file → kind and default of its value, for all keys except the tables."""

_KEYS = ("tables", *_SETTINGS)
_WORDS: dict[type, str] = {
    str: "a text",
    int: "a whole number",
    list: "a list of texts",
    dict: "a table of lists of texts",
    bool: "true or false",
}


@attrs.frozen(kw_only=True, eq=False)
class StudyTable:
    """A table to evaluate on.

    `path` is its file, `source` the place of the file as run files record it, and `key` its key in
    a study file.
    """

    name: str
    data: Dataset
    key: str = ""
    path: Path | None = None
    source: str = ""


@attrs.frozen(kw_only=True, eq=False)
class StudyPlan:
    """A study that has been checked and can be run.

    Parameters
    ----------
    name : str
    tables : tuple of StudyTable
    methods : tuple of CrossValidation
        The protocol for every chain.
    beside : mapping of str to CrossValidation
        The protocol for every classifier on all features, by its text.
    measures : tuple of str
        The first decides the comparison.
    seeds : tuple of int
        Each is a separate run with its own folds.
    rope : float
    source : str
        The text of the study file, or an equivalent text for a request by a program.
    """

    name: str
    tables: tuple[StudyTable, ...]
    methods: tuple[CrossValidation, ...]
    beside: Mapping[str, CrossValidation]
    measures: tuple[str, ...]
    seeds: tuple[int, ...]
    rope: float
    source: str

    def asked(self) -> dict[str, Any]:
        """The request of the study, as plain values (`StudyRecord.asked`)."""
        return self.record({}).asked()

    def record(self, runs: Mapping[StudyCell, RunRecord]) -> StudyRecord:
        """The study with its runs."""
        return StudyRecord(
            name=self.name,
            tables=tuple(table.name for table in self.tables),
            chains=tuple(str(method.base) for method in self.methods),
            beside=tuple(self.beside),
            measures=self.measures,
            seeds=self.seeds,
            rope=self.rope,
            sha256=tuple(table.data.sha256 for table in self.tables),
            runs=runs,
            source=self.source,
        )


class StudyFaults:
    """The errors in a study, each with the key that it concerns.

    Parameters
    ----------
    where : str
        The file or the function, for messages.
    keyword : bool
        Whether keys are keyword arguments, which have underscores instead of hyphens.
    """

    def __init__(self, where: str, *, keyword: bool = False) -> None:
        self._where, self._keyword = where, keyword
        self.found: dict[str, None] = {}

    def add(self, key: str, problem: object) -> None:
        """Add a problem, which may have several lines."""
        spelled = key.replace("-", "_") if self._keyword else key
        for line in str(problem).split("\n"):
            self.found[f"{self._where}: {spelled}: {line.strip()}"] = None

    @contextlib.contextmanager
    def of(self, key: str) -> Iterator[None]:
        """Within this context, an error of fsframe is a problem of `key`, and ends the context."""
        try:
            yield
        except FsframeError as error:
            self.add(key, error)

    def end(self) -> None:
        """Raise a RequestError that lists all problems, if there are any."""
        refuse(RequestError, self.found)


def read_plan(path: str | os.PathLike[str]) -> StudyPlan:
    """The study that the TOML file at `path` describes.

    Raises
    ------
    RequestError
        Listing all problems of the file and its tables, key by key: an unknown key, a value of the
        wrong kind, an unknown chain or measure, a table that cannot be read or split as requested.
    """
    file = Path(path)
    try:
        text = file.read_text(encoding="utf-8")
        given = tomllib.loads(text)
    except OSError as error:
        raise RequestError(f"cannot read {file}: {error.strerror or error}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        hint = (
            f". If it is a table, compare chains on it (fsframe compare CHAIN CHAIN on {file.name})"
            f" or run one (fsframe chain CHAIN on {file.name})"
        )
        hint = "" if file.suffix.lower() == ".toml" else hint
        raise RequestError(f"{file.name} is not TOML: {error}{hint}") from error
    except RecursionError as error:
        raise RequestError(f"{file.name} is not a study: its lists are nested too deep") from error
    faults = StudyFaults(file.name)
    for key in given:
        if key not in _KEYS:
            hint = did_you_mean(key, _KEYS) or f"; keys are {', '.join(sorted(_KEYS))}"
            faults.add(key, f"there is no such key{hint}")
    return plan_of({"name": file.stem, **given}, _tables(given, file.parent, faults), text, faults)


def plan_of(
    given: Mapping[str, Any], tables: tuple[StudyTable, ...], source: str, faults: StudyFaults
) -> StudyPlan:
    """The study that settings describe, by the keys of a study file.

    Parameters
    ----------
    given : mapping
        The settings, with ``name`` and without the tables.
    tables : tuple of StudyTable
    source : str
        As in `StudyPlan`.
    faults : StudyFaults
        Errors that were found already.

    Raises
    ------
    RequestError
        As `read_plan`.
    """
    asked = _settings(given, faults)
    measures = _measures(asked["measures"], faults) or _leading(tables, faults)
    protocol = _protocol(asked, measures, faults)
    methods = _methods(_chains(asked, faults), protocol, faults)
    beside = on_all_features(methods) if asked["all-features"] and methods else {}
    seeds = asked["seeds"]
    for table in tables:
        for problem in request_problems(methods, table.data, seeds):
            faults.add(f"{table.key} ({table.name})", problem)
    faults.end()
    return StudyPlan(
        name=asked["name"],
        tables=tables,
        methods=methods,
        beside=beside,
        measures=measures,
        seeds=seeds,
        rope=asked["rope"],
        source=source,
    )


def _settings(given: Mapping[str, Any], faults: StudyFaults) -> dict[str, Any]:
    """The settings of a study, with the default in place of each that is invalid."""
    settings = {}
    for key, (kind, default) in _SETTINGS.items():
        settings[key] = default
        if key in given:
            try:
                settings[key] = kind.convert(given[key])
            except ValueError as error:
                faults.add(key, f"{error}, not {given[key]!r}")
    if not re.fullmatch(r"\w[\w.-]*", settings["name"]):
        faults.add("name", f"must be letters, digits, - and _, not {settings['name']!r}")
    seeds = settings["seeds"] if isinstance(settings["seeds"], tuple) else (settings["seeds"],)
    settings["seeds"] = seeds
    if len(set(seeds)) < len(seeds):
        faults.add("seeds", f"must be distinct whole numbers, such as [0, 1], not {[*seeds]}")
    if len(seeds) > _MOST_SEEDS:
        faults.add("seeds", f"must be at most {_MOST_SEEDS}, not {len(seeds)}; use `repeats`")
        settings["seeds"] = seeds[:1]
    return settings


def _measures(texts: Sequence[str], faults: StudyFaults) -> tuple[str, ...]:
    names = []
    for place, text in enumerate(texts):
        with faults.of(f"measures[{place}]"):
            names.append(find_measures([text])[0][0])
    return tuple(dict.fromkeys(names))


def _leading(tables: Sequence[StudyTable], faults: StudyFaults) -> tuple[str, ...]:
    """The default measure, for a study that names none."""
    with faults.of("tables"):
        if tables:
            return (leading_measure(table.data for table in tables),)
    return ("accuracy",)


def _protocol(
    given: Mapping[str, Any], measures: tuple[str, ...], faults: StudyFaults
) -> dict[str, str]:
    leading = [LEADING[measure.task] for _, measure in find_measures(measures)]
    asked = dict.fromkeys([*leading, *measures])
    protocol = {"metric": format_list(asked)}
    for key in _PROTOCOL:
        value = given[key]
        if value is None:
            continue
        try:
            CrossValidation.from_texts({"scheme": "folds", key: str(value)})
        except FsframeError as error:
            if key != "scheme" or "scheme must" in str(error):
                faults.add(key, error)
                continue
        protocol[key.replace("-", "_")] = str(value)
    if protocol.get("scheme", "folds") == "folds":
        protocol.setdefault("repeats", "1")
    return protocol


def _chains(given: Mapping[str, Any], faults: StudyFaults) -> dict[str, str]:
    """Chain → the key of the study file that it comes from."""
    chains = {text: f"chains[{place}]" for place, text in enumerate(given["chains"])}
    selectors, classifiers = given["selectors"], given["classifiers"]
    if bool(selectors) != bool(classifiers):
        lacking = "classifiers" if selectors else "selectors"
        faults.add(lacking, "selectors and classifiers make a grid: give both, or write chains")
    elif selectors:
        with faults.of("selectors"):
            for text in combined(selectors, classifiers):
                chains.setdefault(text, "selectors × classifiers")
    if not chains and not selectors:
        faults.add("chains", "no chain is given: give chains, or selectors and classifiers")
    return chains


def _methods(
    chains: Mapping[str, str], protocol: Mapping[str, str], faults: StudyFaults
) -> tuple[CrossValidation, ...]:
    methods: dict[str, CrossValidation] = {}
    for text, key in chains.items():
        with faults.of(key):
            ChainGrid.parse(text)
            method = CrossValidation.from_texts({**protocol, "base": text})
            same = grid_of(method).text
            if same in methods:
                faults.add(key, f"the chain `{same}` is given twice")
            methods[same] = method
    return tuple(methods.values())


def _tables(given: Mapping[str, Any], folder: Path, faults: StudyFaults) -> tuple[StudyTable, ...]:
    asked = given.get("tables", [])
    if not isinstance(asked, list) or not asked:
        faults.add(
            "tables", 'no table is given: give paths, or sections [[tables]] with path = "…"'
        )
        return ()
    tables: list[StudyTable] = []
    for place, entry in enumerate(asked):
        key = f"tables[{place}]"
        options = {"path": entry} if isinstance(entry, str) else entry
        if not isinstance(options, dict) or not isinstance(options.get("path"), str):
            faults.add(key, 'must be a path, or a section with path = "…"')
            continue
        # Paths in a study file are relative to its folder.
        reading = with_further_files(_reading(options, key, faults), folder)
        path = folder / options["path"]
        try:
            data = read(path, **reading)
        except UntidyTableError as error:
            faults.add(f"{key}.path", error.problem.removesuffix(SETTLES))
            for way in error.ways:
                faults.add(key, f"what would settle it: {as_settings(way)}")
            continue
        except FsframeError as error:
            faults.add(f"{key}.path", error)
            continue
        name = options.get("name", data.name)
        if not isinstance(name, str) or not name:
            faults.add(f"{key}.name", "must be a text")
            continue
        if name in [table.name for table in tables]:
            faults.add(f"{key}.name", f"two tables are called {name!r}; give them names")
        tables.append(StudyTable(name=name, key=key, data=data, path=path))
    return tuple(tables)


def _reading(options: Mapping[str, Any], key: str, faults: StudyFaults) -> dict[str, Any]:
    reading, types = {}, stored_types()
    for name, value in options.items():
        if name in ("path", "name"):
            continue
        kinds = types.get(name, ())
        if isinstance(value, str) and list in kinds and str not in kinds:
            value = [value]
        if name not in types:
            known = ("path", "name", *types)
            hint = did_you_mean(name, known) or f"; keys are {', '.join(known)}"
            faults.add(f"{key}.{name}", f"there is no such key{hint}")
        elif type(value) not in kinds or not of_texts(value):
            wanted = " or ".join(_WORDS[kind] for kind in kinds)
            faults.add(f"{key}.{name}", f"must be {wanted}, not {value!r}")
        else:
            # Columns are numbered from 1 in study files, from 0 in the library.
            number = isinstance(value, int) and not isinstance(value, bool) and value > 0
            reading[name] = value - 1 if number else value
    return reading


def of_texts(value: Any, kinds: type | tuple[type, ...] = str) -> bool:
    """Whether a list, or the lists in a table, hold only texts (`kinds`); true for other values."""
    if isinstance(value, dict):
        return all(map(are_texts, value.values()))
    return not isinstance(value, list) or all(isinstance(item, kinds) for item in value)


def as_chain(method: CrossValidation) -> Chain:
    """The chain of one stage that evaluates."""
    return Chain((Stage(_EVALUATES, method),))


def request_problems(
    methods: Sequence[CrossValidation], table: Dataset, seeds: Iterable[int]
) -> Iterator[FsframeError]:
    """The errors with which evaluations would refuse a table, found before anything is computed.

    A problem that several of them share is reported once. One of a stage's own that not all share
    names the chains.
    """
    errors: list[FsframeError] = []
    chains_of: dict[str, dict[str, None]] = {}
    for method in methods:
        try:
            as_chain(method).check_request(table)
            for seed in seeds:
                method.check(table, Run(entropy=seed).child(0))
        except FsframeError as error:
            errors.append(error)
            for line in str(error).splitlines():
                chains_of.setdefault(line, {})[f"`{method.base}`"] = None

    def told(line: str) -> str:
        problem, chains = line.removeprefix(f"{_EVALUATES}: "), list(chains_of.pop(line))
        if problem == line or len(chains) == len(methods):
            return problem
        return f"{listed(chains, 3)}: {problem}"

    for refusal in errors:
        lines = str(refusal).splitlines()
        new = "\n".join(told(line) for line in lines if line in chains_of)
        if new == str(refusal):
            yield refusal
        elif new:
            yield type(refusal)(new)
