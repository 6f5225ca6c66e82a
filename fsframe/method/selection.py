"""The immutable result of a selector, and donors, whose values replace missing ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from fsframe.errors import DataError
from fsframe.method.answer import feature_table
from fsframe.method.pairs import Pair, PairWeights, pair_table
from fsframe.method.ranking import rank_by_score
from fsframe.table.arrays import arrays, axes_by_name, floats, freeze, indices, places_among
from fsframe.table.dataset import Dataset
from fsframe.table.standardising import learn_scale, unequal_share
from fsframe.text import listed

__all__ = ["Donors", "Pair", "PairWeights", "Selection", "rank_by_score"]

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
        Number of neighbours; fewer are used if fewer have a value.
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
        """The values (q,) that all donors together give; NaN where no donor has a value."""
        row = np.full((1, len(self.columns)), np.nan)
        return self.filled(row)[0] if len(self.columns) else row[0]

    def filled(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """The rows `X` (n, q) over `columns`, filled except in columns where no donor has a value.

        Raises
        ------
        DataError
            If a value is infinite.
        """
        filled = np.array(X, dtype=np.float64)
        gaps = np.isnan(filled)
        places = np.flatnonzero(gaps.any(axis=1))
        if not places.size:
            return filled
        endless = np.argwhere(np.isinf(filled[places]))
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
        # Here, since the import takes half a second.
        import sklearn
        from sklearn.impute import KNNImputer

        # One thread and fixed chunks, since sums that are split otherwise differ in the last bits.
        with threadpool_limits(1), sklearn.config_context(working_memory=_CHUNK_MEBIBYTES):
            imputer = KNNImputer(n_neighbors=self.k, keep_empty_features=True).fit(donors)
            for start in range(0, len(places), self._block):
                some = places[start : start + self._block]
                values = space.values(imputer.transform(space.coordinates(filled[some])))
                filled[some] = np.where(gaps[some], values, filled[some])
        return filled

    def restrict(self, columns: NDArray[np.intp]) -> Donors:
        """The donors with only those of their columns in `columns`, as positions there."""
        if np.array_equal(self.columns, columns):
            return attrs.evolve(self, columns=np.arange(len(columns)))
        place = places_among(columns, self.columns)
        here = place >= 0
        return attrs.evolve(
            self, columns=place[here], rows=self.rows[:, here], nominal=self.nominal[here]
        )

    def lift(self, columns: NDArray[np.intp]) -> Donors:
        """The donors with column p renumbered to ``columns[p]``."""
        return attrs.evolve(self, columns=columns[self.columns])


@attrs.frozen(kw_only=True, eq=False)
class _Space:
    """Coordinates for distances: one for each numeric column, one for each level."""

    centre: NDArray[np.float64]
    scale: NDArray[np.float64]
    integral: NDArray[np.bool_]
    empty: NDArray[np.bool_]
    levels: dict[int, NDArray[np.float64]]
    steps: dict[int, float]

    @classmethod
    def of(cls, donors: Donors, rows: NDArray[np.float64], times: NDArray[np.int64]) -> _Space:
        known = ~np.isnan(rows)
        weights = times.astype(np.float64)
        centre, scale = learn_scale(rows, weights, standardize=donors.standardize)
        levels, steps = {}, {}
        for place in np.flatnonzero(donors.nominal).tolist():
            level_counts = _levels(rows[:, place], times)
            levels[place] = np.array([level for level, _ in level_counts])
            # Sorted by size, so that rounding does not depend on the codes of levels.
            unequal = unequal_share(np.sort([float(count) for _, count in level_counts]))
            step = 1 / np.sqrt(unequal) if unequal > 1e-14 else 0.0
            steps[place] = float(step) if donors.standardize else np.sqrt(0.5)
        return cls(
            centre=centre,
            scale=scale,
            integral=(~known | (np.rint(rows) == rows)).all(axis=0),
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
        values = np.full((len(coordinates), len(self.empty)), np.nan)
        at = 0
        for place in np.flatnonzero(~self.empty).tolist():
            if place in self.levels:
                levels = self.levels[place]
                # Shares of the neighbours with each level, rounded because they contain the step.
                shares = np.round(coordinates[:, at : at + len(levels)], 9)
                values[:, place] = levels[shares.argmax(axis=1)]
                at += len(levels)
                continue
            column, scale = coordinates[:, at], self.scale[place]
            value = self.centre[place] + (0.0 if np.isinf(scale) else column * scale)
            # Rounded first, so that the mean of 0 and 1 is one half in any scale.
            values[:, place] = np.rint(np.round(value, 9)) if self.integral[place] else value
            at += 1
        return values


def _levels(column: NDArray[np.float64], times: NDArray[np.int64]) -> list[tuple[float, int]]:
    """The levels of a nominal column with their numbers of rows, the most frequent first."""
    known = ~np.isnan(column)
    values, first, place = np.unique(column[known], return_index=True, return_inverse=True)
    counts = np.bincount(place.ravel(), weights=times[known], minlength=len(values))
    order = np.lexsort((first, -counts))
    return [(float(values[j]), int(counts[j])) for j in order]


def _texts(value: Any) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def _words(value: Any) -> frozenset[str]:
    return frozenset(value)


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Selection:
    """The result of a selector.

    Parameters
    ----------
    selected : (n_selected,) int
        Kept columns, best first.
    scores : (n_features,) float64
        Larger is better; NaN means not considered.
    weights : (n_features,) float64, optional
        Non-negative, for distances.
    pair_weights : PairWeights, optional
        Weights of pairs; the method's entry defines their meaning (`pair_weight`).
    instance_weights : (n_samples,) float64, optional
        Non-negative importance of rows.
    fill : (n_features,) float64, optional
        Value that replaces missing ones in each column for later stages and new rows; NaN: none.
        The core fills the table before the next stage.
    donors : Donors, optional
        Rows whose values fill missing values of the nearest rows, in columns where `fill` is a
        number; `fill` is the value without donors.
    model : mapping of str to array
        Arrays that a later stage or a classifier needs to apply the method.
    model_columns : mapping of str to tuple of int
        For each array of `model`, the axes that run over the columns that the method saw
        (`features_in`, in this order): ``{"w": (0,), "W": (0, 1), "sigma": ()}``. The next stage
        gets such an array restricted to its own columns. An array that is not listed here is passed
        on only if the next stage has exactly the columns that the method saw.
    tables : mapping of str to array
        Named extra arrays, such as the cost per iteration. Those whose names end in ``p_values``,
        ``p_adjusted`` or ``q_values`` hold p-values in 0 … 1, NaN for columns not tested;
        ``frequency`` holds shares of resamples, 0 … 1 too.
    warnings : tuple of str
        Weaknesses of the result.
    features_in : (n_in,) int, optional
        The columns that the method saw; set by the core.
    carried : frozenset of str
        The weights that come from an earlier stage; set by the core.
    """

    selected: NDArray[np.intp] = attrs.field(converter=indices)
    scores: NDArray[np.float64] = attrs.field(converter=floats)
    weights: NDArray[np.float64] | None = attrs.field(default=None, converter=floats)
    pair_weights: PairWeights | None = None
    instance_weights: NDArray[np.float64] | None = attrs.field(default=None, converter=floats)
    fill: NDArray[np.float64] | None = attrs.field(default=None, converter=floats)
    donors: Donors | None = None
    model: Mapping[str, NDArray[Any]] = attrs.field(factory=dict, converter=arrays)
    model_columns: Mapping[str, tuple[int, ...]] = attrs.field(factory=dict, converter=axes_by_name)
    tables: Mapping[str, NDArray[Any]] = attrs.field(factory=dict, converter=arrays)
    warnings: tuple[str, ...] = attrs.field(default=(), converter=_texts)
    features_in: NDArray[np.intp] | None = attrs.field(default=None, converter=indices)
    carried: frozenset[str] = attrs.field(default=frozenset(), converter=_words)

    @classmethod
    def of_every_column(cls, n_features: int, **parts: Any) -> Selection:
        """A selection that keeps all columns, without scores; `parts` are further fields."""
        return cls(selected=np.arange(n_features), scores=np.full(n_features, np.nan), **parts)

    @property
    def n_features(self) -> int:
        """Number of columns of the table that the indices refer to."""
        return len(self.scores)

    def __repr__(self) -> str:
        kept = listed([str(column) for column in self.selected.tolist()], most=10)
        return f"<Selection: {'; '.join([*self._facts(), *([f'columns {kept}'] if kept else [])])}>"

    def _facts(self) -> list[str]:
        """Number of kept columns, and further contents, one phrase each."""
        facts = [f"kept {self.selected.size} of {self.n_features} columns"]
        also = [
            what
            for what, there in (
                ("weights", self.weights is not None),
                ("pair weights", self.pair_weights is not None),
                ("instance weights", self.instance_weights is not None),
                (f"tables {', '.join(self.tables)}", bool(self.tables)),
            )
            if there
        ]
        if also:
            facts.append(f"with {', '.join(also)}")
        if self.warnings:
            count = len(self.warnings)
            facts.append("a warning" if count == 1 else f"{count} warnings")
        return facts

    def to_frame(
        self,
        feature_names: Sequence[str] | None = None,
        *,
        pairs: bool = False,
        data: Dataset | None = None,
        library: str = "polars",
    ) -> Any:
        """The result as a data frame: a row per feature, or per pair, best first.

        Parameters
        ----------
        feature_names : sequence of str, optional
            By default those of `data`, else ``x0, x1, …``.
        pairs : bool
            Whether the rows are pairs.
        data : Dataset, optional
            The table, for the direction and the class means.
        library : {"polars", "pandas"}

        Raises
        ------
        DataError
            If `data` or `feature_names` have another number of columns.
        PluginError, RequestError
            As raised by `AnswerTable.to_frame`.

        Examples
        --------
        >>> selection = Selection(selected=[1], scores=[0.1, 0.9])
        >>> selection.to_frame(["age", "dose"])["feature"].to_list()
        ['dose', 'age']
        """
        names = feature_names
        if names is None:
            names = (
                [f"x{c}" for c in range(self.n_features)] if data is None else data.feature_names
            )
        if len(names) != self.n_features:
            raise DataError(f"{len(names)} names for {self.n_features} features")
        stages = [("stage", self)]
        table = pair_table(names, stages) if pairs else feature_table(names, stages, data)
        return table.to_frame(library)

    def problems(self, n_features: int, n_samples: int) -> list[str]:
        """Problems of this selection for a table of that shape; empty if it is valid."""
        problems = []
        if self.scores.shape != (n_features,):
            problems.append(f"scores have shape {self.scores.shape}, not ({n_features},)")
        if self.selected.ndim != 1:
            problems.append("selected is not a list of different columns")
        elif self.selected.size and (self.selected.min() < 0 or self.selected.max() >= n_features):
            problems.append(f"selected has columns outside 0 … {n_features - 1}")
        elif np.bincount(self.selected, minlength=1).max() > 1:
            problems.append("selected is not a list of different columns")
        if np.isinf(self.scores).any():
            problems.append("scores hold infinite values")
        for name, array, length in (
            ("weights", self.weights, n_features),
            ("instance_weights", self.instance_weights, n_samples),
        ):
            if array is None:
                continue
            if array.shape != (length,):
                problems.append(f"{name} have shape {array.shape}, not ({length},)")
            elif not np.isfinite(array).all() or (array < 0).any():
                problems.append(f"{name} hold negative or non-finite values")
        if self.fill is not None and self.fill.shape != (n_features,):
            problems.append(f"fill has shape {self.fill.shape}, not ({n_features},)")
        elif self.fill is not None and np.isinf(self.fill).any():
            problems.append("fill holds infinite values")
        if self.donors is not None:
            problems.extend(self._donor_problems(n_features))
        if self.pair_weights is not None and self.pair_weights.columns.size:
            columns = self.pair_weights.columns
            if columns.min() < 0 or columns.max() >= n_features:
                problems.append(f"pair_weights name columns outside 0 … {n_features - 1}")
            if not np.isfinite(self.pair_weights.triplets()[2]).all():
                problems.append("pair_weights hold non-finite values")
        problems.extend(
            f"{part} has an array named {name[:50]!r}: names are 1 to 4096 bytes of UTF-8 without "
            "slash and NUL"
            for part, arrays in (("model", self.model), ("tables", self.tables))
            for name in arrays
            if not _is_array_name(name)
        )
        problems.extend(
            f"{part} has an array {name!r} of {array.dtype}: arrays hold {allowed}"
            for part, arrays in (("model", self.model), ("tables", self.tables))
            for name, array in arrays.items()
            if (allowed := _allowed_instead(array))
        )
        problems.extend(
            f"table {name!r} holds {what} outside 0 … 1"
            for name, array in self.tables.items()
            if (what := _share_called(name)) and not _are_shares(array)
        )
        if self.model_columns:
            n_seen = n_features if self.features_in is None else self.features_in.size
            problems.extend(self._axis_problems(n_seen))
        return problems

    def _donor_problems(self, n_features: int) -> Iterator[str]:
        """Problems of `donors` for a table of `n_features` columns."""
        assert self.donors is not None
        columns = self.donors.columns
        if self.fill is None:
            yield "donors are there, but no fill"
        elif columns.size and not 0 <= columns[0] <= columns[-1] < n_features:
            yield f"donors have columns outside 0 … {n_features - 1}"
        elif (
            self.fill.shape == (n_features,)
            and not np.isin(np.flatnonzero(~np.isnan(self.fill)), columns).all()
        ):
            yield "fill holds columns that donors lack"

    def _axis_problems(self, n_seen: int) -> Iterator[str]:
        """Problems of `model_columns` if the method saw `n_seen` columns."""
        for name, axes in self.model_columns.items():
            if name not in self.model:
                yield f"model_columns names {name[:40]!r}, which is not in the model"
                continue
            shape = self.model[name].shape
            if len(set(axes)) < len(axes) or not all(0 <= axis < len(shape) for axis in axes):
                yield f"model_columns gives {name!r} the axes {axes}; its shape is {shape}"
                continue
            for axis in axes:
                if shape[axis] != n_seen:
                    yield (
                        f"axis {axis} of model[{name!r}] has length {shape[axis]}, but "
                        f"model_columns says that it runs over the {n_seen} columns"
                    )

    def of_rows(self, rows: NDArray[np.intp]) -> Selection:
        """This selection for a table with these rows only, with their instance weights."""
        if self.instance_weights is None:
            return self
        return attrs.evolve(self, instance_weights=self.instance_weights[rows])

    def restrict(self, columns: NDArray[np.intp]) -> Selection:
        """This selection as seen by a stage that has only `columns`, renumbered 0, 1, …

        Arrays of `model` are restricted to these columns along the axes that `model_columns`
        declares. An array is left out, so that it cannot be read with the wrong columns, if it is
        not declared and the method saw other columns than these, or if the method did not see all
        of these columns.
        """
        place = places_among(columns, self.selected)
        return attrs.evolve(
            self,
            **self._model_over(columns),
            selected=place[place >= 0],
            scores=self.scores[columns],
            weights=None if self.weights is None else self.weights[columns],
            fill=None if self.fill is None else self.fill[columns],
            donors=None if self.donors is None else self.donors.restrict(columns),
            pair_weights=None if self.pair_weights is None else self.pair_weights.restrict(columns),
        )

    def _model_over(self, columns: NDArray[np.intp]) -> dict[str, Any]:
        """`model`, `model_columns` and `features_in` for a stage that has `columns`."""
        seen = np.arange(self.n_features) if self.features_in is None else self.features_in
        if np.array_equal(seen, columns):
            return {"features_in": np.arange(columns.size)}
        place = places_among(seen, columns)
        is_kept = place >= 0
        changes: dict[str, Any] = {"features_in": np.flatnonzero(is_kept)}
        if not self.model:
            return changes
        complete = bool(is_kept.all())
        kept: dict[str, NDArray[Any]] = {}
        for name, array in self.model.items():
            axes = self.model_columns.get(name)
            if axes is None or (axes and not complete):
                continue
            for axis in axes:
                array = array.take(place, axis=axis)
            kept[name] = array
        changes["model"] = kept
        changes["model_columns"] = {
            name: axes for name, axes in self.model_columns.items() if name in kept
        }
        return changes

    def lift(self, columns: NDArray[np.intp], n_features: int) -> Selection:
        """This selection in the original table's numbering, where column p is ``columns[p]``."""

        def spread(values: NDArray[np.float64] | None, other: float) -> NDArray[np.float64] | None:
            if values is None:
                return None
            placed = np.full(n_features, other)
            placed[columns] = values
            return placed

        return attrs.evolve(
            self,
            selected=columns[self.selected],
            scores=spread(self.scores, np.nan),
            weights=spread(self.weights, 0.0),
            fill=spread(self.fill, np.nan),
            donors=None if self.donors is None else self.donors.lift(columns),
            pair_weights=None if self.pair_weights is None else self.pair_weights.lift(columns),
            features_in=columns,
        )


