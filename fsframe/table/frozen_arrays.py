"""Read-only arrays for results."""

from __future__ import annotations

import operator
from collections.abc import Collection, Iterator, Mapping
from typing import Any, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["Arrays", "Axes", "are_axes", "arrays", "axes_by_name", "floats", "freeze", "indices"]

_V = TypeVar("_V")


@overload
def freeze(value: None, dtype: Any = None) -> None: ...
@overload
def freeze(value: ArrayLike, dtype: Any = None) -> NDArray[Any]: ...
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


class _ReadOnly(Mapping[str, _V]):
    """Values by name; read-only, and unlike a mapping proxy it can be pickled."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        self._given = {str(key): self._frozen(value) for key, value in given.items()}

    @staticmethod
    def _frozen(value: Any) -> Any:
        raise NotImplementedError

    def __getitem__(self, key: str) -> _V:
        return self._given[key]  # type: ignore[no-any-return]

    def __iter__(self) -> Iterator[str]:
        return iter(self._given)

    def __len__(self) -> int:
        return len(self._given)

    def __repr__(self) -> str:
        return repr(self._given)

    def __reduce__(self) -> tuple[type[_ReadOnly[_V]], tuple[dict[str, Any]]]:
        # Through the constructor, since unpickled arrays are writable.
        return type(self), (self._given,)


class Arrays(_ReadOnly[NDArray[Any]]):
    """Read-only arrays by name."""

    _frozen = staticmethod(freeze)


_NO_ARRAYS = Arrays({})


def arrays(value: Any) -> Mapping[str, NDArray[Any]]:
    """Arrays by name, frozen."""
    if type(value) is Arrays:
        return value
    return Arrays(value) if value else _NO_ARRAYS


class Axes(_ReadOnly[tuple[int, ...]]):
    """Axes of arrays by the array's name."""

    @staticmethod
    def _frozen(value: Any) -> tuple[int, ...]:
        several = value if isinstance(value, (tuple, list)) else (value,)
        return tuple(operator.index(axis) for axis in several)


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


def are_axes(value: Any, names: Collection[str]) -> bool:
    """Whether a JSON value, which may be untrusted, gives axes of arrays called `names`."""
    return isinstance(value, dict) and all(
        name in names
        and isinstance(several, list)
        and len(several) <= _MOST_AXES
        and all(type(axis) is int and 0 <= axis < _MOST_AXES for axis in several)
        for name, several in value.items()
    )
