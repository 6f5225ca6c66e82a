"""Records and fields of delimited text, quotes understood, original spelling kept."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

from fsframe.errors import DataError, RequestError

__all__ = ["choose_delimiter", "delimiter_name", "field_splitter", "split_records", "unquote"]

_WORDS = {"tab": "\t", "comma": ",", "semicolon": ";", "\\t": "\t"}
_CANDIDATES = (",", "\t", ";")
_NAMES = {",": "comma", "\t": "tab", ";": "semicolon"}


def choose_delimiter(
    first_line: str, path: Path, given: str | None, *, one_column: bool = False
) -> str:
    """The delimiter: the given one, that of the file's ending, or the commonest in the first line.

    A ``.csv`` whose first line has no comma is tried with semicolon and tab, as some spreadsheets
    save it. A table that may have `one_column` needs no delimiter.

    Raises
    ------
    RequestError
        If the given one is not one character.
    DataError
        If the first line holds no delimiter.
    """
    if given is not None:
        delimiter = _WORDS.get(given, given)
        if len(delimiter) != 1 or delimiter in '"\n\r' or delimiter.isalnum():
            raise RequestError(
                f"delimiter {given!r} must be one character, not a letter, digit or quote, or one "
                f"of: "
                "tab, comma, semicolon"
            )
        return delimiter
    bare = re.sub(r'"[^"]*"', "", first_line)
    counts = {candidate: bare.count(candidate) for candidate in _CANDIDATES}
    endings = {suffix.lower() for suffix in path.suffixes[-2:]}
    if endings & {".tsv", ".tab"} and counts["\t"]:
        return "\t"
    if ".csv" in endings and counts[","]:
        return ","
    best = max(_CANDIDATES, key=lambda candidate: counts[candidate])
    if not counts[best] and one_column:
        return "\t" if endings & {".tsv", ".tab"} else ","
    if not counts[best]:
        raise DataError(
            f"{path}, line 1: one column only: no comma, tab or semicolon found; a table needs "
            f"features "
            "and a label (another delimiter can be given)"
        )
    return best


def split_records(text: str, path: Path) -> tuple[list[str], Sequence[int]]:
    """The records of a text and the line each begins in, from 1; blank lines at both ends left out.

    A record is a line, or several where a quoted field goes on.

    Raises
    ------
    DataError
        If the text is empty, or a quote is never closed.
    """
    lines = text.split("\n")
    end = len(lines)
    while end and not lines[end - 1].strip(" "):
        end -= 1
    start = 0
    while start < end and not lines[start].strip(" "):
        start += 1
    lines = lines[start:end]
    if not lines:
        raise DataError(f"{path} is empty: a table needs a line of names and at least two rows")
    numbers: Sequence[int] = range(start + 1, end + 1)
    if '"' in text:
        lines, numbers = _joined(lines, numbers, path)
    return lines, numbers


def _joined(lines: list[str], numbers: Sequence[int], path: Path) -> tuple[list[str], list[int]]:
    records: list[str] = []
    begins: list[int] = []
    open_lines: list[str] = []
    for line, number in zip(lines, numbers, strict=True):
        if not open_lines:
            begins.append(number)
        # A quote inside a quoted field is doubled, so an odd count opens or closes a field.
        if line.count('"') % 2:
            if open_lines:
                records.append("\n".join([*open_lines, line]))
                open_lines = []
            else:
                open_lines = [line]
        elif open_lines:
            open_lines.append(line)
        else:
            records.append(line)
    if open_lines:
        raise DataError(
            f'{path}, line {begins[-1]}: a quote (") is opened and never closed; close it, or '
            f"double "
            "it if it belongs to the text"
        )
    return records, begins


@cache
def field_splitter(delimiter: str) -> Callable[[str], list[str]]:
    """A function from a record to its fields as spelled, quotes and blanks included.

    >>> field_splitter(",")('a,"b,c", d,')
    ['a', '"b,c"', ' d', '']
    """
    sign = re.escape(delimiter)
    # Possessive, so that no text can make it slow.
    pattern = re.compile(rf'(?:\A|{sign})((?:[^{sign}"]++|"[^"]*+"?)*+)')

    def split(record: str) -> list[str]:
        return pattern.findall(record) if '"' in record else record.split(delimiter)

    return split


def unquote(field: str) -> str:
    """The text that a field means: outer blanks and quotes off, doubled quotes halved.

    >>> unquote(' "say ""hi"" twice" ')
    'say "hi" twice'
    """
    text = field.strip()
    if len(text) >= 2 and text[0] == text[-1] == '"':
        return text[1:-1].replace('""', '"').strip()
    return text


def delimiter_name(delimiter: str) -> str:
    """A word for a delimiter, for messages."""
    return _NAMES.get(delimiter, repr(delimiter))
