"""The stages of a run file as frozen objects, their arrays by path, and what a digest covers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.errors import StoreError
from fsframe.method.donors import Donors
from fsframe.method.pair_tests import PairTests
from fsframe.method.selection import PairWeights, Selection
from fsframe.storage import spec
from fsframe.storage.encoding import content_digest, json_text
from fsframe.storage.spec import STAGE_KINDS
from fsframe.table.arrays import are_axes, arrays, freeze

__all__ = [
    "PairTestRecord",
    "StageRecord",
    "array_name",
    "same_donors",
    "selection_arrays",
    "selection_of",
]


_FREE = ("model", "tables")
_SINGLE = ("k", "standardize")
_FOLDERS = {"pair_weights": spec.PAIR_ARRAYS, "donors": spec.DONOR_ARRAYS}
_MATRIX = frozenset({"columns", "matrix"})
_LISTED = frozenset({"columns", "i", "j", "weight"})


def array_name(kind: str, name: str) -> str:
    """The name of the array of that kind for a method, whose name may have a provider.

    Names of arrays cannot hold a slash.

    >>> array_name("sizes", "kuncheva"), array_name("sizes", "other-package/yu")
    ('sizes-kuncheva', 'sizes-other-package%2Fyu')
    """
    return f"{kind}-{name.replace('%', '%25').replace('/', '%2F')}"


def selection_arrays(selection: Selection) -> dict[str, NDArray[Any]]:
    """The arrays of a selection by path; those that it lacks are not there.

    Column numbers are int64 on any machine.

    >>> found = Selection(selected=[1], scores=[0.1, 0.9], tables={"cost": [3.0]})
    >>> sorted(selection_arrays(found))
    ['scores', 'selected', 'tables/cost']
    """
    found = {name: getattr(selection, name) for name in spec.STAGE_ARRAYS}
    pairs = selection.pair_weights
    if pairs is not None:
        found |= {f"pair_weights/{name}": getattr(pairs, name) for name in spec.PAIR_ARRAYS}
    if selection.donors is not None:
        found |= {
            f"donors/{name}": np.asarray(getattr(selection.donors, name)).reshape(
                (1,) if name in _SINGLE else np.shape(getattr(selection.donors, name))
            )
            for name in spec.DONOR_ARRAYS
        }
    for folder in _FREE:
        members: Mapping[str, NDArray[Any]] = getattr(selection, folder)
        found |= {f"{folder}/{name}": array for name, array in members.items()}
    return {
        path: array.astype(np.int64, copy=False) if _names_columns(path) else array
        for path, array in found.items()
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


def as_columns(value: Any) -> NDArray[np.int64]:
    """Column numbers as the format stores them, frozen."""
    return freeze(value, np.int64)


def as_texts(value: Any) -> tuple[str, ...]:
    """Texts, frozen."""
    return tuple(str(item) for item in value)


def as_mapping(value: Any) -> Mapping[str, Any]:
    """Values by name, frozen."""
    return MappingProxyType(dict(value))


def _key(value: Any) -> tuple[int, ...]:
    return tuple(int(part) for part in value)


@attrs.frozen(kw_only=True, eq=False)
class StageRecord:
    """One stage of a run: its method and provider, parameters, input columns and results.

    Parameters
    ----------
    name, kind : str
        Name in the registry; ``"selector"`` or ``"classifier"``.
    provider, provider_version : str
        The distribution the code came from.
    params : mapping of str to JSON values
        Every parameter, defaults too.
    features_in : (m,) int
        Columns the stage saw, ascending; by default those of `selection`.
    selection : Selection, optional
        Its selection, in column numbers of the original table; None for a stage that does not
        select.
    model, tables : mapping of str to array
        Of a stage without a selection; otherwise they are the selection's.
    warnings : tuple of str
        Likewise.
    seconds : float
        Time taken; enters no digest.
    seed : tuple of int
        The stage's key into the run's random streams.
    """

    name: str
    kind: str = attrs.field(default="selector", validator=attrs.validators.in_(STAGE_KINDS))
    provider: str = ""
    provider_version: str = ""
    params: Mapping[str, Any] = attrs.field(factory=dict, converter=as_mapping)
    selection: Selection | None = attrs.field(default=None, repr=False)
    features_in: NDArray[np.int64] = attrs.field(converter=as_columns, repr=False)
    model: Mapping[str, NDArray[Any]] = attrs.field(converter=arrays, repr=False)
    tables: Mapping[str, NDArray[Any]] = attrs.field(converter=arrays, repr=False)
    warnings: tuple[str, ...] = attrs.field(converter=as_texts)
    seconds: float = attrs.field(default=0.0, converter=float)
    seed: tuple[int, ...] = attrs.field(default=(), converter=_key)

    @features_in.default
    def _seen(self) -> Any:
        seen = None if self.selection is None else self.selection.features_in
        return () if seen is None else seen

    @model.default
    def _model(self) -> Any:
        return {} if self.selection is None else self.selection.model

    @tables.default
    def _tables(self) -> Any:
        return {} if self.selection is None else self.selection.tables

    @warnings.default
    def _warnings(self) -> Any:
        return () if self.selection is None else self.selection.warnings

    def digest(self) -> str:
        """SHA-256 of results and parameters, without times and versions."""
        return self._digest

    @cached_property
    def _digest(self) -> str:
        # Everything it covers is frozen, so it is computed once.
        texts = {name: (text,) for name, text in stage_texts(self).items()}
        return content_digest(stage_items(self) | texts)


@attrs.frozen(kw_only=True, eq=False)
class PairTestRecord:
    """The tests of the result's pairs, and the method that made them.

    Parameters
    ----------
    name, provider, provider_version : str
        The testing method by its registry name, and the distribution of its code.
    seed : tuple of int
        Its key into the run's random streams.
    found : PairTests
        In column numbers of the original table.
    """

    name: str
    provider: str = ""
    provider_version: str = ""
    seed: tuple[int, ...] = attrs.field(default=(), converter=_key)
    found: PairTests = attrs.field(repr=False)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the results, the method and its key."""
        seed = json_text(list(self.seed), "seed of the tests of pairs")
        texts = {"name": (self.name,), "provider": (self.provider,), "seed": (seed,)}
        numbers = {
            name: np.array([getattr(self.found, name)], dtype=np.int64)
            for name in ("n_chosen_from", "n_tested")
        }
        return content_digest(pair_test_items(self.found) | texts | numbers)


