"""The dialect of a table in a text file: delimiter, quotes, lines of names, decimal mark."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path

from fsframe.errors import DataError, RequestError
from fsframe.table.spelling.text_file import is_missing, is_number

_WORDS = {"tab": "\t", "comma": ",", "semicolon": ";", "space": " ", "\\t": "\t"}
_SIGNS = (",", "\t", ";")
_NAMES = {",": "comma", "\t": "tab", ";": "semicolon", " ": "space"}


def sign_of(given: str | None) -> str | None:
    """The character that a delimiter given by word or character means; None if there is none."""
    sign = None if given is None else _WORDS.get(given, given)
    return sign if sign is not None and len(sign) == 1 and sign not in '"\n\r\0' else None


def choose_delimiter(
    records: Sequence[str],
    path: Path,
    given: str | None,
    *,
    decimal: str,
    one_column: bool,
) -> str:
    """The delimiter: the given one, that of the file's ending, or the most common in line 1.

    `records` are the first of the file. A ``.csv`` whose first line has no comma is tried with
    semicolon and tab, as some spreadsheets save it; without any of these, a bar or blanks may
    separate the fields. Another sign is taken if it splits all records into equally many fields and
    the first choice does not. With decimal commas, a comma is a delimiter only if numbers are in
    quotes. A table that may have `one_column` needs no delimiter. RequestError if the given one is
    not one character, or is the decimal mark; DataError if the first line holds none.
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
        if delimiter == decimal and not _has_quoted_commas(records):
            raise RequestError(f"{given!r} cannot be both the delimiter and the decimal mark")
        return delimiter
    bare = re.sub(r'"[^"]*"', '""', records[0])
    signs = [sign for sign in _SIGNS if sign != decimal or _has_quoted_commas(records)]
    counts = {sign: bare.count(sign) for sign in signs}
    endings = {suffix.lower() for suffix in path.suffixes[-2:]}
    best = max(counts, key=lambda candidate: counts[candidate])
    if endings & {".tsv", ".tab"} and counts["\t"]:
        best = "\t"
    elif ".csv" in endings and counts.get(","):
        best = ","
    if best == "\t" and _numbers_between_blanks(records):
        return " "
    if counts[best]:
        others = [sign for sign in counts if counts[sign] and _is_regular(records, sign)]
        return best if best in others else next(iter(others), best)
    if "|" in bare:
        return "|"
    blanks = bool(bare.strip(" ").count(" "))
    if blanks and (not one_column or _by_blanks(records)):
        return " "
    if one_column:
        return "\t" if endings & {".tsv", ".tab"} or decimal == "," else ","
    raise DataError(
        f"{path}, line 1: one column only: no comma, tab, semicolon, bar or blank found; a table "
        "needs features and a label (delimiter=, --delimiter for another delimiter)"
    )


def stated_delimiter(raw: bytes) -> tuple[str | None, int]:
    """The delimiter that a first line ``sep=;`` states, as Excel reads it, and that line's end.

    >>> stated_delimiter(b"sep=;\\na;b\\n"), stated_delimiter(b"a;b\\n")
    ((';', 6), (None, 0))
    """
    end = first_record(raw)
    line = raw[:end].decode(errors="ignore").removesuffix("\n").strip('"')
    stated = re.fullmatch("sep=(.)", line, re.IGNORECASE)
    return (stated[1], end) if stated and end < len(raw) else (None, 0)


def _has_quoted_commas(records: Sequence[str]) -> bool:
    return any(_QUOTED_COMMA.search(record) for record in records)


def _is_regular(records: Sequence[str], sign: str) -> bool:
    """Whether a sign splits two or more records into equally many fields.

    The line of names may have one fewer, if a column of row names has no name.
    """
    first, *rest = _widths(records, sign)
    return bool(rest) and min(rest) == max(rest) and rest[0] - first in (0, 1)


def _by_blanks(records: Sequence[str]) -> bool:
    """Whether blanks split all records into equally many fields; names may be one fewer."""
    first, *rest = (len(re.sub(r'"[^"]*"', "x", record).split()) for record in records)
    return first > 1 and bool(rest) and min(rest) == max(rest) and rest[0] - first in (0, 1)


def _numbers_between_blanks(records: Sequence[str]) -> bool:
    """Whether a table is aligned by blanks, with a tab before its last column.

    Then blanks split all records alike, and a field between tabs holds several numbers.
    """
    parted = [max(record.split("\t"), key=len).split() for record in records]
    several = all(len(cells) > 2 and '"' not in "".join(cells) for cells in parted)
    return several and _by_blanks(records) and all(map(is_number, parted[-1]))