_P_NAMES = ("p_values", "p-values", "p_adjusted", "q_values")
_ROUNDING = 1e-12


def _share_called(name: str) -> str:
    """The word for the numbers from 0 to 1 in a table of this name; empty if it holds others."""
    if name.endswith(_P_NAMES):
        return "p-values"
    return "frequencies" if name == "frequency" else ""


def _are_shares(array: NDArray[Any]) -> bool:
    """Whether all numbers are in 0 … 1 up to rounding, or NaN, as for columns not tested."""
    if array.dtype.kind not in "fiu":
        return True
    return not bool(((array < -_ROUNDING) | (array > 1.0 + _ROUNDING)).any())


def _allowed_instead(array: NDArray[Any]) -> str:
    """What an array may hold, in words, if it holds something that run files do not store."""
    if array.dtype.kind == "f":
        return "" if array.dtype.itemsize in (4, 8) else "float32 or float64"
    texts = array.dtype.kind == "O" and all(type(text) is str for text in array.flat)
    return "" if texts or array.dtype.kind in "biuU" else "numbers or texts"


def _is_array_name(name: str) -> bool:
    """Whether a run file can hold an array of this name (docs/file-format.md)."""
    try:
        n_bytes = len(name.encode())
    except UnicodeEncodeError:
        return False
    return 0 < n_bytes <= 4096 and name != "." and not {"/", "\0"} & set(name)
