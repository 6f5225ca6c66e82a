"""Find a table and its format; base classes of plugins' readers and writers."""

from __future__ import annotations

import contextlib
import os
import stat
import traceback
import zipfile
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import compress
from pathlib import Path
from typing import Any, ClassVar, final

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.errors import DataError, FsframeError, PluginError, RequestError, one_line
from fsframe.registry import in_stage, readers, writers
from fsframe.registry.registry import stage_words
from fsframe.table.arrays import column_block, is_sparse, unlabelled_left_out
from fsframe.table.frames import is_frame
from fsframe.table.spelling.dialect import quoted
from fsframe.table.spelling.text_file import STANDARD_INPUT, known_texts, load_bytes, reading_of
from fsframe.table.table_columns import (
    Block,
    Table,
    Taken,
    Values,
    cells_of_array,
    missing_cells,
)
from fsframe.text import did_you_mean


@attrs.frozen(kw_only=True, eq=False)
class ArrayTable(Table):
    """Features, in memory or read by columns, followed by the label and other annotations.

    An annotation with the name of a feature comes last, and only the label can be one.

    Parameters
    ----------
    path : Path
    X : (n_samples, n_features) numbers, or a ColumnSource with `take`
    y : (n_samples,) numbers or str, optional
        None if the file has none.
    names : tuple of str, optional
        Those of the features; None if the file has none. The attribute `names` has those of all
        columns.
    label_name : str
        Name of the label array.
    beside : mapping of str to (n_samples,) numbers or str
        Other annotations of the rows, such as the donor of a cell: not features, but usable as the
        label or as the groups.
    samples : tuple of str, optional
        Names of the rows.
    without_label : str
        What to do if the label is missing, for messages.
    typed : set of str
        Annotations of a categorical type.
    """

    path: Path
    X: Any = attrs.field(repr=False)
    y: NDArray[Any] | None = attrs.field(default=None, repr=False)
    stored_names: tuple[str, ...] | None = attrs.field(default=None, repr=False, alias="names")
    label_name: str = "y"
    beside: Mapping[str, NDArray[Any]] = attrs.field(factory=dict, repr=False)
    row_names: tuple[str, ...] | None = attrs.field(default=None, repr=False, alias="samples")
    without_label: str = "give the file that holds it (--labels, labels=)"
    typed: frozenset[str] = attrs.field(default=frozenset(), repr=False)
    form: str = "arrays"
    decimal: str | None = "."
    takes_codes: bool = attrs.field(default=True, repr=False)
    names: tuple[str, ...] = attrs.field(init=False, repr=False)
    own_label: int | None = attrs.field(init=False, repr=False)
    leaves_rows_out: bool = attrs.field(init=False, repr=False)

    @names.default
    def _all_names(self) -> tuple[str, ...]:
        features = self.stored_names or tuple(f"f{k + 1}" for k in range(self.n_fields))
        known = {*features}
        return (*features, *sorted(self.others, key=known.__contains__))

    @own_label.default
    def _place_of_label(self) -> int | None:
        return None if self.y is None else self.names.index(self.label_name, self.n_fields)

    @leaves_rows_out.default
    def _has_rows_to_leave_out(self) -> bool:
        return bool(self.beside) and isinstance(self.X, np.ndarray)

    @property
    def n_fields(self) -> int:
        """Number of features."""
        return int(self.X.shape[1])

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.X.shape[0])

    @property
    def named(self) -> bool:
        """Whether the columns have names."""
        return self.stored_names is not None or bool(self.beside)

    @property
    def others(self) -> dict[str, NDArray[Any]]:
        """The label, if there is one, and the other annotations, by name."""
        labels = {} if self.y is None else {self.label_name: self.y}
        return labels | {k: v for k, v in self.beside.items() if k not in labels}

    @property
    def no_label(self) -> str:
        """The message that the file has no label, and what to do."""
        way = self.without_label
        if self.beside:
            way = f"it has the annotations {', '.join(list(self.beside)[:12])}: name one"
        return (
            f"{self.path} has no label {self.label_name!r}; {way}, or name the feature that is the "
            "label (label=…, --label)"
        )

    def is_typed(self, column: int) -> bool:
        """Whether an annotation has a categorical type."""
        return column >= self.n_fields and self.names[column] in self.typed

    def _array(self, column: int) -> NDArray[Any]:
        """A column as it is kept."""
        if column >= self.n_fields:
            return self.others[self.names[column]]
        if is_sparse(self.X):
            return self.X[:, [column]].toarray()[:, 0]
        return np.asarray(column_block(self.X, column, column + 1))[:, 0]

    def labelled_rows(self, label: str | int | None) -> ArrayTable:
        """The rows in which `label`, a feature or an annotation, has a value.

        RequestError if there is no such column, or the features stay in their file.
        """
        if label not in self.names or not isinstance(self.X, np.ndarray):
            raise cannot_leave_rows_out(f"the arrays of {self.path}")
        values = self.others.get(str(label))
        if values is None:
            values = self._array(self.names.index(str(label)))
        known = ~missing_cells(cells_of_array(values))
        if known.all():
            return self
        return attrs.evolve(
            self,
            X=self.X[known],
            y=None if self.y is None else self.y[known],
            beside={key: cells[known] for key, cells in self.beside.items()},
            samples=self.row_names and tuple(compress(self.row_names, known)),
            notes=(*self.notes, unlabelled_left_out(int((~known).sum()))),
        )

    def take(
        self, columns: Sequence[int], texts: Sequence[int] = (), label: int | None = None
    ) -> Taken:
        """The features `columns`, and the others as numbers or texts."""
        X = self.X
        if isinstance(X, np.ndarray):
            X = X if len(columns) == self.n_fields else X[:, columns]
            small = X.dtype in (np.uint8, np.int8)
            X = np.ascontiguousarray(X, dtype=None if small else np.float64)
        elif len(columns) < self.n_fields:
            X = X[:, columns] if is_sparse(X) else X.take(np.array(columns))
        further = (column for column in (label, *texts) if column is not None)
        return Taken(X, {column: cells_of_array(self._array(column)) for column in further})

    def texts(self, columns: Sequence[int]) -> Iterator[tuple[int, list[str]]]:
        """Features as texts, empty where missing, one after the other."""
        for column in columns:
            cells = self._array(column).tolist()
            yield column, ["" if cell != cell else str(cell) for cell in cells]

    def _spelled(self, columns: Sequence[int]) -> Iterator[list[str]]:
        for cells in zip(*map(self._array, columns), strict=True):
            # str of a NumPy number is the shortest text that parses to the same number.
            yield ["" if cell != cell else quoted(str(cell), ",") for cell in cells]

    def _values(self, columns: Sequence[int], *, numeric: bool = False) -> Values:
        X, texts = np.full((self.n_rows, len(columns)), np.nan), {}
        for place, column in enumerate(columns):
            values = self._array(column)
            if values.dtype.kind in "UO":
                cells = [str(text).strip() for text in values.tolist()]
                texts[column] = known_texts(cells, self.missing_in(column))
            else:
                X[:, place] = values
        return X, texts

    def column_blocks(self) -> Iterator[Block]:
        """The features many at a time, as they may be read from their file, then the others."""
        p = self.n_fields
        for start in range(0, p, self._width):
            block = column_block(self.X, start, min(start + self._width, p))
            yield start, np.asarray(block, dtype=np.float64), {}
        yield p, *self._values(range(p, len(self.names)))


