"""The table in a delimited text: its cells, converted to values whole columns at a time."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.errors import DataError
from fsframe.table.columns import column_word
from fsframe.table.spelling.column_names import name_rows
from fsframe.table.spelling.dialect import delimiter_name, unquote
from fsframe.table.spelling.text_file import check_size, is_missing, is_number
from fsframe.table.table_columns import BadColumn, Block, Table, Taken

if TYPE_CHECKING:
    import polars as pl


def single_digits(
    block: bytes, sign: int, n_fields: int, columns: Sequence[int], texts: Sequence[int]
) -> tuple[NDArray[np.uint8], list[list[str]]] | None:
    """Read a block of lines of single digits and at most one text; None if it has other cells.

    Parameters
    ----------
    block : bytes
        Whole lines without quotes.
    sign : int
        The delimiter, one byte.
    columns, texts : sequence of int
        The adjacent columns of numbers, and at most one of text, the first or the last.

    Returns
    -------
    (n_lines, n_columns) uint8, and the cells of each text column

    Notes
    -----
    About 0.005 µs a cell, a tenth of the time of any parser that first splits the text into cells.
    """
    if not columns or len(texts) > 1 or columns[-1] - columns[0] + 1 != len(columns):
        return None
    first, last, delimiter = columns[0], columns[-1], bytes([sign])
    width = 2 * len(columns) - 1
    head = block[: block.find(b"\n")]
    if not width <= len(head) <= width + 4096 or first > 1 or n_fields - 1 - last > 1:
        return None
    before, after = first == 1, last == n_fields - 2
    if (before and after) or [*texts] not in ([], [0] if before else [n_fields - 1][: int(after)]):
        return None
    lines = block.split(b"\n")
    if not lines[-1]:
        lines.pop()
    others: list[bytes] = []
    if before:
        parted = [line.partition(delimiter) for line in lines]
        lines, others = [p[2] for p in parted], [p[0] for p in parted]
    elif after:
        parted = [line.rpartition(delimiter) for line in lines]
        lines, others = [p[0] for p in parted], [p[2] for p in parted]
    if any(len(line) != width for line in lines):
        return None
    table = np.frombuffer(delimiter.join(lines) + delimiter, dtype=np.uint8)
    table = table.reshape(len(lines), 2 * len(columns))
    digits = table[:, ::2] - np.uint8(ord("0"))
    if (table[:, 1::2] != sign).any() or (digits > 9).any():
        return None
    return digits, [[other.decode().strip() for other in others]] if texts else []


BLOCK = 1 << 19
"""Bytes of text in a block."""

_BYTES_FROM = 1 << 20
"""Minimum number of cells for keeping a table of single digits as bytes."""

SMALL = 1 << 17
"""Bytes of text up to which importing polars, 0.2 s, takes longer than reading without it."""

_PLAIN = frozenset("0123456789+-.eE")
"""Characters of numbers that float() reads as this module does."""

_PADDED = re.compile("0+[1-9][0-9]*")
_NEWLINE, _QUOTE = 10, 34
_FEW = 16
"""Columns are taken from a block one by one if fewer than one in this many is wanted."""


@attrs.frozen
class Missing:
    """Decides whether a cell is missing, and remembers which codes it has met.

    Parameters
    ----------
    codes : tuple of str
        Further codes, such as ``"-999"``; numbers also in other spellings (``-999.0``).
    """

    codes: tuple[str, ...] = ()
    _seen: set[str] = attrs.field(factory=set, init=False, eq=False, repr=False)

    def __call__(self, text: str) -> bool:
        if text in self.codes:
            self._seen.add(text)
            return True
        if is_missing(text):
            return True
        return bool(self.codes) and is_number(text) and float(text) in self.numbers

    @property
    def numbers(self) -> tuple[float, ...]:
        """The codes that are numbers."""
        return tuple(float(code) for code in self.codes if is_number(code))

    @property
    def unseen(self) -> list[str]:
        """The codes that no cell held until now, without numbers and words that mean missing."""
        asked = (code for code in self.codes if not is_missing(code) and not is_number(code))
        return [code for code in asked if code not in self._seen]


@attrs.frozen(kw_only=True, eq=False)
class Sheet(Table):
    """A text table: its records, the names of its columns, and what was noticed about it.

    `form` is its name in messages if the file is not text, such as "sheet of a workbook".

    Its methods raise DataError, naming the line, at a record that is blank or has a wrong number of
    fields.

    Parameters
    ----------
    path : Path
    raw : bytes
        UTF-8, lines ended by a line feed, quotes in pairs.
    start : int
        Where the first record begins.
    first_line : int
        The line of the file in which it begins, from 1.
    delimiter : str
    sign : int
        The byte that stands for the delimiter.
    n_fields : int
    names : tuple of str
        ``f1, f2, …`` without a line of names. An unnamed column has an empty name.
    spelled_names : tuple of str or None
        The names with quotes and blanks, as in the file; None if there is no line of names.
    decimal : str
        ``"."`` or ``","``.
    free : int
        A byte that does not occur in the text.
    quoted : bool
        Whether the text contains quotes.
    missing : Missing
    """

    path: Path
    raw: bytes = attrs.field(repr=False)
    start: int
    first_line: int
    delimiter: str
    sign: int
    n_fields: int
    spelled_names: tuple[str, ...] | None = attrs.field(repr=False)
    decimal: str
    free: int
    quoted: bool
    missing: Missing = attrs.field(factory=Missing, repr=False)
    takes_codes: bool = attrs.field(default=True, repr=False)

    @cached_property
    def n_rows(self) -> int:
        """Number of records; a text with quotes is checked on the way."""
        if not self.quoted:
            lines = self.raw.count(b"\n", self.start)
            return lines + (not self.raw.endswith(b"\n"))
        return self.check()

    def check(self) -> int:
        """The number of records, all of which are examined."""
        row = 0
        for block in self._blocks():
            row += len(self._ends(block, row)) // self.n_fields
        return row

    def line(self, row: int) -> int:
        """The line of the file in which a record begins, from 1."""
        line = self.first_line
        for block in self._blocks():
            values = np.frombuffer(block, dtype=np.uint8)
            breaks = np.flatnonzero((values == _NEWLINE) & ~_quoted(values))
            if row < len(breaks):
                return line + (block.count(b"\n", 0, int(breaks[row - 1]) + 1) if row else 0)
            row -= len(breaks)
            line += block.count(b"\n")
        return line

    def refuse(self, row: int, found: int, record: bytes) -> NoReturn:
        """Raise the DataError about a record that is blank, or has `found` fields."""
        line, expected = self.line(row), self.n_fields
        if not record.strip(b" "):
            raise DataError(f"{self.path}, line {line} is blank; take it out, or fill it in")
        model = "the line of names" if self.spelled_names else "the first line"
        hint = ""
        if found == expected + 1 and record.rstrip(b" ").endswith(bytes([self.sign])):
            hint = f"; it ends in a {delimiter_name(self.delimiter)}"
        elif found > expected and self.delimiter == ",":
            hint = "; if its numbers have decimal commas, save them with decimal points"
        raise DataError(
            f"{self.path}, line {line} has {found} fields, {model} has {expected} "
            f"(delimiter: {delimiter_name(self.delimiter)}){hint}"
        )

    def _spelled(self, columns: Sequence[int]) -> Iterator[list[str]]:
        for lists in self._columns_of_blocks(columns):
            yield from map(list, zip(*lists, strict=True))

    def fields(self, column: int) -> Iterator[list[str]]:
        """The fields of a column, without quotes and outer blanks, block by block."""
        for (cells,) in self._columns_of_blocks([column]):
            yield _unquoted(cells)

    def column(self, column: int) -> list[str]:
        """The fields of a column, without quotes and outer blanks."""
        return [text for block in self.fields(column) for text in block]

    def take(
        self, columns: Sequence[int], texts: Sequence[int] = (), label: int | None = None
    ) -> Taken:
        """Some columns (ascending) as numbers, others and the label as text, in one pass.

        DataError also if the numbers would not fit in memory.
        """
        check_size(
            8 * self.n_rows * len(columns) + len(self.raw),
            f"{self.path} with {self.n_rows} rows × {len(columns)} columns",
            "keep such a table as Parquet or HDF5, which are read in parts, or ",
        )
        digits = bool(len(columns)) and not self.quoted
        # Digits become floats at the first block with other cells. Both arrays are in memory
        # then, but only as far as they are written.
        kind = np.uint8 if digits else np.float64
        texts = sorted(column for column in {*texts, label} if column is not None)
        taken = Taken(np.empty((self.n_rows, len(columns)), kind), {column: [] for column in texts})
        taken.codes = ", ".join(self.missing.codes)
        codes = [code for code in self.missing.numbers if np.isfinite(code)]
        row = 0
        for block in self._blocks():
            found: tuple[NDArray[Any], list[list[str]]] | None = None
            if digits:
                found = single_digits(block, self.sign, self.n_fields, columns, texts)
                digits = found is not None
            values, words = found or self._converted(block, row, columns, texts, taken)
            if not digits or (codes and np.isin(values, codes).any()):
                taken.X = _widened(taken.X, row)
            rows = slice(row, row + len(values))
            taken.X[rows] = values
            if taken.X.dtype == np.float64:
                taken.coded += _uncode(taken.X[rows], codes)
            for column, cells in zip(texts, words, strict=True):
                taken.texts[column] += cells
            row = rows.stop
        if taken.X.size < _BYTES_FROM:
            taken.X = taken.X.astype(np.float64, copy=False)
        return taken

    @property
    def _line_word(self) -> str:
        """Word for a line of the file in messages."""
        return "row" if self.form else "line"

    def zero_padded(self) -> set[int]:
        # The first block is enough: where codes are padded, many begin with a zero.
        block = next(self._blocks(), b"")
        # A class of characters at the beginning: an alternative there takes thrice as long.
        if not re.search(rb'[\n "%b]0[0-9]' % re.escape(bytes([self.sign])), b"\n" + block):
            return set()
        columns = next(self._columns_of_blocks(range(self.n_fields)))
        found = (any(map(_PADDED.fullmatch, _unquoted(cells))) for cells in columns)
        return {column for column, padded in enumerate(found) if padded}

    def unseen_codes(self) -> list[str]:
        return self.missing.unseen

    def texts(self, columns: Sequence[int]) -> Iterator[tuple[int, list[str]]]:
        """The fields of some columns, without quotes and outer blanks, by column."""
        yield from self.take([], columns).texts.items()

    @cached_property
    def has_row_names(self) -> bool:
        """Whether the first column, which has no name, names or counts the rows."""
        unnamed = not self.names[0] and self.n_fields >= 3
        return unnamed and name_rows(self.column(0), self.missing)

    def where(self, row: int, column: int) -> str:
        """Line and column of a cell, for messages."""
        return f"{self.path}, {self._line_word} {self.line(row)}, {self.word(column)}"

    def word(self, column: int) -> str:
        """The name of a column, for messages."""
        return column_word(column, self.names[column] if self.spelled_names else "")

    def row(self, row: int) -> str:
        """The name of a row, for messages."""
        return f"line {self.line(row)}"

    def column_blocks(self) -> Iterator[Block]:
        """All columns, some at a time, from one pass: reading some takes as long."""
        every = range(self.n_fields)
        X, texts = self._values(every)
        for start in every[:: self._width]:
            columns = every[start : start + self._width]
            block = X[:, columns.start : columns.stop].astype(np.float64, copy=False)
            yield start, block, {k: texts[k] for k in texts if k in columns}

    @property
    def description(self) -> str:
        """The format in words, and where the names are."""
        form = self.form or f"text, {delimiter_name(self.delimiter)} between fields"
        names = f"names in the first {self._line_word}" if self.named else "no names of columns"
        return f"{form}, {names}"

    def _converted(
        self,
        block: bytes,
        row: int,
        columns: Sequence[int],
        texts: Sequence[int],
        taken: Taken,
    ) -> tuple[NDArray[np.float64], list[list[str]]]:
        """The numbers and the texts in the columns of a block, whose first record is `row`."""
        cells, n = self._cells(block, row), self.n_fields
        words = [_unquoted(cells) for cells in _columns_of(cells, texts, n)]
        if not len(columns):
            return np.empty((len(cells) // n, 0)), words
        together = columns[-1] - columns[0] + 1 == len(columns)
        where: Any = slice(columns[0], columns[-1] + 1) if together else np.asarray(columns, int)
        values = self._as_numbers(cells, block).reshape(-1, n)[:, where]
        self._set_odd_cells(values, cells, columns, row, taken)
        return values, words

    def _blocks(self) -> Iterator[bytes]:
        raw, start, size = self.raw, self.start, len(self.raw)
        while start < size:
            stop = raw.rfind(b"\n", start, start + BLOCK) + 1
            if not stop:
                stop = raw.find(b"\n", start + BLOCK - 1) + 1 or size
            inside = raw.count(b'"', start, stop) % 2 if self.quoted else 0
            while inside:
                # The block ends within quotes: extend it to a line end after the next quote.
                quote = raw.find(b'"', stop)
                behind = (raw.find(b"\n", quote) + 1 or size) if quote >= 0 else size
                inside = (inside + raw.count(b'"', stop, behind)) % 2 if behind < size else 0
                stop = behind
            block = raw[start:stop]
            yield block if block.endswith(b"\n") else block + b"\n"
            start = stop

    def _ends(self, block: bytes, row: int) -> NDArray[np.intp]:
        """Where the cells of a block end, whose first record is `row`."""
        values = np.frombuffer(block, dtype=np.uint8)
        breaks = (values == self.sign) | (values == _NEWLINE)
        if self.quoted:
            breaks &= ~_quoted(values)
        ends = np.flatnonzero(breaks)
        is_line = values[ends] == _NEWLINE
        n = self.n_fields
        last = is_line[n - 1 :: n]
        even = len(ends) == n * len(last) == n * np.count_nonzero(is_line) and last.all()
        if not even or n == 1:
            self._find_ragged(block, ends, np.flatnonzero(is_line), row)
        return ends

    def _find_ragged(
        self, block: bytes, ends: NDArray[np.intp], lines: NDArray[np.intp], row: int
    ) -> None:
        counts = np.diff(lines, prepend=-1)
        begins = np.concatenate([[0], ends[lines][:-1] + 1])
        wrong = counts != self.n_fields
        if self.n_fields == 1:
            wrong |= ends[lines] - begins < BLANK_LOOKED_AT
        for place in np.flatnonzero(wrong).tolist():
            record = block[int(begins[place]) : int(ends[lines[place]])]
            if counts[place] != self.n_fields or not record.strip(b" "):
                self.refuse(row + place, int(counts[place]), record)

    def _columns_of_blocks(self, columns: Sequence[int]) -> Iterator[list[list[str]]]:
        """The cells of some columns as spelled, block by block."""
        row, n = 0, self.n_fields
        for block in self._blocks():
            cells = self._cells(block, row)
            row += len(cells) // n
            yield _columns_of(cells, columns, n)

    def _cells(self, block: bytes, row: int) -> list[str] | pl.Series:
        """All cells of a block, one after the other, as spelled; in a series null where empty."""
        ends = self._ends(block, row)
        if len(self.raw) - self.start <= SMALL:
            places = ends.tolist()
            starts = [0, *(end + 1 for end in places[:-1])]
            return [block[a:b].decode() for a, b in zip(starts, places, strict=True)]
        import polars

        # A dummy first cell: polars would strip a byte order mark or a blank line.
        image = bytearray(b"x\n")
        image += block
        view = np.frombuffer(image, dtype=np.uint8)
        view[1] = self.free
        view[ends + 2] = self.free
        # No cell contains NUL, so this separator never matches.
        table = polars.read_csv(
            bytes(image),
            has_header=False,
            schema={"cell": polars.String},
            separator="\0",
            quote_char=None,
            eol_char=chr(self.free),
        )
        cells = table.to_series().slice(1)
        assert len(cells) == len(ends), (len(cells), len(ends))
        return cells

    def _as_numbers(self, cells: list[str] | pl.Series, block: bytes) -> NDArray[np.float64]:
        """All cells of a block as numbers, NaN where they are not plain ones."""
        if isinstance(cells, list):
            if self.decimal == ",":
                return np.full(len(cells), math.nan)
            return np.array([_plain_number(cell) for cell in cells])
        import polars

        plain = cells
        if b" " in block or b"\t" in block:
            plain = plain.str.strip_chars(" \t")
        if b'"' in block:
            plain = plain.str.strip_prefix('"').str.strip_suffix('"').str.strip_chars(" \t")
        if self.decimal == ",":
            plain = plain.str.replace_all(".", "x", literal=True)
            plain = plain.str.replace(",", ".", literal=True)
        values = plain.cast(polars.Float64, strict=False).to_numpy()
        return values if values.flags.writeable else values.copy()

    def _set_odd_cells(
        self,
        values: NDArray[np.float64],
        cells: list[str] | pl.Series,
        columns: Sequence[int],
        row: int,
        taken: Taken,
    ) -> None:
        """Set the `values` of cells that were not converted to finite numbers."""
        odd = np.flatnonzero(~np.isfinite(values))
        if not len(odd):
            return
        rows, places = np.divmod(odd, len(columns))
        texts, which = _different(cells, rows * self.n_fields + np.asarray(columns)[places])
        texts = [unquote(text) for text in texts]
        meaning = [self._number(text) for text in texts]
        values.flat[odd] = np.array([math.nan if m is None else m for m in meaning])[which]
        # Codes that are numbers are counted later, by `_uncode`.
        coded = [
            m != m and text in self.missing.codes for text, m in zip(texts, meaning, strict=True)
        ]
        taken.coded += int(np.array(coded)[which].sum())
        wrong = np.flatnonzero(np.array([m is None for m in meaning])[which])
        bad, first, times = np.unique(places[wrong], return_index=True, return_counts=True)
        for place, k, count in zip(
            bad.tolist(), wrong[first].tolist(), times.tolist(), strict=True
        ):
            column = columns[place]
            known = taken.bad.setdefault(
                column, BadColumn(column, row + int(rows[k]), texts[which[k]], 0)
            )
            known.count += count

    def _number(self, text: str) -> float | None:
        """The value of a cell: NaN if missing, None if not a number."""
        point = self.decimal == "."
        plain = text if point else text.replace(".", "x").replace(",", ".", 1)
        number = float(plain) if is_number(plain) else None
        if number is None or not math.isfinite(number):
            return math.nan if self.missing(text) else number
        return number


def _plain_number(cell: str) -> float:
    """The number in a cell; NaN if it may be anything else."""
    try:
        return float(cell) if _PLAIN.issuperset(cell) else math.nan
    except ValueError:
        return math.nan


def _different(
    cells: list[str] | pl.Series, places: NDArray[np.intp]
) -> tuple[list[str], NDArray[np.integer[Any]]]:
    """The different texts in some cells, and which of them each cell holds."""
    if isinstance(cells, list):
        number: dict[str, int] = {}
        which = [number.setdefault(cells[place], len(number)) for place in places.tolist()]
        return [*number], np.array(which)
    import polars

    some = cells.gather(places).fill_null("")
    texts = some.unique().to_list()
    return texts, some.cast(polars.Enum(texts)).to_physical().to_numpy()


BLANK_LOOKED_AT = 4096
"""In tables of one column, lines shorter than this are checked for being blank."""


def _columns_of(
    cells: list[str] | pl.Series, columns: Sequence[int], n_fields: int
) -> list[list[str]]:
    """The cells of some columns as spelled, empty where missing."""
    if not isinstance(cells, list):
        if _FEW * len(columns) < n_fields:
            return [
                cells.gather_every(n_fields, column).fill_null("").to_list() for column in columns
            ]
        # Otherwise the calls, one per column, would take most of the time.
        cells = cells.fill_null("").to_list()
    return [cells[column::n_fields] for column in columns]


def _unquoted(cells: Sequence[str]) -> list[str]:
    """Cells without quotes and outer blanks."""
    return [unquote(text) if '"' in text else text.strip() for text in cells]


def _quoted(values: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Mask of the bytes within quotes; a quote inside a quoted field is doubled."""
    inside: NDArray[np.bool_] = np.bitwise_xor.accumulate(values == _QUOTE)
    return inside


def _widened(X: NDArray[Any], n_rows: int) -> NDArray[np.float64]:
    """`X` as float64, of which only the first `n_rows` rows are set; itself if it is float64."""
    if X.dtype == np.float64:
        return X
    wide = np.empty(X.shape)
    wide[:n_rows] = X[:n_rows]
    return wide


def _uncode(values: NDArray[np.float64], codes: Sequence[float]) -> int:
    """Replace codes in `values` by NaN, and return their number."""
    if not codes:
        return 0
    coded = np.isin(values, codes)
    values[coded] = np.nan
    return int(np.count_nonzero(coded))


def free_byte(raw: bytes, path: object) -> int:
    """A control character that does not occur in a text; DataError if all of them occur."""
    for byte in (0x1F, 0x1E, 0x1D, 0x1C, *range(1, 9), *range(14, 0x1C)):
        if byte not in raw:
            return byte
    raise DataError(f"{path} holds every control character; this is not a table in text")
