"""Reference tables of the Relief family."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from fsframe.table.dataset import Dataset

DATA = Path(__file__).parent / "data"


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
