"""The reference tables and selections, read."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from fsframe.table.dataset import Dataset

HERE = Path(__file__).parent / "data"


@pytest.fixture(scope="session")
def reference_folder():
    return HERE


@pytest.fixture(scope="session")
def table():
    """``table(name)``: a reference table."""

    def read(name):
        with (HERE / f"{name}.csv").open() as lines:
            names = next(csv.reader(lines))
            values = np.array(list(csv.reader(lines)), dtype=float)
        return Dataset.from_arrays(values[:, :-1], values[:, -1].astype(int), names[:-1], name=name)

    return read


@pytest.fixture(scope="session")
def expected():
    """``expected(file, criterion)``: features in order and their scores."""

    def read(name, criterion):
        with (HERE / f"{name}.csv").open() as lines:
            rows = [row for row in csv.DictReader(lines) if row["criterion"] == criterion]
        return [int(row["feature"]) for row in rows], [float(row["score"]) for row in rows]

    return read
