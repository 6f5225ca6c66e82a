"""A delimited text file as named columns, its fields still text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.errors import DataError
from fsframe.reading.fields import (
    choose_delimiter,
    delimiter_name,
    field_splitter,
    split_records,
    unquote,
)
from fsframe.reading.header import is_header
from fsframe.reading.names import column_word
from fsframe.reading.numbers import BadCell, is_missing, is_number, parse_lines, parse_texts
from fsframe.reading.text_file import load_text

__all__ = ["Sheet", "load_sheet"]


@attrs.frozen(kw_only=True, eq=False)
class Sheet:
    """Lines of a text table and how to take them apart.

    Parameters
    ----------
    path : Path
    delimiter : str
    names : tuple of str or None
        The line of names; None if there is none. An unnamed column has an empty name.
    spelled_names : tuple of str or None
        The same with quotes and blanks, as in the file.
    records : list of str
        The rows, without the line of names, as spelled in the file.
    line_numbers : sequence of int
        The line of the file in which each record begins, from 1.
    n_fields : int
        Fields of each record.
    quoted : bool
        Whether any field may be in quotes.
    """

    path: Path
    delimiter: str
    names: tuple[str, ...] | None
    spelled_names: tuple[str, ...] | None = attrs.field(repr=False)
    records: list[str] = attrs.field(repr=False)
    line_numbers: Sequence[int] = attrs.field(repr=False)
    n_fields: int
    quoted: bool

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.records)

    def split(self, record: str) -> list[str]:
        """The fields of a record as spelled."""
        return field_splitter(self.delimiter)(record)

    def column(self, column: int) -> list[str]:
        """What the fields of a column mean: without quotes and outer blanks."""
        if column == self.n_fields - 1 and not self.quoted:
            return [record.rpartition(self.delimiter)[2].strip() for record in self.records]
        return [unquote(self.split(record)[column]) for record in self.records]

    def rows(self, columns: Sequence[int]) -> Iterator[list[str]]:
        """The fields of some columns as spelled, row by row; each record is split once."""
        for record in self.records:
            fields = self.split(record)
            yield [fields[column] for column in columns]

    @cached_property
    def has_row_names(self) -> bool:
        """Whether the first column is what spreadsheets and data frames add: without a name,
        different in each row, and text or a count of the rows."""
        if not self.names or self.names[0] or self.n_fields < 3:
            return False
        cells = self.column(0)
        if len(set(cells)) != len(cells):
            return False
        try:
            numbers = parse_texts(cells)
        except BadCell:
            return True
        return bool(numbers[0] in (0.0, 1.0) and np.all(np.diff(numbers) == 1))

    def numbers(self, columns: Sequence[int]) -> NDArray[np.float64]:
        """Columns (ascending) as (n_rows, n_columns) float64, NaN where missing.

        Raises
        ------
        DataError
            Naming line and column of the first cell that is no number.
        """
        lines, delimiter = self.records, self.delimiter
        if self.quoted:
            lines, delimiter = self._without_quotes()
        try:
            return parse_lines(lines, delimiter, self.n_fields, columns, field_splitter(delimiter))
        except BadCell as bad:
            raise self._not_a_number(bad.row, columns[bad.position], bad.text) from None

    def _without_quotes(self) -> tuple[list[str], str]:
        """The records with quotes taken off, joined by a character that occurs nowhere."""
        used = set().union(*map(set, self.records))
        sign = next(c for c in map(chr, range(0xE000, 0xF900)) if c not in used)
        return [
            sign.join(unquote(field).replace("\n", " ") for field in self.split(record))
            for record in self.records
        ], sign

    def where(self, row: int, column: int) -> str:
        """Line and column of a cell, for messages."""
        name = self.names[column] if self.names else ""
        return f"{self.path}, line {self.line_numbers[row]}, {column_word(column, name)}"

    def _not_a_number(self, row: int, column: int, text: str) -> DataError:
        cells = self.column(column)
        wrong = sum(not is_number(cell) and not is_missing(cell) for cell in cells)
        shown = text if len(text) <= 40 else text[:39] + "…"
        advice = "correct it, or leave the field empty if the value is missing"
        if re.fullmatch(r"[+-]?[0-9]*(?:,[0-9]+)+", text):
            advice = "write decimals with a point and no thousands separators: 1234.5"
        elif 2 * wrong > len(cells):
            advice = (
                f"{wrong} of {len(cells)} cells of this column are text: drop the column, make it "
                f"the "
                "label, or declare it categorical"
            )
        elif wrong > 1:
            advice = f"so are {wrong - 1} more cells of this column; {advice}"
        return DataError(f"{self.where(row, column)}: {shown!r} is not a number; {advice}")


def load_sheet(
    path: Path,
    *,
    delimiter: str | None = None,
    label: str | int | None = None,
    header: bool | None = None,
    one_column: bool = False,
) -> Sheet:
    """The table in a text file.

    Parameters
    ----------
    path : Path
    delimiter : str, optional
        Chosen by ending and first line if not given.
    label : str or int, optional
        Helps to tell whether the first line holds names.
    header : bool, optional
        Whether it does; found out if not given.
    one_column : bool
        Whether a single column is a table too.

    Raises
    ------
    DataError
        If the file cannot be read, holds no rows, or rows differ in length.
    """
    text = load_text(path)
    records, numbers = split_records(text, path)
    sign = choose_delimiter(records[0], path, delimiter, one_column=one_column)
    split = field_splitter(sign)
    spelled = split(records[0])
    first = [unquote(field) for field in spelled]
    if header is None:
        header = is_header(first, records[1:], split, label)
    if header and len(records) == 1:
        raise DataError(f"{path} holds a line of names and no rows")
    sheet = Sheet(
        path=path,
        delimiter=sign,
        names=tuple(first) if header else None,
        spelled_names=tuple(spelled) if header else None,
        records=records[1:] if header else records,
        line_numbers=numbers[1:] if header else numbers,
        n_fields=len(first),
        quoted='"' in text,
    )
    if header and len(split(records[1])) == len(first) + 1:
        named = attrs.evolve(
            sheet, names=("", *first), spelled_names=("", *spelled), n_fields=len(first) + 1
        )
        if named.has_row_names:
            # R leaves out the name of the column of row names.
            sheet = named
    _check_lengths(sheet)
    return sheet


def _check_lengths(sheet: Sheet) -> None:
    sign, expected = sheet.delimiter, sheet.n_fields
    counts = [record.count(sign) for record in sheet.records]
    even = not sheet.quoted and counts.count(expected - 1) == len(counts)
    if even and expected > 1:
        return
    for record, count, line in zip(sheet.records, counts, sheet.line_numbers, strict=True):
        if not record.strip(" "):
            raise DataError(f"{sheet.path}, line {line} is blank; take it out, or fill it in")
        found = len(sheet.split(record)) if '"' in record else count + 1
        if found == expected:
            continue
        model = "the line of names" if sheet.names else "the first line"
        hint = ""
        if found == expected + 1 and record.rstrip(" ").endswith(sign):
            hint = f"; it ends in a {delimiter_name(sign)}"
        elif found > expected and sign == ",":
            hint = "; if its numbers have decimal commas, save them with decimal points"
        raise DataError(
            f"{sheet.path}, line {line} has {found} fields, {model} has {expected} "
            f"(delimiter: {delimiter_name(sign)}){hint}"
        )
