"""Temporaries stay within the memory bound, and what cannot is refused."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from fsframe.dataset import Dataset
from fsframe.errors import RequestError
from fsframe.run import Run
from fsframe_relief.multisurf import Multisurf
from fsframe_relief.relieff import Relieff
from fsframe_relief.surf import Surf


@pytest.mark.parametrize("method", [Relieff(), Surf(), Multisurf()])
@pytest.mark.parametrize("kind", ["continuous", "gaps", "discrete"])
def test_many_rows_stay_within_the_bound(method, kind):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2500, 12))
    if kind == "discrete":
        X = X.round(0)
    if kind == "gaps":
        X[rng.random(X.shape) < 0.1] = np.nan
    data = Dataset.from_arrays(
        X, rng.integers(0, 2, 2500), categorical=np.full(12, kind == "discrete")
    )
    bound = 8 << 20  # the matrix of distances would take 50 MB
    run = Run(memory=bound, threads=2)
    method.select(data, run=run)  # compiled code and imports are not counted
    tracemalloc.start()
    method.select(data, run=run)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    prepared = 3 * X.nbytes + (4 << 20)  # scaled or coded columns, and blocks of conversion
    assert peak <= bound + prepared


def test_p_values_that_would_not_fit_are_refused_with_the_size():
    rng = np.random.default_rng(0)
    data = Dataset.from_arrays(rng.normal(size=(500, 3)), np.arange(500) % 2)
    with pytest.raises(RequestError, match="500 × 500 matrix"):
        Surf(permutations=19).select(data, run=Run(memory=1 << 20))
