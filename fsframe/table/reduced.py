"""Reduced tables: the columns that a run kept, written as text with the cells of the file."""

from __future__ import annotations

import gzip
import itertools
import os
from collections.abc import Sequence
from pathlib import Path

from fsframe.atomic import check_destination, place_file
from fsframe.errors import RequestError
from fsframe.table.dialect import quoted, unquote
from fsframe.table.table_columns import Table
from fsframe.table.text_file import defused, is_formula

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
