"""Contents of the columns of a file, examined before they have roles."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import partial

import attrs

from fsframe.errors import DataError
from fsframe.table.column_facts import Contents, gathered
from fsframe.tables.sheet import Sheet
from fsframe.tables.source import ArraysInFile, TextInFile, open_table
from fsframe.tables.table import Table

__all__ = ["contents", "contents_of_sheet"]


def contents(
    path: str | os.PathLike[str],
    *,
    label: str | int | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    na: str | float | Iterable[str | float] = (),
    x: str = "/X",
    y: str = "/y",
    names: str = "/feature_names",
) -> Contents:
    """Summarise the columns of a file, even if it cannot be used in a chain.

    The arguments are those of `read`. DataError if the file is not a table: missing, damaged, rows
    of different lengths. O(n log n) per column, for the number of different values.
    """
    load = partial(
        open_table, path, label=label, delimiter=delimiter, header=header, decimal=decimal,
        encoding=encoding, na=na, x=x, y=y, names=names, in_memory=None,
    )  # fmt: skip
    try:
        source = load()
    except DataError:
        # A single column is shown, too; blanks between fields are found as in `read`.
        source = load(one_column=True)
    return _contents_of(source)


def contents_of_sheet(sheet: Sheet) -> Contents:
    """The columns of a text table."""
    return _contents_of(TextInFile.of(sheet))


def _contents_of(source: Table) -> Contents:
    found = gathered(source.path, source.form, source.names, source.n_rows, source)
    if isinstance(source, TextInFile):
        sheet = source.sheet
        return attrs.evolve(found, row_names=sheet.has_row_names, named=sheet.names is not None)
    if isinstance(source, ArraysInFile):
        arrays = source.arrays
        return attrs.evolve(
            found,
            label_array=arrays.X.shape[1] if arrays.y is not None else None,
            named=arrays.names is not None or bool(arrays.beside),
            beside=len(arrays.beside),
        )
    return attrs.evolve(found, takes_codes=False)
