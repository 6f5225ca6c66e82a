"""Add to a table what separate files hold: the label of each row, or the names of its columns."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import attrs
import numpy as np

from fsframe.errors import DataError
from fsframe.table.column_facts import Column
from fsframe.table.dialect import quoted
from fsframe.table.frames import appended, frame_names
from fsframe.table.reader import ArrayTable, Form
from fsframe.table.sheet import Sheet, load_sheet
from fsframe.table.text_file import load_text
from fsframe.text import some_of

LABEL = "class"
"""Name of a label whose file does not name it."""

_NUMBERED_LINE = re.compile(r"([0-9]+)[\s,;]+(.+)")


def file_beside(given: str | None, path: Path) -> Path:
    """The file `given`, or the one of that name beside the table at `path` if both were moved."""
    file = Path(str(given))
    beside = path.with_name(file.name)
    return beside if beside.is_file() and not file.exists() else file


def rows_of(table: Sheet | ArrayTable | Any) -> int:
    """Number of rows of a text, of arrays or of a data frame."""
    if isinstance(table, ArrayTable):
        return int(table.X.shape[0])
    return table.n_rows if isinstance(table, Sheet) else len(table)


def label_of(table: Sheet | ArrayTable | Any) -> str:
    """The name of the label in a result of `with_labels`."""
    if isinstance(table, ArrayTable):
        return table.label_name
    names = table.names if isinstance(table, Sheet) else frame_names(table)
    assert names
    return names[-1]


def with_names(
    table: Sheet | ArrayTable | Any, path: Path, file: Path, encoding: str | None
) -> Sheet | ArrayTable:
    """A text or arrays without names of columns, with the names from a file.

    Parameters
    ----------
    table : Sheet, ArrayTable or data frame
    path : Path
        Its file.
    file : Path
        One name in each line, possibly after its number. Repeated names are numbered.
    encoding : str, optional
        Encoding of the names.

    Raises
    ------
    DataError
        If the table has names, or another number of columns, or the file cannot be read.
    """
    lines = load_text(file, encoding).decode().splitlines()
    names = [line.strip() for line in lines if line.strip()]
    if not isinstance(table, (Sheet, ArrayTable)) or table.names is not None:
        raise DataError(f"{path} has names of columns, so that {file} is not needed (--names)")
    width = table.n_fields if isinstance(table, Sheet) else table.X.shape[1]
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
    if isinstance(table, ArrayTable):
        return attrs.evolve(table, names=tuple(unique), notes=notes)
    spelled = tuple(quoted(name, table.delimiter) for name in unique)
    return attrs.evolve(table, names=tuple(unique), spelled_names=spelled, notes=notes)


@attrs.frozen(kw_only=True, eq=False)
class Labels:
    """The label of each row, from a separate file.

    Parameters
    ----------
    path : Path
        The file.
    name : str
        Name of the label.
    texts : list of str
        The label as spelled in the file.
    values : Column
        The label as numbers or texts.
    first : list of str, optional
        The first column, which may name the rows, if the file has several.
    columns : list of str
        The columns to choose from, if no label is asked for.
    """

    path: Path
    name: str
    texts: list[str]
    values: Column
    first: list[str] | None
    columns: list[str]


def with_labels(table: Sheet | ArrayTable | Any, path: Path, labels: Labels) -> Any:
    """The table at `path` with the label as its last column, or as the label of its arrays.

    Raises
    ------
    DataError
        If the table has a label or a column of that name, or the files do not fit.

    Notes
    -----
    A text is written anew with the label and parsed again: that takes its size in memory, and as
    much time as reading it.
    """
    file, name, rows = labels.path, labels.name, len(labels.texts)
    if rows != rows_of(table):
        raise DataError(
            f"{file} has {rows} rows, and {path} has {rows_of(table)}: a file of labels has "
            "that of each row, in their order"
        )
    if labels.first is not None:
        _check_order(table, path, labels, labels.first)
    if isinstance(table, ArrayTable) and table.y is not None:
        raise DataError(
            f"{path} has the label {table.label_name!r} already, so that {file} is not needed "
            "(--labels)"
        )
    names: Sequence[str]
    if isinstance(table, ArrayTable):
        names = (*table.feature_names, *table.others)
    elif isinstance(table, Sheet):
        names = table.names or tuple(f"f{k + 1}" for k in range(table.n_fields))
    else:
        names = frame_names(table)
    if name in names:
        raise DataError(f"{path} has a column {name!r} already, as the label in {file}")
    if isinstance(table, Sheet):
        return _with_last_column(table, path, names, name, labels.texts)
    values = labels.values
    if not isinstance(table, ArrayTable):
        return appended(table, {name: values})
    y = np.array([text or "" for text in values]) if isinstance(values, list) else values
    return attrs.evolve(table, y=y, label_name=name)


def _check_order(
    table: Sheet | ArrayTable | Any, path: Path, labels: Labels, first: Sequence[str]
) -> None:
    """Raise DataError if a file of labels has the rows in another order, or an unclear label."""
    file, columns = labels.path, labels.columns
    own = table.column(0) if isinstance(table, Sheet) else []
    if own == first and (not columns or len(columns) == 2):
        return
    about = "with --samples (samples=) instead of --labels (labels=)"
    if own != first and sorted(own) == sorted(first):
        raise DataError(f"the rows of {file} are those of {path} in another order: give it {about}")
    if columns:
        raise DataError(
            f"{file} has {len(columns)} columns, {some_of(columns, 4)}: name that of the label "
            "with --label (label=), by its number if it has no name; a table that names the rows "
            f"of {path} in its first column is given {about}"
        )


def _with_last_column(
    sheet: Sheet, path: Path, names: Sequence[str], name: str, texts: list[str]
) -> Sheet:
    sign = sheet.delimiter
    head = [*(sheet.spelled_names or names), quoted(name, sign)]
    rows = zip(sheet.rows(range(sheet.n_fields)), texts, strict=True)
    lines = [head, *([*row, quoted(text, sign)] for row, text in rows)]
    joined = load_sheet(
        path,
        Form(delimiter=sign, decimal=sheet.cells.decimal, header=True, na=sheet.missing.codes),
        text="".join(sign.join(line) + "\n" for line in lines).encode(),
        called=sheet.form,
        notes=sheet.notes,
    )
    return attrs.evolve(joined, first_line=sheet.first_line, labelled=True)
