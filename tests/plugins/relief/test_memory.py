"""Temporaries stay within the memory bound, tables within what is stated, or are refused."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from fsframe.errors import RequestError
from fsframe.method.run import Run
from fsframe.table.dataset import Dataset

from .conftest import method


@pytest.mark.parametrize("text", ["relieff", "surf", "multisurf"])
@pytest.mark.parametrize("kind", ["continuous", "gaps", "discrete"])
def test_many_rows_stay_within_the_bound(text, kind):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 12))
    if kind == "discrete":
        X = X.round(0)
    if kind == "gaps":
        X[rng.random(X.shape) < 0.1] = np.nan
    data = Dataset.from_arrays(
        X, rng.integers(0, 2, 2000), categorical=np.full(12, kind == "discrete")
    )
    bound = 8 << 20  # the matrix of distances would take 32 MB
    run = Run(memory=bound, threads=2)
    method(text).select(data, run=run)  # compiled code and imports are not counted
    tracemalloc.start()
    method(text).select(data, run=run)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    prepared = 3 * X.nbytes + (4 << 20)  # scaled or coded columns, and blocks of conversion
    assert peak <= bound + prepared


def test_p_values_that_would_not_fit_are_refused_with_the_size():
    rng = np.random.default_rng(0)
    data = Dataset.from_arrays(rng.normal(size=(500, 3)), np.arange(500) % 2)
    with pytest.raises(RequestError, match="500 × 500 matrix"):
        method("surf:permutations=19").select(data, run=Run(memory=1 << 20))


@pytest.mark.parametrize("seed", [5, 15, 17, 33])
def test_ties_and_gaps_of_iterative_relief_do_not_hang_on_the_bound(seed):
    # Values on a grid, so that often all of a class lie on the edge of the ball.
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(30, 140)), int(rng.integers(3, 9))
    X = rng.integers(0, 3, (n, p)).astype(float)
    X[:, : p // 2] = rng.normal(size=(n, p // 2)).round(1)
    X[rng.random((n, p)) < 0.15] = np.nan
    data = Dataset.from_arrays(X, rng.integers(0, 2, n))
    stage = method("iterative-relief:least=3")
    ample = stage.select(data, run=Run(memory=1 << 31)).scores
    # From the least that is not refused: the prepared columns.
    for bound in (8 * n * p, 1 << 16, 8 * n * (n + p)):
        scarce = stage.select(data, run=Run(memory=bound)).scores
        np.testing.assert_allclose(scarce, ample, rtol=0, atol=1e-12)


@pytest.mark.parametrize("missing", ["skip", "probability"])
@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("p", [60, 600])
def test_a_fit_holds_the_copies_that_it_states(missing: str, gaps: bool, p: int) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2_400_000 // p, p))
    if gaps:
        X[rng.random(X.shape) < 0.05] = np.nan
    data = Dataset.from_arrays(X, np.arange(len(X)) % 2)
    stage = method("relieff", m=5, missing=missing)
    allowed = int(stage.tables_held(p) * X.nbytes)
    # All kernels are loaded, those of large tables too.
    stage.select(data, run=Run(memory=allowed, threads=2))
    tracemalloc.start()
    try:
        stage.select(data, run=Run(memory=allowed, threads=2))
        held = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert held <= allowed
