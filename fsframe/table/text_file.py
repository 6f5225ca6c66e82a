"""Text files: bounds of size, spelling of cells, text as UTF-8, and the dialect of a table."""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import os
import re
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import IO, Any

from fsframe.errors import DataError, RequestError
from fsframe.system import address_space_limit, physical_memory

MAX_COLUMNS = 5_000_000
"""Columns of a text table: with more, the names alone exceed the memory of most machines."""

MAX_CLASSES = 5_000
"""Classes of a label: methods keep tables of classes × classes."""

VARIABLE = "FSFRAME_TABLE_MEMORY"

_UNKNOWN_MEMORY = 8_000_000_000

# A compressed file may expand by this factor, or to this many bytes, whichever is more.
_RATIO = 200
_FREE = 1 << 28

# The same for tables stored by columns, whose encodings pack repeated values far more.
_RATIO_OF_COLUMNS = 1100


def memory_bound() -> int:
    """Limit on the bytes for reading a table: half of the memory of this process.

    The environment variable ``FSFRAME_TABLE_MEMORY`` (such as ``12GB``) sets another bound. Where
    the system does not say how much memory there is, 8 GB are assumed.

    Raises
    ------
    RequestError
        If that variable holds no size.
    """
    given = os.environ.get(VARIABLE, "").strip()
    if given:
        found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*([KMGT]?)B?", given.upper())
        if not found:
            raise RequestError(f"{VARIABLE}={given!r} is not a size, such as 12GB")
        return int(float(found[1]) * 1000.0 ** " KMGT".index(found[2] or " "))
    limit = address_space_limit()
    machine = physical_memory() or _UNKNOWN_MEMORY
    return (machine if limit is None else min(machine, limit)) // 2


def decompressed_bound(packed: int) -> int:
    """Limit on the decompressed size of a file of `packed` bytes.

    >>> decompressed_bound(10) == 1 << 28
    True
    """
    return min(memory_bound(), max(_FREE, _RATIO * packed))


def check_size(needed: int, what: str, advice: str = "") -> None:
    """Raise DataError, with both sizes, if `needed` bytes for `what` exceed the limit."""
    bound = memory_bound()
    if needed > bound:
        raise DataError(
            f"{what} would take {shown(needed)} of memory; {shown(bound)} are allowed "
            f"({advice}set {VARIABLE} for another bound)"
        )


def check_expansion(rows: int, columns: int, packed: int, what: str) -> None:
    """Refuse a file whose table, as float64, is over a thousand times as large as the file.

    Tables of up to 256 MiB are not refused, and none is if ``FSFRAME_TABLE_MEMORY`` sets a bound.

    Raises
    ------
    DataError
        With both sizes.
    """
    needed, bound = 8 * rows * columns, max(_FREE, _RATIO_OF_COLUMNS * packed)
    if needed > bound and not os.environ.get(VARIABLE, "").strip():
        raise DataError(
            f"{what} declares {rows} rows × {columns} columns in {shown(packed)}: they would take "
            f"{shown(needed)}, and {shown(bound)} are allowed; if it is meant to be like that, set "
            f"{VARIABLE}, such as to 4GB"
        )


def shown(size: int) -> str:
    """A size as text.

    >>> shown(2_500_000_000), shown(900)
    ('2.5 GB', '900 bytes')
    """
    amount = float(size)
    for unit in ("bytes", "kB", "MB", "GB", "TB"):
        if amount < 1000 or unit == "TB":
            return f"{amount:.0f} {unit}" if unit == "bytes" else f"{amount:.1f} {unit}"
        amount /= 1000
    raise AssertionError


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


STANDARD_INPUT = Path("-")
"""The path that stands for standard input."""

_PACKED = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
    b"PK\x03\x04": "zip",
}
_SIGNATURES = {
    b"\x89HDF\r\n\x1a\n": "an HDF5 file",
    b"PAR1": "a Parquet file",
    b"\xd0\xcf\x11\xe0": "an old spreadsheet (.xls); save the sheet as CSV",
    b"\x28\xb5\x2f\xfd": "compressed by zstd; decompress it, or use gzip",
    b"%PDF": "a PDF document",
    b"\x89PNG": "a picture",
    b"\xff\xd8\xff": "a picture",
    b"SQLite format 3\0": "an SQLite database",
    b"\x7fELF": "a program",
}
_STEP = 1 << 22


def load_bytes(path: Path) -> bytes:
    """All bytes of a file, or of standard input; DataError if they are more than memory allows."""
    if path == STANDARD_INPUT:
        return _standard_input()
    try:
        size = path.stat().st_size
        if size > memory_bound():
            raise _too_large(path, size)
        return path.read_bytes()
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror or error}") from error


_received: list[bytes] = []


def _standard_input() -> bytes:
    # Standard input can be read once, but is needed twice.
    if not _received:
        bound = memory_bound()
        content = sys.stdin.buffer.read(bound + 1)
        if len(content) > bound:
            raise _too_large(STANDARD_INPUT, len(content))
        _received.append(content)
    return _received[0]


