"""What is wrong or worth saying about the feature columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from fsframe.errors import DataError

__all__ = ["check_finite", "coded_categories", "feature_warnings", "listed"]

_SHOWN = 5


def listed(names: Sequence[str], shown: int = _SHOWN) -> str:
    """Names joined by commas, the first few.

    >>> listed(["a", "b", "c"], 2)
    'a, b and 1 more'
    """
    more = len(names) - shown
    return ", ".join(names[:shown]) + (f" and {more} more" if more > 0 else "")


def check_finite(X: NDArray[np.float64], where: Callable[[int, int], str]) -> None:
    """Nothing, if no value is infinite; NaN is missing, not infinite.

    Raises
    ------
    DataError
        Naming the first.
    """
    infinite = np.isinf(X)
    if infinite.any():
        row, column = np.unravel_index(int(np.argmax(infinite)), X.shape)
        more = int(infinite.sum()) - 1
        others = f" ({more} more like it)" if more else ""
        raise DataError(
            f"{where(int(row), int(column))}: infinite, or too large for a 64-bit number{others}; "
            "correct it, or leave the field empty if missing"
        )


def feature_warnings(X: NDArray[np.float64], names: Sequence[str]) -> list[str]:
    """What is weak about features: no value at all, one value only, or a count of the rows."""
    lowest, highest = np.fmin.reduce(X, axis=0), np.fmax.reduce(X, axis=0)
    empty = np.isnan(lowest)
    constant = lowest == highest
    rows = np.arange(len(X), dtype=np.float64)
    starts = np.isin(X[0], (0.0, 1.0)) & (X[-1] == X[0] + rows[-1]) & (len(X) > 2)
    counting = [c for c in np.flatnonzero(starts).tolist() if np.all(X[:, c] == X[0, c] + rows)]
    found = []
    for columns, what in (
        (np.flatnonzero(empty).tolist(), "without any value: {}; they carry no information"),
        (np.flatnonzero(constant).tolist(), "with one value only: {}; they carry no information"),
        (counting, "counting the rows: {}; drop what is an identifier"),
    ):
        if columns:
            which = listed([names[c] for c in columns])
            found.append(f"{len(columns)} column{'s' * (len(columns) > 1)} " + what.format(which))
    return found


def coded_categories(
    texts: Sequence[str], missing: Callable[[str], bool]
) -> tuple[NDArray[np.float64], tuple[str, ...]]:
    """Codes 0, 1, … of the sorted categories in a column of text, NaN where missing.

    >>> coded_categories(["b", "a", "", "b"], lambda text: not text)
    (array([ 1.,  0., nan,  1.]), ('a', 'b'))
    """
    categories = tuple(sorted({text for text in texts if not missing(text)}))
    code = {text: float(place) for place, text in enumerate(categories)}
    return np.array([code.get(text, np.nan) for text in texts]), categories
