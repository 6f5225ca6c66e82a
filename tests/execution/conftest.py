from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from fsframe.execution.engine import ProcessEngine
from fsframe.method.run import Run
from fsframe.resampling.resamples import select_resamples
from fsframe.storage.unit_bytes import PARTS, pack_selections
from fsframe.table.dataset import Dataset

# Imported by workers by its own name, not by pytest by its place.
collect_ignore = ["importable"]

# Spawned workers are given this path, and find `executor_bases` there.
sys.path.insert(0, str(Path(__file__).with_name("importable")))
sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="session")
def table() -> Dataset:
    generator = np.random.default_rng(11)
    X = generator.integers(0, 4, size=(60, 12)).astype(float)
    y = (X[:, 1] + X[:, 4] + generator.random(60) > 3.5).astype(int)
    return Dataset.from_arrays(X, y, name="table")


@pytest.fixture(scope="session")
def counts() -> np.ndarray:
    return np.random.default_rng(2).multinomial(60, np.full(60, 1 / 60), size=23)


@pytest.fixture(scope="module")
def two_processes() -> Iterator[ProcessEngine]:
    with ProcessEngine(2) as engine:
        yield engine


def bits(base, table, counts, run: Run, **options) -> bytes:
    """Every bit of the results of a call."""
    options.setdefault("parts", PARTS)
    return pack_selections(list(select_resamples(base, table, counts, run, **options)))


@pytest.fixture(name="bits")
def bits_fixture():
    return bits