def cannot_leave_rows_out(what: str) -> RequestError:
    """The error for `missing_label` with a table of which no rows can be left out."""
    return RequestError(
        f"missing_label is for text, workbooks and data frames, not for {what}: take the rows "
        "without a label out of it"
    )


def missing_codes(na: str | float | Iterable[str | float]) -> tuple[str, ...]:
    """The argument `na` of `fsframe.read` as texts.

    >>> missing_codes(-9), missing_codes(["?", 99])
    (('-9',), ('?', '99'))
    """
    return tuple(str(code) for code in ([na] if isinstance(na, (str, int, float)) else na))


@attrs.frozen(kw_only=True)
class Form:
    """The arguments of `fsframe.read` about how to read a file, each with its default."""

    delimiter: str | None = None
    header: bool | None = None
    decimal: str | None = None
    encoding: str | None = None
    na: tuple[str, ...] = attrs.field(default=(), converter=missing_codes)
    x: str = "/X"
    y: str = "/y"
    names: str = "/feature_names"
    in_memory: bool | None = None
    transpose: bool = False
    samples: str | None = None
    labels: str | None = None

    def said(self) -> dict[str, Any]:
        """The arguments that are not the defaults, as JSON values.

        >>> Form(na=-9, header=False).said()
        {'header': False, 'na': ['-9']}
        """
        said = attrs.asdict(self, filter=lambda field, value: value not in ("", field.default))
        return {key: list(value) if key == "na" else value for key, value in said.items()}


