"""A Dataset from a file."""

from __future__ import annotations

import os
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from fsframe.dataset import Dataset
from fsframe.errors import DataError
from fsframe.reading.arrays import ArrayTable
from fsframe.reading.features import (
    check_finite,
    coded_categories,
    feature_warnings,
    listed,
)
from fsframe.reading.fields import unquote
from fsframe.reading.locate import file_kind, find_table, table_name
from fsframe.reading.names import as_keys, check_names, column_word, find_column
from fsframe.reading.numbers import is_missing, is_number
from fsframe.reading.sheet import Sheet, load_sheet
from fsframe.reading.target import check_classes, label_values

__all__ = ["read"]

Keys = str | int | Iterable[str | int]
_USUAL_LABELS = ("class", "label", "target", "y", "outcome")


def read(
    path: str | os.PathLike[str],
    label: str | int | None = None,
    *,
    drop: Keys = (),
    categorical: Keys | bool | None = None,
    task: str | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
    x: str = "/X",
    y: str = "/y",
    names: str = "/feature_names",
    in_memory: bool | None = None,
) -> Dataset:
    """The table in a file.

    Parameters
    ----------
    path : path
        CSV or TSV (also gzipped), NPZ or HDF5, by its ending; without an ending, the one
        known file of that name.
    label : str or int, optional
        The label column by name, or by position from 0 (from the end if negative). By default the
        last column; in NPZ and HDF5 the array `y`.
    drop : str, int or several
        Columns to leave out.
    categorical : str, int, several, or True, optional
        Columns whose values are names of categories; True for all. Text in them is coded 0, 1, … in
        sorted order.
    task : {"classification", "regression"}, optional
        By default regression exactly if the label holds numbers that are not whole.
    delimiter : str, optional
        One character, or tab, comma, semicolon; found out by default.
    header : bool, optional
        Whether the first line holds names; found out by default.
    x, y, names : str
        Where NPZ and HDF5 files keep features, label and feature names.
    in_memory : bool, optional
        Whether the features of an HDF5 file are loaded, or stay there and are read by columns. By
        default they are loaded up to 2 GiB as float64.

    Returns
    -------
    Dataset
        With `warnings` about what is usable but weak.

    Raises
    ------
    DataError
        If the file is missing, damaged or of another kind, or its content cannot be used; the
        message names line and column.
    RequestError
        If an argument is out of range.

    Notes
    -----
    Cost: NumPy's parser, 0.05 – 0.2 µs a cell; tables of single digits 0.01 µs. Memory: the text
    twice and 8 bytes a cell. `docs/data.md` describes every rule.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "toy.csv").write_text("a,b,class\\n1,2,ill\\n3,4,well\\n5,6,ill\\n7,,well")
    >>> data = read(folder / "toy")
    >>> data.feature_names, data.classes, data.n_samples
    (('a', 'b'), ('ill', 'well'), 4)
    """
    found = find_table(path)
    kind = file_kind(found)
    if kind == "text":
        sheet = load_sheet(found, delimiter=delimiter, label=label, header=header)
        return _from_sheet(sheet, label, as_keys(drop), categorical, task)
    from fsframe.reading.arrays import dataset_from_arrays, load_arrays

    table: ArrayTable = load_arrays(found, kind, x=x, y=y, names=names, in_memory=in_memory)
    return dataset_from_arrays(table, label, as_keys(drop), categorical, task)