def _widths(records: Sequence[str], sign: str) -> list[int]:
    """The numbers of fields of some records. Counting is much faster than splitting."""
    split = field_splitter(sign)
    return [len(split(r)) if '"' in r else r.count(sign) + 1 for r in records]


def trimmed(raw: bytes, path: Path) -> tuple[bytes, int]:
    """The text without blank lines at both ends, and the number of its first line, from 1."""
    stop = len(raw)
    while stop:
        # In steps, so that no copy of the whole is made.
        begin = max(0, stop - _BACK)
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


_BACK = 1 << 16
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


def quoted(text: str, delimiter: str) -> str:
    r"""A text as a field, quoted only if necessary.

    >>> quoted("a,b", ","), quoted("a b", ","), quoted('6" pipe', "\t")
    ('"a,b"', 'a b', '"6"" pipe"')
    """
    if text == text.strip() and not any(sign in text for sign in (delimiter, '"', "\n")):
        return text
    return '"' + text.replace('"', '""') + '"'


def delimiter_name(delimiter: str) -> str:
    """A word for a delimiter, for messages."""
    return _NAMES.get(delimiter, repr(delimiter))


def is_header(
    first: Sequence[str],
    near: Sequence[Sequence[str]],
    rest: Callable[[int], Iterable[list[str]]],
    label: str | int | None,
) -> bool:
    """Whether the first record, of fields without quotes, holds names.

    It does if it contains the name of the requested `label`, or if any of its fields outside the
    label column is neither a number nor missing, unless it looks like the rows `near` it. If all
    others are numbers, it does only if its label field is text that labels no other row (`rest`
    gives the other cells of a column, block by block): ``1,2,3,class`` over numbered columns is a
    line of names, ``5.1,3.5,1.4,setosa`` is a row.
    """
    if isinstance(label, str) and label in first:
        return True
    if _is_a_row(first, near):
        return False
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


def _is_a_row(first: Sequence[str], near: Sequence[Sequence[str]]) -> bool:
    """Whether the first record looks like a row, by its words or its numbers.

    A word is that of a row if it is one of several values below it; a column that holds nothing but
    its own name is an answer that was given or not. If the record also has numbers, one such word
    is enough, or numbers that fit (`_fits_the_numbers`); else half of all words have to be such.
    """
    words = [k for k, cell in enumerate(first) if not is_number(cell) and not is_missing(cell)]
    again = 0
    for k in words:
        below = {row[k] for row in near if len(row) == len(first)} - {""}
        again += first[k] in below and len(below) > 1
    if not any(map(is_number, first)):
        return 2 * again >= max(len(words), 2)
    return again > 0 or _fits_the_numbers(first, near)


def _fits_the_numbers(first: Sequence[str], near: Sequence[Sequence[str]]) -> bool:
    """Whether a record has text above text only, and numbers like those below them.

    At least two thirds of the numbers lie between those below, not all are whole, and they are not
    sorted, unlike names such as 400, 410, ….
    """
    columns = [*zip(*(row for row in near if len(row) == len(first)), strict=True)]
    if len(columns) < len(first) or len(columns[0]) < _FEWEST_BELOW:
        return False
    numbers, between, parts = [], 0, False
    for cell, below in zip(first, columns, strict=True):
        values = [float(text) for text in below if is_number(text)]
        if is_number(cell) and values:
            numbers.append(float(cell))
            between += min(values) <= numbers[-1] <= max(values)
            parts = parts or "." in cell
        elif bool(values) and not is_missing(cell):
            return False
    # Sorted up or down, they are names: numbers of samples above counts, years, or bands.
    ordered = len({a < b for a, b in pairwise(numbers)}) < 2
    enough = len(numbers) >= _FEWEST_NUMBERS and 3 * between >= 2 * len(numbers)
    return enough and parts and not ordered


_FEWEST_NUMBERS, _FEWEST_BELOW = 4, 5
_LOOKED_AT, _MOST_TITLES, _FEWEST, _WIDTH = 12, 4, 3, 3
_ABSENT = {"-", "--", ".", "n.d.", "nd", "unknown", "missing", "not done"}
_COMMA, _POINT = (re.compile(rf"[+-]?[0-9]*{mark}[0-9]+") for mark in (",", r"\."))
_ANSWER = re.compile("[1-9]|1[0-9]|20")
_QUOTED_COMMA = re.compile(r'"[+-]?[0-9]+,[0-9]+"')
_THOUSAND = re.compile(r"[+-]?[1-9][0-9]{0,2},[0-9]{3}")
_THOUSANDS = re.compile(r"[+-]?[1-9][0-9]{0,2}(?:\.[0-9]{3})+")
_TOTAL = re.compile(
    r"(grand |column )?(totals?|sums?|means?|averages?|medians?|summe|gesamt|mittelwert)\s*:?",
    re.IGNORECASE,
)


