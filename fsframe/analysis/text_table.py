"""Plain tables for the terminal; imports little, so that light commands stay light."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence, Set

from fsframe.text import printable


def shown_width(text: str) -> int:
    """Number of terminal cells that `text` takes: two for wide characters, none for combining ones.

    >>> shown_width("gene"), shown_width("遺伝子"), shown_width("e\u0301")
    (4, 6, 1)
    """
    if text.isascii():
        return len(text)
    return sum(
        0
        if unicodedata.category(character) in ("Mn", "Me", "Cf")
        else 2
        if unicodedata.east_asian_width(character) in "WF"
        else 1
        for character in text
    )


def table_lines(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    right: Set[int] = frozenset(),
) -> Iterator[str]:
    """A table as lines, columns two spaces apart, those in `right` aligned to the right.

    >>> print(*table_lines(["n", "name"], [["1", "a"], ["10", "b"]], right={0}), sep="\\n")
     n  name
     1  a
    10  b
    """
    # Escaped before output, since an escape is wider than its character.
    shown = [[printable(cell) for cell in row] for row in (header, *rows)]
    widths = [max(shown_width(row[c]) for row in shown) for c in range(len(header))]
    for row in shown:
        cells = []
        for c, (cell, width) in enumerate(zip(row, widths, strict=True)):
            blanks = " " * (width - shown_width(cell))
            cells.append(blanks + cell if c in right else cell + blanks)
        yield "  ".join(cells).rstrip()
