"""Entries: what a plugin declares about each object it offers, known before its import."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import attrs
from attrs import validators

API_VERSION = 1
"""Version of the plugin API: raised by removals, not by new optional arguments or fields."""

RESERVED_NAMES = frozenset({"on"})
_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_TARGET = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")


def _rule(holds: Callable[[Any], bool], words: str) -> Callable[[Any, Any, Any], None]:
    """A validator of a field: `holds` checks its value, `words` state the rule in the message."""

    def check(_: Any, attribute: Any, value: Any) -> None:
        if not holds(value):
            raise ValueError(f"entry {attribute.name} must be {words}, not {value!r}")

    return check


def _check_name(_: Any, __: Any, value: str) -> None:
    if not isinstance(value, str) or not _NAME.fullmatch(value):
        raise ValueError(
            f"entry name {value!r} is not lower-case words joined by hyphens, such as 'my-selector'"
        )
    if value in RESERVED_NAMES:
        raise ValueError(f"entry name {value!r} is reserved for the command line; choose another")


def _check_target(_: Any, __: Any, value: str) -> None:
    if not isinstance(value, str) or not _TARGET.fullmatch(value):
        raise ValueError(f"entry target {value!r} is not of the form 'package.module:Class'")


# Lists print these as they are: a line break or an escape sequence would spoil the terminal.
_check_line = _rule(
    lambda value: isinstance(value, str) and (value.isprintable() or not value), "one line of text"
)
_check_words = _rule(
    lambda value: all(isinstance(word, str) and word.isprintable() for word in value), "words"
)
_check_api = _rule(lambda value: type(value) is int and value >= 1, "a whole number ≥ 1")


def _sentence(value: str) -> str:
    """`value` as lists show it: with a capital first letter and without a full stop."""
    return value[:1].upper() + value[1:].rstrip(".") if isinstance(value, str) else value


_REQUIREMENT = re.compile(r"([A-Za-z0-9][\w.-]*)(?:\[([\w.-]+)\])?")
_RELEASE = re.compile(r"\d+(\.\d+)*")


@attrs.frozen(kw_only=True)
class Deprecated:
    """A deprecation: the release that announced it, and the replacement.

    Parameters
    ----------
    since : str
        The first release of its distribution with the deprecation, such as ``"1.2"``. The entry
        stays for at least two minor releases.
    replacement : str
        Name of the replacement; empty if there is none.

    Examples
    --------
    >>> Deprecated(since="1.2", replacement="mim").words("old")
    '`old` is deprecated since 1.2 and will be removed; use `mim`'
    """

    since: str = attrs.field()
    replacement: str = ""

    @since.validator
    def _check_since(self, _: Any, value: str) -> None:
        if not isinstance(value, str) or not _RELEASE.fullmatch(value):
            raise ValueError(f"since must be a release such as '1.2', not {value!r}")

    def words(self, name: str) -> str:
        """The message for users."""
        use = f"; use `{self.replacement}`" if self.replacement else ""
        return f"`{name}` is deprecated since {self.since} and will be removed{use}"


def _check_requirement(_: Any, __: Any, value: str) -> None:
    if not isinstance(value, str) or not _REQUIREMENT.fullmatch(value):
        raise ValueError(
            "entry requires must be names of distributions such as 'boruta', or with an extra "
            f"'fsframe[dask]', not {value!r}; version bounds belong in pyproject.toml"
        )


def _tuple(value: Iterable[str] | str) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def _tuples(value: Mapping[str, Iterable[str]]) -> dict[str, tuple[str, ...]]:
    return {name: tuple(words) for name, words in value.items()}


def _words(value: Iterable[str] | str) -> frozenset[str]:
    return frozenset({value} if isinstance(value, str) else value)


@attrs.frozen(kw_only=True)
class Entry:
    """An object on offer: its name, the location of its class, and its description in lists.

    Parameters
    ----------
    name : str
        Lower-case words joined by hyphens; ``on`` is reserved.
    target : str
        ``"package.module:Class"``; imported on first use.
    summary : str
        One line for lists.
    reference : str
        The publication of the method.
    api : int
        The smallest `API_VERSION` that the class needs.
    requires : tuple of str
        Optional distributions that its class imports, such as ``"boruta"``, or an extra such as
        ``"fsframe[dask]"``. If one is missing, an error names the pip command before anything is
        imported.
    aliases : tuple of str
        Other names for it; runs and messages use `name`.
    known_as : mapping of str to str
        Term of the literature → the stage that does this: ``{"kruskal": "anova-f:ranks=true"}``.
        Terms are not names, but the error for such an unknown name suggests the stage.
    deprecated : Deprecated, optional
        Its deprecation, reported once in every program that uses it.
    former_provider : str
        The provider that offered it in earlier releases, if it was another. Names
        ``provider/name`` and run files with that provider still refer to this entry.

    Attributes
    ----------
    kind, hook : str
        Its kind in messages, and the hook that yields it.
    base : str
        ``"package.module:Class"`` that its class derives from; a command is an instance of it.

    Raises
    ------
    ValueError
        If a field is invalid.
    """

    kind: ClassVar[str] = "entry"
    hook: ClassVar[str] = ""
    base: ClassVar[str] = ""

    name: str = attrs.field(validator=_check_name)
    target: str = attrs.field(validator=_check_target)
    summary: str = attrs.field(default="", converter=_sentence, validator=_check_line)
    reference: str = attrs.field(default="", validator=_check_line)
    api: int = attrs.field(default=API_VERSION, validator=_check_api)
    requires: tuple[str, ...] = attrs.field(
        default=(), converter=_tuple, validator=validators.deep_iterable(_check_requirement)
    )
    aliases: tuple[str, ...] = attrs.field(
        default=(), converter=_tuple, validator=validators.deep_iterable(_check_name)
    )
    known_as: Mapping[str, str] = attrs.field(
        factory=dict, validator=validators.deep_mapping(_check_name, _check_line), hash=False
    )
    deprecated: Deprecated | None = attrs.field(
        default=None, validator=validators.optional(validators.instance_of(Deprecated))
    )
    former_provider: str = attrs.field(default="", validator=_check_line)

    @property
    def family(self) -> str:
        """Its group in lists; empty for kinds without families."""
        return ""


@attrs.frozen(kw_only=True)
class SelectorEntry(Entry):
    """A selector on offer.

    `family` groups it in lists. `gives` names what its Selection has besides the kept columns:
    ``scores``, ``weights``, ``pair-weights``, ``instance-weights``, ``fill``; with ``pair-test``
    the class is a `fsframe.method.pair_tests.PairTester`, which tests the pairs of other chains'
    results. `wraps`: whether it resamples the stages on its left. `pair_weight` describes the
    weight of a pair in the heading of a list, with a hint for reading after a colon. `chosen` maps
    tables of its result to the parameters whose values they hold if the method chose these (`n` if
    none was given); methods texts print them. `compiles`: whether it uses kernels compiled by
    numba, so that ``fsframe warm`` runs its family. `named`: its place, from 1, among the methods
    that refusals name first; for bundled plugins only.

    >>> SelectorEntry(name="variance", target="my_package.variance:Variance").kind
    'selector'
    """

    kind: ClassVar[str] = "selector"
    hook: ClassVar[str] = "fsframe_selectors"
    base: ClassVar[str] = "fsframe.method.selector:Selector"

    family: str = attrs.field(default="other", validator=_check_line)
    gives: frozenset[str] = attrs.field(
        default=frozenset({"scores"}), converter=_words, validator=_check_words
    )
    wraps: bool = False
    pair_weight: str = attrs.field(default="", validator=_check_line)
    chosen: Mapping[str, tuple[str, ...]] = attrs.field(factory=dict, converter=_tuples)
    compiles: bool = False
    named: int = 0


@attrs.frozen(kw_only=True)
class ClassifierEntry(Entry):
    """A classifier on offer; `uses` names the weights it uses from the stage on its left.

    `default`: whether it ends evaluated chains that name no classifier; for bundled plugins only.
    """

    kind: ClassVar[str] = "classifier"
    hook: ClassVar[str] = "fsframe_classifiers"
    base: ClassVar[str] = "fsframe.method.classifier:Classifier"

    uses: frozenset[str] = attrs.field(
        default=frozenset(), converter=_words, validator=_check_words
    )
    default: bool = False


@attrs.frozen(kw_only=True)
class RegressorEntry(ClassifierEntry):
    """A regressor on offer: it ends a chain and predicts numbers only.

    A method that also predicts classes, such as nearest neighbours, has a `ClassifierEntry`.
    """

    kind: ClassVar[str] = "regressor"
    hook: ClassVar[str] = "fsframe_regressors"
    base: ClassVar[str] = "fsframe.method.classifier:Regressor"


@attrs.frozen(kw_only=True)
class StabilityMetricEntry(Entry):
    """A stability metric on offer.

    `default` is its place, from 1, among the metrics that a stability study measures by default, or
    0 if it is none of them; the first is also the metric of evaluations. For bundled plugins only.
    `fleiss`: whether its values are an agreement beyond chance, for which reports use Fleiss' terms
    (poor, excellent).
    """

    kind: ClassVar[str] = "stability metric"
    hook: ClassVar[str] = "fsframe_stability_metrics"
    base: ClassVar[str] = "fsframe.method.stability_metric:StabilityMetric"

    default: int = 0
    fleiss: bool = False


@attrs.frozen(kw_only=True)
class CommandEntry(Entry):
    """A command on offer, called as ``fsframe NAME``; its target is a `click.Command`."""

    kind: ClassVar[str] = "command"
    hook: ClassVar[str] = "fsframe_commands"
    base: ClassVar[str] = "click:Command"


@attrs.frozen(kw_only=True)
class MeasureEntry(Entry):
    """A measure of predictions on offer, for `evaluate`, `compare` and studies.

    `default`: whether it is computed by default, where it is defined.
    """

    kind: ClassVar[str] = "measure"
    hook: ClassVar[str] = "fsframe_measures"
    base: ClassVar[str] = "fsframe.method.classifier:PredictionMeasure"

    default: bool = False


@attrs.frozen(kw_only=True)
class ObserverEntry(Entry):
    """An observer of all runs, such as a logger; its class is a
    `fsframe.method.run.Observer`."""

    kind: ClassVar[str] = "observer"
    hook: ClassVar[str] = "fsframe_events"
    base: ClassVar[str] = "fsframe.method.run:Observer"


@attrs.frozen(kw_only=True)
class EngineEntry(Entry):
    """An engine on offer: where the resamples of a run can be computed, as ``--engine NAME``."""

    kind: ClassVar[str] = "engine"
    hook: ClassVar[str] = "fsframe_engines"
    base: ClassVar[str] = "fsframe.execution.engine:Engine"


@attrs.frozen(kw_only=True)
class NullEntry(Entry):
    """A null hypothesis for npfs, as ``npfs:null=NAME``; its class is a
    `fsframe.resampling.resamples.Null`."""

    kind: ClassVar[str] = "null"
    hook: ClassVar[str] = "fsframe_nulls"
    base: ClassVar[str] = "fsframe.resampling.resamples:Null"


_check_place = _rule(
    lambda value: type(value) is int and 0 <= value <= 100, "a whole number from 0 to 100"
)


@attrs.frozen(kw_only=True)
class ReportSectionEntry(Entry):
    """A section of the page about a run; its class is a `fsframe.show.section.Section`.

    `place` is its position from 0 to 100: the verdict is at 0, warnings at 10, measures at 20,
    plots at 30, the features at 40, pairs at 50, the checklist at 70, the methods text at 80 and
    provenance at 90. Sections with the same place are sorted by name.
    """

    kind: ClassVar[str] = "report section"
    hook: ClassVar[str] = "fsframe_report_sections"
    base: ClassVar[str] = "fsframe.show.section:Section"

    place: int = attrs.field(default=60, validator=_check_place)


def _starts(value: Iterable[bytes | str]) -> tuple[bytes, ...]:
    """Bytes as they are; in text, as in a TOML file, each character is a byte."""
    return tuple(each.encode("latin-1") if isinstance(each, str) else each for each in value)


_check_endings = _rule(
    lambda value: all(
        isinstance(e, str) and re.fullmatch(r"[a-z0-9_]*(\.[a-z0-9]+)+", e) for e in value
    ),
    "such as '.arff', in lower case",
)
_check_starts = _rule(
    lambda value: all(isinstance(start, bytes) and 4 <= len(start) <= 8 for start in value),
    "4 to 8 bytes each",
)


@attrs.frozen(kw_only=True)
class ReaderEntry(Entry):
    """A file format on offer, and how its files are recognised.

    Parameters
    ----------
    starts : tuple of bytes
        Possible first bytes of its files, four to eight each; in a TOML file as text.
    zip_member : str
        For a zip archive: a file that it contains.
    endings : tuple of str
        File name endings, for formats that cannot be recognised by content; those that fsframe
        reads itself, such as ``.csv``, are not taken from it.

    Examples
    --------
    >>> ReaderEntry(name="parquet", target="my_package.parquet:Reader", starts=[b"PAR1"]).kind
    'reader'
    """

    kind: ClassVar[str] = "reader"
    hook: ClassVar[str] = "fsframe_readers"
    base: ClassVar[str] = "fsframe.table.reader:Reader"

    starts: tuple[bytes, ...] = attrs.field(default=(), converter=_starts, validator=_check_starts)
    zip_member: str = attrs.field(default="", validator=_check_line)
    endings: tuple[str, ...] = attrs.field(default=(), converter=_tuple, validator=_check_endings)


@attrs.frozen(kw_only=True)
class WriterEntry(Entry):
    """A format in which tables are written, as ``fsframe table --format NAME``.

    Parameters
    ----------
    endings : tuple of str
        File name endings that select it.
    text : bool
        Whether it can be printed to a terminal.

    Examples
    --------
    >>> WriterEntry(name="stata", target="my_package.stata:StataWriter", endings=".dta").endings
    ('.dta',)
    """

    kind: ClassVar[str] = "writer"
    hook: ClassVar[str] = "fsframe_writers"
    base: ClassVar[str] = "fsframe.table.reader:Writer"

    endings: tuple[str, ...] = attrs.field(default=(), converter=_tuple, validator=_check_endings)
    text: bool = False


_check_options = _rule(
    lambda value: set(value) <= {"most", "pair", "metric"}, "among most, pair and metric"
)


@attrs.frozen(kw_only=True)
class PlotEntry(Entry):
    """A kind of plot on offer, as ``fsframe plot NAME``; its class is a `fsframe.show.plots.Plot`.

    Parameters
    ----------
    needs : str
        Requirement on a run, in words, for lists and refusals.
    several : bool
        Whether it takes several runs.
    data : bool
        Whether it takes the table of the run.
    options : tuple of str
        Which of ``most``, ``pair`` and ``metric`` it takes.
    """

    kind: ClassVar[str] = "plot"
    hook: ClassVar[str] = "fsframe_plots"
    base: ClassVar[str] = "fsframe.show.plots:Plot"

    needs: str = attrs.field(default="a run", validator=_check_line)
    several: bool = False
    data: bool = False
    options: tuple[str, ...] = attrs.field(default=(), converter=_tuple, validator=_check_options)


RELEVANT_QUESTION = "which features are relevant, each by itself"
"""The question that most proposals of fsframe answer."""

NEEDED_QUESTION = "which of the correlated features are needed, given all others"
"""The question of proposals whose kept features carry information that the others do not."""

TABLE_WORDS = frozenset(
    {
        "classification", "regression", "survival", "covariates", "time", "groups", "nominal",
        "gaps", "heavy-tails", "correlated", "copies", "parts", "rare-class", "rare-values",
    }
)  # fmt: skip
"""Words for tables in a `ProposalEntry`: kind of label, roles of columns and rows, values."""


_check_table_words = _rule(
    lambda value: value <= TABLE_WORDS, f"among {', '.join(sorted(TABLE_WORDS))}"
)


@attrs.frozen(kw_only=True)
class ProposalEntry(Entry):
    """A chain that ``fsframe inspect`` proposes for some tables; it has no class of its own.

    Parameters
    ----------
    question : str
        The question that the kept features answer. For each question one chain is proposed: among
        the entries that fit the table and whose chain accepts it, that of the smallest `place`.
        Empty for a last resort, which is proposed if no other chain is.
    chain, gaps : str
        The chain, and the one for tables with gaps; by default the same.
    promise : str
        The bound that the chain promises, in words.
    place : int
        Position among entries; fsframe itself uses places up to 160.
    tables : str
        The tables it is for, in words.
    when, unless : set of str
        Words of `TABLE_WORDS` that must, and must not, apply to the table. Only entries with
        ``parts`` are for tables in parts.
    fewest_columns, most_columns : int
        Smallest and largest number of columns; 0 for any.
    rows_per_column : int
        Smallest number of rows for each column.
    most_hours : float
        Longest forecast (`Chain.cost`) with which it is proposed; 0 for any forecast, or none.
    designs : tuple of str
        Designs of fsframe's ledger (docs/ledger.md) in which it is first, or within a standard
        error of the first; empty if none has such tables.
    """

    kind: ClassVar[str] = "proposal"
    hook: ClassVar[str] = "fsframe_proposals"
    base: ClassVar[str] = "fsframe.show.proposals:Proposal"

    target: str = attrs.field(default="fsframe.show.proposals:Proposal", init=False)
    question: str = attrs.field(default="", validator=_check_line)
    chain: str = attrs.field(validator=_check_line)
    gaps: str = attrs.field(
        default=attrs.Factory(lambda entry: entry.chain, takes_self=True), validator=_check_line
    )
    promise: str = attrs.field(default="", validator=_check_line)
    place: int = 200
    tables: str = attrs.field(default="", validator=_check_line)
    when: frozenset[str] = attrs.field(
        default=frozenset(), converter=_words, validator=_check_table_words
    )
    unless: frozenset[str] = attrs.field(
        default=frozenset(), converter=_words, validator=_check_table_words
    )
    fewest_columns: int = 0
    most_columns: int = 0
    rows_per_column: int = 0
    most_hours: float = 0.0
    designs: tuple[str, ...] = attrs.field(default=(), converter=_tuple)


KINDS: tuple[type[Entry], ...] = (
    SelectorEntry,
    ClassifierEntry,
    RegressorEntry,
    StabilityMetricEntry,
    ReaderEntry,
    CommandEntry,
    EngineEntry,
    MeasureEntry,
    ObserverEntry,
    NullEntry,
    ReportSectionEntry,
    WriterEntry,
    PlotEntry,
    ProposalEntry,
)
"""Every kind of entry."""

E = TypeVar("E", bound=Entry)


def entries_in(file: Path, kind: type[E]) -> Iterator[E]:
    """The entries of one kind that a TOML file declares.

    Parameters
    ----------
    file : Path
        Each entry is a section with the name of its hook, such as ``[[fsframe_selectors]]``, and
        holds the fields of the entry. Fields that most of them share may stand once, in the
        section ``[defaults.fsframe_selectors]``.
    kind : type[Entry]
        A kind without a section has no entries.

    Raises
    ------
    ValueError, TypeError
        If a field is invalid or unknown.
    """
    declared = _declared(file)
    shared = declared.get("defaults", {}).get(kind.hook, {})
    sections = declared.get(kind.hook, [])
    if not isinstance(sections, list):
        raise ValueError(f"{file.name}: write [[{kind.hook}]], since each section is one entry")
    for fields in sections:
        yield kind(**{**shared, **fields})


def hooks_in(file: Path) -> set[str]:
    """The hooks that have sections in a TOML file for `entries_in`.

    Raises
    ------
    ValueError
        If the file is not TOML.
    """
    return _declared(file).keys() - {"defaults"}


@cache
def _declared(file: Path) -> dict[str, Any]:
    return tomllib.loads(file.read_text("utf-8"))
