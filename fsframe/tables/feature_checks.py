"""Errors and warnings about the feature columns."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsframe.errors import DataError
from fsframe.showing import some_of
from fsframe.table.column_facts import USUAL_CODES, likely_codes
from fsframe.table.magnitudes import LARGEST, check_whole, too_large

__all__ = [
    "FeatureReview",
    "check_finite",
    "check_spelled",
    "feature_warnings",
]

_WHOLE = re.compile(r"[+-]?[0-9]{16,19}")


def check_finite(X: NDArray[Any], where: Callable[[int, int], str]) -> None:
    """Raise DataError, naming the first, if a value is infinite or too large (`magnitudes`)."""
    wrong = too_large(X)
    if wrong is not None:
        row, column = np.unravel_index(int(np.argmax(wrong)), X.shape)
        more = int(wrong.sum()) - 1
        others = f" ({more} more like it)" if more else ""
        columns = np.flatnonzero(wrong.any(axis=0))
        if len(columns) > 1:
            others += f" in {len(columns)} columns"
        raise DataError(
            f"{where(int(row), int(column))}: infinite, or too large (above {LARGEST:g} in "
            f"magnitude, so that its square is infinite){others}; correct it, divide the column by "
            "a constant, or leave the field empty if missing"
        )


def check_spelled(texts: Iterable[str], where: str) -> None:
    """Refuse whole numbers, as spelled in a column, of which two become the same float64."""
    whole = {int(text) for text in texts if _WHOLE.fullmatch(text)}
    check_whole(np.array(sorted(whole))[:, None], where)


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
            for c in np.flatnonzero(
                np.isin(lowest, USUAL_CODES) | np.isin(highest, USUAL_CODES)
            ).tolist()
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


def feature_warnings(X: NDArray[Any], names: Sequence[str]) -> list[str]:
    """Warnings about the columns of a table in memory."""
    review = FeatureReview()
    review.add(X, names)
    return review.warnings()
