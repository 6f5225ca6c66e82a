"""Tables read in blocks of rows: Parquet and Arrow files, HDF5 files, lazy frames."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.errors import DataError
from fsframe.table.arrays import without_codes
from fsframe.table.files.hdf5 import Hdf5Arrays, check_unchanged, file_mark
from fsframe.table.frames import FrameColumns, is_category, reading_errors
from fsframe.table.spelling.text_file import reading_of
from fsframe.table.table_columns import Table, Values

_EDGE = 1 << 16
_LABELS = 1 << 20
_SIDES = 8


def stamp_of(paths: Sequence[Path]) -> str:
    """Hex digest of names, sizes, times of change, beginnings and ends of files.

    Whoever writes a file can set its time of modification, but not that of the change of its entry
    (ctime).

    Raises
    ------
    DataError
        If one cannot be read.
    """
    digest = hashlib.sha256()
    for path in paths:
        with reading_of(path), path.open("rb") as file:
            status = path.stat()
            times = f"{status.st_mtime_ns}\0{status.st_ctime_ns}"
            digest.update(f"{path.name}\0{status.st_size}\0{times}\0".encode())
            digest.update(file.read(_EDGE))
            file.seek(max(0, status.st_size - _EDGE))
            digest.update(file.read(_EDGE))
    return digest.hexdigest()


@attrs.frozen(kw_only=True, eq=False)
class RowReader(Table):
    """A table that is read in blocks of rows, in order.

    Parameters
    ----------
    what : str
        The table, for messages.
    files : tuple of Path
        Its files; empty for frames.
    marks : tuple of (int, int)
        Sizes and modification times of the files when they were opened.
    weights : (n_rows,) int64, ≥ 0, optional
        How often `blocks` repeats each row, copies adjacent.
    """

    in_groups: ClassVar[bool] = False
    """Whether rows are stored in groups, so that reading part of one takes as long as all of it."""

    what: str
    leaves_rows_out: bool = attrs.field(default=False, repr=False)
    files: tuple[Path, ...] = ()
    marks: tuple[tuple[int, int], ...] = attrs.Factory(
        lambda self: tuple(map(file_mark, self.files)), takes_self=True
    )
    weights: NDArray[np.int64] | None = None

    def check(self) -> None:
        """Raise DataError if a file has changed since it was opened."""
        for path, mark in zip(self.files, self.marks, strict=True):
            check_unchanged(path, mark)

    @property
    def path(self) -> Path:
        """The file, or the folder of the files."""
        return Path(self.what)

    @property
    def n_fields(self) -> int:
        """Number of columns, without a label of its own, which comes last."""
        return len(self.names) - (self.own_label is not None)

    def _loaded(self, columns: Sequence[int]) -> FrameColumns:
        self.check()
        return FrameColumns(self.frame([self.names[column] for column in columns]))

    def _spelled(self, columns: Sequence[int]) -> Iterator[list[str]]:
        return self._loaded(columns)._spelled(range(len(columns)))

    def _values(self, columns: Sequence[int], *, numeric: bool = False) -> Values:
        X, texts = self._loaded(columns)._values(range(len(columns)))
        return X, {columns[place]: cells for place, cells in texts.items()}

    def frame(self, columns: Sequence[str]) -> Any:
        """Some columns, whole, as a data frame of polars."""
        raise NotImplementedError

    def blocks(self, columns: Sequence[str], rows: int, dtype: Any) -> Iterator[NDArray[Any]]:
        """Some columns as (at most `rows`, n_columns) of that dtype, NaN where missing.

        Blocks are in C or Fortran order, as the reader gives them.
        """
        if self.weights is None:
            yield from self._blocks(columns, rows, dtype)
            return
        first = 0
        for block in self._blocks(columns, rows, dtype):
            ends = np.cumsum(self.weights[first : first + len(block)])
            first += len(block)
            if len(ends) < len(block):
                raise DataError(f"{self.what} was changed while it was in use; start again")
            # Rows with large weights are also copied in blocks.
            for start in range(0, int(ends[-1]), rows):
                copies = np.arange(start, min(start + rows, int(ends[-1])))
                yield block[np.searchsorted(ends, copies, side="right")]

    def _blocks(self, columns: Sequence[str], rows: int, dtype: Any) -> Iterator[NDArray[Any]]:
        """The blocks of the stored rows, without weights."""
        raise NotImplementedError


@attrs.frozen(kw_only=True, eq=False)
class FrameRows(RowReader):
    """Rows from a source of polars frames.

    Parameters
    ----------
    schema : mapping of str to polars dtype
    frames : callable
        ``frames(columns, rows)`` yields at most `rows` rows of these columns at a time: their
        number, and frames that each hold some of the columns.
    levels : dict of str to tuple of str
        Levels of nominal columns of text, sorted.
    """

    in_groups: ClassVar[bool] = True

    schema: Any
    frames: Any
    levels: dict[str, tuple[str, ...]] = attrs.field(factory=dict)

    def is_typed(self, column: int) -> bool:
        return is_category(self.schema[self.names[column]])

    @property
    def n_rows(self) -> int:
        with reading_errors(self.what):
            return sum(height for height, _ in self.frames([self.names[0]], _LABELS))

    def frame(self, columns: Sequence[str]) -> Any:
        import polars

        return polars.DataFrame([self.series(name).alias(name) for name in columns])

    def series(self, name: str) -> Any:
        """One column, whole, as a series of polars."""
        import polars

        parts = [*self._pieces(name)]
        return polars.concat(parts) if parts else polars.Series(name, [])

    def categories(self, name: str) -> tuple[str, ...]:
        """The different texts of one column, sorted."""
        import polars

        texts: set[str] = set()
        for piece in self._pieces(name):
            texts |= set(piece.cast(polars.String).unique().drop_nulls().to_list())
        return tuple(sorted(texts))

    def _pieces(self, name: str) -> Iterator[Any]:
        """One column, in pieces."""
        with reading_errors(self.what):
            for _, frames in self.frames([name], _LABELS):
                yield from (frame[name] for frame in frames)

    def _blocks(self, columns: Sequence[str], rows: int, dtype: Any) -> Iterator[NDArray[Any]]:
        import polars

        taken = []
        for name in columns:
            if name in self.levels:
                kind = polars.Enum(list(self.levels[name]))
                column = polars.col(name).cast(polars.String).cast(kind).to_physical()
            else:
                column = polars.col(name)
            if dtype != np.uint8:
                column = column.cast(polars.Float64).fill_null(float("nan"))
            taken.append(column)
        with reading_errors(self.what):
            for height, frames in self.frames(list(columns), rows):
                block, at = np.empty((len(columns), height), dtype), 0
                for frame in frames:
                    if dtype == np.uint8 and not _all_bytes(frame, polars.UInt8):
                        raise NotAllBytes
                    for values in frame.select(taken[at : at + frame.width]):
                        block[at] = values.to_numpy()
                        at += 1
                yield block.T
                # Free it before the next one is read.
                del block


class NotAllBytes(Exception):
    """A column of bytes has missing values, or another type in another file."""


def _all_bytes(frame: Any, kind: Any) -> bool:
    return set(frame.dtypes) == {kind} and not sum(frame.null_count().row(0))


def frame_rows(
    given: Any, what: str, files: Sequence[Path] = (), pieces: Sequence[Any] = ()
) -> FrameRows:
    """The rows of a lazy frame of polars, a dataset of pyarrow, or a frame of dask.

    Parameters
    ----------
    given : polars.LazyFrame, pyarrow.dataset.Dataset or dask.dataframe.DataFrame
    what : str
        Name of the frame in messages.
    files : sequence of Path
        The files of the frame, if it has any.
    pieces : sequence of polars.LazyFrame
        One for each file. These are read in slices of some columns, which takes the memory of a
        slice, whereas reading a lazy frame in batches reads ahead several files.
    """
    import polars

    home = type(given).__module__.partition(".")[0]

    def sliced(columns: list[str], rows: int) -> Iterator[tuple[int, Iterable[Any]]]:
        width = max(1, -(-len(columns) // _SIDES))
        some = [columns[at : at + width] for at in range(0, len(columns), width)]
        for piece in pieces:
            height = int(piece.select(polars.len()).collect().item())
            for start in range(0, height, rows):
                sides = (piece.select(names).slice(start, rows).collect() for names in some)
                yield min(rows, height - start), sides

    def whole(frames: Iterable[Any], rows: int) -> Iterator[tuple[int, Iterable[Any]]]:
        for frame in frames:
            for start in range(0, frame.height, rows):
                part = frame.slice(start, rows)
                yield part.height, [part]

    def lazy(columns: list[str], rows: int) -> Iterator[Any]:
        selected = given.select(columns)
        return whole(selected.collect_batches(chunk_size=rows, maintain_order=True), rows)

    def arrow(columns: list[str], rows: int) -> Iterator[Any]:
        batches = given.to_batches(columns=columns, batch_size=rows, use_threads=False)
        return whole((polars.from_arrow(batch) for batch in batches), rows)

    def dask(columns: list[str], rows: int) -> Iterator[Any]:
        parts = (part.compute() for part in given[columns].partitions)
        return whole((polars.from_pandas(part, include_index=False) for part in parts), rows)

    with reading_errors(what):
        if home == "polars":
            schema, frames = given.collect_schema(), sliced if pieces else lazy
        elif home == "pyarrow":
            head = polars.DataFrame(polars.from_arrow(given.schema.empty_table()))
            schema, frames = head.schema, arrow
        else:
            first = given.head(1, compute=True)
            schema, frames = polars.from_pandas(first, include_index=False).schema, dask
    return FrameRows(
        what=what, names=tuple(schema), files=tuple(files), schema=dict(schema), frames=frames
    )


@attrs.frozen(kw_only=True, eq=False)
class Hdf5Rows(RowReader):
    """Rows of an array that is in each of several HDF5 files, file after file.

    Parameters
    ----------
    x, y : str
        Paths of features and label in each file.
    dtype : numpy dtype
        Type of the features.
    lengths : tuple of int
        Number of rows of each file.
    codes : tuple of float
        Codes of missing values.
    """

    x: str
    y: str
    dtype: Any
    lengths: tuple[int, ...]
    codes: tuple[float, ...] = ()

    @classmethod
    def of(cls, files: Sequence[Path], x: str, y: str, names: str, codes: Any = ()) -> Hdf5Rows:
        """The files as one table.

        Raises
        ------
        DataError
            If one has no such array, or they differ in columns.
        """
        forms: list[tuple[tuple[int, ...], np.dtype[Any]]] = []
        texts: list[list[str] | None] = []
        for path in files:
            with Hdf5Arrays(path) as file:
                form = file.table_form(x)
                if form is None:
                    raise DataError(
                        f"{path} has no table of numbers {x!r}; give its path (x=, --x)"
                    )
                forms.append(form)
                named = file.array(names)
                texts.append(None if named is None else [str(name) for name in named.tolist()])
        width = forms[0][0][1]
        for path, (shape, _), names_in in zip(files, forms, texts, strict=True):
            if shape[1] != width or names_in != texts[0] or (names_in and len(names_in) != width):
                raise DataError(
                    f"{path} has {shape[1]} columns, {files[0]} {width}, or other names: parts "
                    "of one table have the same columns in the same order"
                )
        kinds = {form[1] for form in forms}
        return cls(
            what=str(files[0].parent if len(files) > 1 else files[0]),
            names=tuple(texts[0] or (f"f{k + 1}" for k in range(width))),
            files=tuple(files),
            x=x,
            y=y,
            dtype=kinds.pop() if len(kinds) == 1 else np.dtype(np.float64),
            lengths=tuple(form[0][0] for form in forms),
            codes=tuple(codes),
        )

    @property
    def n_rows(self) -> int:
        return sum(self.lengths)

    def frame(self, columns: Sequence[str]) -> Any:
        import polars

        X = np.concatenate([*self.blocks(columns, _LABELS, self.dtype)])
        return polars.DataFrame({name: X[:, k] for k, name in enumerate(columns)})

    def label(self) -> NDArray[Any]:
        """The label of all files, one after the other."""
        labels = []
        for path, length in zip(self.files, self.lengths, strict=True):
            with Hdf5Arrays(path) as file:
                values = file.array(self.y)
            if values is None or values.size != length:
                raise DataError(
                    f"{path} has no label {self.y!r} of {length} rows; give its path (y=, --y)"
                )
            labels.append(values.reshape(-1))
        return np.concatenate(labels)

    def _blocks(self, columns: Sequence[str], rows: int, dtype: Any) -> Iterator[NDArray[Any]]:
        place = {name: k for k, name in enumerate(self.names)}
        wanted = np.array([place[name] for name in columns])
        for path, length in zip(self.files, self.lengths, strict=True):
            with Hdf5Arrays(path) as file:
                for start in range(0, length, rows):
                    taken = slice(start, min(start + rows, length))
                    block = file.block(self.x, taken, wanted)
                    block = without_codes(block, self.codes)
                    yield np.ascontiguousarray(block, dtype=dtype)
                    # Free it before the next one is read.
                    del block


def files_of(given: str | os.PathLike[str] | Iterable[Any]) -> list[Path]:
    """The files of a pattern, a folder or a list; sorted by name except for a list.

    Raises
    ------
    DataError
        If there are none.
    """
    if isinstance(given, (list, tuple)):
        files = [Path(path) for path in given]
        lacking = [str(path) for path in files if not path.is_file()]
        if lacking or not files:
            raise DataError(f"there is no file {lacking[0]}" if lacking else "no parts are named")
        return files
    path = Path(given)  # type: ignore[arg-type]
    if path.is_dir():
        files = sorted(path.iterdir())
    else:
        anchor = Path(path.anchor or ".")
        files = sorted(anchor.glob(str(path.relative_to(anchor) if path.anchor else path)))
    files = [part for part in files if part.is_file() and not part.name.startswith((".", "_"))]
    if not files:
        raise DataError(f"no file matches {str(path)!r}")
    return files
