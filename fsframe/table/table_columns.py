"""The columns of any table behind one interface, the error about those that are not numbers, and
reduced tables: the columns that a run kept, written as text with the cells of the file."""

from __future__ import annotations

import gzip
import itertools
import operator
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.atomic import check_destination, place_file
from fsframe.errors import DataError, RequestError
from fsframe.table.column_kinds import OTHER_DATE, ColumnKind, looks_boolean, numbers_of
from fsframe.table.columns import check_finite, column_word
from fsframe.table.roles import Layout
from fsframe.table.spelling.dialect import quoted, unquote
from fsframe.table.spelling.number_spellings import plain_numbers, spelled_numbers
from fsframe.table.spelling.text_file import defused, is_formula, is_missing, is_number, known_texts
from fsframe.text import counted, did_you_mean, some_of

_DECIMAL_COMMA = re.compile(r"[+-]?[0-9]+,[0-9]+")
_BLOCK = 1 << 22
"""Numbers in one block of columns."""

Column = NDArray[Any] | list[str | None]
"""Numbers, NaN where missing, or texts, None where missing."""

Cells = NDArray[Any] | Sequence[str]
"""A column as numbers, NaN where missing, or as texts, empty where missing."""

Block = tuple[int, NDArray[np.float64], dict[int, list[str | None]]]
"""The first column, numbers (NaN in columns of text), and texts by column."""

Values = tuple[NDArray[Any], dict[int, list[str | None]]]
"""Some columns as numbers, (n_rows, n_columns), and the texts of those that hold text."""


def cells_of_array(values: NDArray[Any]) -> Cells:
    """The cells of an array of numbers, truth values or text."""
    if values.dtype.kind in "UO":
        return [text.strip() for text in values.tolist()]
    return values.astype(np.int64) if values.dtype.kind == "b" else values


def missing_cells(cells: Cells, missing: Callable[[str], bool] = is_missing) -> NDArray[np.bool_]:
    """Mask of the cells that hold no value, (n,).

    >>> missing_cells(["a", "NA"]), missing_cells(np.array([np.nan, 1]))
    (array([False,  True]), array([ True, False]))
    """
    if isinstance(cells, np.ndarray):
        return np.isnan(cells) if cells.dtype.kind == "f" else np.zeros(len(cells), dtype=bool)
    absent = {text for text in set(cells) if missing(text)}
    return np.array([text in absent for text in cells], dtype=bool)


@attrs.define
class BadColumn:
    """A column with cells that are neither numbers nor missing: the first, and their number."""

    column: int
    row: int
    text: str
    count: int


@attrs.define
class Taken:
    """Columns taken from a table.

    Parameters
    ----------
    X : (n_rows, n_columns) float64, uint8 or int8, or a sparse matrix, or a ColumnSource
        NaN if missing or `bad`. Bytes if all cells are single digits.
    texts : dict of column to list of str
        Without quotes and outer blanks. A column of numbers may be an array instead, as the label
        of a data frame is.
    bad : dict of column to BadColumn
    coded : int
        Cells that held a code for a missing value.
    codes : str
        These codes, in words.
    spelled : list of int
        Columns of a data frame that hold numbers as text.
    truths : list of int
        Columns of a data frame that hold truth values.
    """

    X: Any
    texts: dict[int, Any]
    bad: dict[int, BadColumn] = attrs.field(factory=dict)
    coded: int = 0
    codes: str = ""
    spelled: list[int] = attrs.field(factory=list)
    truths: list[int] = attrs.field(factory=list)


class Annotations(Mapping[str, NDArray[Any]]):
    """The annotations of the rows of a table, the label too: values by name, read when asked for.

    Parameters
    ----------
    table : Table
    """

    def __init__(self, table: Table) -> None:
        self._table = table
        self._places = {table.names[k]: k for k in range(table.n_fields, len(table.names))}

    def __getitem__(self, name: str) -> NDArray[Any]:
        return np.asarray(self._table.values(self._places[name]))

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