def title_end(raw: bytes, sign: str | None = None) -> int:
    """Where the line of names begins, after lines of a title; 0 if there is no title.

    Lines of a title have at most one filled field, or half as many fields as the lines after them,
    which all have the same number, at least three. There is no title if a sign splits all lines
    alike, including the first: decimal commas below names between semicolons do not separate
    fields.

    >>> title_end(b"Study A, 2021\\n\\nid;x;y\\n1;2;3\\n2;3;4\\n3;4;5\\n")
    15
    """
    records, ends = first_records(raw)
    if len(records) < _FEWEST + 1:
        return 0
    signs = _SIGNS if sign is None else (sign,)
    if any(_is_whole(records, one) for one in signs):
        return 0
    for one in signs:
        split = field_splitter(one)
        head = [[unquote(field) for field in split(record)] for record in records[:2]]
        if len(head[0]) == len(head[1]) and sum(map(bool, head[0])) > 1:
            continue
        fields = [[unquote(field) for field in split(record)] for record in records]
        width = len(fields[-1])
        if width < _WIDTH:
            continue
        for k in range(1, min(_MOST_TITLES, len(fields) - _FEWEST + 1)):
            above, names = fields[:k], fields[k]
            if any(len(row) != width for row in fields[k:]):
                continue
            if not all(_is_title(row, width) for row in above):
                break
            if sum(map(bool, names)) >= max(2, width // 2) and not any(map(is_number, names)):
                return ends[k - 1]
    return 0


def _is_whole(records: Sequence[str], sign: str) -> bool:
    """Whether all records have equally many fields, at least three, and the first is no title."""
    first, *rest = _widths(records, sign)
    if first < _WIDTH or any(width != first for width in rest):
        return False
    return sum(bool(unquote(field)) for field in field_splitter(sign)(records[0])) > 1


def _is_title(row: Sequence[str], width: int) -> bool:
    filled = sum(map(bool, row))
    return filled <= 1 if len(row) == width else 2 * len(row) <= width


def second_names(
    raw: bytes,
    start: int,
    split: Callable[[str], list[str]],
    first: Sequence[str],
    decimal: str,
) -> list[str] | None:
    """The fields of a second line of names at `start`, such as units; None if a row begins there.

    It holds no number, and is filled above at least two columns of numbers and half of them.
    """
    records, _ = first_records(raw, start)
    if len(records) < _FEWEST + 1:
        return None
    second = [unquote(field) for field in split(records[0])]
    if len(second) != len(first) or len(first) < _WIDTH or any(map(is_number, second)):
        return None
    rest = [[unquote(field) for field in split(record)] for record in records[1:]]
    if any(len(row) != len(first) for row in rest):
        return None
    above, numeric = 0, 0
    for column, text in enumerate(second):
        below = {row[column] for row in rest}
        if text and text in below:
            return None
        numbers = [cell for cell in below if not is_missing(cell)]
        if decimal == ",":
            numbers = [cell.replace(",", ".") for cell in numbers]
        if numbers and all(map(is_number, numbers)):
            numeric += 1
            above += not is_missing(text) and text.lower() not in _ABSENT
    return second if above >= 2 and 2 * above >= numeric else None


def questions_end(raw: bytes, start: int, split: Callable[[str], list[str]]) -> int:
    """Where the rows begin: after the lines of questions and import IDs of Qualtrics, if any.

    These begin at `start`, below the names.
    """
    records, ends = first_records(raw, start)
    if len(records) <= _FEWEST or not records[1].startswith(('"{""ImportId""', '{"ImportId"')):
        return start
    marked = [unquote(field).startswith('{"ImportId"') for field in split(records[1])]
    return ends[1] if all(marked) else start


def joined_names(first: Sequence[str], second: Sequence[str]) -> list[str]:
    """One name for each column of two lines of names.

    The first line is kept if its names are complete and differ; otherwise the first is repeated to
    the right, where cells were merged, and the second appended.

    >>> joined_names(["age", "CRP"], ["years", "mg/l"])
    ['age', 'CRP']
    >>> joined_names(["id", "before", "", "after", ""], ["", "x", "y", "x", "y"])
    ['id', 'before x', 'before y', 'after x', 'after y']
    """
    if all(first) and len(set(first)) == len(first):
        return list(first)
    names, over = [], ""
    for upper, lower in zip(first, second, strict=True):
        over = upper or over
        names.append(f"{over} {lower}".strip() if lower else upper)
    return names


def totals_begin(raw: bytes, split: Callable[[str], list[str]]) -> int:
    """Where a last line of totals begins, by the word in its first filled field; else the end."""
    stop = len(raw.rstrip(b"\n"))
    start = raw.rfind(b"\n", 0, stop) + 1
    if not start or b'"' in raw[start:stop]:
        return len(raw)
    fields = [unquote(field) for field in split(raw[start:stop].decode(errors="ignore"))]
    first = next((field for field in fields if field), "")
    return start if _TOTAL.fullmatch(first) and sum(map(bool, fields)) > 1 else len(raw)


def rows_end(raw: bytes, split: Callable[[str], list[str]], width: int) -> tuple[int, list[str]]:
    r"""Where the rows end, and notes on what is left out below: remarks and rows without a value.

    A remark is in the first of `width` fields, at least three, and has a colon or three words, or a
    blank line above it.

    >>> rows_end(b"a,b,c\n1,2,3\n,,\nNote: all ill\n", field_splitter(","), 3)[1]
    ["a line below the rows is left out: 'Note: all ill'", 'a row without any value is left out']
    """
    stop, empty, remarks = len(raw), 0, list[str]()
    while stop and width >= _WIDTH:
        begin = raw.rfind(b"\n", 0, stop - 1) + 1
        # This is not a line, but the end of a quoted field of several lines.
        if raw.count(b'"', begin, stop) % 2:
            break
        text = raw[begin:stop].decode(errors="ignore").strip("\n")
        first, *others = map(unquote, split(text))
        filled = [field for field in (first, *others) if field]
        apart = not others and raw.endswith(b"\n\n", 0, begin)
        words = apart or ":" in first or len(first.split()) > 2
        if filled == [first] and words and len(remarks) < _MOST_TITLES:
            remarks.append(f"a line below the rows is left out: {first[:60]!r}")
        elif filled:
            break
        elif text.strip(" "):
            empty += 1
        stop = begin
    rows = "a row without any value is" if empty == 1 else f"{empty} rows without any value are"
    return stop, [*reversed(remarks), *([f"{rows} left out"] if empty else [])]


def decimal_mark(raw: bytes, start: int, sign: str) -> str:
    r"""The decimal mark: a comma if the first rows have numbers with commas and none with points
    but those that separate thousands.

    >>> decimal_mark(b"1,5;2;x\n2,5;3;y\n", 0, ";"), decimal_mark(b"1.5;2,5\n", 0, ";")
    (',', '.')
    >>> decimal_mark(b"1,5;20.000\n", 0, ";"), decimal_mark(b"1,500;20.000\n", 0, ";")
    (',', '.')

    If commas separate the fields, `"1,500"` may be a thousand, and `"1,3"` two answers.

    >>> decimal_mark(b'"1,50",x\n', 0, ","), decimal_mark(b'"1,500","1,3"\n', 0, ",")
    (',', '.')
    """
    split = field_splitter(sign)
    cells = {unquote(field) for record in first_records(raw, start)[0] for field in split(record)}
    commas = {cell for cell in cells if _COMMA.fullmatch(cell)}
    points = {cell for cell in cells if _POINT.fullmatch(cell)}
    if points:
        # With both `1,500` and `20.000`, either sign may be the decimal mark.
        sure = any(_THOUSANDS.fullmatch(cell.replace(",", ".")) is None for cell in commas)
        return "," if sure and all(_THOUSANDS.fullmatch(cell) for cell in points) else "."
    if sign == ",":
        commas = set(filter(has_decimal_comma, commas))
    return "," if commas else "."


def has_decimal_comma(cell: str, *, sure: bool = True) -> bool:
    """Whether a cell is a number with a decimal comma, and neither a thousand nor two answers.

    If it need not be `sure`, answers are assumed to be written from the lowest to the highest.

    >>> [cell for cell in ("0,5", "-1,25", "7,3", "1,500", "1,3") if has_decimal_comma(cell)]
    ['0,5', '-1,25']
    >>> [cell for cell in ("7,3", "1,500", "1,3") if has_decimal_comma(cell, sure=False)]
    ['7,3']
    """
    if not _COMMA.fullmatch(cell) or _THOUSAND.fullmatch(cell):
        return False
    first, second = cell.split(",")
    if not _ANSWER.fullmatch(first) or not _ANSWER.fullmatch(second) or first == second:
        return True
    return not sure and int(first) > int(second)


def first_records(raw: bytes, start: int = 0) -> tuple[list[str], list[int]]:
    """The first records from `start` on, and where each ends."""
    records: list[str] = []
    ends: list[int] = []
    while start < len(raw) and len(records) < _LOOKED_AT:
        end = first_record(raw, start)
        records.append(raw[start:end].decode(errors="ignore").removesuffix("\n"))
        ends.append(end)
        start = end
    return records, ends
