"""Find a table's file and detect its format by its content."""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path
from typing import Any

from fsframe.errors import DataError
from fsframe.suggest import did_you_mean
from fsframe.tables.reader import reader_of, zip_members
from fsframe.tables.text_file import STANDARD_INPUT, load_bytes

__all__ = ["ENDINGS", "file_kind", "find_table", "in_parts", "table_name"]

_TEXT = (".csv", ".tsv", ".tab", ".txt")
_PACKED = (".gz", ".bz2", ".xz", ".zip")
ENDINGS = (
    *_TEXT,
    ".npz",
    ".h5",
    ".hdf5",
    *(f"{ending}{packed}" for packed in _PACKED for ending in _TEXT),
)
"""Endings tried for missing files; not part of the name of a table."""

# Endings of the bundled readers are not part of the name either.
_OTHERS = (
    *(".parquet", ".feather", ".arrow", ".xlsx", ".arff", ".npy", ".mat", ".h5ad", ".bed"),
    *(".mtx", ".mtx.gz", ".gct", ".gct.gz", ".svmlight", ".libsvm", ".svm"),
)


def find_table(path: str | os.PathLike[str]) -> Path:
    """The file at `path`, or the only known file of that name with an ending.

    Parameters
    ----------
    path : path
        Such as ``"examples/parkinsons.csv"`` or ``"examples/parkinsons"``; ``"-"`` is standard
        input.

    Raises
    ------
    DataError
        If there is no such file, or several match.
    """
    given = Path(path)
    if given == STANDARD_INPUT:
        return given
    try:
        if given.is_file():
            return given
        found = [given.with_name(given.name + ending) for ending in ENDINGS if given.name]
        found = [candidate for candidate in found if candidate.is_file()]
    except ValueError as error:
        raise DataError(f"cannot look for {str(path)[:200]!r}: {error}") from None
    if len(found) == 1:
        return found[0]
    if in_parts(given):
        return given
    if found:
        names = ", ".join(candidate.name for candidate in found)
        raise DataError(f"{given} may mean several files: {names}; name one with its ending")
    if given.is_dir():
        raise DataError(f"{given} is a folder; name a table in it{_tables_in(given)}")
    if given.exists():
        if stat.S_ISFIFO(given.stat().st_mode):
            raise DataError(f"{given} is a pipe; give it as standard input: on - < {given}")
        raise DataError(f"{given} is not a file that can be read as a table")
    raise DataError(_missing(given))


def in_parts(given: Any) -> bool:
    """Whether something is read in parts: a pattern, a folder, a list, or a lazy frame.

    >>> in_parts("parts/*.parquet"), in_parts(["a.parquet"]), in_parts("a.csv")
    (True, True, False)
    """
    if isinstance(given, (list, tuple)):
        return bool(given) and all(isinstance(path, (str, os.PathLike)) for path in given)
    if isinstance(given, (str, os.PathLike)):
        path = Path(given)
        with contextlib.suppress(OSError, ValueError):
            if path.is_dir():
                return bool(_parts_in(path))
            return any(sign in str(path) for sign in "*?[") and not path.exists()
        return False
    home, kind = type(given).__module__.partition(".")[0], type(given).__name__
    return (
        (home == "polars" and kind == "LazyFrame")
        or (home == "pyarrow" and hasattr(given, "to_batches") and hasattr(given, "get_fragments"))
        or (home.startswith("dask") and hasattr(given, "npartitions"))
    )


def _parts_in(folder: Path) -> list[Path]:
    endings = (".parquet", ".feather", ".arrow", ".h5", ".hdf5")
    return [path for path in folder.iterdir() if path.name.lower().endswith(endings)]


def file_kind(path: Path) -> str:
    """``"text"``, ``"npz"``, ``"hdf5"`` or the name of a plugin's reader, by the file's content."""
    head = _head(path)
    # Formats of plugins are often HDF5 or zip archives, too.
    if path != STANDARD_INPUT and (name := reader_of(path, head)):
        return name
    if head.startswith(b"\x89HDF\r\n\x1a\n"):
        return "hdf5"
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")) and _is_npz(path):
        return "npz"
    # For the message, go by the name of an empty or damaged file.
    ending = _ending(path)
    if ending in (".h5", ".hdf5"):
        return "hdf5"
    return "npz" if ending == ".npz" else "text"


def table_name(path: Path) -> str:
    """The file's name without its known ending.

    >>> table_name(Path("data/wave.csv.gz")), table_name(Path("a.b.h5")), table_name(Path("-"))
    ('wave', 'a.b', 'stdin')
    """
    if path == STANDARD_INPUT:
        return "stdin"
    if in_parts(path):
        return (path if path.is_dir() else path.parent).resolve().name
    return path.name[: len(path.name) - len(_ending(path))]


def _head(path: Path) -> bytes:
    if path == STANDARD_INPUT:
        return load_bytes(path)[:8]
    try:
        with path.open("rb") as file:
            return file.read(8)
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror or error}") from error


def _is_npz(path: Path) -> bool:
    return any(name.endswith(".npy") for name in zip_members(path))


def _ending(path: Path) -> str:
    name = path.name.lower()
    # The longest first: .csv.gz, not .gz alone.
    return max((e for e in (*ENDINGS, *_OTHERS) if name.endswith(e)), key=len, default="")


def _missing(given: Path) -> str:
    folder = given.parent
    if not folder.is_dir():
        return f"there is no file {given}: there is no folder {folder}"
    tables = _known_files(folder)
    hint = did_you_mean(given.name, tables) or did_you_mean(
        given.name, [table_name(Path(name)) for name in tables]
    )
    return f"there is no file {given}{hint or _tables_in(folder)}"


def _tables_in(folder: Path) -> str:
    tables = _known_files(folder)
    if not tables:
        return ""
    shown = ", ".join(tables[:8]) + (", …" if len(tables) > 8 else "")
    return f"; {folder} holds {shown}"


def _known_files(folder: Path) -> list[str]:
    try:
        return sorted(found.name for found in folder.iterdir() if _ending(found))
    except OSError:
        return []
