"""Donors: rows whose values replace the missing ones of the nearest rows."""

from __future__ import annotations

import contextlib
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.errors import DataError, PluginError
from fsframe.table.arrays import floats, freeze, indices
from fsframe.table.standardising import learn_scale, unequal_share

_CHUNK_MEBIBYTES = 16
"""Size of the distances computed at a time; fixed, so that results do not depend on it."""
_MOST_BYTES = 8 << 30
_ROWS = 4096
"""Maximum number of rows filled at a time."""


def _counts(value: Any) -> Any:
    return freeze(value, np.int64)


def _flags(value: Any) -> Any:
    return freeze(value, np.bool_)


@attrs.frozen(kw_only=True, eq=False)
class Donors:
    """Rows of a table that serve to fill missing values of other rows.

    A missing number becomes the mean of the `k` nearest donors with a value in its column, a
    missing level the most frequent one among them. Distances are Euclidean over the columns known
    in both rows, scaled up to all columns (`sklearn.impute.KNNImputer`).

    Parameters
    ----------
    columns : (q,) int
        Columns of the table, ascending.
    rows : (m, q) float64
        NaN where a value is missing.
    times : (m,) int64 ≥ 0
        Number of times each row counts; one that counts k times is k donors.
    nominal : (q,) bool
        Columns whose numbers are codes of levels.
    k : int
        Number of neighbours; fewer if not so many have a value.
    standardize : bool
        Whether numeric columns are scaled to deviation 1 for the distance.

    Notes
    -----
    In a column of whole numbers, the mean is rounded, half to even. A nominal column enters the
    distance as one column of two values for each of its levels: rows of different levels differ by
    √(2 / (1 − Σ p²)), p the shares of the levels, so that the mean square over all pairs of rows is
    2, as in a standardised column; with ``standardize=False`` they differ by 1. Ties between levels
    go to the one that more donors have, then to the first in the order of rows. If no donor shares
    a known column with the row, all donors are used. A column without any known value stays as it
    is.

    O(n m q) time for n rows with missing values. Memory besides the table: up to ten copies of the
    donors, as many of up to 4,096 rows, and 100 MB of distances (`memory`).

    References
    ----------
    O. Troyanskaya et al. 2001, Missing value estimation methods for DNA microarrays,
    Bioinformatics 17, 520–525 (KNNimpute).
    """

    columns: NDArray[np.intp] = attrs.field(converter=indices, repr=False)
    rows: NDArray[np.float64] = attrs.field(converter=floats, repr=False)
    times: NDArray[np.int64] = attrs.field(converter=_counts, repr=False)
    nominal: NDArray[np.bool_] = attrs.field(converter=_flags, repr=False)
    k: int = attrs.field(converter=int)
    standardize: bool = attrs.field(converter=bool)

    def __attrs_post_init__(self) -> None:
        m, q = len(self.times), len(self.columns)
        if self.columns.shape != (q,) or (np.diff(self.columns) <= 0).any():
            raise ValueError("columns of donors do not ascend")
        if self.rows.shape != (m, q) or self.nominal.shape != (q,) or self.times.shape != (m,):
            raise ValueError(f"donors of shape {self.rows.shape} over {q} columns, {m} counts")
        if self.k < 1 or (m and self.times.min() < 0) or np.isinf(self.rows).any():
            raise ValueError("donors with infinite values, negative counts or no neighbours")
        # Counts from a file must not demand more memory than arrays may take.
        if 8.0 * q * float(self.times.sum(dtype=np.float64)) > _MOST_BYTES:
            raise ValueError("donors that count more often than memory holds")

    @property
    def memory(self) -> int:
        """Approximate bytes that filling needs besides the table."""
        live = np.flatnonzero(self.times)
        places = np.flatnonzero(self.nominal).tolist()
        width = len(self.columns) - len(places)
        width += sum(len(_levels(self.rows[live, at], self.times[live])) for at in places)
        m = int(self.times.sum())
        return 80 * (m + self._block) * width + 6 * min(_CHUNK_MEBIBYTES << 20, 8 * m * m)

    @property
    def _block(self) -> int:
        """Number of rows filled at a time."""
        return max(64, min(_ROWS, int(self.times.sum())))

    def averages(self) -> NDArray[np.float64]:
        """The values that all donors give, (q,); NaN in columns that no donor has a value in.

        Returns
        -------
        (q,) float64
        """
        row = np.full((1, len(self.columns)), np.nan)
        return self.filled(row)[0] if len(self.columns) else row[0]

    def filled(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Rows (n, q), over `columns`, filled except in columns that no donor has a value in.

        Raises
        ------
        DataError
            If a value is infinite.
        PluginError
            If scikit-learn is not installed.
        """
        impute = _imputer()
        found = np.array(X, dtype=np.float64)
        gaps = np.isnan(found)
        places = np.flatnonzero(gaps.any(axis=1))
        if not places.size:
            return found
        endless = np.argwhere(np.isinf(found[places]))
        if len(endless):
            row, column = endless[0]
            raise DataError(
                "missing values are filled from the nearest rows, which infinite values make "
                f"undefined; the first is in row {places[row] + 1}, column "
                f"{self.columns[column] + 1}"
            )
        live = np.flatnonzero(self.times)
        space = _Space.of(self, self.rows[live], self.times[live])
        donors = np.repeat(space.coordinates(self.rows[live]), self.times[live], axis=0)
        with impute(donors, self.k) as fill:
            for start in range(0, len(places), self._block):
                some = places[start : start + self._block]
                values = space.values(fill(space.coordinates(found[some])))
                found[some] = np.where(gaps[some], values, found[some])
        return found

    def restrict(self, columns: NDArray[np.intp]) -> Donors:
        """The same with only the columns in `columns`, renumbered to positions there."""
        if np.array_equal(self.columns, columns):
            return attrs.evolve(self, columns=np.arange(len(columns)))
        place = np.searchsorted(columns, self.columns)
        place[place == len(columns)] = 0
        here = columns[place] == self.columns if len(columns) else np.zeros(len(place), bool)
        return attrs.evolve(
            self, columns=place[here], rows=self.rows[:, here], nominal=self.nominal[here]
        )

    def lift(self, columns: NDArray[np.intp]) -> Donors:
        """The same with position p renamed to ``columns[p]``."""
        return attrs.evolve(self, columns=columns[self.columns])


@attrs.frozen(kw_only=True, eq=False)
class _Space:
    """Coordinates for distances: one for each numeric column, one for each level."""

    centre: NDArray[np.float64]
    scale: NDArray[np.float64]
    whole: NDArray[np.bool_]
    empty: NDArray[np.bool_]
    levels: dict[int, NDArray[np.float64]]
    steps: dict[int, float]

    @classmethod
    def of(cls, donors: Donors, rows: NDArray[np.float64], times: NDArray[np.int64]) -> _Space:
        q = rows.shape[1]
        known = ~np.isnan(rows)
        centre, scale = np.zeros(q), np.ones(q)
        if donors.standardize:
            centre, scale = learn_scale(rows, times.astype(np.float64))
        levels, steps = {}, {}
        for place in np.flatnonzero(donors.nominal).tolist():
            found = _levels(rows[:, place], times)
            levels[place] = np.array([level for level, _ in found])
            # Sorted by size, so that rounding does not depend on the codes of levels.
            unequal = unequal_share(np.sort([float(count) for _, count in found]))
            step = 1 / np.sqrt(unequal) if unequal > 1e-14 else 0.0
            steps[place] = float(step) if donors.standardize else np.sqrt(0.5)
        return cls(
            centre=centre,
            scale=scale,
            whole=(~known | (np.rint(rows) == rows)).all(axis=0),
            empty=np.logical_not(known.any(axis=0)),
            levels=levels,
            steps=steps,
        )

    def coordinates(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        parts = []
        for place in np.flatnonzero(~self.empty).tolist():
            column = rows[:, place]
            if place not in self.levels:
                parts.append(((column - self.centre[place]) / self.scale[place])[:, None])
                continue
            same = column[:, None] == self.levels[place]
            parts.append(np.where(np.isnan(column)[:, None], np.nan, same * self.steps[place]))
        return np.concatenate(parts, axis=1) if parts else np.empty((len(rows), 0))

    def values(self, coordinates: NDArray[np.float64]) -> NDArray[np.float64]:
        found = np.full((len(coordinates), len(self.empty)), np.nan)
        at = 0
        for place in np.flatnonzero(~self.empty).tolist():
            if place in self.levels:
                levels = self.levels[place]
                # Shares of the neighbours with each level, rounded because of the step.
                shares = np.round(coordinates[:, at : at + len(levels)], 9)
                found[:, place] = levels[shares.argmax(axis=1)]
                at += len(levels)
                continue
            column, scale = coordinates[:, at], self.scale[place]
            value = self.centre[place] + (0.0 if np.isinf(scale) else column * scale)
            # Rounded first, so that the mean of 0 and 1 is one half in any scale.
            found[:, place] = np.rint(np.round(value, 9)) if self.whole[place] else value
            at += 1
        return found


def _levels(column: NDArray[np.float64], times: NDArray[np.int64]) -> list[tuple[float, int]]:
    """The levels of a nominal column with their numbers of rows, the most frequent first."""
    known = ~np.isnan(column)
    values, first, place = np.unique(column[known], return_index=True, return_inverse=True)
    counts = np.bincount(place.ravel(), weights=times[known], minlength=len(values))
    order = np.lexsort((first, -counts))
    return [(float(values[j]), int(counts[j])) for j in order]


def _imputer() -> Any:
    """A context manager that returns scikit-learn's imputer for donors and k."""
    try:
        import sklearn
        from sklearn.impute import KNNImputer
        from threadpoolctl import threadpool_limits
    except ImportError as error:
        if "No module named 'sklearn'" not in str(error):
            raise PluginError(f"scikit-learn cannot be imported: {error}") from error
        # Here, so that run files open without the registry.
        from fsframe.registry.importing import needed

        raise PluginError(
            needed("filling missing values from neighbours", "scikit-learn")
        ) from None

    @contextlib.contextmanager
    def impute(donors: NDArray[np.float64], k: int) -> Any:
        # One thread and fixed chunks: sums split otherwise differ in the last bits.
        with threadpool_limits(1), sklearn.config_context(working_memory=_CHUNK_MEBIBYTES):
            yield KNNImputer(n_neighbors=k, keep_empty_features=True).fit(donors).transform

    return impute
