"""How results are written: numbers and names in words, small HTML tables for notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from html import escape

from fsframe.escaping import printable

_CELL = "padding:2px 12px 2px 0;text-align:{};"


def safe(text: str) -> str:
    """Text for display: markup and control sequences are escaped."""
    return escape(printable(text))


def listed(names: Sequence[str], most: int = 6) -> str:
    """Names joined by commas, only the first ones if there are many.

    >>> listed(["a", "b", "c"], most=2), listed(["a"])
    ('a, b, … (3)', 'a')
    """
    shown = ", ".join(printable(str(name), longest=40) for name in names[:most])
    return shown if len(names) <= most else f"{shown}, … ({len(names)})"


def counted(number: int, thing: str) -> str:
    """A number with its noun: ``1 feature``, ``2 features``.

    >>> counted(1, "class"), counted(2, "class"), counted(0, "feature")
    ('1 class', '2 classes', '0 features')
    """
    plural = "es" if thing.endswith("s") else "s"
    return f"{number} {thing}{'' if number == 1 else plural}"


def number_text(value: float | None, digits: int = 4) -> str:
    """A number as a cell of a table; a dash where it is undefined.

    >>> number_text(0.5), number_text(float("nan")), number_text(-0.001, 2)
    ('0.5000', '—', '0.00')
    """
    if value is None or value != value:
        return "—"
    shown = f"{value:.{digits}f}"
    return shown.lstrip("-") if float(shown) == 0 else shown


def some_of(names: Sequence[str], most: int = 5) -> str:
    """Names joined by commas, only the first ones and the number of others if there are many.

    >>> some_of(["a", "b", "c"], 2)
    'a, b and 1 more'
    """
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def interval_text(interval: Sequence[float] | None, digits: int = 3) -> str:
    """A 95 % interval in words; empty where there is none.

    >>> interval_text((0.5, 0.75), 2)
    '95 % from 0.50 to 0.75'
    """
    if interval is None:
        return ""
    low, high = interval
    return f"95 % from {low:.{digits}f} to {high:.{digits}f}"


def html_table(
    header: Sequence[str], rows: Iterable[Sequence[str]], right: Set[int] = frozenset()
) -> str:
    """A table, its columns in `right` aligned to the right; every cell is escaped.

    >>> "<b>" in html_table(["n"], [["<b>"]])
    False
    """

    def row(cells: Sequence[str], tag: str) -> str:
        parts = (
            f'<{tag} style="{_CELL.format("right" if place in right else "left")}">{safe(cell)}'
            f"</{tag}>"
            for place, cell in enumerate(cells)
        )
        return f"<tr>{''.join(parts)}</tr>"

    head = f"<thead>{row(header, 'th')}</thead>" if any(header) else ""
    body = "".join(row(cells, "td") for cells in rows)
    return f"<table>{head}<tbody>{body}</tbody></table>"


def html_block(title: str, facts: Sequence[str] = (), *tables: str) -> str:
    """A heading, sentences below it, and tables as `html_table` makes them."""
    lines = "".join(f"<div>{safe(fact)}</div>" for fact in facts if fact)
    return f"<div><strong>{safe(title)}</strong>{lines}{''.join(tables)}</div>"
