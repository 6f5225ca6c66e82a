"""Donors: rows whose values stand for the missing ones of the rows nearest to them."""

from __future__ import annotations

import contextlib
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.contracts.frozen_arrays import floats, freeze, indices
from fsframe.contracts.nominal import unequal_share
from fsframe.contracts.standardising import learn_scale
from fsframe.errors import DataError, PluginError

__all__ = ["Donors"]

_CHUNK_MEBIBYTES = 16
"""Of distances at a time. The same for any bound on memory, so that no bit depends on it."""
_MOST_BYTES = 8 << 30
_ROWS = 4096
"""That are filled at a time, at most."""


def _counts(value: Any) -> Any:
    return freeze(value, np.int64)


def _flags(value: Any) -> Any:
    return freeze(value, np.bool_)


@attrs.frozen(kw_only=True, eq=False)
class Donors:
    """Rows of a table, and how their values are put in place of missing ones.

    A missing number becomes the mean of the `k` nearest donors that have a value in its column, a
    missing level the most frequent among theirs. Distances are Euclidean over the columns that
    both rows have, scaled up to all columns (`sklearn.impute.KNNImputer`).

    Parameters
    ----------
    columns : (q,) int
        Columns of the table, ascending.
    rows : (m, q) float64
        NaN where a value is missing.
    times : (m,) int64 ≥ 0
        How often each row counts; one that counts k times is k donors.
    nominal : (q,) bool
        Columns whose numbers are codes of levels.
    k : int
        Fewer where not so many have a value.
    standardize : bool
        Whether columns of numbers are brought to deviation 1 for the distance.

    Notes
    -----
    A column whose values are whole numbers gets whole numbers: the mean is rounded, half to even.
    A nominal column enters the distance, scaled up or not, as a column of two values for each of
    its levels: rows of different levels differ by √(2 / (1 − Σ p²)), p the shares of the levels, so
    that the mean square over all pairs of rows is 2, as in a standardised column; with
    ``standardize=False`` by 1. Of levels equally frequent among the neighbours it is the one that
    more donors have, then the one that comes first in the order of rows. Where no donor shares a
    known column with the row, it is the mean, or the most frequent level, of all of them. A column
    without any known value stays as it is.

    O(n m q) time for n rows with gaps. Memory beside the table: up to ten copies of the donors, as
    many of up to 4,096 rows, and 100 MB of distances; `memory` says.

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
        # What comes from a file must not ask for more than its arrays may take.
        if 8.0 * q * float(self.times.sum(dtype=np.float64)) > _MOST_BYTES:
            raise ValueError("donors that count more often than memory holds")

    @property
    def memory(self) -> int:
        """Bytes that filling takes beside the table, about."""
        live = np.flatnonzero(self.times)
        places = np.flatnonzero(self.nominal).tolist()
        width = len(self.columns) - len(places)
        width += sum(len(_levels(self.rows[live, at], self.times[live])) for at in places)
        m = int(self.times.sum())
        return 80 * (m + self._block) * width + 6 * min(_CHUNK_MEBIBYTES << 20, 8 * m * m)

    @property
    def _block(self) -> int:
        """How many rows are filled at a time."""
        return max(64, min(_ROWS, int(self.times.sum())))

    def averages(self) -> NDArray[np.float64]:
        """What stands for a missing value where no donor is near; NaN where nothing does.

        Returns
        -------
        (q,) float64
        """
        row = np.full((1, len(self.columns)), np.nan)
        return self.filled(row)[0] if len(self.columns) else row[0]

    def filled(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Rows (n, q), over `columns`, without gaps but in columns that no donor has a value in.

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
                "gaps are filled by the nearest rows, which cannot be found from infinite values; "
                f"the first is in row {places[row] + 1}, column {self.columns[column] + 1}"
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
        """The same with those of `columns` that there are, renumbered to positions there."""
        if np.array_equal(self.columns, columns):
            return attrs.evolve(self, columns=np.arange(len(columns)))
        place = np.searchsorted(columns, self.columns)
        place[place == len(columns)] = 0
        here = columns[place] == self.columns if len(columns) else np.zeros(len(place), bool)
        return attrs.evolve(
            self, columns=place[here], rows=self.rows[:, here], nominal=self.nominal[here]
        )

    def lift(self, columns: NDArray[np.intp]) -> Donors:
        """The same in the numbering of the table in which position p is ``columns[p]``."""
        return attrs.evolve(self, columns=columns[self.columns])


@attrs.frozen(kw_only=True, eq=False)
class _Space:
    """Where distances are taken: a coordinate for a column of numbers, one for each level."""

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
            # In order of size: what levels are called is not to change a rounding.
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
                # Shares of the neighbours that have each level; equal ones are equal to the bit
                # but for the step that they are multiplied by.
                shares = np.round(coordinates[:, at : at + len(levels)], 9)
                found[:, place] = levels[shares.argmax(axis=1)]
                at += len(levels)
                continue
            column, scale = coordinates[:, at], self.scale[place]
            value = self.centre[place] + (0.0 if np.isinf(scale) else column * scale)
            # Rounded before: the mean of 0 and 1 is to be one half in any scale.
            found[:, place] = np.rint(np.round(value, 9)) if self.whole[place] else value
            at += 1
        return found


def _levels(column: NDArray[np.float64], times: NDArray[np.int64]) -> list[tuple[float, int]]:
    """The levels of a nominal column and how many rows have each, the most frequent first."""
    known = ~np.isnan(column)
    values, first, place = np.unique(column[known], return_index=True, return_inverse=True)
    counts = np.bincount(place.ravel(), weights=times[known], minlength=len(values))
    order = np.lexsort((first, -counts))
    return [(float(values[j]), int(counts[j])) for j in order]


def _imputer() -> Any:
    """A context that gives, for donors and k, what fills rows; scikit-learn's."""
    try:
        import sklearn
        from sklearn.impute import KNNImputer
        from threadpoolctl import threadpool_limits
    except ImportError as error:
        if "No module named 'sklearn'" not in str(error):
            raise PluginError(f"scikit-learn cannot be imported: {error}") from error
        raise PluginError(
            "filling gaps by nearest neighbours needs scikit-learn: pip install 'fsframe[sklearn]'"
        ) from None

    @contextlib.contextmanager
    def impute(donors: NDArray[np.float64], k: int) -> Any:
        # One thread, and pieces of one size: sums that are split otherwise differ in last bits.
        with threadpool_limits(1), sklearn.config_context(working_memory=_CHUNK_MEBIBYTES):
            yield KNNImputer(n_neighbors=k, keep_empty_features=True).fit(donors).transform

    return impute
