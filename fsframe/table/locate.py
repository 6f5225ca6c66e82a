"""Where a table lies, and where it begins in a spreadsheet."""

from __future__ import annotations

import contextlib
import os
import re
import stat
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from fsframe.errors import DataError, PluginError
from fsframe.table.reader import reader_of, zip_members
from fsframe.table.text_file import (
    STANDARD_INPUT,
    field_splitter,
    first_record,
    is_missing,
    is_number,
    load_bytes,
    unquote,
)
from fsframe.text import did_you_mean

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


def check_reader(recorded: Any, path: str | Path, source: str) -> None:
    """Raise PluginError if a table was read by a plugin that is not there, and would be parsed.

    Parameters
    ----------
    recorded : str or None
        ``provider/name`` of the reader of the first time, as `Dataset.reading` has it.
    path : str or Path
        The table to read now.
    source : str
        The table of the first time: another file of another ending may be parsed.
    """
    from fsframe.registry import readers

    if not isinstance(recorded, str) or readers.matching(recorded):
        return
    given = Path(path)
    if given.suffix.lower() != Path(source).suffix.lower() or not given.is_file():
        return
    if file_kind(given) in ("text", "npz", "hdf5"):
        provider, _, name = recorded.rpartition("/")
        raise PluginError(
            f"{given} was read by the reader {name!r} of the plugin {provider!r}, which is not "
            "installed or not loaded (see fsframe plugins): install it again, or give the table "
            "in a format that fsframe reads itself"
        )


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
