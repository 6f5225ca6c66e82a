"""Read the label of a table, in the same way for all kinds of tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.errors import DataError, RequestError
from fsframe.table.arrays import (
    MANY_CLASSES,
    as_whole,
    check_spelled,
    check_whole,
    infer_task,
    text_array,
    unlabelled_left_out,
)
from fsframe.table.column_kinds import merged_spellings, number_note
from fsframe.table.number_spellings import label_numbers
from fsframe.table.table_columns import Table
from fsframe.table.text_file import MAX_CLASSES, is_missing, is_number

Cells = NDArray[Any] | Sequence[str]
"""A column as numbers, NaN where missing, or as texts."""


def check_classes(
    labels: NDArray[Any],
    name: str,
    where: Callable[[int], str],
    task: str,
    path: object,
    guessed: bool = False,
    *,
    said: bool = False,
) -> list[str]:
    """Check a label, (n,) numbers or text, and return warnings about it.

    `where` names a row in messages; `guessed` says that the user did not name the label, `said`
    that the task is given. DataError if there is one class only, a class has a single member, there
    are more than `MAX_CLASSES`, or a numeric target is constant.
    """
    values, first, counts = np.unique(labels, return_index=True, return_counts=True)
    if len(values) == 1:
        word = "one value" if task == "regression" else "one class"
        raise DataError(
            f"{path}: label {name!r} has {word} only, {values[0]!s}, in all {len(labels)} rows; "
            "selection needs at least two"
        )
    if task == "regression":
        return []
    alone = np.flatnonzero(counts == 1)
    numeric = labels.dtype.kind in "if" and not said
    many = numeric and len(values) > MANY_CLASSES
    hint = ""
    # Counts: few values, the largest of which are rare.
    if many or (numeric and len(values) > 2 and alone.size):
        hint = "; if it is a number to predict, say so (--task regression, task='regression')"
    if guessed:
        hint += f"; if another column is the label, name it (--label, label=), not {name!r}"
    if len(values) > MAX_CLASSES:
        raise DataError(
            f"{path}: label {name!r} has {len(values)} different values in {len(labels)} rows; "
            f"at most {MAX_CLASSES} classes are allowed{hint}"
        )
    if alone.size:
        shown = ", ".join(f"{str(values[c])[:60]} ({where(int(first[c]))})" for c in alone[:3])
        more = f" and {alone.size - 3} more" if alone.size > 3 else ""
        raise DataError(
            f"{path}: classes with a single member in label {name!r}: {shown}{more}; every class "
            f"needs at least two: take the rows out, or merge classes{hint}"
        )
    if many:
        return [f"label {name!r} has {len(values)} different numbers, taken as classes{hint}"]
    return []


def cells_of_array(values: NDArray[Any]) -> Cells:
    """The cells of an array of numbers, truth values or text."""
    if values.dtype.kind in "UO":
        return [text.strip() for text in values.tolist()]
    return values.astype(np.int64) if values.dtype.kind == "b" else values


def missing_cells(cells: Cells, missing: Callable[[str], bool] = is_missing) -> NDArray[np.bool_]:
    """Mask of the cells that hold no value, (n,).

    >>> missing_cells(["a", "NA"]), missing_cells(np.array([np.nan, 1]))
    (array([False,  True]), array([ True, False]))
    """
    if isinstance(cells, np.ndarray):
        return np.isnan(cells) if cells.dtype.kind == "f" else np.zeros(len(cells), dtype=bool)
    absent = {text for text in set(cells) if missing(text)}
    return np.array([text in absent for text in cells], dtype=bool)


@attrs.frozen(kw_only=True, eq=False)
class Label:
    """A label that was read and checked.

    Parameters
    ----------
    values : (n_known,) whole numbers, floats or text
    task : {"classification", "regression"}
    known : list of int, optional
        The rows that have a label, if the others are to be left out; None: all.
    notes : tuple of str
        Rows that were left out, spellings that were merged, and how numbers were spelled.
    """

    values: NDArray[Any]
    task: str
    known: list[int] | None = None
    notes: tuple[str, ...] = ()


def read_label(
    table: Table,
    place: int,
    name: str,
    cells: Cells,
    task: str | None,
    *,
    guessed: bool,
    leave_out: bool = False,
) -> Label:
    """The label in the cells of a column.

    Texts that are all numbers are numbers, unless the type of the column says that it holds
    classes; texts that differ in case or blanks only are one class.

    Parameters
    ----------
    table : Table
    place : int
        The place of the column.
    name : str
        Name of the label in messages.
    cells : (n,) numbers, NaN where missing, or texts
    task : {"classification", "regression"}, optional
        By default regression exactly if the label holds numbers that are not all whole, and the
        type of the column does not say otherwise.
    guessed : bool
        Whether the user did not name the label.
    leave_out : bool
        Whether rows without a label are left out.

    Raises
    ------
    DataError
        If a label is missing or infinite, or as in `check_classes`.
    RequestError
        If there is no such task.
    """
    if task not in (None, "classification", "regression"):
        raise RequestError(f"task must be classification or regression, not {task!r}")
    notes: list[str] = []
    absent = missing_cells(cells, table.missing_in(place))
    rows = None
    if absent.any() and leave_out:
        rows = np.flatnonzero(~absent).tolist()
        notes.append(unlabelled_left_out(int(absent.sum())))
        cells = cells[~absent] if isinstance(cells, np.ndarray) else [cells[k] for k in rows]
    elif absent.any():
        row = int(np.flatnonzero(absent)[0])
        text = "NaN" if isinstance(cells, np.ndarray) else cells[row]
        way = "leave such rows out (--missing-label drop, missing_label='drop')"
        possible = table.leaves_rows_out and place != table.own_label
        raise DataError(
            f"{table.where(row, place)}: the label is missing ({text or 'empty'}); fill it in, or "
            + (way if possible else "take the row out")
        )
    row_of = rows.__getitem__ if rows is not None else int

    def where(row: int) -> str:
        return table.where(row_of(row), place)

    typed = table.is_typed(place)
    kind = task or ("classification" if typed else None)
    if isinstance(cells, np.ndarray):
        values, kind = _of_numbers(cells, kind, table.what, where)
    else:
        texts, merged = _merged(cells)
        notes += merged
        if typed and kind == "classification":
            values = np.array(texts, dtype=object)
        else:
            values, kind = _of_texts(table, name, texts, kind, where, notes)
    notes += check_classes(
        values, name, lambda row: table.row(row_of(row)), kind, table.what, guessed,
        said=task is not None or typed,
    )  # fmt: skip
    return Label(values=values, task=kind, known=rows, notes=tuple(notes))


def _merged(texts: Sequence[str]) -> tuple[Sequence[str], list[str]]:
    """The texts with spellings of one class merged, and a note if there are such."""
    same = merged_spellings(texts)
    if not same:
        return texts, []
    spelled = ", ".join(f"{text!r} as {best!r}" for text, best in same.items())
    merged = [same.get(text, text) for text in texts]
    return merged, [f"spellings of one class were merged: {spelled}"]


def _of_numbers(
    numbers: NDArray[Any], task: str | None, what: object, where: Callable[[int], str]
) -> tuple[NDArray[Any], str]:
    infinite = np.flatnonzero(~np.isfinite(numbers))
    if infinite.size:
        raise DataError(
            f"{where(int(infinite[0]))}: the label is infinite; correct it, or take the row out"
        )
    check_whole(numbers[:, None], f"{what}: the label")
    kind = task or infer_task(numbers)
    return as_whole(numbers) if kind == "classification" else numbers, kind


def _of_texts(
    table: Table,
    name: str,
    texts: Sequence[str],
    task: str | None,
    where: Callable[[int], str],
    notes: list[str],
) -> tuple[NDArray[Any], str]:
    words = {text for text in set(texts) if not is_number(text)}
    if not words:
        check_spelled(set(texts), "the label")
        if table.decimal is None:
            notes.append(f"column {name!r} holds text, and was read as numbers")
        value = {text: float(text) for text in set(texts)}
        return _of_numbers(np.array([value[text] for text in texts]), task, table.what, where)
    amounts = None if task == "classification" else label_numbers(texts, table.decimal)
    if amounts is not None:
        notes.append(str(number_note(name, amounts[1])))
        return _of_numbers(amounts[0], task, table.what, where)
    if task == "regression":
        row = next(row for row, text in enumerate(texts) if text in words)
        raise DataError(
            f"{where(row)}: {texts[row]!r} is not a number; regression needs a numeric label"
        )
    return text_array(texts), "classification"
