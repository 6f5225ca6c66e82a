"""Values as stored in the file: little-endian numbers, or UTF-8 of fixed length."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsframe.errors import StoreError
from fsframe.storage.spec import NUMBER_TYPES

__all__ = ["encode_array"]


def encode_array(value: Any, name: str) -> NDArray[Any]:
    """`value` as a little-endian array of numbers or truth values, or of UTF-8 bytes.

    A single value becomes an array of one; a sequence without elements is text. StoreError, which
    names `name`, if the format does not allow such an array.

    >>> encode_array(["σ", "b"], "names").dtype
    dtype('S2')
    """
    array = np.atleast_1d(np.asarray(value))
    if array.size == 0 and not isinstance(value, np.ndarray):
        array = array.astype(str)
    if array.dtype.kind in "UOS":
        return _encoded(array, name)
    if array.dtype.name not in NUMBER_TYPES:
        raise StoreError(
            f"cannot store {name}: a run file cannot hold arrays of {array.dtype}; a method may "
            "return truth values, whole numbers, 32- or 64-bit floats and text"
        )
    return np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))


def _encoded(array: NDArray[Any], name: str) -> NDArray[np.bytes_]:
    encoded = []
    for text in array.ravel().tolist():
        if not isinstance(text, (str, bytes)):
            raise StoreError(
                f"cannot store {name}: it holds a {type(text).__name__} among its texts"
            )
        try:
            raw = text.encode() if isinstance(text, str) else text.decode().encode()
        except UnicodeError as error:
            raise StoreError(f"cannot store {name}: {error}") from None
        if b"\0" in raw:
            raise StoreError(f"cannot store {name}: a text holds a NUL character")
        encoded.append(raw)
    width = max((len(raw) for raw in encoded), default=1)
    return np.array(encoded, dtype=f"S{max(1, width)}").reshape(array.shape)
