"""Readers and writers of plugins, and the arrays that readers give."""

from __future__ import annotations

import zipfile
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, final

import attrs
from numpy.typing import NDArray

from fsframe.errors import DataError, FsframeError, PluginError, RequestError, one_line
from fsframe.registry import Offer, in_stage, writers
from fsframe.table.frames import is_frame


@attrs.frozen(kw_only=True, eq=False)
class ArrayTable:
    """Arrays read from a file, not yet checked as a table.

    Parameters
    ----------
    path : Path
    X : (n_samples, n_features) numbers, or a ColumnSource with `take`
    y : (n_samples,) numbers or str, optional
        None if the file has none.
    names : tuple of str, optional
        None if the file has none.
    label_name : str
        Name of the label array.
    beside : mapping of str to (n_samples,) numbers or str
        Other annotations of the rows, such as the donor of a cell: not features, but usable as the
        label or as the groups.
    without_label : str
        What to do where the label is missing, for messages.
    """

    path: Path
    X: Any = attrs.field(repr=False)
    y: NDArray[Any] | None = attrs.field(default=None, repr=False)
    names: tuple[str, ...] | None = attrs.field(default=None, repr=False)
    label_name: str = "y"
    beside: Mapping[str, NDArray[Any]] = attrs.field(factory=dict, repr=False)
    without_label: str = "save both as X and y of an NPZ or HDF5 file"

    @property
    def others(self) -> dict[str, NDArray[Any]]:
        """The label, if there is one, and the other annotations, by name."""
        found = {} if self.y is None else {self.label_name: self.y}
        return found | {k: v for k, v in self.beside.items() if k not in found}

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names, or ``f1, f2, …``."""
        return self.names or tuple(f"f{k + 1}" for k in range(self.X.shape[1]))


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
    called : str
        If `spelled`: what people call such a table, such as "first sheet of a workbook".
    """

    options: ClassVar[frozenset[str]] = frozenset()
    spelled: ClassVar[bool] = False
    called: ClassVar[str] = ""

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


def full_name(reader: str) -> str:
    """``provider/name`` of a reader.

    >>> full_name("parquet")
    'tables/parquet'
    """
    from fsframe.registry import readers

    offer = readers.offer(reader)
    return f"{offer.provider}/{offer.entry.name}"


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


def spelled_text(path: Path, name: str) -> tuple[bytes | None, str]:
    """The text of a file whose reader, of that name, returns cells as spelled, else None; and what
    the reader calls such a table."""
    from fsframe.registry import readers

    if name not in readers or not readers[name].spelled:
        return None, ""
    text: bytes = readers[name]().read(path)
    return text, readers[name].called or name


def check_options(path: Path, name: str, wrong: Sequence[str]) -> None:
    """Raise RequestError if there are options that the reader of that name does not support."""
    if wrong:
        verb = "does" if len(wrong) == 1 else "do"
        raise RequestError(f"{path} is read as {name}, where {', '.join(wrong)} {verb} not apply")


Columns = Mapping[str, Sequence[Any]]
"""Cells of one type in each column: str, bool, int or float; None if missing."""


class Writer(ABC):
    """A writer of one format; it has no parameters.

    Authors write `_write`; the core calls `write`, which checks the result, and writes the file
    atomically. Equal tables should give equal bytes.
    """

    @final
    def write(self, columns: Columns, *, defuse: bool = True) -> bytes:
        """A table as the bytes of a file.

        Parameters
        ----------
        columns : mapping of str to sequence
            All of one length.
        defuse : bool
            Whether to escape text that a spreadsheet would run as a formula
            (`fsframe.table.text_file.defused`).

        Raises
        ------
        PluginError
            If the author's code fails, or returns anything but bytes.
        """
        with in_stage(type(self), type(self).__name__, "writer"):
            content = self._write(columns, defuse=defuse)
        if not isinstance(content, bytes):
            raise PluginError(
                f"{type(self).__name__} returned {type(content).__name__}, not the bytes of a file"
            )
        return content

    @abstractmethod
    def _write(self, columns: Columns, *, defuse: bool) -> bytes:
        """The table in this format."""


def format_of(path: Path) -> str:
    """The format for a file's ending; bundled formats take precedence.

    Raises
    ------
    RequestError
        If the ending is unknown.

    >>> format_of(Path("genes.tex"))
    'latex'
    """

    def bundled_first(offer: Offer) -> tuple[bool, str]:
        return not offer.plugin.source.bundled, offer.name

    found: list[Any] = sorted(writers.offers(), key=bundled_first)
    for offer in found:
        if path.name.lower().endswith(offer.entry.endings or ("\0",)):
            return str(offer.name)
    known = ", ".join(ending for offer in found for ending in offer.entry.endings)
    raise RequestError(f"{path}: end its name in {known}, or say which format (--format)")


def is_text(form: str) -> bool:
    """Whether a format is text.

    >>> is_text("markdown"), is_text("parquet")
    (True, False)
    """
    entry: Any = writers.offer(form).entry
    return bool(entry.text)


def table_bytes(columns: Columns, form: str, *, defuse: bool = True) -> bytes:
    """A table as the bytes of a file; equal tables give equal bytes.

    Parameters
    ----------
    columns : mapping of str to sequence
        Cells of one type in each: str, bool, int or float; None if missing.
    form : str
        What a plugin writes, such as ``"csv"``.
    defuse : bool
        In CSV and TSV, whether an apostrophe is put before texts that a spreadsheet would take for
        formulas. Excel files hold such texts as texts.

    Returns
    -------
    bytes
        Numbers in full, but with four digits in LaTeX and Markdown, which are for reading.

    Raises
    ------
    PluginError
        If a library that writes the format is not installed, or its writer fails.
    RequestError
        If there is no such format.

    Examples
    --------
    >>> print(table_bytes({"feature": ["=A1", "b|c"], "p": [0.25, None]}, "csv").decode())
    feature,p
    '=A1,0.25
    b|c,
    >>> print(table_bytes({"feature": ["=A1", "b|c"], "p": [1 / 3, None]}, "markdown").decode())
    | feature | p |
    |---|--:|
    | =A1 | 0.3333 |
    | b\\|c |  |
    """
    content: bytes = writers[form]().write(columns, defuse=defuse)
    return content
