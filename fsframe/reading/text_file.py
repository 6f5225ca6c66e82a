"""The text of a file: unpacked if it is gzipped, decoded from UTF-8, lines ended by a line feed."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path

from fsframe.errors import DataError

__all__ = ["load_bytes", "load_text"]

_SIGNATURES = {
    b"PK\x03\x04": "a zip archive or a spreadsheet (.xlsx, .npz); save the sheet as CSV",
    b"\x89HDF\r\n\x1a\n": "an HDF5 file; give it the ending .h5",
    b"PAR1": "a Parquet file; save it as CSV or HDF5",
    b"\xd0\xcf\x11\xe0": "an old spreadsheet (.xls); save the sheet as CSV",
    b"BZh": "compressed by bzip2; unpack it, or use gzip",
    b"\xfd7zXZ\x00": "compressed by xz; unpack it, or use gzip",
    b"\x28\xb5\x2f\xfd": "compressed by zstd; unpack it, or use gzip",
}


def load_bytes(path: Path) -> bytes:
    """All bytes of a file.

    Raises
    ------
    DataError
        If it cannot be read.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror or error}") from error


def load_text(path: Path) -> str:
    r"""The text of a file, without byte order mark, lines ended by ``\n``.

    A gzipped file is recognised by its first bytes, whatever its ending.

    Raises
    ------
    DataError
        If the file cannot be read or unpacked, is of another kind, or is not UTF-8.
    """
    raw = load_bytes(path)
    if raw.startswith(b"\x1f\x8b"):
        raw = _unpacked(raw, path)
    elif path.suffix.lower() == ".gz" and raw:
        raise DataError(f"{path} ends in .gz but is not gzipped; rename it, or pack it again")
    for signature, what in _SIGNATURES.items():
        if raw.startswith(signature):
            raise DataError(f"{path} is not text: it is {what}")
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise DataError(f"{path} is encoded in UTF-16; save it as UTF-8 (iconv -f UTF-16 -t UTF-8)")
    if b"\0" in raw:
        line = raw.count(b"\n", 0, raw.index(b"\0")) + 1
        raise DataError(
            f"{path}, line {line}: a NUL byte; this is not a text file, or it is damaged"
        )
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _wrong_encoding(raw, error, path) from None
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text


def _unpacked(raw: bytes, path: Path) -> bytes:
    try:
        return gzip.decompress(raw)
    except EOFError:
        raise DataError(
            f"{path} is cut short: its gzip stream does not end; copy it again"
        ) from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise DataError(f"{path} is damaged: gzip says {error}; copy it again") from None


def _wrong_encoding(raw: bytes, error: UnicodeDecodeError, path: Path) -> DataError:
    place = error.start
    start = raw.rfind(b"\n", 0, place) + 1
    line = raw.count(b"\n", 0, place) + 1
    column = len(raw[start:place].decode("utf-8", errors="replace")) + 1
    return DataError(
        f"{path}, line {line}, character {column}: byte 0x{raw[place]:02x} is not UTF-8; the file "
        f"may be "
        "in Latin-1 or Windows-1252: save it as UTF-8 (iconv -f WINDOWS-1252 -t UTF-8)"
    )
