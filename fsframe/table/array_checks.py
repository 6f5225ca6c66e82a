"""Check the arrays of a table and convert them to the form in which they are stored."""

from __future__ import annotations

import numbers
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fsframe.errors import DataError
from fsframe.table.arrays import (
    LARGEST,
    SparseColumns,
    as_table,
    check_whole,
    freeze,
    is_sparse,
    too_large,
    too_large_in_words,
)
from fsframe.text import counted

_LONG = 200


def infer_task(y: NDArray[Any]) -> str:
    """``"regression"`` for numbers of which at least one is not whole, else ``"classification"``.

    >>> infer_task(np.array([0, 1, 1])), infer_task(np.array([0.5, 1.0]))
    ('classification', 'regression')
    """
    if y.dtype.kind == "f" and not np.all(y == np.round(y)):
        return "regression"
    return "classification"


def as_matrix(X: ArrayLike) -> NDArray[Any] | SparseColumns:
    """The features in the form a table stores them, read-only; copied only if necessary.

    (n_samples, n_features) float64 in C order, NaN where missing. Arrays of bytes (uint8, int8)
    stay bytes, and scipy's sparse ones stay sparse if that saves half of the memory. DataError if
    there is anything but NaN and real numbers up to `magnitudes.LARGEST`, whole numbers that would
    become equal, another shape, or nothing.
    """
    if is_sparse(X):
        table = as_table(X)
        return freeze(table) if isinstance(table, np.ndarray) else table
    try:
        if np.asarray(X).dtype.kind in "cmM":
            raise TypeError(f"values of {np.asarray(X).dtype} are not real numbers")
        given = np.asarray(X)
        kept = given.dtype if given.dtype in (np.uint8, np.int8) else np.float64
        matrix = np.array(given, dtype=kept, order="C", copy=None)
    except (TypeError, ValueError) as error:
        raise DataError(f"the features must be a table of numbers: {error}") from None
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise DataError(
            f"the features must be a table of samples × features, not of shape {matrix.shape}"
        )
    if matrix.dtype.kind != "f":
        return freeze(matrix)
    check_whole(given)
    wrong = too_large(matrix)
    if wrong is not None:
        raise DataError(too_large_in_words(int(wrong.sum()), *np.argwhere(wrong)[0].tolist()))
    return freeze(matrix)


def as_mask(given: Any, n_features: int, what: str = "categorical columns") -> NDArray[np.bool_]:
    """The given columns, by number or as a mask, as a read-only mask (n_features,); None for none.

    DataError if `given` is neither, or names a column that does not exist; it calls them `what`.
    """
    mask = np.zeros(n_features, dtype=bool)
    if given is not None and np.size(given):
        columns = np.asarray(given)
        if columns.dtype == bool and columns.shape != (n_features,):
            raise DataError(f"the mask of {what} has shape {columns.shape}, not ({n_features},)")
        if columns.dtype.kind not in "bui":
            raise DataError(f"{what} are given by number or mask, not {given!r}")
        if columns.dtype != bool and not (0 <= columns.min() <= columns.max() < n_features):
            raise DataError(f"{what} {columns.tolist()} are not all in 0 … {n_features - 1}")
        mask[columns] = True
    return freeze(mask)


def as_counts(given: Any, shape: tuple[int, ...]) -> NDArray[np.integer[Any]]:
    """How often each row is drawn, in one resample or in each of several, as integers.

    `given`, (n_samples,) or (n_resamples, n_samples) whole numbers, itself if it has an integer
    type. DataError if it holds negative or fractional numbers, has another shape, or draws no row
    at all.
    """
    counts = np.asarray(given)
    if counts.dtype.kind not in "iu":
        if not np.array_equal(counts, np.round(counts)):
            raise DataError("counts must be whole numbers: how often each row was drawn")
        counts = counts.astype(np.int64)
    below_zero = counts.dtype.kind == "i" and counts.min(initial=0) < 0
    if counts.shape != shape or below_zero or not (counts.max(axis=-1) > 0).all():
        raise DataError(f"counts must be {shape[-1]} numbers ≥ 0, not all zero, one per row")
    return counts


