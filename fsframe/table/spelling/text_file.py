"""Text files: bounds of size, spelling of cells, and text as UTF-8."""

from __future__ import annotations

import bz2
import codecs
import contextlib
import gzip
import io
import lzma
import os
import re
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
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
        If that variable does not hold a size.
    """
    given = os.environ.get(VARIABLE, "").strip()
    if given:
        match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*([KMGT]?)B?", given.upper())
        if not match:
            raise RequestError(f"{VARIABLE}={given!r} is not a size, such as 12GB")
        return int(float(match[1]) * 1000.0 ** " KMGT".index(match[2] or " "))
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
    units = ["bytes", "kB", "MB", "GB", "TB"]
    while amount >= 1000 and len(units) > 1:
        amount /= 1000
        del units[0]
    return f"{amount:.0f} bytes" if units[0] == "bytes" else f"{amount:.1f} {units[0]}"


MISSING = (
    *("", "NA", "N/A", "n/a", "NaN", "nan", "NAN", "NULL", "null", "None", "?"),
    *("#N/A", "#NULL!", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!"),
    *("'--", "[Not Available]", "[Not Applicable]", "[Not Evaluated]", "[Unknown]"),
)
"""Spellings of a missing value, with the errors of spreadsheets and the words of TCGA; `nan` in any
case and with a sign means one, too."""

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


def known_texts(
    cells: Sequence[str], missing: Callable[[str], bool] = is_missing
) -> list[str | None]:
    """The cells of a column of text, None where missing; each different text is tested once."""
    absent = {text for text in set(cells) if missing(text)}
    return [None if text in absent else text for text in cells]


def is_number(text: str) -> bool:
    """Whether a cell, blanks stripped, is a number with a decimal point; infinity counts.

    >>> is_number("-1.5e3"), is_number("1,5"), is_number("1_000"), is_number("inf")
    (True, False, False, True)
    """
    if text[:1] not in _STARTS:
        return False
    return bool(_NUMBER.fullmatch(text) or _INFINITE.fullmatch(text))


# Characters that begin a formula, their full-width forms, and those that spreadsheets skip before.
_BEFORE_FORMULAS = frozenset("=+-@\uff1d\uff0b\uff0d\uff20\t\r\n")
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
    return text[:1] in _BEFORE_FORMULAS and len(text) > 1 and not _SIGNED_NUMBER.fullmatch(text)


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
_STATA = "a Stata file; read it with pandas.read_stata, or save it as CSV"
_HTML = "HTML, whatever its ending; open it in a spreadsheet and save it as CSV"
_PICKLE = "a pickle of Python, which fsframe never loads; save the table as CSV"
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
    b"$FL": "an SPSS file; read it with pandas.read_spss and give fsframe the frame, or save CSV",
    **dict.fromkeys((b"<stata_dta>", b"\x72\x02\x01\0", b"\x73\x02\x01\0"), _STATA),
    **dict.fromkeys((b"<html", b"<HTML", b"<!doctype", b"<!DOCTYPE", b"<table"), _HTML),
    **dict.fromkeys((b"\x80\x04\x95", b"\x80\x05\x95"), _PICKLE),
    b"\0" * 12 + b"\xc2\xea\x81\x60": "a SAS file; read it with pandas.read_sas, or save CSV",
    b"FEA1": "Feather version 1; write version 2",
    b"RDX": "an R workspace; write the table with write.csv",
    b"X\n\0\0\0": "an R object; write the table with write.csv",
    b"##fileformat=VCF": "a VCF file; count its alleles with `plink --recode A` and read the .raw",
    b"[{": "JSON; read it with pandas.read_json, or save it as CSV",
    b'{"': "JSON; read it with pandas.read_json (lines=True if each line is a row), or save CSV",
}
_STEP = 1 << 22

_NOT_ASCII = re.compile(rb"[\x80-\xff]+")
_OF_OTHER_LETTERS = ("gb18030", "big5", "shift_jis", "euc-kr", "windows-1251")


def load_bytes(path: Path) -> bytes:
    """All bytes of a file, or of standard input; DataError if they are more than memory allows."""
    if path == STANDARD_INPUT:
        return _standard_input()
    with reading_of(path):
        size = path.stat().st_size
        if size > memory_bound():
            raise _too_large(path, size)
        return path.read_bytes()


@contextlib.contextmanager
def reading_of(path: Path) -> Iterator[None]:
    """Turn errors of the system into the DataError that the file cannot be read."""
    try:
        yield
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror or error}") from error


@cache
def _standard_input() -> bytes:
    """All of standard input, which can be read only once, but is needed twice."""
    bound = memory_bound()
    content = sys.stdin.buffer.read(bound + 1)
    if len(content) > bound:
        raise _too_large(STANDARD_INPUT, len(content))
    return content


def _too_large(path: Path, size: int) -> DataError:
    return DataError(
        f"{path} has {shown(size)}; {shown(memory_bound())} are allowed: keep such a table as "
        f"Parquet or HDF5, which are read in parts, or set {VARIABLE}"
    )


def load_text(path: Path, encoding: str | None = None) -> bytes:
    r"""The text of a file as UTF-8, without byte order mark, lines ended by ``\n``.

    A compressed file (gzip, bzip2, xz, or a zip archive of one file) is recognised by its first
    bytes, whatever its ending.

    Parameters
    ----------
    path : Path
    encoding : str, optional
        Such as ``"latin-1"`` or ``"utf-16"``; by default UTF-8, or UTF-16 if the file begins with
        its byte order mark.

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
            raise DataError(f"{path} is not a text table: it is {what}")
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
    if encoding is None and raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        # Spreadsheets save "Unicode text" like that; no text in UTF-8 begins with these bytes.
        encoding = "utf-32" if raw.startswith(codecs.BOM_UTF32_LE) else "utf-16"
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
    """Raise DataError at the first byte that is not UTF-8.

    The text is decoded in blocks: as one str it may take four times the memory.
    """
    start, view = 0, memoryview(raw)
    while start < len(raw):
        # A character that goes on after a block is left to the next one.
        block, last = view[start : start + _STEP], start + _STEP >= len(raw)
        try:
            start += codecs.utf_8_decode(block, "strict", last)[1]
        except UnicodeDecodeError as error:
            place = start + error.start
            break
    else:
        return
    line_start = raw.rfind(b"\n", 0, place) + 1
    line = raw.count(b"\n", 0, place) + 1
    column = len(raw[line_start:place].decode("utf-8", errors="replace")) + 1
    where = f"{path}, line {line}, character {column}: byte 0x{raw[place]:02x} is not UTF-8"
    likely = _encodings_of(raw[place : place + _STEP])
    if likely:
        raise DataError(
            f"{where}; the file may be in {', '.join(likely)} or another encoding: say in which "
            "(encoding=, --encoding)"
        )
    raise DataError(
        f"{where}; the file may be in Latin-1 or Windows-1252: say so (encoding='windows-1252', "
        "--encoding windows-1252)"
    )


def _encodings_of(raw: bytes) -> list[str]:
    """Encodings of other scripts than Latin that a text may be in; empty if it is likely Latin.

    In these scripts, most bytes outside ASCII are next to another one.
    """
    runs = _NOT_ASCII.findall(raw)
    # A single `Größe` has such bytes, too.
    if sum(map(len, runs)) < max(6, 1.7 * len(runs)):
        return []
    # Whole lines only, since the end may be within a character.
    lines = raw[: raw.rfind(b"\n") + 1] or raw
    found = []
    for name in _OF_OTHER_LETTERS:
        with contextlib.suppress(UnicodeDecodeError):
            lines.decode(name)
            found.append(name)
    return found


def _decompressed(raw: bytes, packed: str, path: Path) -> bytes:
    bound = decompressed_bound(len(raw))
    source = io.BytesIO(raw)
    try:
        if packed == "zip":
            return _from_zip(source, path, bound)
        opened: Any = {"gzip": gzip.open, "bzip2": bz2.open, "xz": lzma.open}[packed]
        with opened(source) as file:
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
                "for a compressed table: decompress it yourself, or keep it as Parquet or HDF5, "
                "which are read in parts"
            )
        parts.append(part)
    return b"".join(parts)