def stage_items(stage: StageRecord) -> dict[str, Any]:
    """Every array and text of a stage that is a dataset of the file, groups joined by a slash."""
    items: dict[str, Any] = {
        "features_in": stage.features_in,
        "params": (json_text(dict(stage.params), f"parameters of stage {stage.name}"),),
        "warnings": stage.warnings,
    }
    if stage.selection is not None:
        found = selection_arrays(stage.selection)
        # Donors passed on by an earlier stage are stored with that stage.
        carried = "donors" in stage.selection.carried
        items |= {
            path: array
            for path, array in found.items()
            if path not in items and not (carried and path.startswith("donors/"))
        }
    items |= {f"model/{name}": array for name, array in stage.model.items()}
    items |= {f"tables/{name}": array for name, array in stage.tables.items()}
    return items


def axes_text(stage: StageRecord) -> str:
    """Which axes of the arrays of a stage's model run over columns, as JSON; empty if undeclared.

    A dataset of the file that enters no digest: it says how arrays are to be read, which are
    themselves covered.
    """
    declared = {} if stage.selection is None else dict(stage.selection.model_columns)
    return json_text(declared, f"model_columns of stage {stage.name}") if declared else ""


def stage_texts(stage: StageRecord) -> dict[str, str]:
    """The attributes of a stage that enter its digest."""
    carried: Sequence[str] = () if stage.selection is None else sorted(stage.selection.carried)
    return {
        "carried": " ".join(carried),
        "kind": stage.kind,
        "name": stage.name,
        "provider": stage.provider,
        "seed": json_text(list(stage.seed), f"seed of stage {stage.name}"),
    }


def pair_test_items(found: PairTests) -> dict[str, NDArray[Any]]:
    """The arrays of tests of pairs under the names of the format."""
    items: dict[str, NDArray[Any]] = {
        "columns": np.asarray(found.columns, dtype=np.int64),
        "pairs": np.asarray(found.pairs, dtype=np.int64),
        "p_values": found.p_values,
        "q_values": found.q_values,
    }
    return items | {f"tables/{name}": array for name, array in found.tables.items()}
