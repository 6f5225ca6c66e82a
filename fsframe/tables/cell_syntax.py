"""Which cells are numbers, missing, or formulas of a spreadsheet."""

from __future__ import annotations

import re

__all__ = ["MISSING", "defused", "is_formula", "is_missing", "is_number"]

MISSING = (
    *("", "NA", "N/A", "n/a", "NaN", "nan", "NAN", "NULL", "null", "None", "?"),
    *("#N/A", "#NULL!", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!"),
)
"""Spellings of a missing value besides an empty field, with the errors of
spreadsheets; `nan` in any case and with a sign too."""

_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_INFINITE = re.compile(r"[+-]?inf(?:inity)?", re.IGNORECASE)
_NAN = re.compile(r"[+-]?nan", re.IGNORECASE)
_MISSING = frozenset(MISSING)
# The first character rules out most cells that are not numbers, and empty ones.
_STARTS = frozenset("0123456789+-.iI")


def is_missing(text: str) -> bool:
    """Whether a cell, blanks stripped, spells a missing value.

    >>> is_missing("NA"), is_missing("-nan"), is_missing("0")
    (True, True, False)
    """
    return text in _MISSING or (len(text) <= 4 and _NAN.fullmatch(text) is not None)


def is_number(text: str) -> bool:
    """Whether a cell, blanks stripped, is a number with a decimal point; infinity counts.

    >>> is_number("-1.5e3"), is_number("1,5"), is_number("1_000"), is_number("inf")
    (True, False, False, True)
    """
    if text[:1] not in _STARTS:
        return False
    return bool(_NUMBER.fullmatch(text) or _INFINITE.fullmatch(text))


# Those that begin a formula, their full-width forms, and signs that spreadsheets skip before one.
_FIRST = frozenset("=+-@\uff1d\uff0b\uff0d\uff20\t\r\n")
_SIGNED_NUMBER = re.compile(
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
    return text[:1] in _FIRST and len(text) > 1 and not _SIGNED_NUMBER.fullmatch(text)


def defused(cell: str) -> str:
    """The cell with an apostrophe before it if it would be a formula, else as it is.

    >>> defused("=HYPERLINK(A1)"), defused("-0.5"), defused("gene")
    ("'=HYPERLINK(A1)", '-0.5', 'gene')
    """
    return f"'{cell}" if is_formula(cell) else cell
