"""Plain tables for the terminal; imports nothing, so that light commands stay light."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set

__all__ = ["table_lines"]


def table_lines(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    right: Set[int] = frozenset(),
) -> Iterator[str]:
    """A table as lines, columns two blanks apart, those in `right` aligned to the right.

    >>> print(*table_lines(["n", "name"], [["1", "a"], ["10", "b"]], right={0}), sep="\\n")
     n  name
     1  a
    10  b
    """
    widths = [max(len(row[c]) for row in [header, *rows]) for c in range(len(header))]
    for row in [header, *rows]:
        cells = [
            cell.rjust(width) if c in right else cell.ljust(width)
            for c, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield "  ".join(cells).rstrip()
