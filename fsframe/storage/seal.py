"""The seal: the first 512 bytes of a run file, which declare what the rest must be."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from fsframe.errors import StoreError
from fsframe.storage import spec
from fsframe.storage.spec import ENCODING_TYPE, SEAL_BYTES

__all__ = ["check_seal", "is_run_file", "make_seal"]

_ZIP_SIGNATURE = b"PK\x03\x04"
_HDF5_SIGNATURE = b"\x89HDF\r\n\x1a\n"
_FIRST_LINE = re.compile(rb"fsframe-run ([1-9][0-9]{0,8})\n")


def make_seal(image: bytes | memoryview, version: int | None = None) -> bytes:
    """The 512 bytes that seal an HDF5 image of that encoding version, by default the newest.

    docs/file-format.md, section 1. Every byte of the seal follows from the image, so a change in
    the seal is seen as surely as one in the image.
    """
    text = (
        f"{ENCODING_TYPE} {spec.ENCODING_VERSION if version is None else version}\n"
        f"bytes {len(image)}\n"
        f"sha256 {hashlib.sha256(image).hexdigest()}\n"
        "An HDF5 file follows after byte 512; the format is described in docs/file-format.md of "
        "fsframe.\n"
    )
    return text.encode("ascii").ljust(SEAL_BYTES, b"\0")


def is_run_file(path: Path) -> bool:
    """Whether the first line of a file is that of a run file; nothing else is checked."""
    try:
        with path.open("rb") as file:
            return _FIRST_LINE.match(file.read(SEAL_BYTES)) is not None
    except OSError:
        return False


def check_seal(content: bytes, where: str) -> int:
    """The encoding version of `content`, a whole and undamaged run file of a known version.

    StoreError says whether it is another kind of file, a later version, truncated or changed.
    """
    first = _FIRST_LINE.match(content)
    if first is None:
        raise StoreError(f"{where} {_what_else(content)}")
    version = int(first[1])
    if version > spec.ENCODING_VERSION:
        raise StoreError(
            f"{where} has run file version {version}; this fsframe reads versions up to "
            f"{spec.ENCODING_VERSION}: update fsframe"
        )
    image = memoryview(content)[SEAL_BYTES:]
    # The seal of the version that the file declares: an old file keeps the seal it was given.
    if content[:SEAL_BYTES] == make_seal(image, version):
        return version
    declared = re.search(rb"\nbytes ([0-9]{1,19})\n", content[:SEAL_BYTES])
    if declared and int(declared[1]) != len(image):
        found, meant = len(content), int(declared[1]) + SEAL_BYTES
        problem = f"is {'cut short' if found < meant else 'too long'}: {found} bytes, not {meant}"
    else:
        problem = "was changed after it was written: its SHA-256 is not the sealed one"
    raise StoreError(f"{where} {problem}; take a copy from a backup, or run the chain again")


def _what_else(content: bytes) -> str:
    if not content:
        return "is empty: not a run file of fsframe"
    if content.startswith(_HDF5_SIGNATURE):
        return (
            "is an HDF5 file, but not a run file of fsframe; if it holds a table, "
            "give it to a chain as data"
        )
    if content.startswith(_ZIP_SIGNATURE):
        return (
            "is a zip archive, not a run file; if it is a study, `fsframe study` shows it and "
            "fsframe.load_study reads it"
        )
    return "is not a run file of fsframe, or its first bytes are damaged"
