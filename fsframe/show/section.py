"""Sections of the page about a run, and the blocks they are made of.

A section yields blocks, which the page writes as HTML. Names come from files, which may be
untrusted, so everything except the SVG of a plot is escaped there.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from pathlib import Path
from typing import ClassVar

import attrs

from fsframe.errors import PluginError
from fsframe.registry import in_stage
from fsframe.storage import RunRecord
from fsframe.table.dataset import Dataset
from fsframe.text import Rows, safe


@attrs.frozen(kw_only=True)
class Figure:
    """A figure: heading, SVG and caption."""

    heading: str
    svg: str
    caption: str


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
    level : int
        Level of the headings: 2, or 3 on a page of several runs.
    prefix : str
        Prefix of identifiers, different for each run.
    """

    record: RunRecord
    path: Path | None = None
    data: Dataset | None = None
    level: int = 2
    prefix: str = "run"


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
        yield f"<h{about.level}>{safe(self.text)}</h{about.level}>"


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


@attrs.frozen(eq=False)
class Picture(Block):
    """A figure with its heading and caption.

    Its SVG is inserted unchanged except for identifiers; the page runs no script but its own,
    whatever an SVG contains.
    """

    figure: Figure

    def lines(self, about: About) -> Iterator[str]:
        figure = self.figure
        caption = safe(figure.caption)
        label = safe(f"{figure.heading}. {figure.caption}")
        # Identifiers must differ between the figures of several runs.
        svg = with_own_identifiers(figure.svg, about.prefix)
        svg = svg.replace("<svg ", f'<svg role="img" aria-label="{label}" ', 1)
        yield from Heading(figure.heading).lines(about)
        picture = f'<div class="scroll" {_scrolled(f"{figure.heading}, picture")}>{svg}</div>'
        yield f"<figure>{picture}<figcaption>{caption}</figcaption></figure>"


@attrs.frozen
class Table(Block):
    """A sortable table, which scrolls if it is wider than the page.

    `numbers` are the columns that are aligned to the right.
    """

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    name: str
    numbers: Iterable[int] = ()

    @classmethod
    def of(cls, shown: Rows, name: str) -> Table:
        """A table from its rows for a terminal."""
        header, rows, numbers = shown
        return cls(header, rows, name, numbers)

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
