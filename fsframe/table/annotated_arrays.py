"""AnnData objects and arrays of xarray, whose rows carry labels and other annotations.

Neither library is imported; only methods of the object are used.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from fsframe.errors import DataError
from fsframe.table.arrays import is_sparse
from fsframe.table.frames import FrameParts, find_named, frame_names, group_values, label_values_of
from fsframe.table.roles import ROLES, AskedColumns, check_asked, only
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
        If it has another number of dimensions, or there is no coordinate along the samples, or
        column, of a name in `beside`.
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
            problems.append(f"there is no coordinate along {samples!r}, or column, {name!r}{hint}")
    if problems:
        raise DataError("\n".join(problems))
    return frame


def check_asked_of_frame(frame: Any, **roles: Any) -> AskedColumns:
    """`check_asked` of the columns of a frame, or of an AnnData and its `obs`."""
    annotated = is_annotated(frame)
    beside: list[str] = []
    if annotated:
        names = [str(name) for name in frame.var_names]
        beside = [str(name) for name in frame.obs.columns]
        if not isinstance(roles["label"], str):
            raise DataError(
                "name the column of obs that is the label (label=): "
                f"{', '.join(beside[:12]) or '—'}"
            )
    else:
        names = list(frame_names(frame))
    every = [*names, *beside]

    def find(role: str, keys: Sequence[str | int]) -> list[int]:
        if annotated and role in ("label", "groups", "weight"):
            return [len(names) + place for place in find_named(beside, keys, ROLES[role].word)]
        known = every if ROLES[role].side else names
        return find_named(known, keys, ROLES[role].word)

    n_columns = 0 if annotated else len(names)
    return check_asked(find, lambda k: f"column {every[k]!r}", n_columns, **roles)


def take_annotated(
    given: Any,
    asked: AskedColumns,
    layer: str | None,
    *,
    all_categorical: bool = False,
    dates: str | None = None,
) -> FrameParts:
    """The features of an AnnData, or one of its layers, and columns of `obs` as label and groups.

    Columns are `asked` for as in `take_frame`, those of `obs` after the features. Sparse values
    stay sparse if that saves memory.

    Raises
    ------
    DataError
        If there is no such layer, or a role does not apply to numbers.
    """
    if asked["ordinal"] or dates:
        raise DataError(
            "features of an AnnData are numbers: ordinal and dates do not apply to them"
        )
    names = [str(name) for name in given.var_names]

    def beside(role: str) -> tuple[str, Any]:
        """Name and values of a column of `obs`, whose places follow those of the features."""
        place = only(asked, role)
        if place is None:
            return "", None
        column = place - len(names)
        return str(given.obs.columns[column]), given.obs.iloc[:, column]

    (label_name, label), (group_name, groups) = beside("label"), beside("groups")
    weight_name, weights = beside("weight")
    kept = np.setdiff1d(np.arange(len(names)), asked["drop"])
    if layer is not None and layer not in given.layers:
        known_layers = list(given.layers)
        raise DataError(
            f"the AnnData has no layer {layer!r}{did_you_mean(layer, known_layers)}; it has "
            f"{', '.join(known_layers) or 'none'}"
        )
    X = given.X if layer is None else given.layers[layer]
    X = X.tocsc() if is_sparse(X) else np.asarray(X)
    return FrameParts(
        X=X if len(kept) == len(names) else X[:, kept],
        feature_names=tuple(names[k] for k in kept),
        categorical=np.isin(kept, asked["categorical"]) | all_categorical,
        keep=np.isin(kept, asked["keep"]),
        weights=None if weights is None else group_values(weights),
        weight_name=weight_name,
        y=label_values_of(label, label_name),
        label_name=label_name,
        warnings=(),
        groups=None if groups is None else group_values(groups),
        group_name=group_name,
    )
