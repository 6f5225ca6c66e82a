"""Numbers that a table may hold: squares that are finite, whole numbers that stay apart."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsframe.errors import DataError

__all__ = ["EXACT", "LARGEST", "check_whole", "merged_column", "too_large", "too_large_in_words"]

LARGEST = 1e150
"""Largest magnitude of a feature or a numeric target.

Sums of squares, and differences, of values up to this are finite numbers of 64 bits.
"""

EXACT = 2**53
"""Largest magnitude up to which all whole numbers are numbers of 64 bits."""


def too_large(values: NDArray[Any]) -> NDArray[np.bool_] | None:
    """Mask of values that are infinite or above `LARGEST` in magnitude, of the shape of `values`.

    None if there are none; NaN, a missing value, is none of them.

    Notes
    -----
    The sum of squares decides for tables without missing values, in one pass.

    Examples
    --------
    >>> too_large(np.array([1.0, np.nan, -1e200])).tolist()
    [False, False, True]
    """
    if values.dtype.kind != "f" or not values.size:
        return None
    if values.dtype == np.float64 and values.flags.c_contiguous:
        flat = values.reshape(-1)
        with np.errstate(over="ignore", invalid="ignore"):
            if np.dot(flat, flat) <= LARGEST**2:
                return None
    # Without a temporary array of the table's size.
    within = np.fmin.reduce(values, axis=None) >= -LARGEST
    if within and np.fmax.reduce(values, axis=None) <= LARGEST:
        return None
    found = np.abs(values) > LARGEST
    return found if found.any() else None


def too_large_in_words(many: int, row: int, column: int) -> str:
    """What is wrong with `many` such values, the first of them at this place, counted from 0."""
    return (
        f"{many} infinite values, or values above {LARGEST:g} in magnitude, whose squares are, the "
        f"first in row {row + 1}, column {column + 1}; divide the column by a constant, or leave "
        "them empty to mark them missing"
    )


def merged_column(given: NDArray[Any]) -> tuple[int, int, int] | None:
    """The first column of whole numbers of which two have the same float64, and two such numbers.

    Parameters
    ----------
    given : (n_samples, n_features) array of whole numbers

    Examples
    --------
    >>> merged_column(np.array([[1, 2**53], [1, 2**53 + 1]]))
    (1, 9007199254740992, 9007199254740993)
    """
    if given.dtype.itemsize < 8:
        return None
    large = (given.max(axis=0) > EXACT) | (given.min(axis=0) < -EXACT)
    for column in np.flatnonzero(large).tolist():
        levels = np.unique(given[:, column])
        same = np.flatnonzero(np.diff(levels.astype(np.float64)) == 0)
        if same.size:
            return column, int(levels[same[0]]), int(levels[same[0] + 1])
    return None


def check_whole(given: NDArray[Any], where: str = "") -> None:
    """Raise DataError if two whole numbers of a column would have the same float64.

    Parameters
    ----------
    given : (n_samples, n_features) array
        Other than whole numbers are not examined.
    where : str
        Which column this is, if there is only one.
    """
    merged = merged_column(given) if given.dtype.kind in "iu" and given.size else None
    if merged is not None:
        column, first, second = merged
        raise DataError(
            f"{where or f'column {column + 1}'} holds whole numbers above 2^53, of which 64-bit "
            f"numbers cannot tell {first} from {second}; leave it out if it is an identifier, give "
            "it as text if it is nominal, or subtract a constant"
        )
