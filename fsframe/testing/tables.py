"""Small tables for the checks, and comparisons of results."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsframe.method.selection import PairWeights, Selection
from fsframe.storage.encoding import FREE, selection_arrays
from fsframe.table.dataset import Dataset


def assert_equal(
    selection: Selection, expected: Selection, what: str, besides: tuple[str, ...] = ()
) -> None:
    """Assert that two selections are equal bit for bit, except the fields in `besides`."""
    parts, others = _parts(selection), _parts(expected)
    differing = [
        name
        for name in dict.fromkeys([*parts, *others])
        if not name.startswith(besides) and not _bit_equal(parts.get(name), others.get(name))
    ]
    assert not differing, f"{what}: {', '.join(differing)} differ"


def assert_close(selection: Selection, expected: Selection, what: str, rtol: float) -> None:
    """Assert that two selections keep the same columns, with scores equal up to rounding."""
    a, b = selection.scores, expected.scores
    assert np.array_equal(np.isnan(a), np.isnan(b)), f"{what}: other columns are considered"
    scale = float(np.nanmax(np.abs(b), initial=0.0))
    # Relative to the largest score, since one that should be zero has no relative error.
    largest = float(np.nanmax(np.abs(a - b), initial=0.0))
    assert largest <= rtol * max(scale, np.finfo(float).tiny), (
        f"{what}: scores differ by {largest:.3g}, the largest being {scale:.3g}"
    )
    assert selection.selected.tolist() == expected.selected.tolist(), (
        f"{what}: keeps {selection.selected.tolist()}, not {expected.selected.tolist()}"
    )


def _parts(selection: Selection) -> dict[str, Any]:
    """The parts of a selection by name: ``scores``, ``donors.rows``, ``model['W']``, …"""
    parts: dict[str, Any] = {}
    for path, array in selection_arrays(selection).items():
        folder, _, name = path.partition("/")
        parts[f"{folder}[{name!r}]" if folder in FREE else path.replace("/", ".")] = array
    parts |= {f"model_columns[{key!r}]": axes for key, axes in selection.model_columns.items()}
    return parts | {"warnings": np.array(selection.warnings, dtype=str)}


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


def drawing(seed: int) -> np.random.Generator:
    """A generator that stays the same if numpy changes its default generator."""
    return np.random.Generator(np.random.PCG64(seed))


def shuffled(n: int, seed: int) -> NDArray[np.int64]:
    """The numbers below n in another order."""
    return drawing(seed).permutation(n)


def _normal(n_samples: int, n_features: int, seed: int) -> NDArray[np.float64]:
    return drawing(seed).standard_normal((n_samples, n_features))


def with_columns(data: Dataset, X: Any) -> Dataset:
    """A table of other columns with the label of `data`."""
    return Dataset.from_arrays(X, data.y, task=data.task)


def classes(n_samples: int = 96, n_features: int = 6, n_classes: int = 2) -> Dataset:
    """Classes that differ in columns 1 (strongly) and 3 (weakly); the rest is noise; no ties."""
    X = _normal(n_samples, n_features, 3)
    y = np.arange(n_samples) % n_classes
    X[:, 1 % n_features] += 2.5 * y
    X[:, 3 % n_features] += 1.0 * y
    return Dataset.from_arrays(X, y, name=f"{n_classes} classes")


def planted(column: int = 4) -> Dataset:
    """Two classes that one column separates without error; the rest is noise."""
    X = _normal(60, 7, 11)
    y = np.arange(60) % 2
    X[:, column] = 4.0 * y + 0.5 * X[:, column]
    return Dataset.from_arrays(X, y, name="planted")


def planted_twice() -> Dataset:
    """Columns 0 and 4 each divide rows into two classes; the rest is noise, of the same spread."""
    X = _normal(60, 7, 11)
    X[:, 0] += 8.0 * (np.arange(60) // 2 % 2)
    X[:, 4] += 8.0 * (np.arange(60) % 2)
    X = X / X.std(axis=0) + np.arange(7)
    return Dataset.from_arrays(X, np.arange(60) % 2, name="planted twice")


def only_two_apart(pair: tuple[int, int]) -> Dataset:
    """Three classes: column 4 tells two of them apart, and says nothing if these are merged."""
    n = 120
    X = _normal(n, 7, 21)
    place = np.arange(n) % 5
    y = np.where(place == 4, 3 - sum(pair), np.where(place % 2 == 0, *pair))
    # A fifth of the rows are of the third class, which is on both sides, as the two together are.
    side = np.where(place == 4, np.arange(n) // 5 % 2, place % 2)
    X[:, 4] = 4.0 * side + 0.5 * X[:, 4]
    return Dataset.from_arrays(X, y, name=f"classes {pair[0]} and {pair[1]} apart")


def noise(tasks: Collection[str], n_samples: int, n_features: int) -> Dataset:
    """A table whose columns say nothing about its label."""
    data = suited(tasks, n_samples, n_features + 2)
    return data.take_columns(np.delete(np.arange(n_features + 2), [1, 3]))


def followed() -> Dataset:
    """A numeric target that is column 4 with a little noise; the rest is noise."""
    X = _normal(96, 7, 12)
    y = 3.0 * X[:, 4] + 0.1 * _normal(96, 1, 13)[:, 0]
    return Dataset.from_arrays(X, y, name="followed", task="regression")


def target(n_samples: int = 96, n_features: int = 6) -> Dataset:
    """A numeric target that depends on columns 1 and 3."""
    X = _normal(n_samples, n_features, 5)
    y = 2.0 * X[:, 1] + 0.7 * X[:, 3] + 0.1 * _normal(n_samples, 1, 6)[:, 0]
    return Dataset.from_arrays(X, y, name="target", task="regression")


def survival(n_samples: int = 96, n_features: int = 6) -> Dataset:
    """Times that are short if columns 1 and 3 are large, a third of them censored; some ties."""
    X = _normal(n_samples, n_features, 14)
    waiting = drawing(15).standard_exponential((2, n_samples))
    time = waiting[0] * np.exp(-2.0 * X[:, 1] - 0.7 * X[:, 3])
    end = 2.0 * waiting[1]
    return Dataset.from_arrays(
        X, np.ceil(20.0 * np.minimum(time, end)) / 20.0, name="survival", event=time <= end
    )


def suited(tasks: Collection[str], n_samples: int = 96, n_features: int = 6) -> Dataset:
    """Classes if supported, else a numeric target, else survival times."""
    if "classification" in tasks:
        return classes(n_samples, n_features)
    return (target if "regression" in tasks else survival)(n_samples, n_features)


def ties() -> Dataset:
    """Integers with many ties, equal rows, and equal rows of different classes."""
    generator = drawing(8)
    X = generator.integers(0, 3, (40, 6)).astype(np.float64)
    y = (X[:, 2] + generator.integers(0, 2, 40) > 1).astype(np.int64)
    X[1], X[2], X[3] = X[0], X[0], X[0]
    y[:4] = [0, 1, 0, 1]
    return Dataset.from_arrays(X, y, name="ties")


def categories(n_samples: int = 60, task: str = "classification") -> Dataset:
    """Two nominal and four numeric columns."""
    data = classes(n_samples)
    X = data.X.copy()
    generator = drawing(9)
    X[:, 0] = generator.integers(0, 4, n_samples)
    X[:, 5] = (data.y + generator.integers(0, 2, n_samples)) % 3
    y = data.y if task == "classification" else data.y + X[:, 3] + 0.3 * X[:, 2]
    return Dataset.from_arrays(X, y, categorical=[0, 5], name="categories", task=task)


def recoded(data: Dataset) -> Dataset:
    """`data` with other codes for the levels of its nominal columns."""
    codes = np.array([7.0, -2.5, 3.0, 0.0])
    X = data.X.copy()
    for column in np.flatnonzero(data.categorical):
        X[:, column] = codes[X[:, column].astype(int)]
    y = np.array([str(c) for c in data.classes])[data.y] if data.classes else data.y
    return Dataset.from_arrays(
        X, y, data.feature_names, categorical=data.categorical, name=data.name, task=data.task
    )
