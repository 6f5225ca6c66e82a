"""Escape cells that a spreadsheet would run as formulas."""

from __future__ import annotations

import re

__all__ = ["defused", "is_formula"]

# Those that begin a formula, their full-width forms, and signs that spreadsheets skip before one.
_FIRST = frozenset("=+-@\uff1d\uff0b\uff0d\uff20\t\r\n")
_NUMBER = re.compile(
    r"[+-]?(?:[0-9][0-9.,' ]*|[.,][0-9]+)(?:e[+-]?[0-9]+)?\s*%?|[+-]?(?:inf|nan)", re.IGNORECASE
)


def is_formula(cell: str) -> bool:
    """Whether a spreadsheet may compute the cell instead of showing it.

    Numbers are not, nor is a single sign, which many tables use as a class.

    >>> [is_formula(cell) for cell in ("=1+1", "@SUM(A1)", "-2+cmd|' /C calc'!A0", "\\tx")]
    [True, True, True, True]
    >>> [is_formula(cell) for cell in ("-1.5", "+3e-4", "-1,5", "-inf", "+", "-", "a=b", "")]
    [False, False, False, False, False, False, False, False]
    """
    text = cell.strip(" ")
    return text[:1] in _FIRST and len(text) > 1 and not _NUMBER.fullmatch(text)


def defused(cell: str) -> str:
    """The cell with an apostrophe before it if it would be a formula, else as it is.

    >>> defused("=HYPERLINK(A1)"), defused("-0.5"), defused("gene")
    ("'=HYPERLINK(A1)", '-0.5', 'gene')
    """
    return f"'{cell}" if is_formula(cell) else cell