@attrs.frozen(kw_only=True, eq=False)
class Table:
    """All columns of a table, before they have roles, with the cells as they are there.

    Each form of tables has a subclass, which defines `path`, `n_rows`, `_spelled`, and `take` and
    `texts`, or `_values` if `fsframe.table.assembly` makes no Datasets of it.

    Parameters
    ----------
    form : str
        Description of the format, for messages.
    names : tuple of str
        One per column, with the label and other annotations; ``f1, f2, …`` if there are none.
    own_label : int, optional
        The place of the label, if it is an array or a file of its own.
    row_names : tuple of str, optional
        Names of the rows that are not a column, such as those of samples in the first line.
    delimiter : str
        The sign between the cells that `rows` gives.
    decimal : str, optional
        The decimal mark of texts, if it is known.
    missing : callable
        Whether a cell, blanks stripped, is a missing value.
    takes_codes : bool
        Whether codes of missing values can be given.
    leaves_rows_out : bool
        Whether rows without a label can be left out.
    notes : tuple of str
        Warnings from reading the table.
    fill : mapping of int to (n_rows,) float64
        What replaces the missing cells of columns in `rows`.
    """

    form: str = ""
    names: tuple[str, ...] = attrs.field(repr=False)
    own_label: int | None = attrs.field(default=None, repr=False)
    row_names: tuple[str, ...] | None = attrs.field(default=None, repr=False)
    delimiter: str = ","
    decimal: str | None = None
    missing: Callable[[str], bool] = attrs.field(default=is_missing, repr=False)
    takes_codes: bool = attrs.field(default=False, repr=False)
    leaves_rows_out: bool = attrs.field(default=True, repr=False)
    notes: tuple[str, ...] = attrs.field(default=(), repr=False)
    fill: Mapping[int, NDArray[np.float64]] = attrs.field(factory=dict, repr=False)

    @property
    def path(self) -> Path:
        """The file."""
        raise NotImplementedError

    @property
    def what(self) -> object:
        """Name of the table in messages."""
        return self.path

    @property
    def n_fields(self) -> int:
        """Number of columns without annotations of the rows, whose places follow."""
        return len(self.names)

    @property
    def no_label(self) -> str:
        """What to say if no label is named; empty if it is guessed."""
        return ""

    @property
    def annotations(self) -> list[int]:
        """The places of annotations of the rows besides the label, which are not features."""
        return [k for k in range(self.n_fields, len(self.names)) if k != self.own_label]

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        raise NotImplementedError

    @property
    def has_row_names(self) -> bool:
        """Whether the first column, which has no name, names or counts the rows."""
        return False

    @property
    def named(self) -> bool:
        """Whether the columns have names."""
        return self.spelled_names is not None

    @property
    def description(self) -> str:
        """The format in words."""
        return self.form

    @property
    def spelled_names(self) -> tuple[str, ...] | None:
        """The names as spelled; None if the table has none."""
        return tuple(quoted(name, ",") for name in self.names)

    def by_type(self, layout: Layout) -> Layout:
        """The layout in which types of columns count like declarations."""
        return layout

    def is_typed(self, column: int) -> bool:
        """Whether a column has a categorical type."""
        return False

    def missing_in(self, column: int) -> Callable[[str], bool]:
        """The test for missing values of a column; a level of a categorical type is never one."""
        return operator.not_ if self.is_typed(column) else self.missing

    def take(
        self, columns: Sequence[int], texts: Sequence[int] = (), label: int | None = None
    ) -> Taken:
        """Some columns (ascending) as numbers, others and the label as numbers or texts."""
        raise NotImplementedError

    def zero_padded(self) -> set[int]:
        """Columns of a text in which whole numbers have zeros in front: 007."""
        return set()

    def unseen_codes(self) -> list[str]:
        """Codes of missing values that are text and that no cell held that was read."""
        return []

    def texts(self, columns: Sequence[int]) -> Iterator[tuple[int, Sequence[str]]]:
        """Some columns as text, blanks stripped, one after the other; empty where missing."""
        raise NotImplementedError

    def row(self, row: int) -> str:
        """The name of a row, for messages."""
        return f"row {row + 1}"

    def word(self, column: int) -> str:
        """The name of a column, for messages."""
        return column_word(column, self.names[column])

    def where(self, row: int, column: int) -> str:
        """The table, row and column of a cell, for messages."""
        if column < self.n_fields:
            return f"{self.what}, {self.row(row)}, {self.word(column)}"
        word = "label" if column == self.own_label else "annotation"
        return f"{self.what}, {word} {self.names[column]!r}, {self.row(row)}"

    def _spelled(self, columns: Sequence[int]) -> Iterator[list[str]]:
        """The cells of some columns as in the file, row by row."""
        raise NotImplementedError

    def _values(self, columns: Sequence[int], *, numeric: bool = False) -> Values:
        """Some columns; `numeric` ones are known to hold numbers (DataError may say otherwise)."""
        taken = self.take(columns)
        texts: dict[int, list[str | None]] = {}
        for column, cells in self.texts(sorted(taken.bad)) if taken.bad else ():
            known = known_texts(cells, self.missing_in(column))
            spelled = None
            if not self.is_typed(column):
                spelled = spelled_numbers(known, self.decimal, measured=numeric)
            if spelled is None:
                texts[column] = known
            else:
                taken.X[:, columns.index(column)] = spelled[0]
        if numeric and texts:
            raise not_numbers(self, {column: taken.bad[column] for column in texts})
        return taken.X, texts

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
        text = repr(float(value)).removesuffix(".0").replace(".", self.decimal or ".")
        return quoted(text, self.delimiter)

    def values(self, column: int) -> Column:
        """A column as numbers, NaN where missing, or as texts, None where missing."""
        X, texts = self._values([column])
        return texts[column] if texts else np.asarray(X[:, 0], dtype=np.float64)

    def column_blocks(self) -> Iterator[Block]:
        """All columns, some at a time."""
        every = range(len(self.names))
        for start in every[:: self._width]:
            X, texts = self._values(every[start : start + self._width])
            yield start, X.astype(np.float64, copy=False), texts

    @property
    def _width(self) -> int:
        """Most columns in a block."""
        return max(1, _BLOCK // max(1, self.n_rows))

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
        kinds = {**(kinds or {}), **self._truth_words(features, kinds or {})}
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

    def _truth_words(
        self, features: Sequence[str], kinds: Mapping[str, ColumnKind]
    ) -> dict[str, ColumnKind]:
        """Columns of truth values that are words here, as in texts, but not in the Dataset."""
        known = set(self.names).intersection(features)
        bare = [name for name in known if kinds.get(name) == ColumnKind("boolean")]
        columns = sorted(self.places(bare))
        cells_of = zip(*self.rows(columns), strict=True) if bare else ()
        found = {}
        for column, cells in zip(columns, cells_of, strict=True):
            pair = looks_boolean(cell for cell in map(unquote, cells) if not self.missing(cell))
            if pair is not None:
                found[self.names[column]] = ColumnKind("boolean", pair)
        return found

    def _numbers(self, columns: Sequence[int]) -> NDArray[np.float64]:
        """Some columns, ascending; DataError if one holds text or an infinite value."""
        values, texts = self._values(columns, numeric=True)
        X = np.asarray(values, dtype=np.float64)
        words = [column_word(column, self.names[column]) for column in columns]
        for column, cells in texts.items():
            at = columns.index(column)
            numbers = plain_numbers(cells)
            if numbers is None:
                raise DataError(f"{self.path}: {words[at]} holds text, not numbers")
            X[:, at] = numbers
        check_finite(X, lambda row, at: f"{self.path}, row {row + 1}, {words[at]}")
        return X


def not_numbers(
    table: Table,
    bad: Mapping[int, BadColumn],
    infinite: Sequence[int] = (),
    dates: Sequence[int] = (),
    further: Sequence[str] = (),
    *,
    labelled: bool = True,
) -> DataError:
    """The error about columns that are not numeric: the first cell, and all columns.

    `dates` are columns of dates; `further` are other problems; `labelled` says whether the table
    has a label, so that options can be suggested.
    """
    problems = list(further)
    if dates:
        listing = some_of([table.word(column) for column in dates], 8)
        keys = ",".join(_key(table, column) for column in dates[:20])
        problems.append(
            f"{listing} hold{'s' * (len(dates) == 1)} dates: "
            + (
                f"leave them out ({way(table, 'drop', keys)}), or convert them to days "
                f"({way(table, 'dates', 'days')})"
                if labelled
                else "drop them from the frame, or make them numbers"
            )
        )
    if not bad and not infinite:
        return DataError(f"{table.what}: " + "; ".join(problems))
    message = _no_numbers(table, bad, infinite, labelled)
    return DataError("; ".join([message, *problems]))


def _no_numbers(
    table: Table, bad: Mapping[int, BadColumn], infinite: Sequence[int], labelled: bool
) -> str:
    if not bad:
        listing = some_of([table.word(column) for column in infinite], 8)
        return f"{table.what}: cells of {listing} are infinite or too large"
    first = min(bad.values(), key=lambda bad_column: (bad_column.row, bad_column.column))
    text = first.text
    shown = text if len(text) <= 40 else text[:39] + "…"
    advice = "correct it, or leave the field empty if the value is missing"
    if table.decimal == "." and _DECIMAL_COMMA.fullmatch(text):
        advice = "write decimals with a point, or say that it is a comma (decimal=',', "
        advice += "--decimal ,)"
    elif table.decimal == "," and is_number(text):
        advice = "with decimal commas (decimal=',', --decimal ,), write a comma here too"
    elif re.fullmatch(r"[+-]?[0-9]*(?:,[0-9]+)+(?:\.[0-9]*)?", text):
        advice = "write decimals with a point and no thousands separators: 1234.5"
    elif OTHER_DATE.fullmatch(text):
        advice = (
            f"write dates as 2024-12-31 ({way(table, 'dates', 'days')} makes them numbers), or "
            f"{way(table, 'drop')} them"
        )
    elif not labelled:
        advice = "drop such columns from the frame, or make them categories "
        advice += "(X.astype({'NAME': 'category'}))"
    elif 2 * first.count > table.n_rows:
        advice = (
            f"{first.count} of {table.n_rows} cells of this column are text: drop the column "
            f"({way(table, 'drop')}), make it the label ({way(table, 'label')}), or declare it "
            f"categorical ({way(table, 'categorical')}) or ordinal ({way(table, 'ordinal')})"
        )
    elif first.count > 1:
        advice = f"so are {first.count - 1} more cells of this column; {advice}"
    message = f"{table.where(first.row, first.column)}: {shown!r} is not a number; {advice}"
    others = [bad[column] for column in sorted(bad) if column != first.column]
    if others:
        message += f". The same holds for {some_of([_brief(table, o) for o in others], 8)}"
        commas = [o for o in others if _DECIMAL_COMMA.fullmatch(o.text)]
        if commas and table.decimal == "." and table.delimiter != ",":
            message += (
                f". Cells such as {commas[0].text!r} look like numbers with decimal commas: "
                "--decimal , (decimal=',')"
            )
    infinite = [column for column in infinite if column not in bad]
    if infinite:
        listing = some_of([table.word(column) for column in infinite], 8)
        message += f". Cells of {listing} are infinite or too large"
    return message


def _brief(table: Table, bad: BadColumn) -> str:
    shown = bad.text if len(bad.text) <= 20 else bad.text[:19] + "…"
    cells = "1 cell," if bad.count == 1 else f"{bad.count} cells such as"
    return f"{table.word(bad.column)}: {cells} {shown!r}"


def _key(table: Table, column: int) -> str:
    return table.names[column] if table.spelled_names else str(column + 1)


def way(table: Table, option: str, value: str = "") -> str:
    """An option of commands, and for a data frame the argument of functions too."""
    words = f"--{option} {value}".rstrip()
    return words if table.takes_codes else f"{words}, {option}="


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
    """Write some columns of `table` to a text table, in their order, and return its path.

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
        (`fsframe.table.spelling.text_file.is_formula`), names of columns too.
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
    label: str | None,
    keep: Sequence[str],
    sign: str | None = None,
    defuse: bool,
) -> str:
    """The text that `write_reduced` writes; `sign` separates cells, by default as in `table`.

    Raises
    ------
    DataError, RequestError
        As in `write_reduced`.
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
