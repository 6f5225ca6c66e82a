"""Rows for an estimator, folds that keep copies together, and warnings of a fit."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from fsframe.contracts.dataset import Dataset
from fsframe.errors import DataError, RequestError, one_line
from fsframe.resampling.groups import deal_groups

__all__ = ["FitWarnings", "drawn_rows", "guarded", "make_folds"]

_NAMED = 5


def drawn_rows(
    data: Dataset,
) -> tuple[NDArray[np.float64], NDArray[Any], NDArray[np.int64]]:
    """X and y with each row repeated as often as it was drawn, and the units of the rows.

    Returns
    -------
    X : (m, n_features) float64
    y : (m,) class codes or target
    unit : (m,) int
        Equal for rows that must be in one fold: copies of one row, or rows of one group.
    """
    own = np.arange(data.n_samples) if data.groups is None else data.groups
    if data.counts is None:
        return data.X, data.y, own
    rows = np.repeat(np.arange(data.n_samples), data.counts)
    return data.X[rows], data.y[rows], own[rows]


def make_folds(
    y: NDArray[Any],
    unit: NDArray[np.int64],
    folds: int,
    generator: np.random.Generator,
    *,
    classes: bool,
    who: str,
) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Training and test rows of each fold; rows of one unit are in one fold.

    Parameters
    ----------
    y : (m,)
        Folds are stratified by it if `classes`.
    unit : (m,) int
    folds : int ≥ 2
    generator : numpy.random.Generator
    classes : bool
    who : str
        The stage, for messages.

    Raises
    ------
    DataError
        If there are fewer units than folds.
    """
    units = np.unique(unit).size
    if units < folds:
        raise DataError(
            f"{who}: {folds} folds need at least as many rows or groups; there are {units}"
        )
    stratum = y if classes else np.zeros(len(y))
    place = deal_groups(stratum, unit, folds, generator)
    return [(np.flatnonzero(place != f), np.flatnonzero(place == f)) for f in range(folds)]


class FitWarnings:
    """Distinct warnings issued while fitting, for `Selection.warnings`."""

    def __init__(self) -> None:
        self._texts: dict[str, None] = {}

    def add(self, caught: list[warnings.WarningMessage]) -> None:
        for warning in caught:
            # Numerical and deprecation warnings are not for users.
            if issubclass(warning.category, UserWarning):
                text = " ".join(f"{warning.category.__name__}: {warning.message}".split())
                self._texts[text if len(text) < 240 else text[:239] + "…"] = None

    def texts(self) -> tuple[str, ...]:
        return tuple(self._texts)


@contextlib.contextmanager
def guarded(what: str, data: Dataset, issued: FitWarnings) -> Iterator[None]:
    """Run scikit-learn on one thread, record its warnings and translate its errors.

    Parameters
    ----------
    what : str
        Stage and estimator, for messages: "importance: RandomForestClassifier".
    data : Dataset
        The table, whose columns with missing values an error names.
    issued : FitWarnings
        Collects the warnings.

    Raises
    ------
    RequestError
        As raised, prefixed with `what`.
    DataError
        In place of a ValueError, with the columns that have missing values, if any.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            with np.errstate(all="ignore"), threadpool_limits(1):
                yield
        except RequestError as error:
            raise RequestError(f"{what}: {error}") from error
        except ValueError as error:
            text = one_line(error)
            if len(text) > 300:
                text = text[:299] + "…"
            raise DataError(f"{what} cannot be fitted: {text}{_missing(data)}") from error
        finally:
            issued.add(caught)


def _missing(data: Dataset) -> str:
    blocks = [np.isnan(data.columns(*bounds)).any(axis=0) for bounds in data.column_blocks()]
    holes = np.flatnonzero(np.concatenate(blocks))
    if not holes.size:
        return ""
    named = ", ".join(repr(data.feature_names[c]) for c in holes[:_NAMED])
    more = f" and {holes.size - _NAMED} more" if holes.size > _NAMED else ""
    return (
        f". There are missing values in {named}{more}: impute them, or use an estimator that "
        "accepts them, such as RandomForestClassifier or HistGradientBoostingRegressor"
    )
