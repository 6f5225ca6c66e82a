"""A table that was read, and a part of one."""

from __future__ import annotations

import gzip
import itertools
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.atomic import check_destination, place_file
from fsframe.errors import DataError, RequestError
from fsframe.table.cells import Missing
from fsframe.table.column_facts import Block, Column, one_column
from fsframe.table.column_kinds import ColumnKind, numbers_of
from fsframe.table.columns import check_finite, column_word
from fsframe.table.dialect import unquote
from fsframe.table.text_file import defused, is_formula, is_number
from fsframe.text import did_you_mean, some_of


def quoted(text: str, delimiter: str) -> str:
    r"""A text as a field, quoted only if necessary.

    >>> quoted("a,b", ","), quoted("a b", ","), quoted('6" pipe', "\t")
    ('"a,b"', 'a b', '"6"" pipe"')
    """
    if text == text.strip() and not any(sign in text for sign in (delimiter, '"', "\n")):
        return text
    return '"' + text.replace('"', '""') + '"'


@attrs.frozen(kw_only=True, eq=False)
class Table:
    """All columns of a file, before they have roles, with its cells as in the file.

    Forms of files are subclasses, which define `rows`, `column` and `_numbers`.

    Parameters
    ----------
    path : Path
    form : str
        Description of the format.
    names : tuple of str
        One per column, the label's and those of extra columns too; ``f1, f2, …`` without any.
    n_rows : int
    spelled_names : tuple of str or None
        The line of names as spelled; None if the file has none.
    delimiter : str
        Between fields of the file; a comma for arrays.
    decimal : str
    missing : Missing
        Which cells are missing.
    """

    path: Path
    form: str
    names: tuple[str, ...] = attrs.field(repr=False)
    n_rows: int
    spelled_names: tuple[str, ...] | None = attrs.field(repr=False)
    delimiter: str = ","
    decimal: str = attrs.field(default=".", repr=False)
    missing: Missing = attrs.field(factory=Missing, repr=False)

    @spelled_names.default
    def _quoted_names(self) -> tuple[str, ...]:
        return tuple(quoted(name, ",") for name in self.names)

    def rows(self, columns: Sequence[int]) -> Iterator[list[str]]:
        """The cells of some columns as spelled, quotes and blanks included, row by row."""
        raise NotImplementedError

    def column(self, column: int) -> Column:
        """One column."""
        raise NotImplementedError

    def _numbers(self, columns: Sequence[int]) -> NDArray[np.float64]:
        """Some columns, ascending, as (n_rows, n_columns); DataError if one holds text."""
        raise NotImplementedError

    def blocks(self) -> Iterator[Block]:
        """All columns, some at a time."""
        yield from (one_column(k, self.column(k)) for k in range(len(self.names)))

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
        own = {field.name: getattr(self, field.name) for field in attrs.fields(Table)}
        found = _FilledTable(**own, inner=self, fill=known)
        return found, sum(gaps[column] for column in known), left

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
        """As `numbers`, for features of a Dataset with columns of other kinds than numbers.

        Levels have the codes that they have there. An unknown level of a nominal column
        gets a code above all others.

        Raises
        ------
        DataError
            As `numbers` and `fsframe.table.column_kinds.numbers_of` say.
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
            f"{some_of([*shown, *missing[5:]])}; it has {len(self.names)} columns"
        )


@attrs.frozen(kw_only=True, eq=False)
class _FilledTable(Table):
    """A table with fill values for missing cells."""

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

    def _numbers(self, columns: Sequence[int]) -> NDArray[np.float64]:
        X = self.inner._numbers(columns)
        for place, column in enumerate(columns):
            if column in self.fill:
                gaps = np.isnan(X[:, place])
                X[gaps, place] = self.fill[column][gaps]
        return X


_SIGNS = {".csv": ",", ".tsv": "\t", ".tab": "\t", ".txt": None}


def write_reduced(
    path: str | os.PathLike[str],
    table: Table,
    features: Sequence[str],
    *,
    label: str | None = None,
    keep: Sequence[str] = (),
    overwrite: bool = False,
    defuse: bool = False,
    apart_from: Sequence[str | os.PathLike[str]] = (),
) -> Path:
    """The path of a text table that holds some columns of `table`, its rows and columns in order.

    Parameters
    ----------
    path : path
        Ending in .csv, .tsv, .tab or .txt, also with .gz.
    table : Table
    features : sequence of str
        Columns that must be there.
    label : str, optional
        Name of the label column, kept if it is there.
    keep : sequence of str
        Further columns that must be there, such as an identifier.
    overwrite : bool
        Whether an existing file may be replaced; never that of `table`.
    defuse : bool
        Whether an apostrophe is put before cells that a spreadsheet would take for formulas
        (`fsframe.table.text_file.is_formula`), names of columns too.
    apart_from : sequence of paths
        Other files that must not be replaced.

    Returns
    -------
    Path
        Absolute.

    Raises
    ------
    DataError
        If `table` lacks a column that must be there; all are named.
    RequestError
        If the ending of `path` is not one of those above, or no column would be written.
    StoreError
        If the file exists or cannot be written.

    Notes
    -----
    Cells are written unchanged. They are quoted again only if the new file needs another delimiter
    (a table read from .csv and written to .tsv) or a cell is escaped as a formula.
    """
    used = [table.path, *apart_from]
    check_destination(path, overwrite=overwrite, apart_from=used)
    sign, packed = _output_form(Path(path), table)
    text = reduced_text(table, features, label=label, keep=keep, sign=sign, defuse=defuse)
    content = text.encode()
    # Without a time stamp equal tables give equal bytes.
    content = gzip.compress(content, 6, mtime=0) if packed else content
    return place_file(path, content, overwrite=overwrite, apart_from=used)


def reduced_text(
    table: Table,
    features: Sequence[str],
    *,
    label: str | None = None,
    keep: Sequence[str] = (),
    sign: str | None = None,
    defuse: bool = False,
) -> str:
    """What `write_reduced` writes, as text; `sign` separates cells, by default as in `table`.

    Raises
    ------
    DataError, RequestError
        As `write_reduced` says.
    """
    places = set(table.places([*features, *keep]))
    if label and label in table.names:
        places |= set(table.places([label]))
    if not places:
        raise RequestError("nothing to write: the run kept no feature")
    sign = table.delimiter if sign is None else sign
    columns, spelled = sorted(places), table.spelled_names
    head = [] if spelled is None else [[spelled[column] for column in columns]]
    rows = itertools.chain(head, table.rows(columns))
    return "".join(_line(cells, table.delimiter, sign, defuse) for cells in rows)


def _output_form(path: Path, table: Table) -> tuple[str, bool]:
    packed = path.suffix.lower() == ".gz"
    ending = (Path(path.stem) if packed else path).suffix.lower()
    if ending not in _SIGNS:
        raise RequestError(
            f"{path}: a reduced table is written as text; end its name in .csv or .tsv (also .gz)"
        )
    same = ending in {suffix.lower() for suffix in table.path.suffixes[-2:]}
    return (table.delimiter if same else _SIGNS[ending] or table.delimiter), packed


def _line(cells: list[str], delimiter: str, sign: str, defuse: bool) -> str:
    if defuse:
        cells = [_plain(cell, delimiter) for cell in cells]
    if sign != delimiter:
        cells = [quoted(unquote(cell), sign) for cell in cells]
    return sign.join(cells) + "\n"


def _plain(cell: str, delimiter: str) -> str:
    """A cell, escaped if it would be a formula."""
    text = unquote(cell)
    return quoted(defused(text), delimiter) if is_formula(text) else cell
