"""The label column: classes or a number to predict, and checks of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsframe.errors import DataError, RequestError
from fsframe.table.array_checks import infer_task
from fsframe.table.magnitudes import EXACT
from fsframe.tables.cell_syntax import is_missing, is_number
from fsframe.tables.feature_checks import check_spelled
from fsframe.tables.size_limits import MAX_CLASSES

__all__ = ["check_classes", "label_missing", "label_values"]

_MANY = 20
_LONG = 200


def label_missing(where: str, text: str) -> DataError:
    """The error about a missing label at `where`."""
    return DataError(
        f"{where}: the label is missing ({text or 'empty'}); fill it in, or take the row out"
    )


def label_values(
    texts: Sequence[str],
    where: Callable[[int], str],
    task: str | None,
    missing: Callable[[str], bool] = is_missing,
) -> tuple[NDArray[Any], str]:
    """The label as whole numbers, floats or text (numbers if all cells are), and the task.

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
        raise label_missing(where(row), texts[row])
    words = {text for text in different if not is_number(text)}
    if words and task == "regression":
        row = next(row for row, text in enumerate(texts) if text in words)
        raise DataError(
            f"{where(row)}: {texts[row]!r} is not a number; regression needs a numeric label"
        )
    if words:
        # In a NumPy array every text takes the space of the longest.
        long = max(map(len, different)) > _LONG
        return np.array(texts, dtype=object if long else None), "classification"
    value = {text: float(text) for text in different}
    numbers = np.array([value[text] for text in texts])
    if not np.isfinite(numbers).all():
        row = int(np.flatnonzero(~np.isfinite(numbers))[0])
        raise DataError(f"{where(row)}: the label is infinite; correct it, or take the row out")
    if np.abs(numbers).max(initial=0) > EXACT:
        check_spelled(different, "the label")
    kind = task or infer_task(numbers)
    whole = np.all(numbers == np.round(numbers)) and np.abs(numbers).max(initial=0) < 2**53
    if kind == "classification" and whole:
        return numbers.astype(np.int64), kind
    return numbers, kind


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
    many = labels.dtype.kind in "if" and len(values) > _MANY
    hint = "; if the label is a number to predict, say so: task regression" if many else ""
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
