"""Which file is meant, and of which kind it is."""

from __future__ import annotations

import os
from pathlib import Path

from fsframe.errors import DataError
from fsframe.suggest import did_you_mean

__all__ = ["ENDINGS", "file_kind", "find_table", "table_name"]

_KINDS = {
    ".csv": "text",
    ".tsv": "text",
    ".tab": "text",
    ".txt": "text",
    ".npz": "npz",
    ".h5": "hdf5",
    ".hdf5": "hdf5",
}
ENDINGS = (*_KINDS, *(f"{ending}.gz" for ending, kind in _KINDS.items() if kind == "text"))


def find_table(path: str | os.PathLike[str]) -> Path:
    """The file that `path` means; without an ending, the one known file of that name.

    Parameters
    ----------
    path : path
        Such as ``"examples/parkinsons.csv"`` or ``"examples/parkinsons"``.

    Raises
    ------
    DataError
        If there is no such file, several are meant, or its ending is unknown.
    """
    given = Path(path)
    if given.is_file():
        file_kind(given)
        return given
    found = [given.with_name(given.name + ending) for ending in ENDINGS if given.name]
    found = [candidate for candidate in found if candidate.is_file()]
    if len(found) == 1:
        return found[0]
    if found:
        names = ", ".join(candidate.name for candidate in found)
        raise DataError(f"{given} may mean several files: {names}; name one with its ending")
    if given.is_dir():
        raise DataError(f"{given} is a folder; name a table in it{_tables_in(given)}")
    if given.exists():
        raise DataError(f"{given} is not a file that can be read as a table")
    raise DataError(_missing(given))


def file_kind(path: Path) -> str:
    """``"text"``, ``"npz"`` or ``"hdf5"``, by the file's ending.

    Raises
    ------
    DataError
        If the ending is not one of those known.
    """
    ending = _ending(path)
    if not ending:
        raise DataError(
            f"{path}: fsframe does not read files of this kind; known endings: "
            f"{', '.join(ENDINGS)}; rename it if it is one of these"
        )
    return _KINDS[ending.removesuffix(".gz")]


def table_name(path: Path) -> str:
    """The file's name without its known ending.

    >>> table_name(Path("data/wave.csv.gz")), table_name(Path("a.b.h5"))
    ('wave', 'a.b')
    """
    return path.name[: len(path.name) - len(_ending(path))]


def _ending(path: Path) -> str:
    name = path.name.lower()
    # The longest first: .csv.gz, not .gz alone.
    return max((e for e in ENDINGS if name.endswith(e)), key=len, default="")


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
