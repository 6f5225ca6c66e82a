"""Rows as an estimator takes them, folds that keep copies together, and what a fit may say."""

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

__all__ = ["Remarks", "deal_folds", "drawn_rows", "guarded"]

_NAMED = 5


def drawn_rows(
    data: Dataset,
) -> tuple[NDArray[np.float64], NDArray[Any], NDArray[np.int64]]:
    """X, y with a row for each time that it was drawn, and which rows belong together.

    Returns
    -------
    X : (m, n_features) float64
    y : (m,) class codes or target
    unit : (m,) int
        Equal for rows that no fold may take apart: copies of one row, or rows of one group.
    """
    own = np.arange(data.n_samples) if data.groups is None else data.groups
    if data.counts is None:
        return data.X, data.y, own
    rows = np.repeat(np.arange(data.n_samples), data.counts)
    return data.X[rows], data.y[rows], own[rows]


def deal_folds(
    y: NDArray[Any],
    unit: NDArray[np.int64],
    folds: int,
    generator: np.random.Generator,
    *,
    classes: bool,
    who: str,
) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Training and test rows of every fold; rows of one unit are in one fold.

    Parameters
    ----------
    y : (m,)
        Dealt evenly where they are `classes`.
    unit : (m,) int
    folds : int ≥ 2
    generator : numpy.random.Generator
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
            f"{who}: {folds} folds need as many rows, or groups of rows; there are {units}"
        )
    stratum = y if classes else np.zeros(len(y))
    place = deal_groups(stratum, unit, folds, generator)
    return [(np.flatnonzero(place != f), np.flatnonzero(place == f)) for f in range(folds)]


class Remarks:
    """What was said while fitting, each sentence once; for `Selection.warnings`."""

    def __init__(self) -> None:
        self.said: dict[str, None] = {}

    def take(self, caught: list[warnings.WarningMessage]) -> None:
        for warning in caught:
            # What numpy says of a division, or a library of its next release, is not for users.
            if issubclass(warning.category, UserWarning):
                words = " ".join(f"{warning.category.__name__}: {warning.message}".split())
                self.said[words if len(words) < 240 else words[:239] + "…"] = None

    def texts(self) -> tuple[str, ...]:
        return tuple(self.said)


@contextlib.contextmanager
def guarded(what: str, data: Dataset, remarks: Remarks) -> Iterator[None]:
    """Around work of scikit-learn: one thread, its warnings kept, its refusals in our words.

    Parameters
    ----------
    what : str
        Who works: "importance: RandomForestClassifier".
    data : Dataset
        The table it works on, for what is missing there.
    remarks : Remarks
        Where its warnings go.

    Raises
    ------
    RequestError
        As it was raised, with `what` before it.
    DataError
        For every ValueError, with the columns that have missing values if there are some.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            with np.errstate(all="ignore"), threadpool_limits(1):
                yield
        except RequestError as error:
            raise RequestError(f"{what}: {error}") from error
        except ValueError as error:
            words = one_line(error)
            if len(words) > 300:
                words = words[:299] + "…"
            raise DataError(f"{what} cannot be fitted: {words}{_missing(data)}") from error
        finally:
            remarks.take(caught)


def _missing(data: Dataset) -> str:
    blocks = [np.isnan(data.columns(*bounds)).any(axis=0) for bounds in data.column_blocks()]
    holes = np.flatnonzero(np.concatenate(blocks))
    if not holes.size:
        return ""
    named = ", ".join(repr(data.feature_names[c]) for c in holes[:_NAMED])
    more = f" and {holes.size - _NAMED} more" if holes.size > _NAMED else ""
    return (
        f". There are missing values in {named}{more}: fill them, or name an estimator that takes "
        "them, such as RandomForestClassifier or HistGradientBoostingRegressor"
    )
