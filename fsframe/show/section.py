"""Sections of the page about a run: the blocks they are made of, the built-in ones, its figures.

A section yields blocks, which the page writes as HTML. Names come from files, which may be
untrusted, so everything except the SVG of a plot is escaped there.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any, ClassVar

import attrs

from fsframe.errors import PluginError, RequestError
from fsframe.evaluation.recorded import recorded_protocol
from fsframe.method.answer import AnswerTable
from fsframe.registry import in_stage
from fsframe.show.methods_text import (
    checklist,
    commands,
    given_params,
    methods_paragraph,
    references,
    versions,
)
from fsframe.show.plots import KINDS, draw
from fsframe.show.plots.canvas import figure_bytes
from fsframe.show.protocols import shown_protocol
from fsframe.show.verdicts import (
    decisions,
    interacting,
    pair_test_words,
    pair_weight_words,
    statements,
    verdict,
)
from fsframe.storage import RunRecord
from fsframe.storage.checked_tables import bootstrap_tables
from fsframe.table.dataset import Dataset
from fsframe.text import safe, some_of

_WARNINGS = 50
_ROWS = 1000
_NAMED = 8
CHECKLIST_WORDS = (
    "Items of REFORMS (Kapoor et al. 2024, Sci. Adv. 10:eadk3452) and TRIPOD+AI (Collins et al. "
    "2024, BMJ 385:e078378) that a run can answer, from the contents of its file."
)
STATES = {"yes": "yes", "no": "no", "open": "for you to say", "n/a": "does not apply"}
_COLUMNS = {"frequency_low": "from", "frequency_high": "to", "with": "and"}


def with_own_identifiers(svg: str, prefix: str) -> str:
    """The SVG with identifiers that begin with `prefix`, so that they are unique within a page."""
    return re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{prefix}-", svg)


@attrs.frozen(kw_only=True, eq=False)
class About:
    """The subject of a section.

    Parameters
    ----------
    record : RunRecord
    path : Path or None
        The run file.
    data : Dataset or None
        The run's table, if it was given.
    """

    record: RunRecord
    path: Path | None = None
    data: Dataset | None = None


class Block(ABC):
    """A piece of a section."""

    @abstractmethod
    def lines(self, about: About) -> Iterator[str]:
        """Its lines of HTML."""


@attrs.frozen
class Heading(Block):
    """The heading of a section, or of a part of it."""

    text: str

    def lines(self, about: About) -> Iterator[str]:
        yield f"<h2>{safe(self.text)}</h2>"


@attrs.frozen
class Text(Block):
    """A paragraph; text between backquotes is code.

    `style` is one of the page's: ``"quiet"`` for remarks, ``"verdict"`` for the answer.

    >>> list(Text("`mim` kept <b>").lines(None))
    ['<p><code>mim</code> kept &lt;b&gt;</p>']
    """

    text: str
    style: str = ""

    def lines(self, about: About) -> Iterator[str]:
        text = re.sub("`([^`]*)`", r"<code>\1</code>", safe(self.text))
        yield f"<p{_styled(self.style)}>{text}</p>"


def _styled(style: str) -> str:
    return f' class="{escape(style)}"' if style else ""


def _scrolled(label: str) -> str:
    """Attributes of an element that scrolls by keyboard, with its label for screen readers."""
    return f'tabindex="0" role="region" aria-label="{safe(label)}"'


@attrs.frozen
class Bullets(Block):
    """A list; `style` as in `Text`, or ``"warnings"``."""

    tag: ClassVar[str] = "ul"

    items: Sequence[str]
    style: str = ""

    def lines(self, about: About) -> Iterator[str]:
        yield f"<{self.tag}{_styled(self.style)}>"
        yield from (f"<li>{safe(item)}</li>" for item in self.items)
        yield f"</{self.tag}>"


@attrs.frozen
class Numbered(Bullets):
    """A list with numbers."""

    tag: ClassVar[str] = "ol"


@attrs.frozen
class Code(Block):
    """Lines to be copied; `name` is their label for screen readers."""

    text: Sequence[str]
    name: str

    def lines(self, about: About) -> Iterator[str]:
        lines = "\n".join(map(escape, self.text))
        yield f"<pre {_scrolled(self.name)}><code>{lines}</code></pre>"


@attrs.frozen(kw_only=True)
class Picture(Block):
    """A figure with its heading and caption.

    Its SVG is inserted unchanged except for identifiers, which begin with `prefix`; the page runs
    no script but its own, whatever an SVG contains.
    """

    heading: str
    svg: str
    caption: str
    prefix: str = "run"

    def lines(self, about: About) -> Iterator[str]:
        label = safe(f"{self.heading}. {self.caption}")
        # Identifiers must differ between the figures of several tables.
        svg = with_own_identifiers(self.svg, self.prefix)
        svg = svg.replace("<svg ", f'<svg role="img" aria-label="{label}" ', 1)
        yield from Heading(self.heading).lines(about)
        picture = f'<div class="scroll" {_scrolled(f"{self.heading}, picture")}>{svg}</div>'
        yield f"<figure>{picture}<figcaption>{safe(self.caption)}</figcaption></figure>"


@attrs.frozen
class Table(Block):
    """A sortable table, which scrolls if it is wider than the page.

    `numbers` are the columns that are aligned to the right.
    """

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    name: str
    numbers: Iterable[int] = ()

    def lines(self, about: About) -> Iterator[str]:
        right = set(self.numbers)

        def row(cells: Sequence[str], tag: str, more: str = "", blank: str = "") -> str:
            marked = (
                f"<{tag}{more}{' class=n' * (k in right)}>{safe(cell) or blank}</{tag}>"
                for k, cell in enumerate(cells)
            )
            return f"<tr>{''.join(marked)}</tr>"

        head = row(self.header, "th", ' scope="col"', "&nbsp;")
        yield f'<div class="scroll" {_scrolled(self.name)}>'
        yield f'<table data-name="{safe(self.name)}"><thead>{head}</thead><tbody>'
        yield from (row(cells, "td") for cells in self.rows)
        yield "</tbody></table></div>"


class Section(ABC):
    """A section of the page about a run; it has no parameters.

    Authors write `_blocks`; the core calls `lines`, which checks the result.
    """

    def lines(self, about: About) -> Iterator[str]:
        """The lines of HTML; none if the section is empty.

        Raises
        ------
        PluginError
            If the author's code fails, or yields anything but blocks.
        """
        lines: list[str] = []
        with in_stage(type(self), type(self).__name__, "report section"):
            for block in self._blocks(about):
                if not isinstance(block, Block):
                    raise PluginError(
                        f"{type(self).__name__} yielded {type(block).__name__}; a section yields "
                        "Heading, Text, Bullets, Numbered, Code, Table and Picture of "
                        "fsframe.show.section"
                    )
                lines.extend(block.lines(about))
        yield from lines

    @abstractmethod
    def _blocks(self, about: About) -> Iterable[Block]:
        """The blocks about this run, a heading first."""


def figures(record: RunRecord, data: Dataset | None = None) -> Iterator[Picture]:
    """The figures that can be drawn from a run; those that show values need its table."""
    placed = [name for name, kind in KINDS.items() if kind.place]
    for kind in sorted(placed, key=lambda name: KINDS[name].place):
        if KINDS[kind].data and data is None:
            continue
        # A picture of pairs would suggest an interaction that was not found.
        if kind in ("network", "pair") and (interacting(record) == 0 or not record.selected.size):
            continue
        if svg := _drawn(kind, [record], data):
            caption = " ".join(_words_of_test(record)) if kind == "tests" else KINDS[kind].caption
            yield Picture(heading=_heading(kind, record), svg=svg, caption=caption)


def _heading(kind: str, record: RunRecord) -> str:
    """The heading of a figure, adapted to the findings."""
    if kind == "pair" and interacting(record):
        return "The pair that interacts most clearly"
    if kind == "pair":
        return "The pair of the largest weight"
    if kind != "scores":
        return KINDS[kind].heading
    if not record.selected.size:
        return "The best features, none of which was kept"
    tested = {"p", "q"} & record.feature_table().columns.keys()
    return "Which features matter" if tested else "The features by their scores"


def _words_of_test(record: RunRecord) -> Iterator[str]:
    tests = [t for t in map(bootstrap_tables, record.stages) if t is not None]
    relevant = any(tables.relevant.any() for tables in tests)
    yield "Features above the line are kept." if relevant else "No feature is above the line."
    if any(tables.borderline.any() for tables in tests):
        yield "Hollow diamonds are borderline: another seed may decide otherwise."
    for tables in tests:
        yield from tables.promise


def figures_of_several(
    records: Sequence[RunRecord], kinds: Mapping[str, str | None]
) -> Iterator[Picture]:
    """The figures that can be drawn from several runs; `kinds` has the measure that each shows."""
    for kind, metric in kinds.items():
        if svg := _drawn(kind, records, metric=metric):
            yield Picture(heading=KINDS[kind].heading, svg=svg, caption=KINDS[kind].compares)


def _drawn(kind: str, records: Sequence[RunRecord], *data: Any, **options: Any) -> str:
    """The SVG of a plot; empty if the runs lack the data for it."""
    try:
        figure = draw(kind, records, *data, **options)
    except RequestError:
        return ""
    svg = figure_bytes(figure).decode()
    return with_own_identifiers(svg[svg.index("<svg") :], kind)


class Verdict(Section):
    """The answer in two sentences, and the three verdicts with what would change each."""

    def _blocks(self, about: About) -> Iterator[Block]:
        yield Text(" ".join(verdict(about.record)), "verdict")
        if said := statements(about.record):
            yield Text(" ".join(said))
        rows = []
        for decision in decisions(about.record):
            named = some_of(decision.names, _NAMED)
            rows.append([decision.verdict, str(len(decision.names)), named, decision.change])
        if rows and recorded_protocol(about.record) is None:
            header = ["verdict", "number", "features", "what would change it"]
            yield Table(header, rows, "verdicts", {1})


class Warnings(Section):
    """Limitations of the result."""

    def _blocks(self, about: About) -> Iterator[Block]:
        warnings = about.record.all_warnings()
        if not warnings:
            return
        yield Heading("What weakens this result")
        yield Bullets(warnings[:_WARNINGS], "warnings")
        if len(warnings) > _WARNINGS:
            yield Text(f"… and {len(warnings) - _WARNINGS} more warnings in the run file.", "quiet")


class Measures(Section):
    """Results of an evaluation or stability study at the end of the chain."""

    def _blocks(self, about: About) -> Iterator[Block]:
        if protocol := shown_protocol(about.record):
            yield Heading(protocol.title)
            for name, (header, rows, numbers) in protocol.tables.items():
                yield Table(header, rows, name, numbers)


class Pictures(Section):
    """The figures of the run."""

    def _blocks(self, about: About) -> Iterator[Block]:
        yield from figures(about.record, about.data)


class Features(Section):
    """The features, the kept ones first."""

    def _blocks(self, about: About) -> Iterator[Block]:
        if not any(stage.selection is not None for stage in about.record.stages):
            return
        yield Heading("Features")
        table = about.record.feature_table(about.data)
        yield from _answer("features", table, "fsframe table RUN")


class Pairs(Section):
    """The pairs that were weighed or tested."""

    def _blocks(self, about: About) -> Iterator[Block]:
        table = about.record.pair_table()
        if not len(table):
            return
        what, how = pair_weight_words(about.record)
        yield Heading(f"Pairs by {what}")
        words = [f"{how[:1].upper()}{how[1:]}." if how else "", *pair_test_words(about.record)]
        if any(words):
            yield Text(" ".join(filter(None, words)), "quiet")
        yield from _answer("pairs", table, "fsframe table RUN --pairs")


class Checklist(Section):
    """Checklist on data leakage and other questions."""

    def _blocks(self, about: About) -> Iterator[Block]:
        yield Heading("Checklist: data leakage, and other questions of a reader")
        yield Text(CHECKLIST_WORDS, "quiet")
        items = checklist(about.record)
        rows = [[i.question, STATES[i.state], i.answer, i.source] for i in items]
        yield Table(["question", "answer", "what the run knows", "from"], rows, "checklist")


class MethodsText(Section):
    """Sentences for the methods section of a paper."""

    def _blocks(self, about: About) -> Iterator[Block]:
        yield Heading("For the methods section")
        yield Text(methods_paragraph(about.record))
        sources = references(about.record)
        if sources:
            yield Numbered([f"{name}: {source}" for name, source in sources])


class HowMade(Section):
    """Commands, stages, digests and versions."""

    def _blocks(self, about: About) -> Iterator[Block]:
        record, path = about.record, about.path
        yield Heading("How it was made")
        yield Code(commands(record, None if path is None else str(path)), "commands")
        yield Table(
            ["stage", "from", "features in", "kept", "seconds", "parameters"],
            [
                [
                    stage.name,
                    f"{stage.provider} {stage.provider_version}",
                    str(stage.features_in.size),
                    "—" if stage.selection is None else str(stage.selection.selected.size),
                    f"{stage.seconds:.2f}",
                    given_params(stage),
                ]
                for stage in record.stages
            ],
            "stages",
            {2, 3, 4},
        )
        yield Origin(f"{record.data.source or record.data.name}, SHA-256 {record.data.sha256}")
        yield Text(
            "Digests: equal data, chain and seed give equal ones on the same kind of processor.",
            "quiet",
        )
        yield Table(["part", "SHA-256"], [[k, v] for k, v in record.digests().items()], "digests")
        where = f"; run file {path}" if path is not None else ""
        yield Text(f"{versions(record)}{where}", "quiet")


@attrs.frozen
class Origin(Block):
    """A line with a digest, which may be wrapped anywhere."""

    text: str

    def lines(self, about: About) -> Iterator[str]:
        yield f'<p class="quiet">Table: <span class="long">{safe(self.text)}</span></p>'


def _answer(name: str, table: AnswerTable, command: str) -> Iterator[Block]:
    shown = table.head(_ROWS)
    cells = [[_cell(value) for value in shown.cells(column)] for column in shown.columns]
    numbers = {k for k, column in enumerate(shown.columns.values()) if column.dtype.kind in "if"}
    header = [_COLUMNS.get(c, c.replace("_", " ")) for c in shown.columns]
    yield Table(header, list(zip(*cells, strict=True)), name, numbers)
    if len(table) > _ROWS:
        yield Text(f"The first {_ROWS} of {len(table)}; `{command}` has all.", "quiet")


def _cell(value: Any) -> str:
    if value is None:
        return "—"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, float):
        return str(value)
    # Adding 0.0 avoids a negative zero.
    return "∞" if value >= 1.7e308 else f"{value + 0.0:.4g}"
