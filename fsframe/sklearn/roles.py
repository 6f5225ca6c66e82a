"""Roles of columns and rows in a fit, from parameters and metadata."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import ArrayLike, NDArray

from fsframe.sklearn.messages import InvalidData, InvalidRequest
from fsframe.sklearn.settings import SETTINGS, settings_of
from fsframe.suggest import did_you_mean
from fsframe.table.array_checks import kept_columns
from fsframe.table.data_frames import is_frame, take_frame
from fsframe.table.dataset import Dataset
from fsframe.table.frame_columns import frame_names
from fsframe.table.side_columns import SideColumns, feature_sets
from fsframe.tables.column_lookup import find_columns

__all__ = ["Roles", "roles_of"]


@attrs.frozen(kw_only=True, eq=False)
class Roles:
    """Roles of columns and rows from an estimator and a call of `fit`; None if not given.

    `always_keep` and `feature_groups` are as their settings say; `times` (n_samples,) are numbers
    or dates; `adjust` are covariates, (n_samples,) or (n_samples, q) numbers or text, or a data
    frame.
    """

    always_keep: Any = None
    feature_groups: Any = None
    times: ArrayLike | None = None
    adjust: Any = None

    def given_to(self, data: Dataset) -> Dataset:
        """The table with these roles.

        Raises
        ------
        InvalidRequest
            If a parameter has an invalid type.
        DataError
            If there is no such column, or times or covariates have missing values or the wrong
            length.
        """
        changed: dict[str, Any] = {}
        if self.always_keep is not None:
            places = _places(data, self.always_keep, "always_keep")
            mask = np.isin(np.arange(data.n_features), places)
            changed["keep"] = kept_columns(mask, data.n_features)
        if self.feature_groups is not None:
            changed["feature_groups"] = self._sets(data)
        if self.times is not None:
            column = {"times": _moments(self.times)}
            changed["times"] = _beside(column, [False], data.n_samples, "times")
        if self.adjust is not None:
            columns, nominal = _covariates(self.adjust)
            changed["covariates"] = _beside(columns, nominal, data.n_samples, "adjust")
        return attrs.evolve(data, **changed) if changed else data

    def _sets(self, data: Dataset) -> dict[str, tuple[str, ...]]:
        given = self.feature_groups
        if not isinstance(given, Mapping):
            raise InvalidRequest(
                "feature_groups must be a mapping of names of groups to their columns, such as "
                f"{{'scale': ['x1', 'x4']}}, not {type(given).__name__}"
            )
        found = {}
        for name, members in given.items():
            places = _places(data, members, f"feature_groups, {str(name)!r}")
            found[str(name)] = tuple(data.feature_names[place] for place in places)
        feature_sets(found, data.feature_names, did_you_mean)
        return found


def roles_of(estimator: Any, times: ArrayLike | None, adjust: Any) -> Roles:
    """The roles from an estimator's settings and a call of its `fit`."""
    method = getattr(estimator, "_method", None)
    settings = SETTINGS if method is None else settings_of(method)
    own = {n: getattr(estimator, n) for n in ("always_keep", "feature_groups") if n in settings}
    return Roles(times=times, adjust=adjust, **own)


def _places(data: Dataset, given: Any, what: str) -> list[int]:
    """Positions of columns given by name or position."""
    keys = [given] if isinstance(given, (str, int, np.integer)) else given
    if not isinstance(keys, (Sequence, np.ndarray)) or not len(keys):
        raise InvalidRequest(f"{what} must be names or positions of columns, not {given!r}")
    plain = [int(key) if isinstance(key, np.integer) else key for key in keys]
    wrong = [k for k in plain if not isinstance(k, (str, int)) or isinstance(k, (bool, np.bool_))]
    if wrong:
        raise InvalidRequest(f"{what} must be names or positions of columns, not {wrong[0]!r}")
    return find_columns(data.feature_names, data.n_features, plain, what)


def _moments(given: ArrayLike) -> NDArray[Any]:
    """Times as numbers; dates as days since 1970-01-01, missing ones as NaN."""
    found = np.asarray(given)
    if found.dtype.kind == "M":
        days = found.astype("datetime64[us]").astype(np.int64) / 86_400e6
        return np.where(np.isnat(found), np.nan, days)
    if found.dtype.kind not in "iuf":
        raise InvalidData(f"times must be numbers or dates (datetime64), not {found.dtype}")
    return found


def _covariates(given: Any) -> tuple[dict[str, NDArray[Any]], list[bool]]:
    """Columns by name, and whether each is nominal (False for columns of arrays)."""
    if hasattr(given, "to_frame"):
        given = given.to_frame()
    if is_frame(given):
        names = frame_names(given)
        parts = take_frame(given, worded=names)
        columns = {name: parts.X[:, place] for place, name in enumerate(parts.feature_names)}
        return columns, parts.categorical.tolist()
    table = np.asarray(given)
    if table.ndim not in (1, 2):
        raise InvalidData(f"adjust must be (n_samples,) or (n_samples, q), not {table.ndim}-D")
    table = table.reshape(len(table), -1)
    return {f"adjust {k + 1}": table[:, k] for k in range(table.shape[1])}, [False] * table.shape[1]


def _beside(
    columns: Mapping[str, NDArray[Any]], nominal: Sequence[bool], n_samples: int, what: str
) -> SideColumns:
    for values in columns.values():
        if values.shape != (n_samples,):
            raise InvalidData(f"{what} must have a value for each of {n_samples} rows of X")
    return SideColumns.of(columns, nominal, f"{what}, column")
