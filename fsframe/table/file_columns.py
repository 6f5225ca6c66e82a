"""The columns of a file (text, arrays, frames, parts) behind one interface."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.errors import DataError
from fsframe.table.arrays import column_block
from fsframe.table.cells import Missing
from fsframe.table.column_facts import Block, Column, Contents, contents_of_frame, gathered
from fsframe.table.column_kinds import ColumnKind, numbers_of
from fsframe.table.columns import check_finite, column_word
from fsframe.table.dialect import delimiter_name, quoted, unquote
from fsframe.table.frames import columns_of, series_texts, series_values
from fsframe.table.number_spellings import numbers_in, spelled_numbers
from fsframe.table.reader import ArrayTable
from fsframe.table.sheet import Sheet
from fsframe.table.table_columns import not_numbers
from fsframe.table.text_file import is_number, known_texts
from fsframe.text import counted, did_you_mean, some_of

if TYPE_CHECKING:
    from fsframe.table.row_readers import RowReader

_BLOCK = 1 << 22
"""Numbers in one block of columns."""

Values = tuple[NDArray[Any], dict[int, list[str | None]]]
"""Some columns as numbers, (n_rows, n_columns), and the texts of those that hold text."""


@attrs.frozen(kw_only=True, eq=False)
class Table:
    """All columns of a file, before they have roles, with the cells as in the file.

    Each form of files has a subclass, which defines `_spelled` and `_values`.

    Parameters
    ----------
    path : Path
    form : str
        Description of the format.
    names : tuple of str
        One per column, including the label and extra columns; ``f1, f2, …`` if the file has none.
    n_rows : int
    spelled_names : tuple of str or None
        The line of names as spelled; None if the file has none.
    delimiter : str
        Between fields of the file; a comma for arrays.
    decimal : str
    missing : Missing
        Which cells are missing.
    row_names : tuple of str or None
        Names of the rows that are not a column, such as those of samples in the first line.
    fill : mapping of int to (n_rows,) float64
        What replaces the missing cells of columns in `rows`.
    """

    path: Path
    form: str
    names: tuple[str, ...] = attrs.field(repr=False)
    n_rows: int
    spelled_names: tuple[str, ...] | None = attrs.field(repr=False)
    delimiter: str = ","
    decimal: str = attrs.field(default=".", repr=False)
    missing: Missing = attrs.field(factory=Missing, repr=False)
    row_names: tuple[str, ...] | None = attrs.field(default=None, repr=False)
    fill: Mapping[int, NDArray[np.float64]] = attrs.field(factory=dict, repr=False)

    @spelled_names.default
    def _quoted_names(self) -> tuple[str, ...]:
        return tuple(quoted(name, ",") for name in self.names)

    def _spelled(self, columns: Sequence[int]) -> Iterator[list[str]]:
        """The cells of some columns as in the file, row by row."""
        raise NotImplementedError

    def _values(self, columns: Sequence[int], *, numeric: bool = False) -> Values:
        """Some columns; `numeric` ones are known to hold numbers (DataError may say otherwise)."""
        raise NotImplementedError

    def _about(self) -> dict[str, Any]:
        """Fields of `Contents` for tables of this form, besides the facts of columns."""
        return {"takes_codes": False}

    def rows(self, columns: Sequence[int]) -> Iterator[list[str]]:
        """The cells of some columns as spelled, quotes and blanks included, row by row."""
        if not self.fill:
            yield from self._spelled(columns)
            return
        fill = [self.fill.get(column) for column in columns]
        for row, cells in enumerate(self._spelled(columns)):
            yield [
                cell
                if values is None or not self.missing(unquote(cell))
                else self._spelled_number(values[row])
                for cell, values in zip(cells, fill, strict=True)
            ]

    def _spelled_number(self, value: float) -> str:
        text = repr(float(value)).removesuffix(".0").replace(".", self.decimal)
        return quoted(text, self.delimiter)

    def column(self, column: int) -> Column:
        """The values of a column."""
        X, texts = self._values([column])
        return texts[column] if texts else np.asarray(X[:, 0], dtype=np.float64)

    def blocks(self) -> Iterator[Block]:
        """All columns, some at a time."""
        every = range(len(self.names))
        for start in every[:: self._width]:
            yield start, *self._values(every[start : start + self._width])

    @property
    def _width(self) -> int:
        """Most columns in a block."""
        return max(1, _BLOCK // max(1, self.n_rows))

    def contents(self) -> Contents:
        """The facts of all columns."""
        return gathered(
            self.blocks(), self.column, path=self.path, form=self.form, names=self.names,
            n_rows=self.n_rows, decimal=self.decimal, **self._about(),
        )  # fmt: skip

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
        gaps, texts = Counter[int](), set[int]()
        for cells in self.rows([*fill]):
            for column, cell in zip(fill, map(unquote, cells), strict=True):
                if self.missing(cell):
                    gaps[column] += 1
                elif column not in texts:
                    plain = cell.replace(",", ".") if self.decimal == "," else cell
                    if not is_number(plain):
                        texts.add(column)
        lacking = [column for column in fill if gaps[column]]
        known = {
            column: np.broadcast_to(fill[column], (self.n_rows,))
            for column in lacking
            if column not in texts
        }
        left = [column for column in lacking if column in texts]
        return attrs.evolve(self, fill=known), sum(gaps[column] for column in known), left

    def places(self, features: Sequence[str]) -> list[int]:
        """Positions of the named columns.

        Raises
        ------
        DataError
            If columns are missing, all of which are named, or a name occurs twice.
        """
        times = Counter(self.names)
        missing = [name for name in features if name not in times]
        if missing:
            raise DataError(self._lacking(missing, len(features)))
        double = [name for name in features if times[name] > 1]
        if double:
            raise DataError(f"{self.path}: several columns are named {double[0]!r}; rename them")
        place = {name: column for column, name in enumerate(self.names)}
        return [place[name] for name in features]

    def _lacking(self, missing: list[str], needed: int) -> str:
        shown = []
        for name in missing[:5]:
            hint = did_you_mean(name, self.names).removeprefix(". ")
            shown.append(repr(name) + (f" ({hint})" if hint else ""))
        return (
            f"{self.path} lacks {len(missing)} of the {needed} columns that are needed: "
            f"{some_of([*shown, *missing[5:]])}; it has {counted(len(self.names), 'column')}"
        )

    def numbers(
        self, features: Sequence[str], kinds: Mapping[str, ColumnKind] | None = None
    ) -> NDArray[np.float64]:
        """The named columns in that order as (n_rows, n_features) float64, NaN where missing.

        Parameters
        ----------
        features : sequence of str
        kinds : mapping of str to ColumnKind, optional
            Kinds of columns of a Dataset. Levels get the codes that they have there, and an unknown
            level of a nominal column a code above all others.

        Raises
        ------
        DataError
            If a column is missing, holds text or an infinite value; the message says where. Also as
            `fsframe.table.column_kinds.numbers_of`.
        """
        kinds = kinds or {}
        spelled = {
            k: kinds[name]
            for k, name in enumerate(features)
            if name in kinds and (kinds[name].levels or kinds[name].kind == "date")
        }
        sources = [*features]
        for k, kind in spelled.items():
            sources[k] = kind.column or features[k]
        # All missing columns are reported together.
        wanted = list(dict.fromkeys(sources))
        place = dict(zip(wanted, self.places(wanted), strict=True))
        places = [place[name] for name in sources]
        X = np.empty((self.n_rows, len(features)))
        plain = [k for k in range(len(features)) if k not in spelled]
        if plain:
            columns = sorted({places[k] for k in plain})
            of_plain = np.searchsorted(columns, [places[k] for k in plain])
            X[:, plain] = self._numbers(columns)[:, of_plain]
        columns = sorted({places[k] for k in spelled})
        cells = [[unquote(cell) for cell in row] for row in self.rows(columns)] if spelled else []
        for k, kind in spelled.items():

            def where(row: int, name: str = sources[k]) -> str:
                return f"{self.path}, row {row + 1}, column {name!r}"

            at = columns.index(places[k])
            X[:, k] = numbers_of([row[at] for row in cells], kind, self.missing, where)
        return X

    def _numbers(self, columns: Sequence[int]) -> NDArray[np.float64]:
        """Some columns, ascending; DataError if one holds text or an infinite value."""
        values, texts = self._values(columns, numeric=True)
        X = np.asarray(values, dtype=np.float64)
        words = [column_word(column, self.names[column]) for column in columns]
        for column, cells in texts.items():
            at = columns.index(column)
            numbers = numbers_in(cells)
            if numbers is None:
                raise DataError(f"{self.path}: {words[at]} holds text, not numbers")
            X[:, at] = numbers
        check_finite(X, lambda row, at: f"{self.path}, row {row + 1}, {words[at]}")
        return X


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
            decimal=sheet.decimal,
            missing=sheet.missing,
            sheet=sheet,
        )

    def _spelled(self, columns: Sequence[int]) -> Iterator[list[str]]:
        return self.sheet.rows(columns)

    def _values(self, columns: Sequence[int], *, numeric: bool = False) -> Values:
        taken = self.sheet.take(columns)
        texts: dict[int, list[str | None]] = {}
        cells_of = self.sheet.take([], sorted(taken.bad)).texts if taken.bad else {}
        for column, cells in cells_of.items():
            known = known_texts(cells, self.missing)
            spelled = spelled_numbers(known, self.decimal, measured=numeric)
            if spelled is None:
                texts[column] = known
            else:
                taken.X[:, columns.index(column)] = spelled[0]
        if numeric and texts:
            raise not_numbers(self.sheet, {column: taken.bad[column] for column in texts})
        return taken.X, texts

    def blocks(self) -> Iterator[Block]:
        # All columns at once: reading some takes as long.
        every = range(self.sheet.n_fields)
        X, texts = self._values(every)
        for start in every[:: self._width]:
            columns = every[start : start + self._width]
            block = X[:, columns.start : columns.stop].astype(np.float64, copy=False)
            yield start, block, {k: texts[k] for k in texts if k in columns}

    def _about(self) -> dict[str, Any]:
        sheet = self.sheet
        return {
            "row_names": sheet.has_row_names, "named": sheet.names is not None,
            "notes": sheet.notes, "label_array": sheet.n_fields - 1 if sheet.labelled else None,
        }  # fmt: skip


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
        return cls(
            path=arrays.path, form=form, names=names, n_rows=n_rows, row_names=arrays.samples,
            arrays=arrays,
        )  # fmt: skip

    def _array(self, column: int) -> NDArray[Any]:
        """A column as it is kept."""
        if column >= self.arrays.X.shape[1]:
            return self.arrays.others[self.names[column]]
        return np.asarray(column_block(self.arrays.X, column, column + 1))[:, 0]

    def _spelled(self, columns: Sequence[int]) -> Iterator[list[str]]:
        for cells in zip(*map(self._array, columns), strict=True):
            # str of a NumPy number is the shortest text that parses to the same number.
            yield ["" if cell != cell else quoted(str(cell), ",") for cell in cells]

    def _values(self, columns: Sequence[int], *, numeric: bool = False) -> Values:
        X, texts = np.full((self.n_rows, len(columns)), np.nan), {}
        for place, column in enumerate(columns):
            values = self._array(column)
            if values.dtype.kind in "UO":
                texts[column] = [str(text).strip() or None for text in values.tolist()]
            else:
                X[:, place] = values
        return X, texts

    def blocks(self) -> Iterator[Block]:
        # Features are read from their file many at a time.
        p = self.arrays.X.shape[1]
        for start in range(0, p, self._width):
            block = column_block(self.arrays.X, start, min(start + self._width, p))
            yield start, np.asarray(block, dtype=np.float64), {}
        yield p, *self._values(range(p, len(self.names)))

    def _about(self) -> dict[str, Any]:
        arrays = self.arrays
        return {
            "label_array": None if arrays.y is None else arrays.X.shape[1],
            "named": arrays.names is not None or bool(arrays.beside),
            "beside": len(arrays.beside),
            "without_label": "" if arrays.others else arrays.no_label,
            "notes": arrays.notes,
            "leaves_rows_out": bool(arrays.beside) and isinstance(arrays.X, np.ndarray),
        }


@attrs.frozen(kw_only=True, eq=False)
class FrameInFile(Table):
    """The columns of a data frame that a plugin's reader has returned.

    Parameters
    ----------
    frame : data frame
    labelled : bool
        Whether the last column is the label, from a separate file.
    """

    frame: Any
    labelled: bool = False

    @cached_property
    def _series(self) -> list[Any]:
        return [series for _, series in columns_of(self.frame)]

    def _spelled(self, columns: Sequence[int]) -> Iterator[list[str]]:
        lists = [series_texts(self._series[column]) for column in columns]
        yield from ([quoted(text, ",") for text in row] for row in zip(*lists, strict=True))

    def _values(self, columns: Sequence[int], *, numeric: bool = False) -> Values:
        X, texts = np.full((self.n_rows, len(columns)), np.nan), {}
        for place, column in enumerate(columns):
            values = series_values(self._series[column])
            if isinstance(values, list):
                texts[column] = values
            else:
                X[:, place] = values
        return X, texts

    def contents(self) -> Contents:
        label = len(self.names) - 1 if self.labelled else None
        found = contents_of_frame(self.frame, str(self.path))
        return attrs.evolve(found, form=self.form, label_array=label)


@attrs.frozen(kw_only=True, eq=False)
class PartsInFiles(Table):
    """The columns of a table in parts; only those asked for are in memory.

    Parameters
    ----------
    reader : RowReader
    """

    reader: RowReader

    def _loaded(self, columns: Sequence[int]) -> FrameInFile:
        self.reader.check()
        names = tuple(self.names[column] for column in columns)
        frame = self.reader.frame(names)
        return FrameInFile(
            path=self.path, form=self.form, names=names, n_rows=self.n_rows, frame=frame
        )

    def _spelled(self, columns: Sequence[int]) -> Iterator[list[str]]:
        return self._loaded(columns)._spelled(range(len(columns)))

    def _values(self, columns: Sequence[int], *, numeric: bool = False) -> Values:
        X, texts = self._loaded(columns)._values(range(len(columns)))
        return X, {columns[place]: cells for place, cells in texts.items()}
