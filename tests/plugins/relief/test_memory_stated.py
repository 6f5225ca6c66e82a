"""A fit holds its table no more often than it states."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import fsframe
from fsframe import Dataset
from fsframe.method.run import Run


@pytest.mark.parametrize("missing", ["skip", "probability"])
@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("p", [60, 600])
def test_a_fit_holds_the_copies_that_it_states(missing: str, gaps: bool, p: int) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2_400_000 // p, p))
    if gaps:
        X[rng.random(X.shape) < 0.05] = np.nan
    data = Dataset.from_arrays(X, np.arange(len(X)) % 2)
    method = fsframe.selectors["relieff"](m=5, missing=missing)
    allowed = int(method.tables_held(p) * X.nbytes)
    # All kernels are loaded, those of large tables too.
    method.select(data, run=Run(memory=allowed, threads=2))
    tracemalloc.start()
    try:
        method.select(data, run=Run(memory=allowed, threads=2))
        held = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert held <= allowed