class Reader(ABC):
    """A reader of one format; it has no parameters.

    Authors write `_read`; the core calls `read`, which checks the result.

    Attributes
    ----------
    options : frozenset of str
        Those of the arguments ``x`` and ``y`` of `fsframe.read`, paths inside the file, that
        `_read` accepts.
    spelled : bool
        Whether `_read` returns comma-separated text (bytes, UTF-8) with the cells as spelled, which
        is then read like a text file.
    called : str
        If `spelled`: the name of such a table in messages, such as "sheet of a workbook"; `_read`
        may set it for the file.
    notes : tuple of str
        If `spelled`: warnings about the file, which `_read` may set.
    """

    options: ClassVar[frozenset[str]] = frozenset()
    spelled: ClassVar[bool] = False
    called: str = ""
    notes: tuple[str, ...] = ()

    @final
    def read(self, path: Path, **given: str) -> Any:
        """Read the table in a file.

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
        PluginError
            If the author's part returns something else, or tries to end the program.
        """
        kind, name = type(self), type(self).__name__
        with in_stage(kind, name, "reader"):
            try:
                # Readers that declare options accept them.
                frame = self._read(path, **given)  # type: ignore[call-arg]
            except (FsframeError, KeyboardInterrupt, SystemExit):
                raise
            except BaseException as error:
                # Panics in the Rust code of polars do not derive from `Exception`.
                failure = DataError(
                    f"{path} cannot be read by {stage_words(kind, name, 'reader')}: "
                    f"{one_line(error)}"
                )
                failure.detail = "".join(traceback.format_exception(error))
                raise failure from error
        if self.spelled and isinstance(frame, bytes):
            return frame
        if not is_frame(frame) and not isinstance(frame, ArrayTable):
            raise PluginError(
                f"{path}: {stage_words(kind, name, 'reader')} returned {type(frame).__name__}, "
                "not a data frame"
            )
        return frame

    @abstractmethod
    def _read(self, path: Path) -> Any:
        """The table: a data frame of pandas or polars, a table of pyarrow, or an ArrayTable."""


IN_BLOCKS = ("parquet", "arrow", "hdf5")
"""Kinds of files that can be read in blocks of rows."""


def reader_of(path: Path, head: bytes) -> str | None:
    """The name of the plugin's reader for a file that begins with `head`; None if there is none.

    Bundled formats take precedence: an ending that fsframe reads itself, such as ``.csv``, belongs
    to no other plugin, but a longer one may (``.counts.csv``).
    """
    inside: set[str] | None = None
    own = len(_ending(path, ENDINGS))
    for offer in _bundled_first(readers.offers()):
        entry: Any = offer.entry
        if any(head.startswith(start) for start in entry.starts):
            return str(offer.name)
        if entry.zip_member and head.startswith(b"PK\x03\x04"):
            inside = zip_members(path) if inside is None else inside
            if entry.zip_member in inside:
                return str(offer.name)
        ending = _ending(path, entry.endings)
        if ending and (offer.plugin.source.bundled or len(ending) > own):
            return str(offer.name)
    return None


def _bundled_first(offers: Iterable[Any]) -> list[Any]:
    return sorted(offers, key=lambda offer: (not offer.plugin.source.bundled, offer.name))


def full_name(reader: str) -> str:
    """``provider/name`` of a reader.

    >>> full_name("parquet")
    'tables/parquet'
    """
    offer = readers.offer(reader)
    return f"{offer.provider}/{offer.entry.name}"


