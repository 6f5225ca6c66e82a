"""SHA-256 digests of results, over canonical bytes of names, texts and arrays."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsframe.errors import StoreError
from fsframe.storage.array_encoding import encode_array

__all__ = ["content_digest", "json_text", "result_digest"]


def json_text(value: Any, where: str) -> str:
    """Canonical JSON: sorted keys, no blanks, finite numbers; StoreError for other values."""
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


def result_digest(selected: NDArray[np.int64], scores: NDArray[np.float64]) -> str:
    """SHA-256 of the result: the kept columns, best first, and all scores."""
    return content_digest({"selected": np.asarray(selected, dtype=np.int64), "scores": scores})