def as_names(given: Sequence[str] | None, n_features: int) -> tuple[str, ...]:
    """One unique name per column; ``f1, f2, …`` by default. DataError if they do not fit."""
    if given is None:
        return _numbered(n_features)
    names = tuple(str(name) for name in given)
    if len(names) != n_features:
        raise DataError(f"{len(names)} feature names for {n_features} features")
    if len(set(names)) != len(names):
        twice = sorted(name for name, times in Counter(names).items() if times > 1)
        raise DataError(f"feature names must differ; given more than once: {', '.join(twice[:5])}")
    check_text(names, "feature name")
    return names


def check_text(texts: Sequence[str], what: str) -> None:
    """Raise DataError naming the first text with an unpaired surrogate: files cannot hold it."""
    try:
        "".join(texts).encode()
    except UnicodeEncodeError:
        wrong = next(text for text in texts if any("\ud800" <= sign <= "\udfff" for sign in text))
        raise DataError(
            f"the {what} {wrong[:30]!r} holds an unpaired surrogate character; rename it"
        ) from None


@lru_cache(maxsize=8)
def _numbered(n_features: int) -> tuple[str, ...]:
    """The names of columns without names."""
    return tuple(f"f{i + 1}" for i in range(n_features))


def _plain_labels(labels: NDArray[Any], label_name: str) -> NDArray[Any]:
    """Labels of Python objects as numbers if all are numbers, else as text."""
    if labels.dtype.kind != "O" or labels.ndim != 1:
        return labels
    found = labels.tolist()
    for row, label in enumerate(found, start=1):
        # NaN is the one value that differs from itself.
        if label is None or label != label:
            raise DataError(f"label {label_name!r} is missing in row {row}")
    if all(isinstance(label, numbers.Real) for label in found):
        return np.array(found)
    texts = [str(label) for label in found]
    # NumPy stores every text in the size of the longest.
    long = max(map(len, texts), default=0) > _LONG
    return np.array(texts, dtype=object if long else None)


def _codes(labels: NDArray[Any]) -> tuple[Any, NDArray[np.int64]]:
    """The distinct labels in ascending order, and the position of each row's label."""
    if labels.dtype.kind != "O":
        values, codes = np.unique(labels, return_inverse=True)
        return values, codes
    found = labels.tolist()
    different = sorted(set(found))
    code = {text: place for place, text in enumerate(different)}
    return different, np.array([code[text] for text in found], dtype=np.int64)


def unlabelled_left_out(rows: int) -> str:
    """The warning about rows without a label that were left out."""
    return f"{counted(rows, 'row')} without a label left out (--missing-label drop)"


def as_labels(
    y: ArrayLike, n_samples: int, label_name: str, task: str | None
) -> tuple[NDArray[Any], tuple[Any, ...], str]:
    """The label in the form a table stores it, its classes, and the task.

    Parameters
    ----------
    y : array_like of shape (n_samples,)
        Classes (numbers or text), or a numeric target.
    task : str or None
        ``"survival"`` is of signed times (`fsframe.table.side_columns`); by default as the values
        suggest (`infer_task`).

    Returns
    -------
    y : read-only array of shape (n_samples,)
        int64 codes 0 … n_classes - 1, or the target as float64.
    classes : tuple
        The labels of the codes, in ascending order; empty for a target.
    task : str

    Raises
    ------
    DataError
        If a label is missing or infinite, the shape is wrong, there is only one class, or the task
        is unknown or does not fit the values.
    """
    labels = _plain_labels(np.asarray(y), label_name)
    if labels.shape != (n_samples,):
        raise DataError(
            f"label {label_name!r} has shape {labels.shape}, the table {n_samples} rows"
        )
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        row = int(np.flatnonzero(~np.isfinite(labels))[0])
        raise DataError(f"label {label_name!r} is missing or infinite in row {row + 1}")
    kind = infer_task(labels) if task is None else task
    if kind in ("regression", "survival"):
        if labels.dtype.kind not in "fiub":
            raise DataError(f"label {label_name!r} holds text; {kind} needs numbers")
        large = np.flatnonzero(np.abs(labels.astype(np.float64)) > LARGEST)
        if large.size:
            raise DataError(
                f"label {label_name!r} is {labels[large[0]]:g} in row {large[0] + 1}, and the "
                f"square of a number above {LARGEST:g} is infinite; divide the label by a constant"
            )
        return freeze(labels.astype(np.float64)), (), kind
    if kind != "classification":
        raise DataError(f"task must be classification or regression, not {kind!r}")
    values, codes = _codes(labels)
    if len(values) < 2:
        raise DataError(
            f"label {label_name!r} has one class only ({values[0]!s}); selection needs at least two"
        )
    if isinstance(values, list):
        check_text([str(value) for value in values], f"class of {label_name!r}")
    elif values.dtype.kind == "U":
        check_text(values.tolist(), f"class of {label_name!r}")
    elif values.dtype.kind == "f":
        # Whole numbers from 2^63 on do not fit into int64.
        whole = np.all(values == np.round(values)) and np.abs(values).max() < 2.0**63
        values = values.astype(np.int64) if whole else values
    classes = tuple(values if isinstance(values, list) else values.tolist())
    return freeze(codes, np.int64), classes, kind