def _too_large(path: Path, size: int) -> DataError:
    return DataError(
        f"{path} has {shown(size)}; {shown(memory_bound())} are allowed: keep such a table as "
        f"HDF5, which is read by columns, or set {VARIABLE}"
    )


def load_text(path: Path, encoding: str | None = None) -> bytes:
    r"""The text of a file as UTF-8, without byte order mark, lines ended by ``\n``.

    A compressed file (gzip, bzip2, xz, or a zip archive of one file) is recognised by its first
    bytes, whatever its ending.

    Parameters
    ----------
    path : Path
    encoding : str, optional
        Such as ``"latin-1"`` or ``"utf-16"``; UTF-8 by default.

    Raises
    ------
    DataError
        If the file cannot be read or decompressed, holds more than memory allows, is of another
        kind, or is not in that encoding.
    RequestError
        If there is no such encoding.
    """
    raw = load_bytes(path)
    packed = next((name for sign, name in _PACKED.items() if raw.startswith(sign)), None)
    if packed is not None:
        raw = _decompressed(raw, packed, path)
    elif raw and (word := _COMPRESSED_ENDINGS.get(path.suffix.lower())):
        raise DataError(
            f"{path} ends in {path.suffix} but is not {word}; rename it, or pack it again"
        )
    for signature, what in _SIGNATURES.items():
        if raw.startswith(signature):
            raise DataError(f"{path} is not text: it is {what}")
    raw = _as_utf8(raw, path, encoding)
    if b"\0" in raw:
        line = raw.count(b"\n", 0, raw.index(b"\0")) + 1
        raise DataError(
            f"{path}, line {line}: a NUL byte; this is not a text file, or it is damaged"
        )
    if b"\r" in raw:
        raw = raw.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return raw


_COMPRESSED_ENDINGS = {".gz": "gzipped", ".bz2": "compressed by bzip2", ".xz": "compressed by xz"}


def _as_utf8(raw: bytes, path: Path, encoding: str | None) -> bytes:
    if encoding is None and raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise DataError(
            f"{path} is encoded in UTF-16; use (encoding='utf-16', --encoding utf-16), or save "
            "it as UTF-8"
        )
    try:
        name = codecs.lookup(encoding or "utf-8").name
    except (LookupError, ValueError):
        raise RequestError(
            f"encoding {encoding!r} is not known; known are, for example, utf-8, latin-1, "
            "windows-1252, utf-16"
        ) from None
    if name not in ("utf-8", "utf-8-sig", "ascii"):
        try:
            return raw.decode(name).removeprefix("\ufeff").encode()
        except (UnicodeError, LookupError) as error:
            raise DataError(f"{path} is not in {encoding}: {error}") from None
    raw = raw.removeprefix(b"\xef\xbb\xbf")
    if not raw.isascii():
        _check_utf8(raw, path)
    return raw


