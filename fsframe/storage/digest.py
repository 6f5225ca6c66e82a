"""SHA-256 digests of results, over canonical bytes of names, texts and arrays."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from fsframe.errors import StoreError
from fsframe.storage.array_encoding import encode_array
from fsframe.storage.selection_arrays import selection_arrays

if TYPE_CHECKING:
    from fsframe.contracts.pair_tests import PairTests
    from fsframe.contracts.selection import Selection

__all__ = [
    "axes_text",
    "content_digest",
    "json_text",
    "pair_test_digest",
    "pair_test_items",
    "result_digest",
    "stage_digest",
    "stage_items",
    "stage_texts",
]


def json_text(value: Any, where: str) -> str:
    """Canonical JSON: sorted keys, no blanks, no numbers that are not finite.

    Raises
    ------
    StoreError
        If JSON cannot represent `value`.
    """
    try:
        return json.dumps(
            value, sort_keys=True, ensure_ascii=False, allow_nan=False, separators=(",", ":"),
            default=_plain,
        )  # fmt: skip
    except (TypeError, ValueError, RecursionError) as error:
        raise StoreError(f"cannot store {where}: {error}") from None


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    raise TypeError(f"{type(value).__name__} is not a JSON value")


def content_digest(items: Mapping[str, Any]) -> str:
    """SHA-256 in hexadecimal of named arrays and texts (docs/file-format.md, section 4).

    Parameters
    ----------
    items : mapping of str to array, or sequence of str
        Arrays of numbers, truth values or text.

    Examples
    --------
    >>> a = content_digest({"a": np.array([1.0, np.nan])})
    >>> a == content_digest({"a": np.array([1.0, -np.nan])})
    True
    >>> content_digest({"a": ["x"]}) == content_digest({"a": ["x", ""]})
    False
    """
    digest = hashlib.sha256()
    for name in sorted(items, key=str.encode):
        array = encode_array(items[name], name)
        kind, payload = _payload(array)
        shape = "x".join(str(size) for size in array.shape)
        digest.update(f"{name}\0{kind}\0{shape}\0".encode())
        digest.update(payload)
    return digest.hexdigest()


def _payload(array: NDArray[Any]) -> tuple[str, Any]:
    if array.dtype.kind == "S":
        texts = array.ravel().tolist()
        return "text", b"".join(len(text).to_bytes(8, "little") + text for text in texts)
    kind = array.dtype.name
    if array.dtype.kind == "f" and np.isnan(array).any():
        array = np.where(np.isnan(array), np.array(np.nan, dtype=array.dtype), array)
    return kind, array.reshape(-1).view(np.uint8)


class StageContent(Protocol):
    """What a digest covers of a stage; a `fsframe.storage.records.StageRecord` has it."""

    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def provider(self) -> str: ...
    @property
    def seed(self) -> tuple[int, ...]: ...
    @property
    def params(self) -> Mapping[str, Any]: ...
    @property
    def features_in(self) -> NDArray[np.int64]: ...
    @property
    def warnings(self) -> tuple[str, ...]: ...
    @property
    def selection(self) -> Selection | None: ...
    @property
    def model(self) -> Mapping[str, NDArray[Any]]: ...
    @property
    def tables(self) -> Mapping[str, NDArray[Any]]: ...


def stage_items(stage: StageContent) -> dict[str, Any]:
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


def axes_text(stage: StageContent) -> str:
    """Which axes of the arrays of a stage's model run over columns, as JSON; empty if undeclared.

    A dataset of the file that enters no digest: it says how arrays are to be read, which are
    themselves covered.
    """
    declared = {} if stage.selection is None else dict(stage.selection.model_columns)
    return json_text(declared, f"model_columns of stage {stage.name}") if declared else ""


def stage_texts(stage: StageContent) -> dict[str, str]:
    """The attributes of a stage that enter its digest."""
    carried: Sequence[str] = () if stage.selection is None else sorted(stage.selection.carried)
    return {
        "carried": " ".join(carried),
        "kind": stage.kind,
        "name": stage.name,
        "provider": stage.provider,
        "seed": json_text(list(stage.seed), f"seed of stage {stage.name}"),
    }


def stage_digest(stage: StageContent) -> str:
    """SHA-256 of a stage: its name, provider, seed, parameters and arrays."""
    texts = {name: (text,) for name, text in stage_texts(stage).items()}
    return content_digest(stage_items(stage) | texts)


def result_digest(selected: NDArray[np.int64], scores: NDArray[np.float64]) -> str:
    """SHA-256 of the result: the kept columns, best first, and all scores."""
    return content_digest({"selected": np.asarray(selected, dtype=np.int64), "scores": scores})


class PairTestContent(Protocol):
    """What a digest covers of tests of pairs; a `fsframe.storage.records.PairTestRecord` has it."""

    @property
    def name(self) -> str: ...
    @property
    def provider(self) -> str: ...
    @property
    def seed(self) -> tuple[int, ...]: ...
    @property
    def found(self) -> PairTests: ...


def pair_test_items(found: PairTests) -> dict[str, NDArray[Any]]:
    """The arrays of tests of pairs under the names of the format."""
    items: dict[str, NDArray[Any]] = {
        "columns": np.asarray(found.columns, dtype=np.int64),
        "pairs": np.asarray(found.pairs, dtype=np.int64),
        "p_values": found.p_values,
        "q_values": found.q_values,
    }
    return items | {f"tables/{name}": array for name, array in found.tables.items()}


def pair_test_digest(tests: PairTestContent) -> str:
    """SHA-256 of tests of pairs: who tested, with which key, how many, and the arrays."""
    texts = {
        "name": (tests.name,),
        "provider": (tests.provider,),
        "seed": (json_text(list(tests.seed), "seed of the tests of pairs"),),
    }
    numbers = {
        name: np.array([getattr(tests.found, name)], dtype=np.int64)
        for name in ("n_chosen_from", "n_tested")
    }
    return content_digest(pair_test_items(tests.found) | texts | numbers)
