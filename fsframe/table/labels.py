"""The label of a table, read in one way wherever the table comes from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsframe.errors import DataError, RequestError
from fsframe.table.arrays import (
    EXACT,
    MANY_CLASSES,
    as_whole,
    check_spelled,
    infer_task,
)
from fsframe.table.number_spellings import label_numbers
from fsframe.table.text_file import MAX_CLASSES, is_missing, is_number

_LONG = 200


def label_missing(where: str, text: str, *, can_be_left_out: bool = True) -> DataError:
    """The error about a missing label at `where`."""
    way = "leave such rows out (--missing-label drop, missing_label='drop')"
    return DataError(
        f"{where}: the label is missing ({text or 'empty'}); fill it in, or "
        + (way if can_be_left_out else "take the row out")
    )


def label_values(
    texts: Sequence[str],
    where: Callable[[int], str],
    task: str | None,
    missing: Callable[[str], bool] = is_missing,
    *,
    decimal: str = ".",
    can_be_left_out: bool = True,
) -> tuple[NDArray[Any], str, str]:
    """The label as whole numbers, floats or text (numbers if all cells are), the task, and how
    numbers are spelled if not plainly.

    Parameters
    ----------
    texts : sequence of str
        The cells, blanks stripped.
    where : callable
        From a row to its place, for messages.
    task : str, optional
        ``"classification"`` or ``"regression"``; by default regression exactly if the label holds
        numbers of which at least one is not whole.
    missing : callable
        Whether a cell spells a missing value.
    decimal : {".", ","}
        Of numbers with units; others have points.
    can_be_left_out : bool
        Whether rows without a label can be left out, for messages.

    Raises
    ------
    DataError
        If a label is missing or infinite, or is text where a number is needed.
    RequestError
        If there is no such task.
    """
    if task not in (None, "classification", "regression"):
        raise RequestError(f"task must be classification or regression, not {task!r}")
    different = sorted(set(texts))
    absent = {text for text in different if missing(text)}
    if absent:
        row = next(row for row, text in enumerate(texts) if text in absent)
        raise label_missing(where(row), texts[row], can_be_left_out=can_be_left_out)
    words = {text for text in different if not is_number(text)}
    amounts = label_numbers(texts, decimal) if words and task != "classification" else None
    if words and task == "regression" and amounts is None:
        row = next(row for row, text in enumerate(texts) if text in words)
        raise DataError(
            f"{where(row)}: {texts[row]!r} is not a number; regression needs a numeric label"
        )
    if words and amounts is None:
        # In a NumPy array every text takes the space of the longest.
        long = max(map(len, different)) > _LONG
        return np.array(texts, dtype=object if long else None), "classification", ""
    spelling = ""
    if amounts:
        numbers, spelling = amounts
    else:
        value = {text: float(text) for text in different}
        numbers = np.array([value[text] for text in texts])
    if not np.isfinite(numbers).all():
        row = int(np.flatnonzero(~np.isfinite(numbers))[0])
        raise DataError(f"{where(row)}: the label is infinite; correct it, or take the row out")
    if not amounts and np.abs(numbers).max(initial=0) > EXACT:
        check_spelled(different, "the label")
    kind = task or infer_task(numbers)
    return as_whole(numbers) if kind == "classification" else numbers, kind, spelling


def check_classes(
    labels: NDArray[Any],
    name: str,
    where: Callable[[int], str],
    task: str,
    path: object,
    guessed: bool = False,
) -> list[str]:
    """Warnings about a label, (n,) numbers or text, that can be used.

    `where` goes from a row to its place, for messages; `guessed` says that the user did not name
    the label. DataError if there is one class only, a class has a single member, there are more
    than `MAX_CLASSES`, or a numeric target is constant.
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
    many = labels.dtype.kind in "if" and len(values) > MANY_CLASSES
    hint = (
        "; if it is a number to predict, say so (--task regression, task='regression')"
        if many
        else ""
    )
    if guessed:
        hint += f"; if another column is the label, name it (--label, label=), not {name!r}"
    if len(values) > MAX_CLASSES:
        raise DataError(
            f"{path}: label {name!r} has {len(values)} different values in {len(labels)} rows; "
            f"at most {MAX_CLASSES} classes are allowed{hint}"
        )
    alone = np.flatnonzero(counts == 1)
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
