"""What `inspect` proposes for few rows: counting a block of columns at once changes no bit."""

from __future__ import annotations

import numpy as np
import pytest

import fsframe
from fsframe.method.run import Run
from fsframe_infotheory.engine import bootstraps as engine
from fsframe_infotheory.engine.discretise import Discretiser


@pytest.mark.parametrize(
    ("rows", "bootstraps", "classes"), [(60, 2, 2), (60, 90, 3), (37, 11, 2), (12, 8, 2)]
)
def test_columns_counted_together_give_the_bits_of_columns_counted_alone(
    monkeypatch, rows, bootstraps, classes
):
    draw = np.random.default_rng(4)
    X = draw.normal(size=(rows, 20)).round(2)
    X[:, 1] = draw.integers(0, 60, rows)
    X[:, 2] = np.where(draw.random(rows) < 0.1, 0.5, draw.integers(0, 5, rows))
    X[1:, 3] = 0.25
    X[5:9, 5] = np.nan
    data = fsframe.Dataset.from_arrays(X, np.arange(rows) % classes)
    counts = np.stack(
        [np.bincount(draw.integers(0, rows, rows), minlength=rows) for _ in range(bootstraps)]
    )
    together = engine.bootstrap_relevance(data, counts, Discretiser(), Run())
    many, _ = engine.equal_width_of_many(X.T.copy(), counts, Discretiser())
    assert many.sum() > 10 and not many[[1, 5]].any()
    monkeypatch.setattr(engine, "FEW", 0)
    alone = engine.bootstrap_relevance(data, counts, Discretiser(), Run())
    assert together.tobytes() == alone.tobytes()
