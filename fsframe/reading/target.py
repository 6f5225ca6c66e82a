"""The label column: classes or a number to predict, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsframe.errors import DataError, RequestError
from fsframe.given_arrays import infer_task
from fsframe.reading.numbers import is_missing, is_number

__all__ = ["check_classes", "label_values"]

_MANY = 20


def label_values(
    texts: Sequence[str], where: Callable[[int], str], task: str | None
) -> tuple[NDArray[Any], str]:
    """The label as whole numbers, floats or text, and the task.

    Parameters
    ----------
    texts : sequence of str
        The cells, blanks stripped.
    where : callable
        From a row to its place, for messages.
    task : str, optional
        ``"classification"`` or ``"regression"``; by default regression exactly if the label holds
        numbers of which at least one is not whole.

    Returns
    -------
    labels : (n,) int64, float64 or str
        Numbers if all cells are, so that classes sort as numbers.
    task : str

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
    missing = {text for text in different if is_missing(text)}
    if missing:
        row = next(row for row, text in enumerate(texts) if text in missing)
        raise DataError(
            f"{where(row)}: the label is missing ({texts[row] or 'empty'}); fill it in, or take "
            f"the "
            "row out"
        )
    words = {text for text in different if not is_number(text)}
    if words and task == "regression":
        row = next(row for row, text in enumerate(texts) if text in words)
        raise DataError(
            f"{where(row)}: {texts[row]!r} is not a number; regression needs a numeric label"
        )
    if words:
        return np.array(texts), "classification"
    value = {text: float(text) for text in different}
    numbers = np.array([value[text] for text in texts])
    if not np.isfinite(numbers).all():
        row = int(np.flatnonzero(~np.isfinite(numbers))[0])
        raise DataError(f"{where(row)}: the label is infinite; correct it, or take the row out")
    kind = task or infer_task(numbers)
    whole = np.all(numbers == np.round(numbers)) and np.abs(numbers).max(initial=0) < 2**53
    if kind == "classification" and whole:
        return numbers.astype(np.int64), kind
    return numbers, kind


def check_classes(
    labels: NDArray[Any], name: str, where: Callable[[int], str], task: str, path: object
) -> list[str]:
    """Warnings about a label that can be used.

    Raises
    ------
    DataError
        If there is one class only, a class has a single member, or a numeric target never changes.
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
    alone = np.flatnonzero(counts == 1)
    if alone.size:
        shown = ", ".join(f"{values[c]!s} ({where(int(first[c]))})" for c in alone[:3])
        more = f" and {alone.size - 3} more" if alone.size > 3 else ""
        raise DataError(
            f"{path}: classes with a single member in label {name!r}: {shown}{more}; every class "
            f"needs "
            f"at least two: take the rows out, or merge classes{hint}"
        )
    if many:
        return [f"label {name!r} has {len(values)} different numbers, taken as classes{hint}"]
    return []