def _check_utf8(raw: bytes, path: Path) -> None:
    """Decode in blocks: the whole text as str may take four times the memory."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    view = memoryview(raw)
    for start in range(0, len(raw), _STEP):
        try:
            decoder.decode(view[start : start + _STEP], final=start + _STEP >= len(raw))
        except UnicodeDecodeError:
            break
    else:
        return
    near = max(0, start - 4)
    # The bytes before the block may begin a character that ends in it.
    while near > 0 and raw[near] & 0xC0 == 0x80:
        near -= 1
    try:
        raw[near : start + _STEP + 4].decode()
    except UnicodeDecodeError as error:
        raise _wrong_encoding(raw, near + error.start, path) from None
    raise AssertionError("a block that cannot be decoded")


def _decompressed(raw: bytes, packed: str, path: Path) -> bytes:
    bound = decompressed_bound(len(raw))
    source = io.BytesIO(raw)
    try:
        if packed == "zip":
            return _from_zip(source, path, bound)
        opened: Any = {"gzip": gzip.GzipFile, "bzip2": bz2.BZ2File, "xz": lzma.LZMAFile}[packed]
        given = {"fileobj": source} if packed == "gzip" else {"filename": source}
        with opened(mode="rb", **given) as file:
            return _read_bounded(file, path, bound)
    except EOFError:
        raise DataError(
            f"{path} is cut short: its {packed} stream does not end; copy it again"
        ) from None
    except (OSError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, ValueError) as error:
        word = "a zip archive or a spreadsheet" if packed == "zip" else f"compressed by {packed}"
        raise DataError(f"{path} is {word}, and damaged: {error}; copy it again") from None
    except (NotImplementedError, RuntimeError) as error:
        raise DataError(f"{path} cannot be decompressed: {error}") from None


def _from_zip(source: IO[bytes], path: Path, bound: int) -> bytes:
    with zipfile.ZipFile(source) as archive:
        members = [
            name
            for name in archive.namelist()
            if not name.endswith("/") and not name.startswith("__MACOSX/")
        ]
        if "xl/workbook.xml" in members:
            raise DataError(f"{path} is not text: it is a spreadsheet (.xlsx)")
        if len(members) != 1:
            raise DataError(
                f"{path} is a zip archive or a spreadsheet with {len(members)} files in it; a "
                "compressed table is one file"
            )
        with archive.open(members[0]) as opened:
            return _read_bounded(opened, path, bound)


def _read_bounded(opened: IO[bytes], path: Path, bound: int) -> bytes:
    parts: list[bytes] = []
    size = 0
    while part := opened.read(_STEP):
        size += len(part)
        if size > bound:
            raise DataError(
                f"{path} holds more than {shown(bound)} when decompressed, more than is allowed "
                "for a compressed table: decompress it yourself, or keep it as HDF5, which is "
                "read by columns"
            )
        parts.append(part)
    return b"".join(parts)


def _wrong_encoding(raw: bytes, place: int, path: Path) -> DataError:
    start = raw.rfind(b"\n", 0, place) + 1
    line = raw.count(b"\n", 0, place) + 1
    column = len(raw[start:place].decode("utf-8", errors="replace")) + 1
    return DataError(
        f"{path}, line {line}, character {column}: byte 0x{raw[place]:02x} is not UTF-8; the file "
        "may be in Latin-1 or Windows-1252: say so (encoding='windows-1252', --encoding "
        "windows-1252)"
    )


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


_LOOKED_AT, _MOST_TITLES, _FEWEST, _WIDTH = 12, 4, 3, 3
_SIGNS = (",", "\t", ";")
_ABSENT = {"-", "--", ".", "n.d.", "nd", "unknown", "missing", "not done"}
_COMMA, _POINT = (re.compile(rf"[+-]?[0-9]*{mark}[0-9]+") for mark in (",", r"\."))
_THOUSANDS = re.compile(r"[+-]?[1-9][0-9]{0,2}(?:\.[0-9]{3})+")
_TOTAL = re.compile(
    r"(grand |column )?(totals?|sums?|means?|averages?|medians?|summe|gesamt|mittelwert)\s*:?",
    re.IGNORECASE,
)


def title_end(raw: bytes, sign: str | None = None) -> int:
    """Where the line of names begins: after lines of a title, of which at most one field is filled.

    0 if there is none. All lines after them have the same number of fields, at least three.

    >>> title_end(b"Study A, 2021\\n\\nid;x;y\\n1;2;3\\n2;3;4\\n3;4;5\\n")
    15
    """
    records, ends = _records(raw, 0)
    if len(records) < _FEWEST + 1:
        return 0
    for one in _SIGNS if sign is None else (sign,):
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


def _is_title(row: Sequence[str], width: int) -> bool:
    filled = sum(map(bool, row))
    return filled <= 1 if len(row) == width else 2 * len(row) <= width


def second_names(
    raw: bytes, start: int, split: Callable[[str], list[str]], first: Sequence[str]
) -> list[str] | None:
    """The fields of a second line of names at `start`, such as units; None if a row begins there.

    It holds no number, and at least two of its fields are above columns of numbers.
    """
    records, _ = _records(raw, start)
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
        if numbers and all(map(is_number, numbers)):
            numeric += 1
            above += not is_missing(text) and text.lower() not in _ABSENT
    return second if above >= 2 and 2 * above >= numeric else None


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
    """Where a last line of totals begins, which says so in its first filled field; else the end."""
    stop = len(raw.rstrip(b"\n"))
    start = raw.rfind(b"\n", 0, stop) + 1
    if not start or b'"' in raw[start:stop]:
        return len(raw)
    fields = [unquote(field) for field in split(raw[start:stop].decode(errors="ignore"))]
    first = next((field for field in fields if field), "")
    return start if _TOTAL.fullmatch(first) and sum(map(bool, fields)) > 1 else len(raw)


def decimal_mark(raw: bytes, start: int, sign: str) -> str:
    r"""The decimal mark: a comma if the first rows have numbers with commas and none with points
    but those that separate thousands.

    >>> decimal_mark(b"1,5;2;x\n2,5;3;y\n", 0, ";"), decimal_mark(b"1.5;2,5\n", 0, ";")
    (',', '.')
    >>> decimal_mark(b"1,5;20.000\n", 0, ";"), decimal_mark(b"1,500;20.000\n", 0, ";")
    (',', '.')
    """
    if sign == ",":
        return "."
    split = field_splitter(sign)
    cells = {unquote(field) for record in _records(raw, start)[0] for field in split(record)}
    commas = {cell for cell in cells if _COMMA.fullmatch(cell)}
    points = {cell for cell in cells if _POINT.fullmatch(cell)}
    if points:
        # `1,500` beside `20.000` leaves open which is which.
        sure = any(_THOUSANDS.fullmatch(cell.replace(",", ".")) is None for cell in commas)
        return "," if sure and all(_THOUSANDS.fullmatch(cell) for cell in points) else "."
    return "," if commas else "."


def _records(raw: bytes, start: int) -> tuple[list[str], list[int]]:
    """The first records, and where each ends."""
    records: list[str] = []
    ends: list[int] = []
    while start < len(raw) and len(records) < _LOOKED_AT:
        end = first_record(raw, start)
        records.append(raw[start:end].decode(errors="ignore").removesuffix("\n"))
        ends.append(end)
        start = end
    return records, ends
