"""The layout of a run file, and the seal over it."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import attrs

from fsframe.errors import StoreError

ENCODING_TYPE = "fsframe-run"
ENCODING_VERSION = 3
SEAL_BYTES = 512
JSON_CHARACTERS = 4_000_000
STATUS = "complete"
STAGE_KINDS = ("selector", "classifier")
TASKS = ("classification", "regression", "survival")

ROOT_ATTRIBUTES: dict[str, type] = {
    "encoding-type": str,
    "encoding-version": int,
    "fsframe-version": str,
    "chain": str,
    "command": str,
    "created": str,
    "seed": str,
    "status": str,
}
ROOT_MEMBERS = ("data", "environment", "result", "stages", "warnings")
ROOT_OPTIONAL = ("pair_tests",)

DATA_ATTRIBUTES: dict[str, type] = {
    "name": str,
    "source": str,
    "sha256": str,
    "label": str,
    "task": str,
    "n_samples": int,
    "n_features": int,
}
DATA_MEMBERS = ("class_names", "feature_names")

STAGE_ATTRIBUTES: dict[str, type] = {
    "carried": str,
    "kind": str,
    "name": str,
    "provider": str,
    "seed": str,
    "provider-version": str,
    "seconds": float,
    "digest": str,
}
STAGE_ARRAYS: dict[str, str] = {
    "selected": "int64",
    "scores": "float64",
    "weights": "float64",
    "instance_weights": "float64",
    "fill": "float64",
    "features_in": "int64",
}
"""In the order in which units hold them: the bytes of units depend on it, run files do not."""
STAGE_TEXTS = ("model_columns", "packing", "params", "warnings")
STAGE_GROUPS = ("donors", "model", "pair_weights", "tables")
STAGE_REQUIRED = ("features_in", "params", "warnings")
PAIR_ARRAYS: dict[str, str] = {
    "columns": "int64",
    "matrix": "float64",
    "i": "int64",
    "j": "int64",
    "weight": "float64",
    "diagonal": "float64",
}
DONOR_ARRAYS: dict[str, str] = {
    "columns": "int64",
    "rows": "float64",
    "times": "int64",
    "nominal": "bool",
    "k": "int64",
    "standardize": "bool",
}

STAGE_FOLDERS: dict[str, dict[str, str]] = {"pair_weights": PAIR_ARRAYS, "donors": DONOR_ARRAYS}
"""The groups of a stage whose arrays the format names, in the order in which units hold them."""

RESULT_ATTRIBUTES: dict[str, type] = {"digest": str}
RESULT_ARRAYS: dict[str, str] = {"selected": "int64", "scores": "float64"}

PAIR_TEST_ATTRIBUTES: dict[str, type] = {
    "name": str,
    "provider": str,
    "provider-version": str,
    "seed": str,
    "n_tested": int,
    "n_chosen_from": int,
    "digest": str,
}
PAIR_TEST_ARRAYS: dict[str, str] = {
    "columns": "int64",
    "pairs": "int64",
    "p_values": "float64",
    "q_values": "float64",
}
PAIR_TEST_GROUPS = ("tables",)

TEXT_BYTES = 72
"""Bytes that a text object takes besides its characters."""

SINCE: dict[str, int] = {"donors": 3, "fill": 2, "packing": 2, "pair_tests": 2}
"""The version that introduced an attribute, dataset or group; earlier files cannot have it."""

NUMBER_TYPES = frozenset(
    {"bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"}
    | {"float32", "float64"}
)


@attrs.frozen(kw_only=True)
class Limits:
    """Limits above which a reader refuses a file (section 5 of the format).

    `array_bytes` bounds the elements of all datasets together, and so does `free_bytes` plus
    `total_expansion` times the size of the file: a small file cannot ask for much memory. A text
    counts with the size of its object. `expansion` is declared bytes per stored byte of one
    dataset, which gzip cannot bring above 1,032.
    """

    file_bytes: int = 4 * 1024**3
    array_bytes: int = 8 * 1024**3
    attribute_bytes: int = 60_000
    name_bytes: int = 4_096
    stages: int = 100
    members: int = 1_000
    dimensions: int = 8
    expansion: int = 1_100
    free_bytes: int = 64 * 1024**2
    total_expansion: int = 32

    def memory(self, file_bytes: int) -> int:
        """How many bytes the elements of a file of that size may take."""
        return min(self.array_bytes, self.free_bytes + self.total_expansion * file_bytes)


def is_known(name: str, version: int) -> bool:
    """Whether files of a version have an attribute, dataset or group of that name."""
    return version >= SINCE.get(name, 1)


def field_name(attribute: str) -> str:
    """The field of a record that holds an attribute: ``fsframe-version`` is `fsframe_version`."""
    return attribute.replace("-", "_")


def require(sound: object, problem: str) -> None:
    """Raise StoreError with that problem unless what was read is sound."""
    if not sound:
        raise StoreError(problem)


_ZIP_SIGNATURE = b"PK\x03\x04"
_HDF5_SIGNATURE = b"\x89HDF\r\n\x1a\n"
_FIRST_LINE = re.compile(rb"fsframe-run ([1-9][0-9]{0,8})\n")


def make_seal(image: bytes | memoryview, version: int | None = None) -> bytes:
    """The 512 bytes that seal an HDF5 image of that encoding version, by default the newest.

    docs/file-format.md, section 1. Every byte of the seal follows from the image, so a change in
    the seal is noticed as reliably as one in the image.
    """
    text = (
        f"{ENCODING_TYPE} {ENCODING_VERSION if version is None else version}\n"
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
    if version > ENCODING_VERSION:
        raise StoreError(
            f"{where} has run file version {version}; this fsframe reads versions up to "
            f"{ENCODING_VERSION}: update fsframe"
        )
    image = memoryview(content)[SEAL_BYTES:]
    # The seal of the version that the file declares: an old file keeps the seal it was given.
    if content[:SEAL_BYTES] == make_seal(image, version):
        return version
    declared = re.search(rb"\nbytes ([0-9]{1,19})\n", content[:SEAL_BYTES])
    if declared and int(declared[1]) != len(image):
        size, expected = len(content), int(declared[1]) + SEAL_BYTES
        problem = (
            f"is {'cut short' if size < expected else 'too long'}: {size} bytes, not {expected}"
        )
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
    return (
        "is not a run file of fsframe, or its first bytes are damaged; if it is a table, "
        "`fsframe inspect` shows it"
    )