def zip_members(path: Path) -> set[str]:
    """The names in a zip archive; none if it is damaged."""
    try:
        with zipfile.ZipFile(path) as archive:
            return set(archive.namelist())
    except (OSError, zipfile.BadZipFile, ValueError, NotImplementedError, RuntimeError):
        return set()


def check_options(path: Path, name: str, wrong: Sequence[str]) -> None:
    """Raise RequestError if any options are `wrong` for the reader of that name."""
    if wrong:
        verb = "does" if len(wrong) == 1 else "do"
        raise RequestError(f"{path} is read as {name}, where {', '.join(wrong)} {verb} not apply")


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
        candidates = [given.with_name(given.name + ending) for ending in ENDINGS if given.name]
        candidates = [candidate for candidate in candidates if candidate.is_file()]
    except ValueError as error:
        raise DataError(f"cannot look for {str(path)[:200]!r}: {error}") from None
    if len(candidates) == 1:
        return candidates[0]
    if in_parts(given):
        return given
    if candidates:
        names = ", ".join(candidate.name for candidate in candidates)
        raise DataError(f"{given} may mean several files: {names}; name one with its ending")
    if given.is_dir():
        raise DataError(f"{given} is a folder; name a table in it{_tables_in(given)}")
    if given.exists():
        if stat.S_ISFIFO(given.stat().st_mode):
            raise DataError(f"{given} is a pipe; give it as standard input: on - < {given}")
        raise DataError(f"{given} is not a file that can be read as a table")
    raise DataError(_no_such_file(given))


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
                endings = (".parquet", ".feather", ".arrow", ".h5", ".hdf5")
                return any(part.name.lower().endswith(endings) for part in path.iterdir())
            return any(sign in str(path) for sign in "*?[") and not path.exists()
        return False
    home, kind = type(given).__module__.partition(".")[0], type(given).__name__
    return (
        (home == "polars" and kind == "LazyFrame")
        or (home == "pyarrow" and hasattr(given, "to_batches") and hasattr(given, "get_fragments"))
        or (home.startswith("dask") and hasattr(given, "npartitions"))
    )


def file_kind(path: Path) -> str:
    """``"text"``, ``"npz"``, ``"hdf5"`` or the name of a plugin's reader, by the file's content."""
    head = _head(path)
    # Formats of plugins are often HDF5 or zip archives, too.
    if path != STANDARD_INPUT and (name := reader_of(path, head)):
        return name
    if head.startswith(b"\x89HDF\r\n\x1a\n"):
        return "hdf5"
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")) and any(
        name.endswith(".npy") for name in zip_members(path)
    ):
        return "npz"
    # For an empty or damaged file the name decides, since the error is about that format.
    ending = _ending(path, ENDINGS)
    if ending in (".h5", ".hdf5"):
        return "hdf5"
    return "npz" if ending == ".npz" else "text"


def check_reader(recorded: Any, path: str | Path, source: str) -> None:
    """Raise PluginError if the plugin that read a table is missing, so that it would be parsed.

    Parameters
    ----------
    recorded : str or None
        ``provider/name`` of the reader that read it, from `Dataset.reading`.
    path : str or Path
        The table to read now.
    source : str
        The table that was read; a file with another ending may be parsed.
    """
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
    return path.name[: len(path.name) - len(_ending(path, (*ENDINGS, *_OTHERS)))]


def _head(path: Path) -> bytes:
    if path == STANDARD_INPUT:
        return load_bytes(path)[:8]
    with reading_of(path), path.open("rb") as file:
        return file.read(8)


def _ending(path: Path, endings: Iterable[str]) -> str:
    name = path.name.lower()
    # The longest: .csv.gz, not .gz alone.
    return max((ending for ending in endings if name.endswith(ending)), key=len, default="")


def _no_such_file(given: Path) -> str:
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
        return sorted(path.name for path in folder.iterdir() if _ending(path, (*ENDINGS, *_OTHERS)))
    except OSError:
        return []


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
            (`fsframe.table.spelling.text_file.defused`).

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
    offers = _bundled_first(writers.offers())
    for offer in offers:
        if path.name.lower().endswith(offer.entry.endings or ("\0",)):
            return str(offer.name)
    known = ", ".join(ending for offer in offers for ending in offer.entry.endings)
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
        A format that a plugin writes, such as ``"csv"``.
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
