"""The interface of the columns of any table, and the error about columns that are not numeric."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from fsframe.errors import DataError
from fsframe.table.cells import BadColumn, Taken
from fsframe.table.column_kinds import OTHER_DATE
from fsframe.table.roles import Layout
from fsframe.table.text_file import is_missing
from fsframe.text import some_of

_DECIMAL_COMMA = re.compile(r"[+-]?[0-9]+,[0-9]+")


class Columns(Protocol):
    """The columns of a table, by place, as `fsframe.table.assembly` takes them."""

    @property
    def what(self) -> object:
        """Name of the table in messages."""

    @property
    def names(self) -> Sequence[str] | None:
        """The names of all columns; None if there are none."""

    @property
    def beside(self) -> Sequence[str]:
        """The names of annotations, which are not features; their places follow the columns'."""
        return ()

    @property
    def n_fields(self) -> int:
        """Number of columns."""

    @property
    def n_rows(self) -> int:
        """Number of rows."""

    @property
    def decimal(self) -> str | None:
        """The decimal mark of texts, if it is known."""
        return None

    @property
    def delimiter(self) -> str:
        """The delimiter of a text; empty for other tables."""
        return ""

    @property
    def takes_codes(self) -> bool:
        """Whether codes of missing values can be given."""
        return False

    @property
    def has_row_names(self) -> bool:
        """Whether the first column, which has no name, names or counts the rows."""
        return False

    def by_type(self, layout: Layout) -> Layout:
        """The layout in which types of columns count like declarations."""
        return layout

    def is_typed(self, column: int) -> bool:
        """Whether a column has a categorical type."""
        return False

    def missing(self, text: str, /) -> bool:
        """Whether a cell, blanks stripped, is a missing value."""
        return is_missing(text)

    def taken(self, columns: Sequence[int], label: int | None, beside: Sequence[int]) -> Taken:
        """Some columns (ascending) as numbers, the label as numbers or texts, `beside` as texts."""

    def texts(self, columns: Sequence[int]) -> Iterable[tuple[int, Sequence[str]]]:
        """Some columns as text, blanks stripped, one after the other; empty where missing."""

    def row(self, row: int) -> str:
        """The name of a row, for messages."""

    def where(self, row: int, column: int) -> str:
        """The table, row and column of a cell, for messages."""
        return f"{self.what}, {self.row(row)}, {self.word(column)}"

    def word(self, column: int) -> str:
        """The name of a column, for messages."""


def not_numbers(
    table: Columns,
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
    table: Columns, bad: Mapping[int, BadColumn], infinite: Sequence[int], labelled: bool
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


def _brief(table: Columns, bad: BadColumn) -> str:
    shown = bad.text if len(bad.text) <= 20 else bad.text[:19] + "…"
    cells = "1 cell," if bad.count == 1 else f"{bad.count} cells such as"
    return f"{table.word(bad.column)}: {cells} {shown!r}"


def _key(table: Columns, column: int) -> str:
    return table.names[column] if table.names else str(column + 1)


def way(table: Columns, option: str, value: str = "") -> str:
    """An option of commands, and for a data frame the argument of functions too."""
    words = f"--{option} {value}".rstrip()
    return words if table.takes_codes else f"{words}, {option}="