def as_groups(groups: ArrayLike, n_samples: int, group_name: str) -> NDArray[np.int64]:
    """Groups of rows, numbers or text, as codes 0 … n_groups - 1 in the order of sorted names.

    DataError if one is missing, the shape is wrong, or there is a single group.

    >>> as_groups(["Ann", "Bob", "Ann"], 3, "person").tolist()
    [0, 1, 0]
    """
    given = np.asarray(groups)
    if given.shape != (n_samples,):
        raise DataError(
            f"groups {group_name!r} have shape {given.shape}, the table {n_samples} rows"
        )
    if given.dtype.kind == "O":
        for row, value in enumerate(given.tolist(), start=1):
            if value is None or value != value or value == "":
                raise DataError(f"group {group_name!r} is missing in row {row}; name one for each")
        given = np.array([str(value) for value in given.tolist()])
    if given.dtype.kind == "f" and not np.isfinite(given).all():
        row = int(np.flatnonzero(~np.isfinite(given))[0])
        raise DataError(
            f"group {group_name!r} is missing or infinite in row {row + 1}; name one for every row"
        )
    names, codes = np.unique(given, return_inverse=True)
    if len(names) < 2:
        raise DataError(
            f"{group_name!r} has one value only, {names[0]!s}: a single group cannot be split; "
            "leave the groups out, or name another column"
        )
    return freeze(codes, np.int64)


def kept_columns(given: Any, n_features: int) -> NDArray[np.bool_] | None:
    """The mask of columns that every stage keeps, None without any; DataError if all are kept."""
    if given is None or not np.size(given):
        return None
    mask = as_mask(given, n_features, "columns to keep")
    if not mask.any():
        return None
    if mask.all():
        raise DataError("all columns are always kept: there is nothing left to select")
    return mask


def whole_weights(given: Any, n_samples: int, name: str) -> NDArray[np.int64]:
    """Weights of rows as counts.

    DataError if they are not one whole number ≥ 0 for each row, or all zero, or add up to 2³¹ or
    more.
    """
    try:
        found = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError(f"weights {name!r} are not numbers") from None
    if found.shape != (n_samples,):
        raise DataError(f"weights {name!r} have shape {found.shape}, not ({n_samples},)")
    wrong = np.flatnonzero(~(np.isfinite(found) & (found >= 0) & (found == np.floor(found))))
    if len(wrong):
        raise DataError(
            f"weights {name!r} must be whole numbers ≥ 0, the number of rows that each row stands "
            f"for; row {wrong[0] + 1} has {found[wrong[0]]:g}. Scale fractions to counts"
        )
    if not 0 < found.sum() < 2**31:
        raise DataError(f"weights {name!r} add up to {found.sum():g}; they must be from 1 to 2³¹")
    return freeze(found.astype(np.int64))
