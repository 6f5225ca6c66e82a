"""The immutable result of a selector: kept columns, scores, weights and tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.errors import DataError
from fsframe.method.answer import Pair, PairWeights, feature_table, pair_table
from fsframe.method.donors import Donors
from fsframe.method.ranking import rank_by_score
from fsframe.table.arrays import arrays, axes_by_name, floats, indices
from fsframe.table.dataset import Dataset
from fsframe.text import html_block, html_table, listed

__all__ = ["Pair", "PairWeights", "Selection", "rank_by_score"]


_SHOWN = 20


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(value)


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
        ``p_adjusted`` or ``q_values`` hold p-values in 0 … 1, NaN for columns not tested.
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

    @property
    def n_features(self) -> int:
        """Number of columns of the table that the indices refer to."""
        return len(self.scores)

    def __repr__(self) -> str:
        kept = listed([str(column) for column in self.selected.tolist()], most=10)
        return f"<Selection: {'; '.join([*self._facts(), *([f'columns {kept}'] if kept else [])])}>"

    def _repr_html_(self) -> str:
        rows = [
            [str(rank), str(column), f"{self.scores[column]:.4g}"]
            for rank, column in enumerate(self.selected[:_SHOWN].tolist(), start=1)
        ]
        more = self.selected.size - len(rows)
        facts = [*self._facts()[1:], *(f"warning: {warning}" for warning in self.warnings)]
        return html_block(
            f"Selection: {self._facts()[0]}",
            facts,
            html_table(["rank", "column", "score"], rows, right={0, 1, 2}),
            f"<div>… and {more} more</div>" if more > 0 else "",
        )

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
        >>> found = Selection(selected=[1], scores=[0.1, 0.9])
        >>> found.to_frame(["age", "dose"])["feature"].to_list()
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
        found = []
        if self.scores.shape != (n_features,):
            found.append(f"scores have shape {self.scores.shape}, not ({n_features},)")
        if self.selected.ndim != 1:
            found.append("selected is not a list of different columns")
        elif self.selected.size and (self.selected.min() < 0 or self.selected.max() >= n_features):
            found.append(f"selected has columns outside 0 … {n_features - 1}")
        elif np.bincount(self.selected, minlength=1).max() > 1:
            found.append("selected is not a list of different columns")
        if np.isinf(self.scores).any():
            found.append("scores hold infinite values")
        for name, array, length in (
            ("weights", self.weights, n_features),
            ("instance_weights", self.instance_weights, n_samples),
        ):
            if array is None:
                continue
            if array.shape != (length,):
                found.append(f"{name} have shape {array.shape}, not ({length},)")
            elif not np.isfinite(array).all() or (array < 0).any():
                found.append(f"{name} hold negative or non-finite values")
        if self.fill is not None and self.fill.shape != (n_features,):
            found.append(f"fill has shape {self.fill.shape}, not ({n_features},)")
        elif self.fill is not None and np.isinf(self.fill).any():
            found.append("fill holds infinite values")
        if self.donors is not None:
            found.extend(self._donor_problems(n_features))
        if self.pair_weights is not None and self.pair_weights.columns.size:
            columns = self.pair_weights.columns
            if columns.min() < 0 or columns.max() >= n_features:
                found.append(f"pair_weights name columns outside 0 … {n_features - 1}")
            if not np.isfinite(self.pair_weights.triplets()[2]).all():
                found.append("pair_weights hold non-finite values")
        found.extend(
            f"{part} has an array named {name[:50]!r}: names are 1 to 4096 bytes of UTF-8 without "
            "slash and NUL"
            for part, arrays in (("model", self.model), ("tables", self.tables))
            for name in arrays
            if not _is_array_name(name)
        )
        found.extend(
            f"table {name!r} holds p-values outside 0 … 1"
            for name, array in self.tables.items()
            if name.endswith(_P_NAMES) and not _are_shares(array)
        )
        if self.model_columns:
            n_seen = n_features if self.features_in is None else self.features_in.size
            found.extend(self._axis_problems(n_seen))
        return found

    def _donor_problems(self, n_features: int) -> Iterator[str]:
        """Problems of `donors` for a table of so many columns."""
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

    def restrict(self, columns: NDArray[np.intp]) -> Selection:
        """This selection as seen by a stage that has only `columns`, renumbered 0, 1, …

        Arrays of `model` are restricted to these columns along the axes that `model_columns`
        declares. An array is left out, so that it cannot be read with the wrong columns, if it is
        not declared and the method saw other columns than these, or if the method did not see all
        of these columns.
        """
        place = {int(column): position for position, column in enumerate(columns)}
        return attrs.evolve(
            self,
            **self._model_over(columns),
            selected=[place[int(c)] for c in self.selected if int(c) in place],
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
        order = np.argsort(seen, kind="stable")
        place = np.searchsorted(seen, columns, sorter=order)
        there = place < seen.size
        there[there] = seen[order[place[there]]] == columns[there]
        changes: dict[str, Any] = {"features_in": np.flatnonzero(there)}
        if not self.model:
            return changes
        complete = bool(there.all())
        kept: dict[str, NDArray[Any]] = {}
        for name, array in self.model.items():
            axes = self.model_columns.get(name)
            if axes is None or (axes and not complete):
                continue
            for axis in axes:
                array = array.take(order[place], axis=axis)
            kept[name] = array
        changes["model"] = kept
        changes["model_columns"] = {
            name: axes for name, axes in self.model_columns.items() if name in kept
        }
        return changes

    def lift(self, columns: NDArray[np.intp], n_features: int) -> Selection:
        """This selection in the original table's numbering, position p being ``columns[p]``."""

        def spread(values: NDArray[np.float64] | None, other: float) -> NDArray[np.float64] | None:
            if values is None:
                return None
            found = np.full(n_features, other)
            found[columns] = values
            return found

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


def _are_shares(array: NDArray[Any]) -> bool:
    """Whether all numbers are in 0 … 1 up to rounding; NaN, for columns not tested, counts too."""
    if array.dtype.kind not in "fiu":
        return True
    return not bool(((array < -_ROUNDING) | (array > 1.0 + _ROUNDING)).any())


def _is_array_name(name: str) -> bool:
    """Whether a run file can hold an array of this name (docs/file-format.md)."""
    try:
        n_bytes = len(name.encode())
    except UnicodeEncodeError:
        return False
    return 0 < n_bytes <= 4096 and name != "." and not {"/", "\0"} & set(name)
