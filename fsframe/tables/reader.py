"""Base class of plugins that read a format; finding and calling such plugins."""

from __future__ import annotations

import zipfile
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, final

from fsframe.errors import DataError, FsframeError, RequestError, one_line
from fsframe.table.data_frames import is_frame
from fsframe.tables.array_table import ArrayTable

__all__ = [
    "Reader",
    "check_options",
    "named_paths",
    "read_frame",
    "reader_of",
    "spelled_text",
    "zip_members",
]


class Reader(ABC):
    """A reader of one format; it has no parameters.

    Authors write `_read`; the core calls `read`, which checks the result.

    Attributes
    ----------
    options : frozenset of str
        Which of the arguments ``x`` and ``y`` of `fsframe.read`, paths inside the file, `_read`
        takes as well.
    spelled : bool
        Whether `_read` returns comma-separated text (bytes, UTF-8) with the cells as spelled, which
        is read as a file of text is.
    """

    options: ClassVar[frozenset[str]] = frozenset()
    spelled: ClassVar[bool] = False

    @final
    def read(self, path: Path, **given: str) -> Any:
        """The table in a file.

        Parameters
        ----------
        path : Path
            A file of the format.
        given : str
            Those of `options` that were given.

        Returns
        -------
        pandas.DataFrame, polars.DataFrame, pyarrow.Table, ArrayTable, or bytes if `spelled`

        Raises
        ------
        DataError
            If it cannot be read, with the reader's message.
        """
        try:
            # Readers that declare options accept them.
            frame = self._read(path, **given)  # type: ignore[call-arg]
        except (FsframeError, KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:
            # Panics in the Rust code of polars do not derive from `Exception`.
            raise DataError(
                f"{path} cannot be read by {type(self).__name__}: {one_line(error)}"
            ) from error
        if self.spelled and isinstance(frame, bytes):
            return frame
        if not is_frame(frame) and not isinstance(frame, ArrayTable):
            raise DataError(
                f"{path}: {type(self).__name__} returned {type(frame).__name__}, not a data frame"
            )
        return frame

    @abstractmethod
    def _read(self, path: Path) -> Any:
        """The table: a data frame of pandas or polars, a table of pyarrow, or an ArrayTable."""


def reader_of(path: Path, head: bytes) -> str | None:
    """The reader, by name, that a plugin offers for a file with that beginning; None if none."""
    from fsframe.registry import readers

    inside: set[str] | None = None
    for offer in readers.offers():
        entry: Any = offer.entry
        if any(head.startswith(start) for start in entry.starts):
            return offer.name
        if entry.zip_member and head.startswith(b"PK\x03\x04"):
            inside = zip_members(path) if inside is None else inside
            if entry.zip_member in inside:
                return offer.name
        if path.name.lower().endswith(entry.endings or ("\0",)):
            return offer.name
    return None


def zip_members(path: Path) -> set[str]:
    """The names in a zip archive; none if it is damaged."""
    try:
        with zipfile.ZipFile(path) as archive:
            return set(archive.namelist())
    except (OSError, zipfile.BadZipFile, ValueError, NotImplementedError, RuntimeError):
        return set()


def named_paths(x: str, y: str) -> dict[str, str]:
    """Those of the arguments `x` and `y` of `fsframe.read` that are not the defaults."""
    return {key: value for key, value in (("x", x), ("y", y)) if value not in ("/X", "/y")}


def read_frame(path: Path, name: str, **given: str) -> Any:
    """The table at `path` as the reader of that name gives it; RequestError if it lacks options."""
    from fsframe.registry import readers

    reader = readers[name]()
    check_options(path, name, sorted(set(given) - reader.options))
    return reader.read(path, **given)


def spelled_text(path: Path, name: str) -> bytes | None:
    """The text of a file whose reader, of that name, returns cells as spelled; else None."""
    from fsframe.registry import readers

    if name not in readers or not readers[name].spelled:
        return None
    text: bytes = readers[name]().read(path)
    return text


def check_options(path: Path, name: str, wrong: Sequence[str]) -> None:
    """Raise RequestError if there are options that the reader of that name does not support."""
    if wrong:
        verb = "does" if len(wrong) == 1 else "do"
        raise RequestError(f"{path} is read as {name}, where {', '.join(wrong)} {verb} not apply")
