"""Delimiters, quotes, line ends and the line of names of a text table."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path

from fsframe.errors import DataError, RequestError
from fsframe.tables.cell_syntax import is_missing, is_number

__all__ = [
    "check_quotes",
    "choose_delimiter",
    "delimiter_name",
    "field_splitter",
    "first_record",
    "is_header",
    "sign_of",
    "trimmed",
    "unquote",
]

_WORDS = {"tab": "\t", "comma": ",", "semicolon": ";", "space": " ", "\\t": "\t"}
_CANDIDATES = (",", "\t", ";")
_NAMES = {",": "comma", "\t": "tab", ";": "semicolon", " ": "space"}


def sign_of(given: str | None) -> str | None:
    """The character that a delimiter given by word or character means; None if there is none."""
    sign = None if given is None else _WORDS.get(given, given)
    return sign if sign is not None and len(sign) == 1 and sign not in '"\n\r\0' else None


def choose_delimiter(
    first_line: str,
    path: Path,
    given: str | None,
    *,
    decimal: str = ".",
    one_column: bool = False,
) -> str:
    """The delimiter: the given one, that of the file's ending, or the most common in line 1.

    A ``.csv`` whose first line has no comma is tried with semicolon and tab, as some spreadsheets
    save it; without any of these, a bar or blanks may separate the fields. With decimal commas, a
    comma is not a delimiter. A table that may have `one_column` needs no delimiter. RequestError if
    the given one is not one character, or is the sign of decimals; DataError if the first line
    holds none.
    """
    if given is not None:
        delimiter = _WORDS.get(given, given)
        # Bytes of the command line that are not UTF-8 arrive as surrogates.
        half = any("\ud800" <= sign <= "\udfff" for sign in delimiter)
        if len(delimiter) != 1 or half or delimiter in '"\n\r\0' or delimiter.isalnum():
            raise RequestError(
                f"delimiter {given!r} must be one character, not a letter, digit or quote, or one "
                "of: tab, comma, semicolon, space"
            )
        if delimiter == decimal:
            raise RequestError(f"{given!r} cannot be both the delimiter and the decimal mark")
        return delimiter
    bare = re.sub(r'"[^"]*"', "", first_line)
    counts = {sign: bare.count(sign) for sign in _CANDIDATES if sign != decimal}
    endings = {suffix.lower() for suffix in path.suffixes[-2:]}
    if endings & {".tsv", ".tab"} and counts["\t"]:
        return "\t"
    if ".csv" in endings and counts.get(","):
        return ","
    best = max(counts, key=lambda candidate: counts[candidate])
    if counts[best]:
        return best
    if "|" in bare:
        return "|"
    if not one_column and len(bare.split(" ")) > 1 and bare.strip(" ").count(" "):
        return " "
    if one_column:
        return "\t" if endings & {".tsv", ".tab"} or decimal == "," else ","
    raise DataError(
        f"{path}, line 1: one column only: no comma, tab, semicolon, bar or blank found; a table "
        "needs features and a label (delimiter=, --delimiter for another delimiter)"
    )


def trimmed(raw: bytes, path: Path) -> tuple[bytes, int]:
    """The text without blank lines at both ends, and the number of its first line, from 1."""
    stop = len(raw)
    while stop:
        # In steps, so that no copy of the whole is made.
        begin = max(0, stop - _STEP)
        kept = len(raw[begin:stop].rstrip(b" \n"))
        stop = begin + kept
        if kept:
            break
    if not stop:
        raise DataError(f"{path} is empty: a table needs a line of names and at least two rows")
    feed = raw.find(b"\n", stop)
    stop = feed + 1 if feed >= 0 else len(raw)
    blank = _BLANK_LINES.match(raw)
    start = blank.end() if blank else 0
    if start or stop < len(raw):
        return raw[start:stop], raw.count(b"\n", 0, start) + 1
    return raw, 1


_STEP = 1 << 16
_BLANK_LINES = re.compile(rb"(?: *+\n)*+")


def first_record(raw: bytes, start: int = 0) -> int:
    """The end of the record that begins at `start`, after its line feed."""
    stop, place, inside = start, start, 0
    while True:
        stop = raw.find(b"\n", place) + 1 or len(raw)
        inside = (inside + raw.count(b'"', place, stop)) % 2
        if not inside or stop == len(raw):
            return stop
        place = stop


def check_quotes(raw: bytes, first_line: int, path: Path) -> None:
    """Raise DataError, naming the line in which the record begins, if a quote is not closed."""
    # Searching is much faster than counting.
    if b'"' not in raw or raw.count(b'"') % 2 == 0:
        return
    start, line = 0, first_line
    while True:
        stop = first_record(raw, start)
        if raw.count(b'"', start, stop) % 2:
            break
        line += raw.count(b"\n", start, stop)
        start = stop
    raise DataError(
        f'{path}, line {line}: a quote (") is opened and never closed; close it, or double it if '
        "it belongs to the text"
    )


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
    """The text of a field, without outer blanks and quotes, doubled quotes halved.

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


def is_header(
    first: Sequence[str],
    rest: Callable[[int], Iterable[list[str]]],
    label: str | int | None,
) -> bool:
    """Whether the first record, of fields without quotes, holds names.

    It does if it contains the name of the requested `label`, or if any of its fields outside the
    label column is neither a number nor missing. If all others are numbers, it does only if its
    label field is text that labels no other row (`rest` gives the other cells of a column, block by
    block): ``1,2,3,class`` over numbered columns is a line of names, ``5.1,3.5,1.4,setosa`` is a
    row.
    """
    if isinstance(label, str) and label in first:
        return True
    place = label if isinstance(label, int) else -1
    if not -len(first) <= place < len(first):
        return not all(is_number(cell) or is_missing(cell) for cell in first)
    place %= len(first)

    def is_word(cell: str) -> bool:
        return not is_number(cell) and not is_missing(cell)

    if any(is_word(cell) for column, cell in enumerate(first) if column != place):
        return True
    if not is_word(first[place]):
        return False
    return all(first[place] not in cells for cells in rest(place))
