"""Find the table in a delimited text file: its dialect, its names and its rows."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import attrs

from fsframe.errors import DataError, RequestError, UntidyTableError
from fsframe.table.arrays import as_names
from fsframe.table.cells import Missing, Sheet, free_byte
from fsframe.table.column_names import likely_names
from fsframe.table.dialect import (
    check_quotes,
    choose_delimiter,
    decimal_mark,
    delimiter_name,
    field_splitter,
    first_record,
    first_records,
    is_header,
    joined_names,
    questions_end,
    rows_end,
    second_names,
    sign_of,
    title_end,
    totals_begin,
    trimmed,
    unquote,
)
from fsframe.table.reader import Form
from fsframe.table.text_file import MAX_COLUMNS, is_number, load_text

_CLASSES = 10


def load_sheet(
    path: Path,
    form: Form,
    *,
    label: str | int | None = None,
    one_column: bool = False,
    text: bytes | None = None,
    called: str = "",
    notes: Sequence[str] = (),
) -> Sheet:
    """Read the table in a text file.

    `label`, as in `fsframe.read`, helps to decide whether the first line holds names; with
    `one_column` a single column is a table, too. `text` is the text that a reader made of the file,
    `called` the name of such a table in messages, and `notes` are warnings about it. DataError if
    the file cannot be read, holds no rows, or rows differ in length.
    """
    header, decimal = form.header, form.decimal
    if decimal not in (None, ".", ","):
        raise RequestError(f"decimal must be a point or a comma, not {decimal!r}")
    text = load_text(path, form.encoding) if text is None else text
    raw, first_line = trimmed(text, path)
    check_quotes(raw, first_line, path)
    notes = [*notes]
    title = 0 if header is False else title_end(raw, sign_of(form.delimiter))
    if title:
        above = raw[:title].decode(errors="replace").strip(" \n\t,;")
        notes.append(f"the lines above the names were taken as a title: {above[:60]!r}")
        first_line += raw.count(b"\n", 0, title)
        raw = raw[title:]
    records = first_records(raw)[0]
    sign = choose_delimiter(
        records, path, form.delimiter, decimal=decimal or ".", one_column=one_column
    )
    if sign == " ":
        raw = _single_blanks(raw)
    else:
        while (shorter := _without_last_signs(raw, sign)) != raw:
            raw = shorter
    byte = ord(sign)
    if not sign.isascii():
        if b'"' in raw:
            raise DataError(f"{path}: the delimiter {sign!r} cannot be used with quotes")
        byte = free_byte(raw, path)
        raw = raw.replace(sign.encode(), bytes([byte]))
    end = first_record(raw)
    if raw.count(bytes([byte]), 0, end) >= MAX_COLUMNS:
        raise DataError(
            f"{path}, line {first_line} has more than {MAX_COLUMNS} columns (delimiter: "
            f"{delimiter_name(sign)}); keep such a table as HDF5"
        )
    split = field_splitter(chr(byte))
    if decimal is None:
        decimal = decimal_mark(raw, end, chr(byte))
        if decimal == ",":
            notes.append("numbers have decimal commas (--decimal ,)")
    if sign != " ":
        stop, left_out = rows_end(raw, split, len(split(raw[:end].decode())))
        raw = raw[: max(stop, end)] if stop < len(raw) else raw
        notes += left_out
    stop = totals_begin(raw, split)
    if end < stop < len(raw):
        line = raw[stop:].decode().rstrip("\n")
        notes.append(f"the last line holds totals and is left out: {line[:40]!r}")
        raw = raw[:stop]
    fields = split(raw[:end].decode().removesuffix("\n"))
    first = [unquote(field) for field in fields]
    sheet = Sheet(
        path=path,
        raw=raw,
        start=end,
        first_line=first_line + raw.count(b"\n", 0, end),
        delimiter=sign,
        sign=byte,
        n_fields=len(first),
        names=tuple(first),
        spelled_names=tuple(fields),
        decimal=decimal,
        free=free_byte(raw, path),
        quoted=b'"' in raw,
        missing=Missing(tuple(code.strip() for code in form.na)),
        notes=tuple(notes),
        form=called,
    )
    if header is None and form.transpose:
        header = True
    if header is None:
        near = [list(map(unquote, split(record))) for record in first_records(raw, end)[0]]
        if first in near:
            # A line of names that is repeated below is still a line of names.
            near = []
        header = is_header(first, near, lambda column: _blocks(sheet, column), label)

    def from_byte(start: int, **changes: Any) -> Sheet:
        """The sheet whose rows begin at byte `start` of the text."""
        line = first_line + raw.count(b"\n", 0, start)
        return attrs.evolve(sheet, start=start, first_line=line, **changes)

    if not header:
        return from_byte(0, names=as_names(None, len(first)), spelled_names=None)
    if end >= len(raw):
        raise DataError(f"{path} holds a line of names and no rows")
    words = not any(map(is_number, first))
    if words and (again := raw.count(b"\n" + raw[:end], end - 1)):
        # Several tables were written one below the other.
        kept = raw[end - 1 :].replace(b"\n" + raw[:end], b"\n")
        raw = raw[: end - 1] + kept
        lines = "a line that repeats" if again == 1 else f"{again} lines that repeat"
        notes.append(f"{lines} the names {'is' if again == 1 else 'are'} left out")
        sheet = attrs.evolve(sheet, raw=raw, notes=tuple(notes))
    if (after := questions_end(raw, end, split)) > end:
        return from_byte(
            after, notes=(*notes, "the questions and import IDs below the names are left out")
        )
    # With features in rows the second line is a feature, or holds the classes.
    second = None if form.transpose else second_names(raw, end, split, first, decimal)
    if second is not None:
        after = first_record(raw, end)
        shown = ", ".join(text for text in second if text)
        times = Counter(second[1:])
        if likely_names(second[:1]) and 1 < len(times) <= _CLASSES and min(times.values()) > 1:
            raise UntidyTableError(
                f"{path}: its second line, {shown[:60]}…, tells the class of each column: samples "
                "are in columns, features in rows. Say so:",
                ({"label": second[0], "transpose": True},),
            )
        names = joined_names(first, second)
        quoted = [f'"{name}"' if chr(byte) in name else name for name in names]
        return from_byte(
            after,
            names=tuple(names),
            spelled_names=tuple(fields if names == first else quoted),
            notes=(*notes, f"the second line was taken as names or units: {shown[:60]}"),
        )
    row = raw[end : first_record(raw, end)].removesuffix(b"\n")
    n_second = len(split(row.decode()))
    if n_second == len(first) + 1:
        named = attrs.evolve(
            sheet, n_fields=n_second, names=("", *first), spelled_names=("", *fields)
        )
        try:
            # R writes no name for the column of row names.
            if named.has_row_names:
                return named
        except DataError:
            pass
    if n_second != len(first):
        # Before errors about names: the second row may be malformed.
        sheet.refuse(0, n_second, row)
    return sheet


def _blocks(sheet: Sheet, column: int) -> Iterator[list[str]]:
    """The cells of a column, up to a row of a wrong length, which is reported later."""
    try:
        yield from sheet.fields(column)
    except DataError:
        return


def _without_last_signs(raw: bytes, sign: str) -> bytes:
    """The text without the delimiter at the end of every row, if nothing ever comes after it.

    The line of names may lack it. A last column with a name but no value stays.
    """
    last = sign.encode() + b"\n"
    if raw.endswith(last[:-1]):
        raw += b"\n"
    lines, ends = raw.count(b"\n"), raw.count(last)
    if not ends or ends < lines - 1:
        return raw
    names, row, *_ = [*first_records(raw)[0], ""]
    more = len(field_splitter(sign)(row)) - len(field_splitter(sign)(names))
    over_all, over_rows = names.endswith(sign) and not more, not names.endswith(sign) and more == 1
    if (over_all and ends == lines) or (over_rows and ends == lines - 1):
        return raw.replace(last, b"\n")
    return raw


_BLANKS = re.compile(rb'"[^"]*"|([ \t]*\n[ \t]*)|[ \t]+')


def _single_blanks(raw: bytes) -> bytes:
    """Replace runs of blanks and tabs between fields by one blank, except in quotes."""

    def one(match: re.Match[bytes]) -> bytes:
        if match[0].startswith(b'"'):
            return match[0]
        return b"\n" * match[0].count(b"\n") if match[1] else b" "

    return _BLANKS.sub(one, raw.strip(b" \t"))
