"""The face of scikit-learn is an extra: without it there is nothing to test here."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest
import sklearn
from numpy.typing import NDArray


@pytest.fixture
def interacting() -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """120 rows of 8 columns, of which the third and the seventh together say the class."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((120, 8))
    return X, (X[:, 2] * X[:, 6] > 0).astype(int)


@pytest.fixture
def plain() -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """90 rows of 6 columns of few levels, of which the second and the fourth say the class."""
    rng = np.random.default_rng(6)
    X = rng.integers(0, 4, size=(90, 6)).astype(float)
    return X, (X[:, 1] + X[:, 3] + rng.integers(0, 2, 90) > 3).astype(int)


@pytest.fixture(params=["pandas", "polars"])
def frames(request: pytest.FixtureRequest) -> ModuleType:
    """The libraries of data frames, one after the other."""
    if request.param == "polars" and tuple(map(int, sklearn.__version__.split(".")[:2])) < (1, 9):
        pytest.skip("earlier scikit-learn does not read the names of polars 2")
    return pytest.importorskip(request.param)
