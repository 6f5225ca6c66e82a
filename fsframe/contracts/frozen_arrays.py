"""Arrays that nobody writes to, as results hold them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["Arrays", "arrays", "floats", "freeze", "indices"]


def freeze(value: Any, dtype: Any = None) -> Any:
    """`value` as a read-only array, or None; the caller's own array stays writable."""
    if value is None:
        return None
    # Thousands of resamples arrive with arrays that are as they should be.
    ready = type(value) is np.ndarray and not value.flags.writeable
    if ready and (dtype is None or value.dtype == dtype):
        return value
    array = np.array(value, dtype=dtype, copy=None)
    if array.flags.writeable:
        array = array.view()
        array.setflags(write=False)
    return array


def indices(value: Any) -> Any:
    """Numbers of columns, frozen; ValueError for numbers that are not whole."""
    kind = value.dtype.kind if isinstance(value, np.ndarray) else np.asarray(value).dtype.kind
    if kind not in "iu" and value is not None and np.size(value):
        # Rounding a column number would silently name another column.
        raise ValueError("column numbers must be whole numbers")
    return freeze(value, np.intp)


def floats(value: Any) -> Any:
    """Numbers as float64, frozen; ValueError for complex ones."""
    given = value if isinstance(value, np.ndarray) else np.asarray(value)
    if given.dtype.kind in "cmM":
        # A cast would keep the real part, and say so in a warning at most.
        raise ValueError(f"numbers must be real, not {given.dtype}")
    return freeze(value, np.float64)


class Arrays(Mapping[str, NDArray[Any]]):
    """Read-only arrays by name; unlike a mapping proxy it travels between processes."""

    def __init__(self, arrays: Mapping[str, ArrayLike]) -> None:
        self._arrays = {str(key): freeze(array) for key, array in arrays.items()}

    def __getitem__(self, key: str) -> NDArray[Any]:
        return self._arrays[key]  # type: ignore[no-any-return]

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)

    def __repr__(self) -> str:
        return repr(self._arrays)

    def __reduce__(self) -> tuple[type[Arrays], tuple[dict[str, NDArray[Any]]]]:
        # Through the constructor: unpickled arrays are writable until they are frozen again.
        return Arrays, (self._arrays,)


_NO_ARRAYS = Arrays({})


def arrays(value: Any) -> Mapping[str, NDArray[Any]]:
    """Arrays by name, frozen."""
    if type(value) is Arrays:
        return value
    return Arrays(value) if value else _NO_ARRAYS
