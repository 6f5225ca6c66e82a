"""Errors and warnings about the feature columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsframe.contracts.showing import some_of
from fsframe.errors import DataError

__all__ = [
    "FeatureReview",
    "check_finite",
    "feature_warnings",
    "likely_codes",
]

# Common codes for missing values: nines, minima of integer types, powers of ten.
_CODES = np.array(
    [sign * value for value in (99, 999, 9999, 99999, 999999, 1e30) for sign in (1, -1)]
    + [-9, -32768, -2147483648]
)


def check_finite(X: NDArray[Any], where: Callable[[int, int], str]) -> None:
    """Raise DataError, naming the first, if a value is infinite; NaN is missing, not infinite."""
    if X.dtype.kind != "f":
        return
    infinite = np.isinf(X)
    if infinite.any():
        row, column = np.unravel_index(int(np.argmax(infinite)), X.shape)
        more = int(infinite.sum()) - 1
        others = f" ({more} more like it)" if more else ""
        columns = np.flatnonzero(infinite.any(axis=0))
        if len(columns) > 1:
            others += f" in {len(columns)} columns"
        raise DataError(
            f"{where(int(row), int(column))}: infinite, or too large for a 64-bit number{others}; "
            "correct it, or leave the field empty if missing"
        )


class FeatureReview:
    """Weaknesses of features, collected block by block.

    Columns without any value, with one value only, and those that count the rows.
    """

    def __init__(self) -> None:
        self._empty: list[str] = []
        self._constant: list[str] = []
        self._counting: list[str] = []
        self._coded: list[str] = []

    def add(self, X: NDArray[Any], names: Sequence[str]) -> None:
        """Examine the columns `X` (n_samples, n_columns), float64 or whole, of those names."""
        plain = X.dtype.kind != "f"
        least, most = (np.minimum, np.maximum) if plain else (np.fmin, np.fmax)
        lowest = least.reduce(X, axis=0).astype(np.float64)
        highest = most.reduce(X, axis=0).astype(np.float64)
        rows = np.arange(len(X), dtype=np.float64)
        first, last = X[0].astype(np.float64), X[-1].astype(np.float64)
        starts = np.isin(first, (0.0, 1.0)) & (last == first + rows[-1]) & (len(X) > 2)
        counting = [
            c for c in np.flatnonzero(starts).tolist() if np.all(X[:, c] == first[c] + rows)
        ]
        self._coded += [
            f"{names[c]} ({code:g}, {times} times)"
            for c in np.flatnonzero(np.isin(lowest, _CODES) | np.isin(highest, _CODES)).tolist()
            for code, times in likely_codes(X[:, c].astype(np.float64))
        ]
        self._counting += [names[c] for c in counting]
        self.note(names, empty=np.isnan(lowest), constant=lowest == highest)

    def note(
        self, names: Sequence[str], *, empty: NDArray[np.bool_], constant: NDArray[np.bool_]
    ) -> None:
        """Record which columns have no value, or a single one."""
        self._empty += [names[c] for c in np.flatnonzero(empty).tolist()]
        self._constant += [names[c] for c in np.flatnonzero(constant).tolist()]

    def warnings(self) -> list[str]:
        """One sentence for each kind of weakness found."""
        return [
            f"{len(found)} column{'s' * (len(found) > 1)} {what.format(some_of(found))}"
            for found, what in (
                (self._empty, "without any value: {}; they carry no information"),
                (self._constant, "with one value only: {}; they carry no information"),
                (self._counting, "counting the rows: {}; drop what is an identifier"),
                (
                    self._coded,
                    "in which a repeated extreme value looks like a code for a missing one: {}; "
                    "if so, say it (--na CODE, na=)",
                ),
            )
            if found
        ]


def likely_codes(values: NDArray[np.float64]) -> list[tuple[float, int]]:
    """The lowest and the highest value with how often they occur, if they look like codes for a
    missing one.

    A code is an outlier: it is further from the other values than these are from each other, or it
    is the only negative one. The others must be at least three different ones.
    """
    found = []
    for code in (np.nanmin(values), np.nanmax(values)):
        times = int(np.count_nonzero(values == code))
        if code not in _CODES or times < 2:
            continue
        rest = values[(values != code) & ~np.isnan(values)]
        if not len(rest):
            continue
        low, high = float(rest.min()), float(rest.max())
        gap = low - code if code < low else code - high
        apart = gap > high - low or (code <= -9 and low >= 0)
        if apart and len(np.unique(rest)) >= 3:
            found.append((float(code), times))
    return found


def feature_warnings(X: NDArray[Any], names: Sequence[str]) -> list[str]:
    """Warnings about the columns of a table in memory."""
    review = FeatureReview()
    review.add(X, names)
    return review.warnings()
