"""A table with unchanged cells, to which finished runs are applied; the label may be missing."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.contracts.column_kinds import ColumnKind, numbers_of
from fsframe.contracts.data_frames import take_frame
from fsframe.contracts.frame_columns import frame_names, frame_texts
from fsframe.contracts.showing import some_of
from fsframe.errors import DataError
from fsframe.suggest import did_you_mean
from fsframe.tables.array_table import ArrayTable
from fsframe.tables.cell_syntax import is_number
from fsframe.tables.cells import Missing
from fsframe.tables.column_lookup import column_word
from fsframe.tables.dialect import unquote
from fsframe.tables.feature_checks import check_finite
from fsframe.tables.locate import file_kind, find_table, in_parts
from fsframe.tables.parts import large_in_file, rows_of_parts
from fsframe.tables.reader import named_paths, read_frame
from fsframe.tables.row_readers import RowReader
from fsframe.tables.sheet import Sheet, load_sheet

__all__ = ["Table", "read_table"]


class _Cells(Protocol):
    """Source of cells: a text file, arrays or a data frame."""

    def rows(self, columns: Sequence[int]) -> Iterator[list[str]]: ...
    def numbers(self, columns: Sequence[int]) -> NDArray[np.float64]: ...


@attrs.frozen(kw_only=True, eq=False)
class Table:
    """A table with its cells as in the file.

    Parameters
    ----------
    path : Path
    names : tuple of str
        One per column, the label's and those of extra columns too.
    spelled_names : tuple of str or None
        The line of names as spelled; None if the file has none.
    delimiter : str
        Between fields of the file; a comma for arrays.
    n_rows : int
    """

    path: Path
    names: tuple[str, ...]
    spelled_names: tuple[str, ...] | None = attrs.field(repr=False)
    delimiter: str
    n_rows: int
    _cells: _Cells = attrs.field(repr=False)
    _missing: Missing = attrs.field(factory=Missing, repr=False)
    _decimal: str = attrs.field(default=".", repr=False)

    def filled(
        self, fill: Mapping[int, float | NDArray[np.float64]]
    ) -> tuple[Table, int, list[int]]:
        """The table with missing values filled, their number, and the columns left unchanged.

        Parameters
        ----------
        fill : mapping of int to float or (n_rows,) float64
            Fill values by column, for all rows or for each. Columns of text are left unchanged: the
            codes of their levels are defined by the training table.
        """
        gaps = dict.fromkeys(fill, 0)
        texts: set[int] = set()
        order = list(fill)
        for cells in self.rows(order):
            for column, cell in zip(order, map(unquote, cells), strict=True):
                if self._missing(cell):
                    gaps[column] += 1
                elif column not in texts:
                    plain = cell.replace(",", ".") if self._decimal == "," else cell
                    if not is_number(plain):
                        texts.add(column)
        left = [column for column in order if gaps[column] and column in texts]
        known = {
            column: np.broadcast_to(fill[column], (self.n_rows,))
            for column in order
            if gaps[column] and column not in texts
        }
        cells_of = _FilledCells(self._cells, known, self._missing, self._decimal, self.delimiter)
        found = attrs.evolve(self, cells=cells_of)
        return found, sum(gaps[column] for column in known), left

    def rows(self, columns: Sequence[int]) -> Iterator[list[str]]:
        """The cells of some columns as spelled, quotes and blanks included, row by row."""
        return self._cells.rows(columns)

    def places(self, features: Sequence[str]) -> list[int]:
        """Positions of the named columns.

        Raises
        ------
        DataError
            Naming all that are missing, or that occur twice.
        """
        place: dict[str, int] = {}
        twice = set()
        for column, name in enumerate(self.names):
            if place.setdefault(name, column) != column:
                twice.add(name)
        missing = [name for name in features if name not in place]
        if missing:
            raise DataError(self._lacking(missing, len(features)))
        double = [name for name in features if name in twice]
        if double:
            raise DataError(f"{self.path}: several columns are named {double[0]!r}; rename them")
        return [place[name] for name in features]

    def numbers(self, features: Sequence[str]) -> NDArray[np.float64]:
        """The named columns in that order as (n_rows, n_features) float64, NaN where missing.

        Raises
        ------
        DataError
            If a column is not there, holds text or an infinite value; with its place.
        """
        places = self.places(features)
        ascending = sorted(set(places))
        X = self._cells.numbers(ascending)
        check_finite(
            X,
            lambda row, column: (
                f"{self.path}, row {row + 1}, "
                f"{column_word(ascending[column], self.names[ascending[column]])}"
            ),
        )
        return np.ascontiguousarray(X[:, np.searchsorted(ascending, places)])

    def features(
        self, features: Sequence[str], kinds: Mapping[str, ColumnKind]
    ) -> NDArray[np.float64]:
        """As `numbers`, for features of a Dataset with columns of other kinds than numbers.

        Levels have the codes that they have there. An unknown level of a nominal column
        gets a code above all others.

        Raises
        ------
        DataError
            As `numbers` and `fsframe.contracts.column_kinds.numbers_of` say.
        """
        spelled = {
            name: kinds[name]
            for name in features
            if name in kinds and (kinds[name].levels or kinds[name].kind == "date")
        }
        plain = [name for name in features if name not in spelled]
        sources = {name: kind.column or name for name, kind in spelled.items()}
        # Report all missing columns together.
        wanted = list(dict.fromkeys(sources.get(name, name) for name in features))
        places = dict(zip(wanted, self.places(wanted), strict=True))
        if not spelled:
            return self.numbers(features)
        X = np.empty((self.n_rows, len(features)))
        at = {name: place for place, name in enumerate(features)}
        if plain:
            X[:, [at[name] for name in plain]] = self.numbers(plain)
        columns = sorted({places[source] for source in sources.values()})
        cells = [[unquote(cell) for cell in row] for row in self.rows(columns)]
        for name, kind in spelled.items():
            place = columns.index(places[sources[name]])

            def where(row: int, name: str = sources[name]) -> str:
                return f"{self.path}, row {row + 1}, column {name!r}"

            texts = [row[place] for row in cells]
            X[:, at[name]] = numbers_of(texts, kind, self._missing, where)
        return X

    def _lacking(self, missing: list[str], needed: int) -> str:
        shown = []
        for name in missing[:5]:
            hint = did_you_mean(name, self.names).removeprefix(". ")
            shown.append(repr(name) + (f" ({hint})" if hint else ""))
        return (
            f"{self.path} lacks {len(missing)} of the {needed} columns that are needed: "
            f"{some_of([*shown, *missing[5:]])}; it has {len(self.names)} columns"
        )


@attrs.frozen
class _FilledCells:
    """Cells with fill values for missing ones."""

    inner: _Cells
    fill: Mapping[int, NDArray[np.float64]]
    missing: Missing
    decimal: str
    delimiter: str

    def rows(self, columns: Sequence[int]) -> Iterator[list[str]]:
        fill = [self.fill.get(column) for column in columns]
        for row, cells in enumerate(self.inner.rows(columns)):
            yield [
                cell if new is None or not self.missing(unquote(cell)) else self._spelled(new[row])
                for cell, new in zip(cells, fill, strict=True)
            ]

    def _spelled(self, value: float) -> str:
        text = repr(float(value)).removesuffix(".0").replace(".", self.decimal)
        return quoted(text, self.delimiter)

    def numbers(self, columns: Sequence[int]) -> NDArray[np.float64]:
        X = self.inner.numbers(columns)
        for place, column in enumerate(columns):
            if column in self.fill:
                gaps = np.isnan(X[:, place])
                X[gaps, place] = self.fill[column][gaps]
        return X


@attrs.frozen
class _SheetCells:
    sheet: Sheet

    def rows(self, columns: Sequence[int]) -> Iterator[list[str]]:
        return self.sheet.rows(columns)

    def numbers(self, columns: Sequence[int]) -> NDArray[np.float64]:
        taken = self.sheet.take(columns)
        if taken.bad:
            raise self.sheet.not_numbers(taken.bad)
        return np.asarray(taken.X, dtype=np.float64)


@attrs.frozen
class _ArrayCells:
    X: Any
    others: tuple[NDArray[Any], ...]

    def rows(self, columns: Sequence[int]) -> Iterator[list[str]]:
        p = self.X.shape[1]
        features = [column for column in columns if column < p]
        for row, values in enumerate(self._features(features)):
            # str of a NumPy number is the shortest text that parses to the same number.
            cells = {c: "" if v != v else str(v) for c, v in zip(features, values, strict=True)}
            for place, other in enumerate(self.others, start=p):
                text = str(other[row])
                cells[place] = "" if other[row] != other[row] else quoted(text, ",")
            yield [cells[column] for column in columns]

    def numbers(self, columns: Sequence[int]) -> NDArray[np.float64]:
        p = self.X.shape[1]
        found = np.empty((self.X.shape[0], len(columns)))
        features = [place for place, column in enumerate(columns) if column < p]
        found[:, features] = self._features([columns[place] for place in features])
        for place, column in enumerate(columns):
            if column < p:
                continue
            try:
                found[:, place] = self.others[column - p].astype(np.float64)
            except ValueError:
                raise DataError(f"column {column + 1} holds text, not numbers") from None
        return found

    def _features(self, columns: list[int]) -> NDArray[Any]:
        if isinstance(self.X, np.ndarray):
            return np.asarray(self.X[:, columns])
        chosen = self.X.take(np.array(columns, dtype=np.intp))
        return np.asarray(chosen.read(0, len(columns)))


@attrs.frozen
class _FrameCells:
    frame: Any

    def rows(self, columns: Sequence[int]) -> Iterator[list[str]]:
        lists = [frame_texts(self.frame, column) for column in columns]
        yield from ([quoted(text, ",") for text in row] for row in zip(*lists, strict=True))

    def numbers(self, columns: Sequence[int]) -> NDArray[np.float64]:
        others = [k for k in range(len(frame_names(self.frame))) if k not in set(columns)]
        parts = take_frame(self.frame, {"drop": others})
        return np.asarray(parts.X, dtype=np.float64)


@attrs.frozen
class _PartCells:
    """Cells of a table in parts; only the columns asked for are in memory."""

    reader: RowReader

    def rows(self, columns: Sequence[int]) -> Iterator[list[str]]:
        yield from self._taken(columns).rows(range(len(columns)))

    def numbers(self, columns: Sequence[int]) -> NDArray[np.float64]:
        return self._taken(columns).numbers(range(len(columns)))

    def _taken(self, columns: Sequence[int]) -> _FrameCells:
        self.reader.check()
        return _FrameCells(self.reader.frame([self.reader.names[column] for column in columns]))


def quoted(text: str, delimiter: str) -> str:
    r"""A text as a field, quoted only if necessary.

    >>> quoted("a,b", ","), quoted("a b", ","), quoted('6" pipe', "\t")
    ('"a,b"', 'a b', '"6"" pipe"')
    """
    if text == text.strip() and not any(sign in text for sign in (delimiter, '"', "\n")):
        return text
    return '"' + text.replace('"', '""') + '"'


def read_table(
    path: str | os.PathLike[str],
    *,
    delimiter: str | None = None,
    header: bool | None = None,
    decimal: str = ".",
    encoding: str | None = None,
    na: str | float | Iterable[str | float] = (),
    x: str = "/X",
    y: str = "/y",
    names: str = "/feature_names",
) -> Table:
    """The table in a file, with or without a label, its cells untouched.

    Parameters
    ----------
    path, delimiter, header, decimal, encoding, na, x, y, names
        As in `read`.

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
    codes = tuple(str(code) for code in ([na] if isinstance(na, (str, int, float)) else na))
    kind = "parts" if in_parts(found) else file_kind(found)
    if kind == "parts" or (kind in ("parquet", "arrow") and large_in_file(found, kind, x)):
        reader = rows_of_parts(found, x=x, y=y, names=names, na=codes)
        return _of_cells(found, reader.names, reader.n_rows, _PartCells(reader))
    if kind not in ("text", "npz", "hdf5"):
        frame = read_frame(found, kind, **named_paths(x, y))
        if isinstance(frame, ArrayTable):
            return _of_arrays(frame)
        return _of_cells(found, frame_names(frame), len(frame), _FrameCells(frame))
    if kind != "text":
        from fsframe.tables.array_files import load_arrays

        return _of_arrays(load_arrays(found, kind, x=x, y=y, names=names, na=codes))
    sheet = load_sheet(
        found,
        delimiter=delimiter,
        header=header,
        decimal=decimal,
        encoding=encoding,
        na=codes,
        one_column=True,
    )
    sheet.check()
    return Table(
        path=found,
        names=sheet.names or tuple(f"f{k + 1}" for k in range(sheet.n_fields)),
        spelled_names=sheet.spelled_names,
        delimiter=sheet.delimiter,
        n_rows=sheet.n_rows,
        cells=_SheetCells(sheet),
        missing=sheet.missing,
        decimal=decimal,
    )


def _of_arrays(arrays: ArrayTable) -> Table:
    cells = _ArrayCells(arrays.X, tuple(arrays.others.values()))
    names = (*arrays.feature_names, *arrays.others)
    return _of_cells(arrays.path, names, arrays.X.shape[0], cells)


def _of_cells(path: Path, names: tuple[str, ...], n_rows: int, cells: _Cells) -> Table:
    spelled = tuple(quoted(name, ",") for name in names)
    return Table(
        path=path, names=names, spelled_names=spelled, delimiter=",", n_rows=n_rows, cells=cells
    )
