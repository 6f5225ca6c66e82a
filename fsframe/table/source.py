"""Sources of tables: files, frames, arrays, parts."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.errors import DataError
from fsframe.table.array_files import load_arrays
from fsframe.table.column_facts import Block, Column, Contents, gathered, one_column
from fsframe.table.column_kinds import spelled_numbers
from fsframe.table.dialect import delimiter_name
from fsframe.table.file_table import Table, quoted
from fsframe.table.frames import frame_column, frame_names, frame_texts, take_frame
from fsframe.table.parts import large_in_file, rows_of_parts
from fsframe.table.reader import (
    ArrayTable,
    check_options,
    file_kind,
    find_table,
    in_parts,
    named_paths,
    read_frame,
    spelled_text,
)
from fsframe.table.row_readers import RowReader
from fsframe.table.sheet import Sheet, load_sheet

# Numbers in one block of columns.
_BLOCK = 1 << 22
_FORMS = {"npz": "NPZ arrays", "hdf5": "HDF5 datasets"}


@attrs.frozen(kw_only=True, eq=False)
class TextInFile(Table):
    """The columns of a delimited text.

    Parameters
    ----------
    sheet : Sheet
    """

    sheet: Sheet

    @classmethod
    def of(cls, sheet: Sheet) -> TextInFile:
        """The columns of `sheet`; DataError if its rows differ in length."""
        sheet.check()
        form = sheet.form or f"text, {delimiter_name(sheet.delimiter)} between fields"
        names = f"names in the first {sheet.line_word}" if sheet.names else "no names of columns"
        return cls(
            path=sheet.path,
            form=f"{form}, {names}",
            names=sheet.names or tuple(f"f{k + 1}" for k in range(sheet.n_fields)),
            n_rows=sheet.n_rows,
            spelled_names=sheet.spelled_names,
            delimiter=sheet.delimiter,
            decimal=sheet.cells.decimal,
            missing=sheet.missing,
            sheet=sheet,
        )

    def rows(self, columns: Sequence[int]) -> Iterator[list[str]]:
        return self.sheet.rows(columns)

    def _numbers(self, columns: Sequence[int]) -> NDArray[np.float64]:
        taken = self.sheet.take(columns)
        found = np.asarray(taken.X, dtype=np.float64)
        bad = dict(taken.bad)
        for column in taken.bad:
            spelled = self.sheet.numbers_spelled(column)
            if spelled is not None:
                found[:, list(columns).index(column)] = spelled[0]
                del bad[column]
        if bad:
            raise self.sheet.not_numbers(bad)
        return found

    def column(self, column: int) -> Column:
        taken = self.sheet.take([column])
        if taken.bad:
            texts = self._texts([column])[column]
            spelled = spelled_numbers(texts, self.decimal)
            return texts if spelled is None else spelled[0]
        return np.asarray(taken.X[:, 0], dtype=np.float64)

    def blocks(self) -> Iterator[Block]:
        every = list(range(self.sheet.n_fields))
        taken = self.sheet.take(every)
        texts = self._texts(sorted(taken.bad))
        X: NDArray[Any] = taken.X
        for column in sorted(texts):
            spelled = spelled_numbers(texts[column], self.decimal)
            if spelled is not None:
                X[:, column] = spelled[0]
                del texts[column]
        width = max(1, _BLOCK // max(1, self.n_rows))
        for start in range(0, len(every), width):
            block = X[:, start : start + width].astype(np.float64, copy=False)
            yield start, block, {k: texts[k] for k in texts if start <= k < start + width}

    def _texts(self, columns: Sequence[int]) -> dict[int, list[str | None]]:
        found = self.sheet.take([], columns).texts if columns else {}
        return {
            column: [None if self.missing(text) else text for text in cells]
            for column, cells in found.items()
        }


@attrs.frozen(kw_only=True, eq=False)
class ArraysInFile(Table):
    """Features, in memory or read by columns, followed by the label and other annotations.

    Parameters
    ----------
    arrays : ArrayTable
    """

    arrays: ArrayTable

    @classmethod
    def of(cls, arrays: ArrayTable, form: str) -> ArraysInFile:
        """The columns of `arrays`."""
        names = (*arrays.feature_names, *arrays.others)
        n_rows = arrays.X.shape[0]
        return cls(path=arrays.path, form=form, names=names, n_rows=n_rows, arrays=arrays)

    @property
    def _p(self) -> int:
        return int(self.arrays.X.shape[1])

    def _other(self, column: int) -> NDArray[Any]:
        return self.arrays.others[self.names[column]]

    def rows(self, columns: Sequence[int]) -> Iterator[list[str]]:
        features = [column for column in columns if column < self._p]
        others = {column: self._other(column) for column in columns if column >= self._p}
        for row, values in enumerate(self._features(features)):
            # str of a NumPy number is the shortest text that parses to the same number.
            cells = {c: "" if v != v else str(v) for c, v in zip(features, values, strict=True)}
            for column, other in others.items():
                cells[column] = "" if other[row] != other[row] else quoted(str(other[row]), ",")
            yield [cells[column] for column in columns]

    def _numbers(self, columns: Sequence[int]) -> NDArray[np.float64]:
        found = np.empty((self.n_rows, len(columns)))
        features = [place for place, column in enumerate(columns) if column < self._p]
        found[:, features] = self._features([columns[place] for place in features])
        for place, column in enumerate(columns):
            if column < self._p:
                continue
            try:
                found[:, place] = self._other(column).astype(np.float64)
            except ValueError:
                raise DataError(f"column {column + 1} holds text, not numbers") from None
        return found

    def column(self, column: int) -> Column:
        if column < self._p:
            return self._span(column, column + 1)[:, 0]
        values = self._other(column)
        if values.dtype.kind in "UO":
            return [str(text).strip() or None for text in values.tolist()]
        return np.asarray(values, dtype=np.float64)

    def blocks(self) -> Iterator[Block]:
        width = max(1, _BLOCK // max(1, self.n_rows))
        for start in range(0, self._p, width):
            yield start, self._span(start, min(start + width, self._p)), {}
        yield from (one_column(k, self.column(k)) for k in range(self._p, len(self.names)))

    def _features(self, columns: list[int]) -> NDArray[Any]:
        X = self.arrays.X
        if isinstance(X, np.ndarray):
            return np.asarray(X[:, columns])
        chosen = X.take(np.array(columns, dtype=np.intp))
        return np.asarray(chosen.read(0, len(columns)))

    def _span(self, start: int, stop: int) -> NDArray[np.float64]:
        X = self.arrays.X
        part = X[:, start:stop] if isinstance(X, np.ndarray) else X.read(start, stop)
        return np.asarray(part, dtype=np.float64)


@attrs.frozen(kw_only=True, eq=False)
class FrameInFile(Table):
    """The columns of a data frame that a plugin's reader has returned.

    Parameters
    ----------
    frame : data frame
    """

    frame: Any

    def rows(self, columns: Sequence[int]) -> Iterator[list[str]]:
        lists = [frame_texts(self.frame, column) for column in columns]
        yield from ([quoted(text, ",") for text in row] for row in zip(*lists, strict=True))

    def _numbers(self, columns: Sequence[int]) -> NDArray[np.float64]:
        others = [k for k in range(len(self.names)) if k not in set(columns)]
        parts = take_frame(self.frame, {"drop": others})
        return np.asarray(parts.X, dtype=np.float64)

    def column(self, column: int) -> Column:
        return frame_column(self.frame, column)


@attrs.frozen(kw_only=True, eq=False)
class PartsInFiles(Table):
    """The columns of a table in parts; only those asked for are in memory.

    Parameters
    ----------
    reader : RowReader
    """

    reader: RowReader

    def rows(self, columns: Sequence[int]) -> Iterator[list[str]]:
        yield from self._taken(columns).rows(range(len(columns)))

    def _numbers(self, columns: Sequence[int]) -> NDArray[np.float64]:
        return self._taken(columns)._numbers(range(len(columns)))

    def column(self, column: int) -> Column:
        return self._taken([column]).column(0)

    def _taken(self, columns: Sequence[int]) -> FrameInFile:
        self.reader.check()
        names = tuple(self.names[column] for column in columns)
        frame = self.reader.frame(names)
        return FrameInFile(
            path=self.path, form=self.form, names=names, n_rows=self.n_rows, frame=frame
        )


def missing_codes(na: str | float | Iterable[str | float]) -> tuple[str, ...]:
    """The argument `na` of `fsframe.read` as texts.

    >>> missing_codes(-9), missing_codes(["?", 99])
    (('-9',), ('?', '99'))
    """
    return tuple(str(code) for code in ([na] if isinstance(na, (str, int, float)) else na))


def load_content(
    path: Path,
    kind: str,
    *,
    label: str | int | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    na: str | float | Iterable[str | float] = (),
    x: str = "/X",
    y: str = "/y",
    names: str = "/feature_names",
    in_memory: bool | None = True,
    one_column: bool = False,
    refused: Sequence[str] = (),
) -> Any:
    """The content of a file that is not read in parts, before its columns have roles.

    Parameters
    ----------
    path : Path
    kind : str
        As `file_kind` gives it.
    label, delimiter, header, decimal, encoding, na, x, y, names, in_memory
        As in `fsframe.read`; those that do not apply to the format are ignored.
    one_column : bool
        Whether a text without a delimiter is a table of one column.
    refused : sequence of str
        Arguments that were given, and that no reader of a plugin takes unless it reads text.

    Returns
    -------
    Sheet, ArrayTable, or a data frame

    Raises
    ------
    DataError
        If the file is damaged, or of an unknown format.
    """
    codes = missing_codes(na)
    text, form = spelled_text(path, kind)
    if kind == "text" or text is not None:
        return load_sheet(
            path, text=text, form=form, delimiter=delimiter, label=label, header=header,
            decimal=decimal, encoding=encoding, na=codes, one_column=one_column,
        )  # fmt: skip
    if kind in _FORMS:
        return load_arrays(path, kind, x=x, y=y, names=names, in_memory=in_memory, na=codes)
    check_options(path, kind, refused)
    return read_frame(path, kind, **named_paths(x, y))


def open_table(path: str | os.PathLike[str], **form: Any) -> Table:
    """The table in a file that is not read in parts; arguments as for `load_content`.

    Raises
    ------
    DataError
        If the file is missing, damaged, of an unknown format, or rows of a text differ in length.
    """
    found = find_table(path)
    kind = file_kind(found)
    content = load_content(found, kind, **form)
    if isinstance(content, Sheet):
        return TextInFile.of(content)
    if isinstance(content, ArrayTable):
        return ArraysInFile.of(content, _FORMS.get(kind, kind))
    return FrameInFile(
        path=found, form=kind, names=frame_names(content), n_rows=len(content), frame=content
    )


def read_table(path: str | os.PathLike[str], *, x: str = "/X", **form: Any) -> Table:
    """The table in a file, with or without a label, its cells untouched.

    Parameters
    ----------
    path, x
        As in `fsframe.read`.
    form
        delimiter, header, decimal, encoding, na, y and names, as in `fsframe.read`.

    Returns
    -------
    Table
        Columns of a text file without a line of names are called ``f1, f2, …``. Of a table in parts
        (a folder, a pattern) only the columns that are used are loaded; parts in HDF5 files have
        no label here.

    Raises
    ------
    DataError
        If the file is missing, damaged, of another kind, or its rows differ in length.
    """
    found = find_table(path)
    kind = "" if in_parts(found) else file_kind(found)
    if kind and not (kind in ("parquet", "arrow") and large_in_file(found, kind, x)):
        return open_table(found, x=x, one_column=True, **form)
    given = {key: form[key] for key in ("y", "names") if key in form}
    reader = rows_of_parts(found, x=x, na=missing_codes(form.get("na", ())), **given)
    return PartsInFiles(
        path=found, form="parts", names=reader.names, n_rows=reader.n_rows, reader=reader
    )


def contents(path: str | os.PathLike[str], **form: Any) -> Contents:
    """Summarise the columns of a file, even if it cannot be used in a chain.

    The arguments are those of `load_content`. DataError if the file is not a table: missing,
    damaged, rows of different lengths. O(n log n) per column, for the number of different values.
    """
    try:
        source = open_table(path, in_memory=None, **form)
    except DataError:
        # A single column is shown, too; blanks between fields are found as in `read`.
        source = open_table(path, in_memory=None, one_column=True, **form)
    return _contents_of(source)


def contents_of_sheet(sheet: Sheet) -> Contents:
    """The columns of a text table."""
    return _contents_of(TextInFile.of(sheet))


def _contents_of(source: Table) -> Contents:
    found = gathered(
        source.path,
        source.form,
        source.names,
        source.n_rows,
        source.column,
        source.blocks(),
        source.decimal,
    )
    if isinstance(source, TextInFile):
        sheet = source.sheet
        return attrs.evolve(found, row_names=sheet.has_row_names, named=sheet.names is not None)
    if isinstance(source, ArraysInFile):
        arrays = source.arrays
        return attrs.evolve(
            found,
            label_array=arrays.X.shape[1] if arrays.y is not None else None,
            named=arrays.names is not None or bool(arrays.beside),
            beside=len(arrays.beside),
            leaves_rows_out=False,
        )
    return attrs.evolve(found, takes_codes=False)