def _from_sheet(
    sheet: Sheet,
    label: str | int | None,
    drop: tuple[str | int, ...],
    categorical: Keys | bool | None,
    task: str | None,
) -> Dataset:
    path, n = sheet.path, sheet.n_fields
    warnings: list[str] = []
    dropped = {find_column(sheet.names, n, key, f"{path}, column to drop") for key in drop}
    if sheet.has_row_names and 0 not in dropped and label != 0:
        dropped.add(0)
        warnings.append("the first column has no name and holds row names or numbers: left out")
    left = [column for column in range(n) if column not in dropped]
    if len(left) < 2:
        raise DataError(
            f"{path} has {len(left)} columns to use; a table needs features and a label"
        )
    place = left[-1] if label is None else find_column(sheet.names, n, label, f"{path}, label")
    if place in dropped:
        raise DataError(f"{path}: {_word(sheet, place)} is the label and cannot be dropped")
    columns = [column for column in left if column != place]
    names, label_name = _names(sheet, columns, place)
    if label is None:
        warnings += _other_label(names, label_name)
    labels, kind = label_values(sheet.column(place), lambda row: sheet.where(row, place), task)
    mask = _category_mask(sheet, columns, categorical)
    X, notes = _values(sheet, columns, mask, names)
    check_finite(X, lambda row, column: sheet.where(row, columns[column]))
    warnings += check_classes(
        labels, label_name, lambda row: f"line {sheet.line_numbers[row]}", kind, path
    )
    return Dataset.from_arrays(
        X,
        labels,
        names,
        categorical=mask,
        name=table_name(path),
        label_name=label_name,
        task=kind,
        warnings=(*warnings, *notes, *feature_warnings(X, names), *_number_names(sheet, names)),
    )


def _word(sheet: Sheet, column: int) -> str:
    return column_word(column, sheet.names[column] if sheet.names else "")


def _names(sheet: Sheet, columns: list[int], place: int) -> tuple[tuple[str, ...], str]:
    if sheet.names is None:
        return tuple(f"f{k + 1}" for k in range(len(columns))), "class"
    check_names(sheet.names, [*columns, place], sheet.path)
    return tuple(sheet.names[column] for column in columns), sheet.names[place]


def _other_label(names: tuple[str, ...], label_name: str) -> list[str]:
    lowered = {name.lower(): name for name in names}
    others = [lowered[usual] for usual in _USUAL_LABELS if usual in lowered]
    if not others or label_name.lower() in _USUAL_LABELS:
        return []
    return [
        f"the last column, {label_name!r}, was taken as the label; there is a column "
        f"{others[0]!r} too: "
        "name the label if that is meant"
    ]


def _number_names(sheet: Sheet, names: tuple[str, ...]) -> list[str]:
    numbers = [name for name in names if sheet.names and is_number(name)]
    if not numbers or 2 * len(numbers) < len(names):
        return []
    return [
        f"the first line was taken as names, though {len(numbers)} of them are numbers "
        f"({listed(numbers, 3)}); if it is a row, say so (header=False, --no-header)"
    ]


def _category_mask(
    sheet: Sheet, columns: list[int], categorical: Keys | bool | None
) -> NDArray[np.bool_]:
    mask = np.zeros(len(columns), dtype=bool)
    if isinstance(categorical, bool) or categorical is None:
        mask[:] = bool(categorical)
        return mask
    for key in as_keys(categorical):
        what = f"{sheet.path}, categorical column"
        column = find_column(sheet.names, sheet.n_fields, key, what)
        if column not in columns:
            raise DataError(f"{what}: {_word(sheet, column)} is the label or is left out")
        mask[columns.index(column)] = True
    return mask


def _values(
    sheet: Sheet, columns: list[int], mask: NDArray[np.bool_], names: tuple[str, ...]
) -> tuple[NDArray[np.float64], list[str]]:
    """The features; text in categorical columns becomes codes, which a note spells out."""
    marked = np.flatnonzero(mask).tolist()
    if not marked:
        return sheet.numbers(columns), []
    notes = []
    X = np.empty((sheet.n_rows, len(columns)))
    texts = zip(*sheet.rows([columns[position] for position in marked]), strict=True)
    coded = []
    for position, cells in zip(marked, texts, strict=True):
        meant = [unquote(cell) for cell in cells]
        if all(is_number(cell) or is_missing(cell) for cell in meant):
            continue
        X[:, position], categories = coded_categories(meant, is_missing)
        coded.append(position)
        spelled = listed([f"{text}={code}" for code, text in enumerate(categories)], 10)
        notes.append(f"text in column {names[position]!r} was coded: {spelled}")
    if not coded:
        return sheet.numbers(columns), notes
    plain = np.setdiff1d(np.arange(len(columns)), coded).tolist()
    if plain:
        X[:, plain] = sheet.numbers([columns[position] for position in plain])
    return X, notes
