"""Find the table in a delimited text file: its dialect, its names and its rows.

Features may be in rows, with a second table about the samples.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import combinations, islice
from pathlib import Path
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.errors import DataError, RequestError, UntidyTableError
from fsframe.table.arrays import as_names
from fsframe.table.files.cells import Missing, Sheet, free_byte
from fsframe.table.reader import ArrayTable, Form
from fsframe.table.spelling.column_names import ABOUT_FEATURES, likely_names, name_rows
from fsframe.table.spelling.dialect import (
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
    stated_delimiter,
    title_end,
    totals_begin,
    trimmed,
    unquote,
)
from fsframe.table.spelling.text_file import (
    MAX_COLUMNS,
    check_size,
    is_number,
    known_texts,
    load_text,
)
from fsframe.table.table_columns import Column
from fsframe.text import some_of

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
    stated, end = stated_delimiter(raw)
    raw, first_line = raw[end:], first_line + (stated is not None)
    delimiter = stated if form.delimiter is None else form.delimiter
    title = 0 if header is False else title_end(raw, sign_of(delimiter))
    if title:
        above = raw[:title].decode(errors="replace").strip(" \n\t,;")
        notes.append(f"the lines above the names were taken as a title: {above[:60]!r}")
        first_line += raw.count(b"\n", 0, title)
        raw = raw[title:]
    records = first_records(raw)[0]
    sign = choose_delimiter(records, path, delimiter, decimal=decimal or ".", one_column=one_column)
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
            # R writes no name for the column of row names; a row that is too long has none.
            if n_second >= 3 and name_rows(named.column(0), named.missing, counting=True):
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


@attrs.frozen(kw_only=True)
class AboutSamples:
    """A table about samples.

    Parameters
    ----------
    path : Path
    names : sequence of str
        One for each row: the cells of the first column as spelled, so that 007 is not 7.
    columns : mapping of str to Column
        The other columns, by name.
    """

    path: Path
    names: Sequence[str]
    columns: Mapping[str, Column]


_ROWS_LOOKED_AT = 100


def with_samples(sheet: Sheet, about: AboutSamples | None, *, transpose: bool) -> ArrayTable:
    """The features of a text, with samples in rows, and what is known about the samples.

    Parameters
    ----------
    sheet : Sheet
        The first column names the rows.
    about : AboutSamples, optional
        In any order.
    transpose : bool
        Whether the rows are features, and the first line names the samples. Columns of text about
        the features, and numbers with the usual names of such columns, are left out with a note.

    Returns
    -------
    ArrayTable
        Features are numbers. Rows or columns of text are facts about the samples, as are the
        columns of the other table.

    Raises
    ------
    DataError
        If names are missing or occur twice, most samples are not in the other table, there is no
        feature, or the numbers do not fit in memory twice, as they must while they are transposed.
    """
    if sheet.spelled_names is None:
        raise DataError(f"{sheet.path} has no line of names, which --transpose and --samples need")
    check_size(16 * sheet.n_rows * sheet.n_fields, f"{sheet.path}, turned")
    rows = sheet.column(0)
    names = [name.strip() for name in sheet.names]
    notes, aside = sheet.notes, set[int]()
    if transpose:
        around = "", ""
        if about is not None:
            around = _around_samples(names[1:], about, sheet.path)
        if any(around):
            begin, end = around
            inside = re.compile(f"{re.escape(begin)}(.+){re.escape(end)}")
            found = {k: m[1] for k, name in enumerate(names) if (m := inside.fullmatch(name))}
            aside = {*range(1, len(names))} - {*found}
            names = [found.get(k, name) for k, name in enumerate(names)]
            notes = (*notes, f"samples are the columns called {f'{begin}…{end}'!r}")
        else:
            aside = _about_features(sheet, names, about)
        if aside:
            told = some_of([repr(names[k]) for k in sorted(aside)], 5)
            notes = (*notes, f"left out, as columns about the features, not samples: {told}")
    places = [k for k in range(1, sheet.n_fields) if k not in aside]
    columns = [names[k] for k in places]
    X, words = _numbers(sheet, places, by_row=transpose)
    samples, features = (columns, rows) if transpose else (rows, columns)
    beside = {
        features[k]: np.array([text or "" for text in known_texts(cells, sheet.missing)], object)
        for k, cells in words.items()
    }
    left = [k for k in range(len(features)) if k not in words]
    if not left:
        side = "rows" if transpose else "columns"
        raise DataError(f"{sheet.path} has no feature: all its {side} hold text")
    _check_once("features", features, sheet.path)
    if about is not None:
        others = rows if transpose else columns
        known, further = _by_sample(about, sheet.path, samples, others, transpose)
        beside |= known
        notes = (*notes, *further)
    return ArrayTable(
        path=sheet.path,
        X=np.ascontiguousarray(X.T if transpose else X),
        names=tuple(features[k] for k in left),
        label_name="class",
        without_label="give a table about the samples (--samples, samples=)",
        beside=beside,
        samples=tuple(samples),
        notes=notes,
    )


def about_samples(table: ArrayTable, about: AboutSamples) -> ArrayTable:
    """A table of arrays with what another one tells about its samples, by their names.

    Raises
    ------
    DataError
        If names occur twice, or most samples are not in the other table.
    """
    known, notes = _by_sample(about, table.path, table.row_names or (), (), transpose=False)
    return attrs.evolve(table, beside={**table.beside, **known}, notes=(*table.notes, *notes))


def _around_samples(names: Sequence[str], about: AboutSamples, path: Path) -> tuple[str, str]:
    """The texts before and after the names of most samples in names of columns; empty if none.

    Tools write such names: ``LFQ intensity S01``, ``counts/S01.bam``. DataError if columns of
    several kinds contain the names of samples.
    """
    listed = set(about.names)
    times = Counter[tuple[str, str]]()
    for name in names:
        edges = {0, *(edge for m in re.finditer(r"[\W_]+", name) for edge in m.span()), len(name)}
        times.update(
            (name[:a], name[b:]) for a, b in combinations(sorted(edges), 2) if name[a:b] in listed
        )
    most = max(times.values(), default=0)
    if 2 * most <= len(listed):
        return "", ""
    kinds = [around for around, many in times.items() if many == most]
    if ("", "") in kinds:
        return "", ""
    if len(kinds) > 1:
        shown = some_of([repr(f"{begin}…{end}") for begin, end in kinds], 5)
        raise DataError(
            f"{path} has several columns for each sample of {about.path}: {shown}; keep those of "
            "one kind in the file"
        )
    return kinds[0]


def _about_features(sheet: Sheet, names: Sequence[str], about: AboutSamples | None) -> set[int]:
    """Columns that describe the features in the rows: with a usual name, or mostly text.

    If all columns are mostly text, this is due to rows about the samples, such as their classes,
    and only the names count.
    """
    listed: Collection[str] = set() if about is None else set(about.names)
    free = [k for k in range(1, sheet.n_fields) if names[k] not in listed]
    usual = {k for k in free if names[k].lower() in ABOUT_FEATURES}
    texts = np.zeros(len(free), dtype=np.intp)
    numbers = np.zeros(len(free), dtype=np.intp)
    decimal = sheet.decimal
    for cells in islice(sheet.rows(free), _ROWS_LOOKED_AT):
        told = [unquote(cell) for cell in cells]
        number = np.array([is_number(cell.replace(decimal, ".")) for cell in told], dtype=bool)
        numbers += number
        texts += ~(number | np.array([sheet.missing(cell) for cell in told], dtype=bool))
    worded = texts > numbers
    if worded.all():
        return usual
    return usual | {k for k, text in zip(free, worded, strict=True) if text}


def _numbers(
    sheet: Sheet, columns: list[int], *, by_row: bool
) -> tuple[NDArray[np.float64], dict[int, list[str]]]:
    """The numbers of rows (or columns) without text, and the texts of the others by place."""
    taken = sheet.take(columns)
    X = np.asarray(taken.X, dtype=np.float64)
    if not taken.bad:
        return X, {}
    if not by_row:
        words = {column - 1: sheet.column(column) for column in taken.bad}
        return np.delete(X, list(words), axis=1), words

    decimal = sheet.decimal

    def of_text(cells: Sequence[str]) -> bool:
        plain = (cell.replace(decimal, ".") for cell in cells if not sheet.missing(cell))
        return not all(map(is_number, plain))

    rows = ([unquote(cell) for cell in cells] for cells in sheet.rows(columns))
    words = {k: cells for k, cells in enumerate(rows) if of_text(cells)}
    return np.delete(X, list(words), axis=0), words


def _by_sample(
    about: AboutSamples, path: Path, samples: Sequence[str], others: Sequence[str], transpose: bool
) -> tuple[dict[str, NDArray[Any]], list[str]]:
    """The columns about the samples, in the order of `samples`, by name; and notes.

    Values are missing for samples that the table about them lacks; DataError if it lacks more than
    half. `others` are the names along the other side of the table at `path`.
    """
    _check_once("samples", about.names, about.path)
    _check_once("samples", samples, path)
    place, notes = {name: row for row, name in enumerate(about.names)}, list[str]()
    if renamed := _spelled_otherwise([name for name in samples if name not in place], about.names):
        place |= {name: place[other] for name, other in renamed.items()}
        shown = some_of([f"{name!r} is {other!r}" for name, other in renamed.items()], 3)
        notes.append(f"samples are named otherwise in {about.path.name}: {shown}")
    lost = [repr(name) for name in samples if name not in place]
    if 2 * len(lost) > len(samples):
        meant = sum(name in place for name in others) + len(_spelled_otherwise(others, about.names))
        turned = meant > len(samples) - len(lost)
        turned = turned or any(_around_samples(others, about, path))
        wrong, way = ("rows", "leave out --transpose"), ("columns", "say --transpose")
        side, instead = wrong if transpose else way
        raise DataError(
            f"{about.path} has no row for {len(lost)} of the {len(samples)} samples of "
            f"{path}: {some_of(lost, 5)}. Its first column names "
            + (f"the {side} of that table: {instead}" if turned else "the samples")
        )
    if lost:
        notes.append(
            f"{about.path.name} has no row for {len(lost)} of the {len(samples)} samples: "
            f"{some_of(lost, 5)}"
        )
    rows = np.array([place.get(name, -1) for name in samples])
    beside: dict[str, NDArray[Any]] = {}
    for name, values in about.columns.items():
        if isinstance(values, list):
            texts = [values[row] or "" if row >= 0 else "" for row in rows.tolist()]
            beside[name] = np.array(texts, dtype=object)
        else:
            beside[name] = np.where(rows >= 0, values[rows], np.nan)
    return beside, notes


def _spelled_otherwise(lost: Sequence[str], names: Sequence[str]) -> dict[str, str]:
    """The names that differ from the lost ones only in case or signs, by the lost ones.

    R makes such changes: TCGA.01 of TCGA-01, X101 of 101. Empty if a name could be meant twice.
    """

    def plain(name: str) -> str:
        return re.sub(r"[\W_]|^x(?=[0-9])", "", name.lower())

    meant = Counter(plain(name) for name in names)
    asked = Counter(plain(name) for name in lost)
    of = {plain(name): name for name in names}
    found = {name: of[plain(name)] for name in lost if plain(name) in of}
    sure = all(meant[plain(name)] == asked[plain(name)] == 1 for name in found)
    return found if sure else {}


def _check_once(what: str, names: Sequence[str], path: Path) -> None:
    """Raise DataError if a name occurs twice."""
    twice = [repr(name) for name, times in Counter(names).items() if times > 1]
    if twice:
        raise DataError(
            f"{path} names {what} more than once: {some_of(twice, 5)}; give each a name of its own"
        )
