"""Reference tables of the Relief family."""

from __future__ import annotations

import csv
from pathlib import Path

import attrs
import numpy as np
import pytest

from fsframe.chains.chain import Chain
from fsframe.table.dataset import Dataset

DATA = Path(__file__).parent / "data"
KINDS = ("continuous", "discrete", "mixed")


def method(text, **settings):
    """The selector that a stage such as ``relieff:k=5`` names."""
    (stage,) = Chain.parse(text).stages
    return attrs.evolve(stage.method, **settings)


def make_table(kind, n=36, p=7, classes=3, gaps=0.0, seed=0):
    """Random columns of a kind, with equal rows, a constant column and missing values."""
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    X = rng.normal(size=(n, p)).round(1)
    discrete = np.zeros(p, dtype=bool)
    if kind != "continuous":
        discrete[: p if kind == "discrete" else p // 2] = True
        X[:, discrete] = rng.integers(0, 3, (n, int(discrete.sum())))
    X[:, -1] = 2.0
    y = rng.integers(0, classes, n)
    y[:classes] = np.arange(classes)
    X[5] = X[4]
    X[rng.random((n, p)) < gaps] = np.nan
    return X, y, discrete


def read_table(name):
    """Header and numbers of a CSV file; an empty field is NaN."""
    with open(DATA / name, newline="") as file:
        rows = list(csv.reader(file))
    return rows[0], np.array([[float(v) if v else np.nan for v in row] for row in rows[1:]])


def read_scores(name):
    """Columns of a score file by name."""
    with open(DATA / name, newline="") as file:
        rows = list(csv.reader(file))
    return {c: np.array([float(row[k]) for row in rows[1:]]) for k, c in enumerate(rows[0]) if k}


@pytest.fixture(scope="session")
def table():
    """A function from file name to Dataset; columns named d…, N…, P… or M… are categorical."""

    def read(name, **options):
        header, numbers = read_table(name)
        y = numbers[:, -1]
        if header[-1] != "y" and np.all(y == np.round(y)):
            y = y.astype(int)
        names = header[:-1]
        return Dataset.from_arrays(
            numbers[:, :-1], y, names, categorical=[n[0] in "dNPM" for n in names], **options
        )

    return read
