"""A selection as arrays by path, as run files and units hold it, and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsframe.errors import StoreError
from fsframe.method.selection import Donors, PairWeights, Selection
from fsframe.storage import spec
from fsframe.table.arrays import are_axes

_FREE = ("model", "tables")
_SINGLE = ("k", "standardize")
_FOLDERS = {"pair_weights": spec.PAIR_ARRAYS, "donors": spec.DONOR_ARRAYS}
_MATRIX = frozenset({"columns", "matrix"})
_LISTED = frozenset({"columns", "i", "j", "weight"})


def selection_arrays(selection: Selection) -> dict[str, NDArray[Any]]:
    """The arrays of a selection by path; those that it lacks are not there.

    Column numbers are int64 on any machine.

    >>> selection = Selection(selected=[1], scores=[0.1, 0.9], tables={"cost": [3.0]})
    >>> sorted(selection_arrays(selection))
    ['scores', 'selected', 'tables/cost']
    """
    arrays = {name: getattr(selection, name) for name in spec.STAGE_ARRAYS}
    pairs = selection.pair_weights
    if pairs is not None:
        arrays |= {f"pair_weights/{name}": getattr(pairs, name) for name in spec.PAIR_ARRAYS}
    if selection.donors is not None:
        arrays |= {
            f"donors/{name}": np.asarray(getattr(selection.donors, name)).reshape(
                (1,) if name in _SINGLE else np.shape(getattr(selection.donors, name))
            )
            for name in spec.DONOR_ARRAYS
        }
    for folder in _FREE:
        members: Mapping[str, NDArray[Any]] = getattr(selection, folder)
        arrays |= {f"{folder}/{name}": array for name, array in members.items()}
    return {
        path: array.astype(np.int64, copy=False) if _names_columns(path) else array
        for path, array in arrays.items()
        if array is not None
    }


def selection_of(
    arrays: Mapping[str, NDArray[Any]],
    *,
    warnings: Iterable[str] = (),
    carried: Iterable[str] = (),
    model_columns: Any = None,
) -> Selection:
    """The selection that consists of these arrays by path and of the given other parts.

    The inverse of `selection_arrays`. The input may be untrusted: StoreError if no selection has
    these parts. `model_columns` says which axes of the arrays of the model run over columns.
    """
    folders: dict[str, dict[str, NDArray[Any]]]
    folders = {"donors": {}, "pair_weights": {}, "model": {}, "tables": {}}
    plain: dict[str, Any] = {}
    for path, array in arrays.items():
        folder, slash, name = path.partition("/")
        if slash and folder in folders:
            folders[folder][name] = array
        elif path in spec.STAGE_ARRAYS:
            plain[path] = array
        else:
            raise StoreError(f"no selection has a part {path[:40]!r}")
    axes = {} if model_columns is None else model_columns
    if not are_axes(axes, folders["model"]):
        raise StoreError("model_columns does not give axes of arrays in model")
    pairs, donors = folders.pop("pair_weights"), folders.pop("donors")
    try:
        return Selection(
            **plain,
            **folders,
            pair_weights=_pair_weights(pairs) if pairs else None,
            donors=_donors(donors) if donors else None,
            warnings=tuple(warnings),
            carried=frozenset(carried),
            model_columns=axes,
        )
    except (TypeError, ValueError, IndexError) as error:
        raise StoreError(f"it holds an invalid selection: {error}") from None


def _pair_weights(arrays: dict[str, NDArray[Any]]) -> PairWeights:
    names = set(arrays)
    if names != _MATRIX and names - {"diagonal"} != _LISTED:
        raise ValueError("pair_weights holds neither a matrix alone nor i, j and weight")
    return PairWeights(**arrays)


def _donors(arrays: dict[str, NDArray[Any]]) -> Donors:
    if set(arrays) != set(spec.DONOR_ARRAYS):
        raise ValueError(f"donors are {', '.join(spec.DONOR_ARRAYS)}")
    if any(arrays[name].shape != (1,) for name in _SINGLE):
        raise ValueError(f"{' and '.join(_SINGLE)} of donors are one value each")
    return Donors(**{n: a[0] if n in _SINGLE else a for n, a in arrays.items()})


def same_donors(one: Selection, other: Selection | None) -> bool:
    """Whether two selections have the same donors, and have some."""
    a, b = one.donors, None if other is None else other.donors
    if a is None or b is None or a is b:
        return a is not None and a is b
    return all(
        np.array_equal(getattr(a, name), getattr(b, name), equal_nan=kind == "float64")
        for name, kind in spec.DONOR_ARRAYS.items()
    )


def _names_columns(path: str) -> bool:
    folder, slash, name = path.partition("/")
    kinds = _FOLDERS.get(folder, {}) if slash else spec.STAGE_ARRAYS
    return kinds.get(name if slash else path) == "int64"
