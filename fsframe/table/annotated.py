"""AnnData, and arrays of xarray, as tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import attrs
import numpy as np

from fsframe.errors import DataError, RequestError
from fsframe.table.arrays import is_sparse
from fsframe.table.cells import Taken
from fsframe.table.frames import FrameColumns
from fsframe.table.table_columns import Columns
from fsframe.text import did_you_mean


def is_annotated(given: Any) -> bool:
    """Whether something is an AnnData object."""
    return type(given).__module__.partition(".")[0] == "anndata" and hasattr(given, "obs")


def is_labelled(given: Any) -> bool:
    """Whether something is an xarray DataArray or Dataset."""
    home = type(given).__module__.partition(".")[0]
    return home == "xarray" and type(given).__name__ in ("DataArray", "Dataset")


def of_labelled(given: Any, beside: Iterable[Any]) -> Any:
    """An xarray DataArray or Dataset as a pandas data frame.

    Parameters
    ----------
    given : DataArray of samples × features, or Dataset of variables over samples
        The second dimension's coordinate names the features; f1, f2, … without one.
    beside : iterable
        Names of coordinates along the samples that become columns: label, groups, ….

    Raises
    ------
    DataError
        If its number of dimensions is wrong, or a name in `beside` is neither a coordinate along
        the samples nor a column.
    """
    array = type(given).__name__ == "DataArray"
    if len(given.dims) != 1 + array:
        shape = ", ".join(f"{name}: {given.sizes[name]}" for name in given.dims)
        raise DataError(
            f"a DataArray must have two dimensions, samples × features, not ({shape})"
            if array
            else "all variables of an xarray Dataset must have the samples as their only "
            f"dimension, not ({shape}): give the DataArray of the features, with the label "
            "as a coordinate (.assign_coords)"
        )
    samples = next(iter(given.dims))
    others = {str(n): c for n, c in given.coords.items() if c.dims == (samples,)}
    if array:
        frame = given.reset_coords(drop=True).to_pandas()
        if given.dims[1] not in given.coords:
            frame.columns = [f"f{k + 1}" for k in range(frame.shape[1])]
    else:
        frame = given.reset_coords(drop=True).to_dataframe()
    problems = []
    for name in dict.fromkeys(n for n in beside if isinstance(n, str)):
        if name in others:
            frame[name] = others[name].to_numpy()
        elif name in given.coords and given[name].dims:
            problems.append(
                f"coordinate {name!r} runs over {', '.join(map(repr, given[name].dims))}, the "
                f"samples are {samples!r}, the first dimension: transpose the array if they are not"
            )
        elif name not in frame.columns:
            hint = did_you_mean(name, [*others, *map(str, frame.columns)])
            problems.append(
                f"there is neither a coordinate along {samples!r} nor a column {name!r}{hint}"
            )
    if problems:
        raise DataError("\n".join(problems))
    return frame


@attrs.frozen(eq=False)
class AnnotatedColumns(Columns):
    """The features of an AnnData (or of a layer) and the columns of `obs`.

    Sparse values stay sparse if that saves memory.

    Parameters
    ----------
    given : AnnData
    X : (n_samples, n_features) array or sparse array
    """

    given: Any
    X: Any
    what = "the AnnData"

    @classmethod
    def of(cls, given: Any, layer: str | None, roles: Mapping[str, Any]) -> AnnotatedColumns:
        """The columns, with the features' values from a layer, or from `X` if it is None.

        Raises
        ------
        DataError
            If there is no such layer, no label is named, or a role does not apply to numbers.
        RequestError
            If rows without a label are to be left out.
        """
        if not isinstance(roles["label"], str):
            raise DataError(
                "name the column of obs that is the label (label=): "
                f"{', '.join([str(name) for name in given.obs.columns][:12]) or '—'}"
            )
        if roles["ordinal"] or roles["dates"]:
            raise DataError(
                "features of an AnnData are numbers: ordinal and dates do not apply to them"
            )
        if roles["missing_label"] is not None:
            raise RequestError("missing_label is for data frames: select the rows of the AnnData")
        if layer is not None and layer not in given.layers:
            known_layers = list(given.layers)
            raise DataError(
                f"the AnnData has no layer {layer!r}{did_you_mean(layer, known_layers)}; it has "
                f"{', '.join(known_layers) or 'none'}"
            )
        X = given.X if layer is None else given.layers[layer]
        return cls(given, X.tocsc() if is_sparse(X) else np.asarray(X))

    @cached_property
    def _obs(self) -> FrameColumns:
        return FrameColumns(self.given.obs, self.what)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the features."""
        return tuple(map(str, self.given.var_names))

    @property
    def beside(self) -> tuple[str, ...]:
        """The names of the annotations of rows."""
        return self._obs.names

    @property
    def n_fields(self) -> int:
        """Number of features."""
        return len(self.names)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self._obs.n_rows

    def row(self, row: int) -> str:
        """The name of a row, for messages."""
        return self._obs.row(row)

    def word(self, column: int) -> str:
        """The name of a feature or an annotation, for messages."""
        at = column - self.n_fields
        return f"feature {self.names[column]!r}" if at < 0 else self._obs.word(at)

    def is_typed(self, column: int) -> bool:
        """Whether an annotation has a categorical type."""
        return column >= self.n_fields and self._obs.is_typed(column - self.n_fields)

    def texts(self, columns: Sequence[int]) -> Iterator[tuple[int, list[str]]]:
        """The cells of annotations as text; features are skipped, as numbers need no reading."""
        for column in columns:
            if column >= self.n_fields:
                ((_, texts),) = self._obs.texts([column - self.n_fields])
                yield column, texts

    def taken(self, columns: Sequence[int], label: int | None, beside: Sequence[int]) -> Taken:
        """The features `columns`, the label as numbers or texts, and `beside` as texts."""
        X = self.X if len(columns) == self.n_fields else self.X[:, columns]
        taken = Taken(X, dict(self.texts(beside)))
        if label is not None and label < self.n_fields:
            values = self.X[:, [label]]
            values = values.toarray() if is_sparse(values) else values
            taken.texts[label] = values[:, 0]
        elif label is not None:
            at = label - self.n_fields
            taken.texts[label] = self._obs.taken([], at, []).texts[at]
        return taken
