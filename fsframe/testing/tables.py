"""Small tables for the checks, from fixed formulas."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from fsframe.table.dataset import Dataset

__all__ = [
    "categories",
    "classes",
    "followed",
    "planted",
    "recoded",
    "suited",
    "survival",
    "target",
    "ties",
]


def _normal(n_samples: int, n_features: int, seed: int) -> NDArray[np.float64]:
    return np.random.Generator(np.random.PCG64(seed)).standard_normal((n_samples, n_features))


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
    waiting = np.random.Generator(np.random.PCG64(15)).standard_exponential((2, n_samples))
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
    generator = np.random.Generator(np.random.PCG64(8))
    X = generator.integers(0, 3, (40, 6)).astype(np.float64)
    y = (X[:, 2] + generator.integers(0, 2, 40) > 1).astype(np.int64)
    X[1], X[2], X[3] = X[0], X[0], X[0]
    y[:4] = [0, 1, 0, 1]
    return Dataset.from_arrays(X, y, name="ties")


def categories(n_samples: int = 60, task: str = "classification") -> Dataset:
    """Two nominal and four numeric columns."""
    data = classes(n_samples)
    X = data.X.copy()
    generator = np.random.Generator(np.random.PCG64(9))
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
