"""Read-only arrays for results."""

from __future__ import annotations

import operator
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["Arrays", "Axes", "are_axes", "arrays", "axes_by_name", "floats", "freeze", "indices"]


def freeze(value: Any, dtype: Any = None) -> Any:
    """`value` as a read-only array, or None; the caller's array stays writable."""
    if value is None:
        return None
    # The usual case for thousands of resamples.
    ready = type(value) is np.ndarray and not value.flags.writeable
    if ready and (dtype is None or value.dtype == dtype):
        return value
    array = np.array(value, dtype=dtype, copy=None)
    if array.flags.writeable:
        array = array.view()
        array.setflags(write=False)
    return array


def indices(value: Any) -> Any:
    """Column numbers, frozen; ValueError unless they are integers."""
    kind = value.dtype.kind if isinstance(value, np.ndarray) else np.asarray(value).dtype.kind
    if kind not in "iu" and value is not None and np.size(value):
        # Rounding a column number would silently name another column.
        raise ValueError("column numbers must be whole numbers")
    return freeze(value, np.intp)


def floats(value: Any) -> Any:
    """Numbers as float64, frozen; ValueError for complex ones."""
    given = value if isinstance(value, np.ndarray) else np.asarray(value)
    if given.dtype.kind in "cmM":
        # A cast would keep the real part, with a warning at most.
        raise ValueError(f"numbers must be real, not {given.dtype}")
    return freeze(value, np.float64)


class Arrays(Mapping[str, NDArray[Any]]):
    """Read-only arrays by name; unlike a mapping proxy it can be pickled."""

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
        # Through the constructor, since unpickled arrays are writable.
        return Arrays, (self._arrays,)


_NO_ARRAYS = Arrays({})


def arrays(value: Any) -> Mapping[str, NDArray[Any]]:
    """Arrays by name, frozen."""
    if type(value) is Arrays:
        return value
    return Arrays(value) if value else _NO_ARRAYS


class Axes(Mapping[str, tuple[int, ...]]):
    """Axes of arrays by the array's name; read-only, and can be pickled."""

    def __init__(self, axes: Mapping[str, Any]) -> None:
        self._axes = {str(name): _axis_numbers(value) for name, value in axes.items()}

    def __getitem__(self, key: str) -> tuple[int, ...]:
        return self._axes[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._axes)

    def __len__(self) -> int:
        return len(self._axes)

    def __repr__(self) -> str:
        return repr(self._axes)


_NO_AXES = Axes({})
_MOST_AXES = 64  # as many as an array of NumPy may have


def axes_by_name(value: Any) -> Axes:
    """Axes by name, frozen; a single axis may stand without its tuple.

    Raises
    ------
    TypeError
        If an axis is not a whole number.

    Examples
    --------
    >>> axes_by_name({"w": 0, "W": (0, 1), "sigma": ()})
    {'w': (0,), 'W': (0, 1), 'sigma': ()}
    """
    if type(value) is Axes:
        return value
    return Axes(value) if value else _NO_AXES


def _axis_numbers(value: Any) -> tuple[int, ...]:
    several = value if isinstance(value, (tuple, list)) else (value,)
    return tuple(operator.index(axis) for axis in several)


def are_axes(value: Any, names: Collection[str]) -> bool:
    """Whether a JSON value, which may be untrusted, gives axes of arrays called `names`."""
    return isinstance(value, dict) and all(
        name in names
        and isinstance(several, list)
        and len(several) <= _MOST_AXES
        and all(type(axis) is int and 0 <= axis < _MOST_AXES for axis in several)
        for name, several in value.items()
    )
