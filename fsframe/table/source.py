"""Open the table in a file, with what further files say of it: names, labels, samples."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import attrs
import numpy as np

from fsframe.errors import DataError, RequestError
from fsframe.table.array_files import LARGE, ArrayColumns, load_arrays
from fsframe.table.column_facts import Contents
from fsframe.table.columns import find_column
from fsframe.table.dialect import quoted, unquote
from fsframe.table.frames import FrameColumns, appended
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
from fsframe.table.table_columns import Table
from fsframe.table.text_file import load_text, memory_bound
from fsframe.text import some_of

_FORMS = {"npz": "NPZ arrays", "hdf5": "HDF5 datasets"}
_LABEL = "class"
"""Name of a label whose file does not name it."""

_NUMBERED_LINE = re.compile(r"([0-9]+)[\s,;]+(.+)")


def load_content(
    path: Path,
    kind: str,
    form: Form,
    *,
    label: str | int | None = None,
    one_column: bool = False,
    refuse: bool = False,
) -> Table:
    """The columns of a file that is not read in parts, before they have roles.

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
    Sheet, ArrayColumns, or FrameColumns

    Raises
    ------
    DataError
        If the file is damaged, or of an unknown format.
    """
    if form.labels is not None:
        alone = attrs.evolve(form, labels=None)
        table = load_content(path, kind, alone, one_column=True, refuse=refuse)
        return _with_labels(table, path, kind, form, label)
    if kind not in _FORMS and form.names != Form().names:
        alone = attrs.evolve(form, names=Form().names)
        table = load_content(path, kind, alone, label=label, one_column=one_column, refuse=refuse)
        return _with_names(table, path, kind, form)
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
        return _of_arrays(with_samples(sheet, about, transpose=form.transpose), kind)
    if of_rows:
        raise RequestError(
            f"--transpose and --samples (transpose=, samples=) are for text and workbooks, not for "
            f"{path}"
        )
    if kind in _FORMS:
        return _of_arrays(load_arrays(path, kind, form), kind)
    assert reader is not None
    paths = {key: said[key] for key in ("x", "y") if key in said}
    if refuse:
        check_options(path, kind, [key for key in said if key not in paths])
    check_options(path, kind, sorted(paths.keys() - reader.options))
    content = reader.read(path, **paths)
    if isinstance(content, ArrayTable):
        return _of_arrays(content, kind)
    return FrameColumns(content, path, kind)


def _of_arrays(arrays: ArrayTable, kind: str) -> ArrayColumns:
    return ArrayColumns.of(arrays, form=_FORMS.get(kind, kind), takes_codes=True)


def _beside(given: str | None, path: Path) -> Path:
    """The file `given`, or the one of that name beside the table at `path` if both were moved."""
    file = Path(str(given))
    beside = path.with_name(file.name)
    return beside if beside.is_file() and not file.exists() else file


def _opened(given: str | None, path: Path, form: Form, **spelled: Any) -> Table:
    """A further file of the table at `path`, with the codes and the encoding of its `form`."""
    spelling = Form(na=form.na, encoding=form.encoding, **spelled)
    return open_table(_beside(given, path), spelling, one_column=True)


def _with_names(table: Table, path: Path, kind: str, form: Form) -> Table:
    """A text or arrays without names of columns, with the names from a file.

    The file has one name in each line, possibly after its number. Repeated names are numbered.
    DataError if the table has names, or another number of columns, or the file cannot be read.
    """
    file = _beside(form.names, path)
    lines = load_text(file, form.encoding).decode().splitlines()
    names = [line.strip() for line in lines if line.strip()]
    arrays = table.arrays if isinstance(table, ArrayColumns) else None
    if (table.spelled_names if arrays is None else arrays.names) is not None:
        raise DataError(f"{path} has names of columns, so that {file} is not needed (--names)")
    width = table.n_fields
    if len(names) != width:
        raise DataError(f"{file} has {len(names)} names, and {path} has {width} columns")
    numbered = [found for name in names if (found := _NUMBERED_LINE.fullmatch(name))]
    if len(numbered) == width:
        first = int(numbered[0][1])
        if [int(found[1]) for found in numbered] == [*range(first, first + width)]:
            names = [found[2] for found in numbered]
    times = Counter[str]()
    unique = []
    for name in names:
        times[name] += 1
        unique.append(name if times[name] == 1 else f"{name} ({times[name]})")
    notes = table.notes
    if again := [repr(name) for name, many in times.items() if many > 1]:
        notes = (*notes, f"names that occur again are numbered: {some_of(again, 3)}")
    if arrays is not None:
        return _of_arrays(attrs.evolve(arrays, names=tuple(unique), notes=notes), kind)
    assert isinstance(table, Sheet)
    spelled = tuple(quoted(name, table.delimiter) for name in unique)
    return attrs.evolve(table, names=tuple(unique), spelled_names=spelled, notes=notes)


def _with_labels(table: Table, path: Path, kind: str, form: Form, label: str | int | None) -> Table:
    """A table with the label of each row, from a separate file, as its last column or its label.

    DataError if the table has a label or a column of that name, or the files do not fit.

    Notes
    -----
    A text is written anew with the label and parsed again: that takes its size in memory, and as
    much time as reading it.
    """
    rows = table.n_rows
    # The commas of one column of numbers must not separate two.
    decimal = "," if table.decimal == "," else None
    other = _opened(form.labels, path, form, decimal=decimal)
    if other.n_rows == rows - 1:
        # The first label was taken as a name, since it occurs only once.
        other = _opened(form.labels, path, form, decimal=decimal, header=False)
    file, width = other.path, len(other.names)
    cells = [[unquote(cell) for cell in row] for row in other.rows(range(width))]
    own = [_LABEL if name == f"f{k + 1}" else name for k, name in enumerate(other.names)]
    place = width - 1
    if label is not None and not (width <= 2 and label == own[place]):
        place = find_column(other.names, width, label, str(file))
    name = own[place]
    if other.n_rows != rows:
        raise DataError(
            f"{file} has {other.n_rows} rows, and {path} has {rows}: a file of labels has "
            "that of each row, in their order"
        )
    if width > 1:
        own_first = table.column(0) if isinstance(table, Sheet) else []
        _check_order(path, own_first, other, [row[0] for row in cells], label is None)
    if table.own_label is not None:
        raise DataError(
            f"{path} has the label {table.names[table.own_label]!r} already, so that {file} is not "
            "needed (--labels)"
        )
    if name in table.names:
        raise DataError(f"{path} has a column {name!r} already, as the label in {file}")
    if isinstance(table, Sheet):
        return _with_last_column(table, path, name, [row[place] for row in cells])
    values = other.values(place)
    if isinstance(table, ArrayColumns):
        y = np.array([text or "" for text in values]) if isinstance(values, list) else values
        return _of_arrays(attrs.evolve(table.arrays, y=y, label_name=name), kind)
    assert isinstance(table, FrameColumns)
    frame = appended(table.frame, {name: values})
    return FrameColumns(frame, path, kind, own_label=table.n_fields)


def _check_order(
    path: Path, own: Sequence[str], labels: Table, first: Sequence[str], unclear: bool
) -> None:
    """Raise DataError if a file of labels has the rows in another order, or an unclear label.

    `own` and `first` are the first columns of the table and of the file, which may name the rows.
    """
    if own == first and (not unclear or len(labels.names) == 2):
        return
    about = "with --samples (samples=) instead of --labels (labels=)"
    if own != first and sorted(own) == sorted(first):
        raise DataError(
            f"the rows of {labels.path} are those of {path} in another order: give it {about}"
        )
    if unclear:
        raise DataError(
            f"{labels.path} has {len(labels.names)} columns, "
            f"{some_of(list(map(repr, labels.names)), 4)}: name that of the label "
            "with --label (label=), by its number if it has no name; a table that names the rows "
            f"of {path} in its first column is given {about}"
        )


def _with_last_column(sheet: Sheet, path: Path, name: str, texts: list[str]) -> Sheet:
    sign = sheet.delimiter
    head = [*(sheet.spelled_names or sheet.names), quoted(name, sign)]
    rows = zip(sheet.rows(range(sheet.n_fields)), texts, strict=True)
    lines = [head, *([*row, quoted(text, sign)] for row, text in rows)]
    joined = load_sheet(
        path,
        Form(delimiter=sign, decimal=sheet.decimal, header=True, na=sheet.missing.codes),
        text="".join(sign.join(line) + "\n" for line in lines).encode(),
        called=sheet.form,
        notes=sheet.notes,
    )
    return attrs.evolve(joined, first_line=sheet.first_line, own_label=sheet.n_fields)


def _about_samples(form: Form, path: Path) -> AboutSamples:
    """The table about the samples of the table at `path`."""
    other = _opened(form.samples, path, form)
    return AboutSamples(
        path=other.path,
        names=[unquote(cells[0]) for cells in other.rows([0])],
        columns={name: other.values(k) for k, name in enumerate(other.names) if k},
    )


def is_large(path: Path, kind: str, x: str) -> bool:
    """Whether the table in a file is so large that it is not loaded, but read in parts."""
    if kind not in IN_BLOCKS:
        return False
    if kind == "hdf5":
        from fsframe.table.hdf5 import Hdf5Arrays

        with Hdf5Arrays(path) as file:
            form = file.table_form(x)
        return form is not None and 8 * form[0][0] * form[0][1] > LARGE
    if path.stat().st_size < memory_bound() // 200:
        return False
    import polars

    frame = polars.scan_ipc(path) if kind == "arrow" else polars.scan_parquet(path, glob=False)
    rows = int(frame.select(polars.len()).collect().item())
    return bool(16 * rows * len(frame.collect_schema()) > memory_bound())


def open_table(path: str | os.PathLike[str], form: Form, **options: Any) -> Table:
    """Open the table in a file that is not read in parts; `options` as for `load_content`.

    Raises
    ------
    DataError
        If the file is missing, damaged, of an unknown format, or rows of a text differ in length.
    """
    table_path = find_table(path)
    kind = file_kind(table_path)
    table = load_content(table_path, kind, form, **options)
    if isinstance(table, Sheet):
        table.check()
    return table


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

    return rows_of_parts(table_path, asked)


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
    return Contents.of(source)
