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
from fsframe.table.text_file import MAX_CLASSES, is_missing, is_number

Cells = NDArray[Any] | Sequence[str]
"""A column as numbers, NaN where missing, or as texts."""


def check_task(task: str | None) -> None:
    """Raise RequestError if there is no such task."""
    if task not in (None, "classification", "regression"):
        raise RequestError(f"task must be classification or regression, not {task!r}")


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


@attrs.frozen(kw_only=True)
class LabelColumn:
    """The column of the label without its cells: its names in messages, and how to read it.

    Parameters
    ----------
    name : str
    table : object
        Name of the table in messages.
    where, row : callable
        Return the names in messages of a row's cell, and of the row; by default its number.
    missing : callable
        Whether a text is a missing value.
    decimal : {".", ","}, optional
        As for `spelled_numbers`; given for files of text, where it is no news that a number is one.
    typed : bool
        Whether the type of the column says that it holds classes.
    can_be_left_out : bool
        Whether rows without a label can be left out, for messages.
    guessed : bool
        Whether the user did not name the label.
    """

    name: str
    table: object
    where: Callable[[int], str] = attrs.field()
    row: Callable[[int], str] = lambda row: f"row {row + 1}"
    missing: Callable[[str], bool] = is_missing
    decimal: str | None = None
    typed: bool = False
    can_be_left_out: bool = True
    guessed: bool = False

    @where.default
    def _where_by_number(self) -> Callable[[int], str]:
        return lambda row: f"{self.table}, label {self.name!r}, row {row + 1}"

    def read(self, cells: Cells, task: str | None, *, leave_out: bool = False) -> Label:
        """The label in the cells of this column.

        Texts that are all numbers are numbers, unless the type of the column says that it holds
        classes; texts that differ in case or blanks only are one class.

        Parameters
        ----------
        cells : (n,) numbers, NaN where missing, or texts
        task : {"classification", "regression"}, optional
            By default regression exactly if the label holds numbers that are not all whole, and
            the type of the column does not say otherwise.
        leave_out : bool
            Whether rows without a label are left out.

        Raises
        ------
        DataError
            If a label is missing or infinite, or as in `check_classes`.
        RequestError
            If there is no such task.
        """
        check_task(task)
        notes: list[str] = []
        absent = missing_cells(cells, self.missing)
        rows = None
        if absent.any() and leave_out:
            rows = np.flatnonzero(~absent).tolist()
            notes.append(unlabelled_left_out(int(absent.sum())))
            cells = cells[~absent] if isinstance(cells, np.ndarray) else [cells[k] for k in rows]
        elif absent.any():
            row = int(np.flatnonzero(absent)[0])
            text = "NaN" if isinstance(cells, np.ndarray) else cells[row]
            way = "leave such rows out (--missing-label drop, missing_label='drop')"
            raise DataError(
                f"{self.where(row)}: the label is missing ({text or 'empty'}); fill it in, or "
                + (way if self.can_be_left_out else "take the row out")
            )
        place = rows.__getitem__ if rows is not None else int
        kind = task or ("classification" if self.typed else None)
        if isinstance(cells, np.ndarray):
            values, kind = self._of_numbers(cells, kind, lambda row: self.where(place(row)))
        else:
            values, kind = self._of_texts(cells, kind, lambda row: self.where(place(row)), notes)
        said = task is not None or self.typed
        notes += check_classes(
            values, self.name, lambda row: self.row(place(row)), kind, self.table, self.guessed,
            said=said,
        )  # fmt: skip
        return Label(values=values, task=kind, known=rows, notes=tuple(notes))

    def _of_numbers(
        self, numbers: NDArray[Any], task: str | None, where: Callable[[int], str]
    ) -> tuple[NDArray[Any], str]:
        infinite = np.flatnonzero(~np.isfinite(numbers))
        if infinite.size:
            raise DataError(
                f"{where(int(infinite[0]))}: the label is infinite; correct it, or take the row out"
            )
        check_whole(numbers[:, None], f"{self.table}: the label")
        kind = task or infer_task(numbers)
        return as_whole(numbers) if kind == "classification" else numbers, kind

    def _of_texts(
        self,
        texts: Sequence[str],
        task: str | None,
        where: Callable[[int], str],
        notes: list[str],
    ) -> tuple[NDArray[Any], str]:
        same = merged_spellings(texts)
        if same:
            spelled = ", ".join(f"{text!r} as {best!r}" for text, best in same.items())
            notes.append(f"spellings of one class were merged: {spelled}")
            texts = [same.get(text, text) for text in texts]
        if self.typed and task == "classification":
            return np.array(texts, dtype=object), task
        words = {text for text in set(texts) if not is_number(text)}
        if not words:
            check_spelled(set(texts), "the label")
            if self.decimal is None:
                notes.append(f"column {self.name!r} holds text, and was read as numbers")
            value = {text: float(text) for text in set(texts)}
            return self._of_numbers(np.array([value[text] for text in texts]), task, where)
        amounts = None if task == "classification" else label_numbers(texts, self.decimal)
        if amounts is not None:
            notes.append(str(number_note(self.name, amounts[1])))
            return self._of_numbers(amounts[0], task, where)
        if task == "regression":
            row = next(row for row, text in enumerate(texts) if text in words)
            raise DataError(
                f"{where(row)}: {texts[row]!r} is not a number; regression needs a numeric label"
            )
        return text_array(texts), "classification"
