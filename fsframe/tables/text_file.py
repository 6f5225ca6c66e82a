"""The text of a file: decompressed, decoded to UTF-8, lines ended by a line feed."""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import sys
import zipfile
import zlib
from pathlib import Path
from typing import IO, Any

from fsframe.errors import DataError, RequestError
from fsframe.tables.size_limits import VARIABLE, decompressed_bound, memory_bound, shown

__all__ = ["STANDARD_INPUT", "load_bytes", "load_text"]

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
