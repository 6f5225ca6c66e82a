"""Whether the text of a cell is a number or a missing value."""

from __future__ import annotations

import re

__all__ = ["MISSING", "is_missing", "is_number"]

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
