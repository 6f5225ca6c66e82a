"""Pack results: shared arrays once, ragged ones concatenated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsframe.contracts.frozen_arrays import freeze
from fsframe.errors import StoreError

__all__ = ["split_joined", "stack", "unstack"]

Arrays = dict[str, NDArray[Any]]


def stack(results: Sequence[Mapping[str, NDArray[Any]]]) -> Arrays:
    """The arrays of all results, by name, in one mapping, from which `unstack` restores them.

    ``every/NAME`` is the array of that name, which is the same in all results. ``joined/NAME`` and
    ``sizes/NAME`` are one-dimensional arrays end to end. ``3/NAME`` is that of result 3.

    >>> found = stack([{"a": np.ones(2), "b": np.ones(1)}, {"a": np.ones(2), "b": np.zeros(3)}])
    >>> {name: array.tolist() for name, array in found.items()}
    {'every/a': [1.0, 1.0], 'joined/b': [1.0, 0.0, 0.0, 0.0], 'sizes/b': [1, 3]}
    """
    found: Arrays = {}
    for name in dict.fromkeys(name for result in results for name in result):
        listed = [result.get(name) for result in results]
        whole = [array for array in listed if array is not None]
        alike = len(whole) == len(listed) > 1 and len({array.dtype for array in whole}) == 1
        if alike and all(array is whole[0] or _same(array, whole[0]) for array in whole[1:]):
            found[f"every/{name}"] = whole[0]
        elif alike and all(array.ndim == 1 for array in whole):
            found[f"joined/{name}"] = np.concatenate(whole)
            found[f"sizes/{name}"] = np.array([array.size for array in whole], dtype=np.int64)
        else:
            for place, array in enumerate(listed):
                if array is not None:
                    found[f"{place}/{name}"] = array
    return found


def _same(one: NDArray[Any], other: NDArray[Any]) -> bool:
    """Whether two arrays of one type are equal bit by bit."""
    if one.shape != other.shape:
        return False
    place, other_place = (array.__array_interface__["data"] for array in (one, other))
    if place == other_place and one.strides == other.strides:
        return True
    a, b = (np.ascontiguousarray(array).reshape(-1).view(np.uint8) for array in (one, other))
    # A look at the beginning tells most arrays apart.
    return bool((a[:64] == b[:64]).all() and (a == b).all())


def unstack(arrays: Mapping[str, NDArray[Any]], n: int) -> list[Arrays]:
    """The arrays of each of `n` results, as views; `arrays` may be untrusted.

    StoreError if an array belongs to no result, or to one that has it already, or sizes do not fit.
    """
    found: list[Arrays] = [{} for _ in range(n)]
    for full, array in arrays.items():
        owner, _, name = full.partition("/")
        if owner == "every":
            pieces = dict.fromkeys(range(n), array)
        elif owner == "joined":
            pieces = dict(enumerate(split_joined(array, arrays.get(f"sizes/{name}"), n)))
        elif owner == "sizes":
            if f"joined/{name}" not in arrays:
                raise StoreError(f"it holds sizes of nothing: {name[:40]!r}")
            continue
        elif owner.isascii() and owner.isdigit() and len(owner) < 10 and int(owner) < n:
            pieces = {int(owner): array}
        else:
            raise StoreError(f"it holds an array that belongs to no selection: {full[:40]!r}")
        for place, piece in pieces.items():
            if found[place].setdefault(name, piece) is not piece:
                raise StoreError(f"it holds two arrays of one name: {name[:40]!r}")
    return found


def split_joined(array: NDArray[Any], sizes: NDArray[Any] | None, n: int) -> list[NDArray[Any]]:
    """The `n` arrays concatenated in `array`; StoreError if `sizes` do not fit."""
    if (
        array.ndim != 1
        or sizes is None
        or sizes.dtype != np.int64
        or sizes.shape != (n,)
        or sizes.min(initial=0) < 0
        or sizes.max(initial=0) > array.size
        or sizes.sum() != array.size
    ):
        raise StoreError("it holds joined arrays whose sizes do not fit")
    ends = np.cumsum(sizes).tolist()
    # Read-only before it is cut, so that not every piece has to be made so.
    array = freeze(array)
    return [array[end - size : end] for end, size in zip(ends, sizes.tolist(), strict=True)]
