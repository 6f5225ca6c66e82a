"""Sources of tables (text, arrays, frames, parts) behind one interface."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.errors import DataError, RequestError
from fsframe.table.array_files import load_arrays
from fsframe.table.arrays import column_block
from fsframe.table.cells import Missing, Taken
from fsframe.table.column_facts import Block, Column, Contents, gathered, one_column
from fsframe.table.column_kinds import ColumnKind, numbers_of
from fsframe.table.columns import check_finite, column_word, find_column
from fsframe.table.dialect import delimiter_name, quoted, unquote
from fsframe.table.frames import columns_of, frame_names, series_texts, series_values
from fsframe.table.further_files import (
    LABEL,
    Labels,
    file_beside,
    rows_of,
    with_labels,
    with_names,
)
from fsframe.table.number_spellings import numbers_in, spelled_numbers
from fsframe.table.reader import (
    IN_BLOCKS,
    ArrayTable,
    Form,
    check_options,
    file_kind,
    find_table,
    in_parts,
    reader_named,
)
from fsframe.table.samples import AboutSamples, with_samples
from fsframe.table.sheet import Sheet, load_sheet
from fsframe.table.table_columns import not_numbers
from fsframe.table.text_file import is_number, known_texts
from fsframe.text import counted, did_you_mean, some_of


@attrs.frozen(kw_only=True, eq=False)
class Table:
    """All columns of a file, before they have roles, with the cells as in the file.

    Each form of files has a subclass, which defines `rows` and `column`.

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

    @spelled_names.default
    def _quoted_names(self) -> tuple[str, ...]:
        return tuple(quoted(name, ",") for name in self.names)

    def rows(self, columns: Sequence[int]) -> Iterator[list[str]]:
        """The cells of some columns as spelled, quotes and blanks included, row by row."""
        raise NotImplementedError

    def column(self, column: int) -> Column:
        """The values of a column."""
        raise NotImplementedError

    def _numbers(self, columns: Sequence[int]) -> NDArray[np.float64]:
        """Some columns, ascending, as (n_rows, n_columns); DataError if one holds text."""
        numbers = np.empty((self.n_rows, len(columns)))
        for place, column in enumerate(columns):
            values = self.column(column)
            found = numbers_in(values) if isinstance(values, list) else values
            if found is None:
                word = column_word(column, self.names[column])
                raise DataError(f"{self.path}: {word} holds text, not numbers")
            numbers[:, place] = found
        return numbers

    def blocks(self) -> Iterator[Block]:
        """All columns, some at a time."""
        yield from (one_column(k, self.column(k)) for k in range(len(self.names)))

    def contents(self) -> Contents:
        """The facts of all columns."""
        found = gathered(
            self.path, self.form, self.names, self.n_rows, self.column, self.blocks(), self.decimal
        )
        return attrs.evolve(found, **self._about())

    def _about(self) -> dict[str, Any]:
        """Fields of `Contents` for tables of this form, besides the facts of columns."""
        return {"takes_codes": False}

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
                if self.missing(cell):
                    gaps[column] += 1
                elif column not in texts:
                    plain = cell.replace(",", ".") if self.decimal == "," else cell
                    if not is_number(plain):
                        texts.add(column)
        left = [column for column in order if gaps[column] and column in texts]
        known = {
            column: np.broadcast_to(fill[column], (self.n_rows,))
            for column in order
            if gaps[column] and column not in texts
        }
        fields = {field.name: getattr(self, field.name) for field in attrs.fields(Table)}
        filled = _FilledTable(**fields, inner=self, fill=known)
        return filled, sum(gaps[column] for column in known), left

    def places(self, features: Sequence[str]) -> list[int]:
        """Positions of the named columns.

        Raises
        ------
        DataError
            If columns are missing, all of which are named, or a name occurs twice.
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
            If a column is missing, holds text or an infinite value; the message says where.
        """
        places = self.places(features)
        ascending = sorted(set(places))
        X = self._numbers(ascending)
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
        """As `numbers`, for features of a Dataset that may have columns of other kinds.

        Levels get the codes that they have in the Dataset, and an unknown level of a nominal column
        a code above all others.

        Raises
        ------
        DataError
            As in `numbers` and `fsframe.table.column_kinds.numbers_of`.
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
            X[:, at[name]] = numbers_of(texts, kind, self.missing, where)
        return X

    def _lacking(self, missing: list[str], needed: int) -> str:
        shown = []
        for name in missing[:5]:
            hint = did_you_mean(name, self.names).removeprefix(". ")
            shown.append(repr(name) + (f" ({hint})" if hint else ""))
        return (
            f"{self.path} lacks {len(missing)} of the {needed} columns that are needed: "
            f"{some_of([*shown, *missing[5:]])}; it has {counted(len(self.names), 'column')}"
        )


@attrs.frozen(kw_only=True, eq=False)
class _FilledTable(Table):
    """The rows of a table with fill values for missing cells."""

    inner: Table
    fill: Mapping[int, NDArray[np.float64]]

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


if TYPE_CHECKING:
    from fsframe.table.row_readers import RowReader

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
        taken, texts = self._taken(columns, measured=True)
        if texts:
            raise not_numbers(self.sheet, {column: taken.bad[column] for column in texts})
        return np.asarray(taken.X, dtype=np.float64)

    def column(self, column: int) -> Column:
        taken, texts = self._taken([column])
        return texts[column] if texts else np.asarray(taken.X[:, 0], dtype=np.float64)

    def blocks(self) -> Iterator[Block]:
        every = range(self.sheet.n_fields)
        taken, texts = self._taken(every)
        width = max(1, _BLOCK // max(1, self.n_rows))
        for start in every[::width]:
            block = taken.X[:, start : start + width].astype(np.float64, copy=False)
            yield start, block, {k: texts[k] for k in texts if start <= k < start + width}

    def _about(self) -> dict[str, Any]:
        sheet = self.sheet
        named = sheet.names is not None
        return {
            "row_names": sheet.has_row_names, "named": named, "notes": sheet.notes,
            "label_array": sheet.n_fields - 1 if sheet.labelled else None,
        }  # fmt: skip

    def _taken(
        self, columns: Sequence[int], *, measured: bool = False
    ) -> tuple[Taken, dict[int, list[str | None]]]:
        """Some columns as numbers, and the texts of those that hold other text."""
        taken = self.sheet.take(columns)
        texts: dict[int, list[str | None]] = {}
        cells_of = self.sheet.take([], sorted(taken.bad)).texts if taken.bad else {}
        for column, cells in cells_of.items():
            known = known_texts(cells, self.missing)
            spelled = spelled_numbers(known, self.decimal, measured=measured)
            if spelled is None:
                texts[column] = known
            else:
                taken.X[:, columns.index(column)] = spelled[0]
        return taken, texts


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

    @property
    def _p(self) -> int:
        return int(self.arrays.X.shape[1])

    def _other(self, column: int) -> NDArray[Any]:
        return self.arrays.others[self.names[column]]

    def rows(self, columns: Sequence[int]) -> Iterator[list[str]]:
        kept = [self._span(c, c + 1)[:, 0] if c < self._p else self._other(c) for c in columns]
        for cells in zip(*kept, strict=True):
            # str of a NumPy number is the shortest text that parses to the same number.
            yield ["" if cell != cell else quoted(str(cell), ",") for cell in cells]

    def column(self, column: int) -> Column:
        if column < self._p:
            return np.asarray(self._span(column, column + 1)[:, 0], dtype=np.float64)
        values = self._other(column)
        if values.dtype.kind in "UO":
            return [str(text).strip() or None for text in values.tolist()]
        return np.asarray(values, dtype=np.float64)

    def blocks(self) -> Iterator[Block]:
        width = max(1, _BLOCK // max(1, self.n_rows))
        for start in range(0, self._p, width):
            block = self._span(start, min(start + width, self._p))
            yield start, np.asarray(block, dtype=np.float64), {}
        yield from (one_column(k, self.column(k)) for k in range(self._p, len(self.names)))

    def _about(self) -> dict[str, Any]:
        arrays = self.arrays
        return {
            "label_array": None if arrays.y is None else self._p,
            "named": arrays.names is not None or bool(arrays.beside),
            "beside": len(arrays.beside),
            "without_label": "" if arrays.others else arrays.no_label,
            "notes": arrays.notes,
            "leaves_rows_out": bool(arrays.beside) and isinstance(arrays.X, np.ndarray),
        }

    def _span(self, start: int, stop: int) -> NDArray[Any]:
        return np.asarray(column_block(self.arrays.X, start, stop))


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

    def rows(self, columns: Sequence[int]) -> Iterator[list[str]]:
        lists = [series_texts(self._series[column]) for column in columns]
        yield from ([quoted(text, ",") for text in row] for row in zip(*lists, strict=True))

    def column(self, column: int) -> Column:
        return series_values(self._series[column])

    def _about(self) -> dict[str, Any]:
        label = len(self.names) - 1 if self.labelled else None
        return {**super()._about(), "label_array": label}


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


def load_content(
    path: Path,
    kind: str,
    form: Form,
    *,
    label: str | int | None = None,
    one_column: bool = False,
    refuse: bool = False,
) -> Any:
    """The content of a file that is not read in parts, before its columns have roles.

    Parameters
    ----------
    path : Path
    kind : str
        As `file_kind` gives it.
    form : Form
        Arguments that do not apply to the format are ignored; with `refuse` they are an error,
        unless a plugin's reader makes text of the file.
    label : str or int, optional
        As in `fsframe.read`.
    one_column : bool
        Whether a text without a delimiter is a table of one column.

    Returns
    -------
    Sheet, ArrayTable, or a data frame

    Raises
    ------
    DataError
        If the file is damaged, or of an unknown format.
    """
    if form.labels is not None:
        alone = attrs.evolve(form, labels=None)
        table = load_content(path, kind, alone, one_column=True, refuse=refuse)
        return _with_labels(table, path, form, label)
    if kind not in _FORMS and form.names != Form().names:
        alone = attrs.evolve(form, names=Form().names)
        table = load_content(path, kind, alone, label=label, one_column=one_column, refuse=refuse)
        return with_names(table, path, file_beside(form.names, path), form.encoding)
    said = form.said()
    reader = reader_named(kind)
    spelled: dict[str, Any] = {}
    if reader is not None and reader.spelled:
        given = {key: said[key] for key in sorted(reader.options & set(said))}
        # After reading, which may set both for the file.
        spelled["text"] = reader.read(path, **given)
        spelled |= {"called": reader.called or kind, "notes": reader.notes}
    of_rows = form.transpose or form.samples is not None
    if kind == "text" or spelled:
        one_column = one_column and not of_rows
        if refuse and not spelled:
            check_options(path, "text", [key for key in ("x", "y") if key in said])
        sheet = load_sheet(path, form, label=label, one_column=one_column, **spelled)
        if not of_rows:
            return sheet
        about = None if form.samples is None else _about_samples(form, path)
        return with_samples(sheet, about, transpose=form.transpose)
    if of_rows:
        raise RequestError(
            f"--transpose and --samples (transpose=, samples=) are for text and workbooks, not for "
            f"{path}"
        )
    if kind in _FORMS:
        return load_arrays(path, kind, form)
    assert reader is not None
    paths = {key: said[key] for key in ("x", "y") if key in said}
    if refuse:
        check_options(path, kind, [key for key in said if key not in paths])
    check_options(path, kind, sorted(paths.keys() - reader.options))
    return reader.read(path, **paths)


def _opened(given: str | None, path: Path, form: Form, **spelled: Any) -> Table:
    """A further file of the table at `path`, with the codes and the encoding of its `form`."""
    spelling = Form(na=form.na, encoding=form.encoding, **spelled)
    return open_table(file_beside(given, path), spelling, one_column=True)


def _with_labels(
    table: Sheet | ArrayTable | Any, path: Path, form: Form, label: str | int | None
) -> Any:
    """A table with the label from a separate file; DataError if they do not fit."""
    # The commas of one column of numbers must not separate two.
    decimal = "," if isinstance(table, Sheet) and table.cells.decimal == "," else None
    other = _opened(form.labels, path, form, decimal=decimal)
    if other.n_rows == rows_of(table) - 1:
        # The first label was taken as a name, since it occurs only once.
        other = _opened(form.labels, path, form, decimal=decimal, header=False)
    width = len(other.names)
    cells = [[unquote(cell) for cell in row] for row in other.rows(range(width))]
    named = [name != f"f{place + 1}" for place, name in enumerate(other.names)]
    own = [name if known else LABEL for name, known in zip(other.names, named, strict=True)]
    place = width - 1
    if label is not None and not (width <= 2 and label == own[place]):
        place = find_column(other.names, width, label, str(other.path))
    labels = Labels(
        path=other.path,
        name=own[place],
        texts=[row[place] for row in cells],
        values=other.column(place),
        first=[row[0] for row in cells] if width > 1 else None,
        columns=[repr(name) for name in other.names] if label is None else [],
    )
    return with_labels(table, path, labels)


def _about_samples(form: Form, path: Path) -> AboutSamples:
    """The table about the samples of the table at `path`."""
    other = _opened(form.samples, path, form)
    return AboutSamples(
        path=other.path,
        names=[unquote(cells[0]) for cells in other.rows([0])],
        columns={name: other.column(k) for k, name in enumerate(other.names) if k},
    )


def is_large(path: Path, kind: str, x: str) -> bool:
    """Whether the table in a file is so large that it is not loaded, but read in parts."""
    if kind not in IN_BLOCKS:
        return False
    # Imported here, since other tables do not need it.
    from fsframe.table.parts import large_in_file

    return large_in_file(path, kind, x)


def open_table(path: str | os.PathLike[str], form: Form, **options: Any) -> Table:
    """Open the table in a file that is not read in parts; `options` as for `load_content`.

    Raises
    ------
    DataError
        If the file is missing, damaged, of an unknown format, or rows of a text differ in length.
    """
    table_path = find_table(path)
    kind = file_kind(table_path)
    content = load_content(table_path, kind, form, **options)
    if isinstance(content, Sheet):
        return TextInFile.of(content)
    if isinstance(content, ArrayTable):
        return ArraysInFile.of(content, _FORMS.get(kind, kind))
    return FrameInFile(
        path=table_path, form=kind, names=frame_names(content), n_rows=len(content), frame=content,
        labelled=form.labels is not None,
    )  # fmt: skip


def read_table(path: str | os.PathLike[str], **form: Any) -> Table:
    """Open the table in a file, with or without a label; its cells stay as they are.

    Parameters
    ----------
    path
        As in `fsframe.read`.
    form
        Fields of `fsframe.table.reader.Form`.

    Returns
    -------
    Table
        Columns of a text file without a line of names are called ``f1, f2, …``. For a table in
        parts (a folder, a pattern), only the columns that are used are loaded; parts in HDF5 files
        have no label here.

    Raises
    ------
    DataError
        If the file is missing, damaged, of another kind, or its rows differ in length.
    """
    table_path, asked = find_table(path), Form(in_memory=True, **form)
    kind = "" if in_parts(table_path) else file_kind(table_path)
    if kind and not (kind != "hdf5" and is_large(table_path, kind, asked.x)):
        return open_table(table_path, asked, one_column=True)
    from fsframe.table.parts import rows_of_parts

    reader = rows_of_parts(table_path, asked)
    return PartsInFiles(
        path=table_path, form="parts", names=reader.names, n_rows=reader.n_rows, reader=reader
    )


def contents(path: str | os.PathLike[str], label: str | int | None = None, **form: Any) -> Contents:
    """Summarise the columns of a file, even if it cannot be used in a chain.

    `form` are fields of `fsframe.table.reader.Form`. DataError if the file is not a table: missing,
    damaged, rows of different lengths. O(n log n) per column, for the number of different values.
    """
    try:
        source = open_table(path, Form(**form), label=label)
    except DataError:
        # A single column is shown, too, but only if blanks do not separate fields, as in `read`.
        source = open_table(path, Form(**form), label=label, one_column=True)
    return source.contents()


def contents_of_sheet(sheet: Sheet) -> Contents:
    """The contents of a text table."""
    return TextInFile.of(sheet).contents()
