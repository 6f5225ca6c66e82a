"""Rows for an estimator, folds that keep copies together, and warnings of a fit."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from fsframe.errors import DataError, RequestError, one_line
from fsframe.resampling.groups import deal_groups
from fsframe.showing import some_of
from fsframe.table.dataset import Dataset

__all__ = ["drawn_rows", "guarded", "make_folds"]


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
    data: Dataset,
    y: NDArray[Any],
    unit: NDArray[np.int64],
    folds: int,
    generator: np.random.Generator,
    who: str,
) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Training and test rows of each fold; rows of one unit are in one fold.

    Folds are stratified by `y` if `data` has classes; messages begin with the stage `who`.

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
    stratum = y if data.task == "classification" else np.zeros(len(y))
    place = deal_groups(stratum, unit, folds, generator)
    return [(np.flatnonzero(place != f), np.flatnonzero(place == f)) for f in range(folds)]


@contextlib.contextmanager
def guarded(what: str, data: Dataset) -> Iterator[list[str]]:
    """Run scikit-learn on one thread, record its warnings and translate its errors.

    The list that it yields has the distinct warnings afterwards, for `Selection.warnings`.

    Messages begin with `what`, the stage and estimator ("importance: RandomForestClassifier").

    Raises
    ------
    RequestError
        As raised, prefixed with `what`.
    DataError
        In place of a ValueError, with the columns that have missing values, if any.
    """
    issued: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            with np.errstate(all="ignore"), threadpool_limits(1):
                yield issued
        except RequestError as error:
            raise RequestError(f"{what}: {error}") from error
        except ValueError as error:
            text = one_line(error)
            if len(text) > 300:
                text = text[:299] + "…"
            raise DataError(f"{what} cannot be fitted: {text}{_missing(data)}") from error
        finally:
            # Numerical and deprecation warnings are not for users.
            of_users = [w for w in caught if issubclass(w.category, UserWarning)]
            texts = [" ".join(f"{w.category.__name__}: {w.message}".split()) for w in of_users]
            issued += dict.fromkeys(t if len(t) < 240 else t[:239] + "…" for t in texts)


def _missing(data: Dataset) -> str:
    blocks = [np.isnan(data.columns(*bounds)).any(axis=0) for bounds in data.column_blocks()]
    holes = np.flatnonzero(np.concatenate(blocks))
    if not holes.size:
        return ""
    named = some_of([repr(data.feature_names[column]) for column in holes])
    return (
        f". There are missing values in {named}: impute them, or use an estimator that "
        "accepts them, such as RandomForestClassifier or HistGradientBoostingRegressor"
    )
