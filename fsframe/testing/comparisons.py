"""Compare results and describe the differences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsframe.method.selection import PairWeights, Selection

__all__ = ["assert_close", "assert_equal", "frozen_bytes"]


def assert_equal(
    found: Selection, expected: Selection, what: str, besides: tuple[str, ...] = ()
) -> None:
    """Assert that two selections are equal bit for bit, except the fields in `besides`."""
    differing = [
        name
        for name, a, b in _paired(found, expected)
        if not name.startswith(besides) and not _bit_equal(a, b)
    ]
    assert not differing, f"{what}: {', '.join(differing)} differ"


def assert_close(found: Selection, expected: Selection, what: str, rtol: float) -> None:
    """Assert that two selections keep the same columns, with scores equal up to rounding."""
    a, b = found.scores, expected.scores
    assert np.array_equal(np.isnan(a), np.isnan(b)), f"{what}: other columns are considered"
    scale = float(np.nanmax(np.abs(b), initial=0.0))
    # Relative to the largest score, since one that should be zero has no relative error.
    largest = float(np.nanmax(np.abs(a - b), initial=0.0))
    assert largest <= rtol * max(scale, np.finfo(float).tiny), (
        f"{what}: scores differ by {largest:.3g}, the largest being {scale:.3g}"
    )
    assert found.selected.tolist() == expected.selected.tolist(), (
        f"{what}: keeps {found.selected.tolist()}, not {expected.selected.tolist()}"
    )


_PARTS = {
    "pair_weights": ("columns", "matrix", "i", "j", "weight", "diagonal"),
    "donors": ("columns", "rows", "times", "nominal", "k", "standardize"),
}


def _paired(found: Selection, expected: Selection) -> Iterator[tuple[str, Any, Any]]:
    for name in ("selected", "scores", "weights", "instance_weights", "fill", "features_in"):
        yield name, getattr(found, name), getattr(expected, name)
    for part, names in _PARTS.items():
        a, b = getattr(found, part), getattr(expected, part)
        for name in names:
            yield f"{part}.{name}", getattr(a, name, None), getattr(b, name, None)
    for group in ("model", "tables"):
        a, b = getattr(found, group), getattr(expected, group)
        for key in sorted({*a, *b}):
            yield f"{group}[{key!r}]", a.get(key), b.get(key)
    for key in sorted({*found.model_columns, *expected.model_columns}):
        axes = (found.model_columns.get(key), expected.model_columns.get(key))
        yield f"model_columns[{key!r}]", *axes
    yield "warnings", np.array(found.warnings, dtype=str), np.array(expected.warnings, dtype=str)


def _bit_equal(a: Any, b: Any) -> bool:
    if a is None or b is None:
        return a is b
    a, b = np.asarray(a), np.asarray(b)
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    return bool(np.array_equal(a, b)) if a.dtype.hasobject else a.tobytes() == b.tobytes()


def frozen_bytes(*things: Any) -> list[bytes]:
    """The bytes of all arrays in some objects, to detect changes."""
    return [np.ascontiguousarray(array).tobytes() for thing in things for array in _arrays(thing)]


def _arrays(thing: Any) -> Iterator[NDArray[Any]]:
    if isinstance(thing, np.ndarray):
        if not thing.dtype.hasobject:
            yield thing
    elif isinstance(thing, Mapping):
        for key in sorted(thing):
            yield from _arrays(thing[key])
    elif isinstance(thing, (Selection, PairWeights)):
        for field in type(thing).__attrs_attrs__:
            yield from _arrays(getattr(thing, field.name))
