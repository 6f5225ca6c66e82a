"""Compact storage of symmetric matrices and of repeated arrays of a stage.

IMMIGRATE's W is a symmetric matrix that is both in `model` and the pair weights: written as it is,
a run on 2,000 columns takes 64 MB before compression, of which 16 MB are sufficient.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["TRIANGLE", "compact", "is_packable", "square_of", "triangle_of"]

TRIANGLE = "triangle"
_WORTH_BYTES = 1 << 12


def is_packable(path: str) -> bool:
    """Whether the dataset at `path` within a stage may be a triangle or a reference.

    >>> [is_packable(path) for path in ("model/W", "pair_weights/matrix", "scores")]
    [True, True, False]
    """
    folder, slash, _ = path.partition("/")
    return bool(slash) and (folder in ("model", "tables") or path == "pair_weights/matrix")


def compact(items: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """The datasets of a stage that must be written, and how to reconstruct the others, by path.

    The second is `TRIANGLE` for a matrix of which the first holds the upper triangle only, and the
    path of another dataset for one that is left out since it is bit for bit that one. O(bytes).
    Arrays under 4 KiB are written as they are.
    """
    written: dict[str, Any] = {}
    packing: dict[str, str] = {}
    first: dict[tuple[str, tuple[int, ...]], list[str]] = {}
    # The pair weights first, so that a model's copy of them refers to them and not they to it.
    for path in sorted(items, key=lambda path: (not path.startswith("pair_weights/"), path)):
        value = items[path]
        if not (is_packable(path) and isinstance(value, np.ndarray)) or not _worth(value):
            written[path] = value
            continue
        alike = first.setdefault((value.dtype.name, value.shape), [])
        same = next((other for other in alike if _equal_bits(items[other], value)), None)
        if same is not None:
            packing[path] = same
            continue
        alike.append(path)
        if _is_symmetric(value):
            packing[path] = TRIANGLE
            written[path] = triangle_of(value)
        else:
            written[path] = value
    return written, packing


def triangle_of(square: NDArray[np.float64]) -> NDArray[np.float64]:
    """The upper triangle with the diagonal, row by row, (m (m + 1) / 2,).

    >>> triangle_of(np.array([[1.0, 2.0], [2.0, 3.0]]))
    array([1., 2., 3.])
    """
    return square[np.triu_indices(square.shape[0])]


def square_of(triangle: NDArray[np.float64]) -> NDArray[np.float64]:
    """The symmetric matrix whose upper triangle is given; ValueError if there is none.

    >>> square_of(np.array([1.0, 2.0, 3.0]))
    array([[1., 2.],
           [2., 3.]])
    """
    m = (int(np.sqrt(8.0 * triangle.size + 1.0)) - 1) // 2
    if triangle.ndim != 1 or triangle.dtype != np.float64 or m * (m + 1) // 2 != triangle.size:
        raise ValueError(
            f"{triangle.dtype} of shape {triangle.shape} is not the triangle of a square matrix"
        )
    square = np.empty((m, m), dtype=triangle.dtype)
    start = 0
    for row in range(m):
        part = triangle[start : start + m - row]
        square[row, row:] = part
        square[row:, row] = part
        start += m - row
    return square


def _worth(array: NDArray[Any]) -> bool:
    return array.nbytes >= _WORTH_BYTES and array.dtype.kind in "biuf"


def _is_symmetric(array: NDArray[Any]) -> bool:
    """Whether it is a square matrix of 64-bit floats equal to its transpose, bit for bit."""
    if array.dtype != np.float64 or array.ndim != 2 or array.shape[0] != array.shape[1]:
        return False
    # As integers: zeros of different signs and NaNs of different payload are told apart.
    bits = np.ascontiguousarray(array).view(np.int64)
    # Most matrices that are not symmetric show it at once.
    return np.array_equal(bits[:8], bits[:, :8].T) and np.array_equal(bits, bits.T)


def _equal_bits(a: Any, b: NDArray[Any]) -> bool:
    first, second = np.ascontiguousarray(a).reshape(-1), np.ascontiguousarray(b).reshape(-1)
    return bool(np.array_equal(first.view(np.uint8), second.view(np.uint8)))
