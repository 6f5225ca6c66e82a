"""The look at columns before anything is computed."""

from __future__ import annotations

import numpy as np
import pytest

from fsframe_relief.engine.table_values import summarise


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("shape", [(1, 1), (7, 3), (40, 513), (3, 2000)])
def test_a_summary_is_what_each_column_holds(shape, threads):
    rng = np.random.default_rng(shape[1])
    X = rng.choice([0.0, -0.0, 3.0, -2.0, 0.5, 1e300, np.inf, -np.inf, np.nan], size=shape)
    X[:, ::3] = np.round(rng.normal(0, 9, X[:, ::3].shape))
    X[:, 1::7] = np.nan
    found = summarise(X, threads)
    known = np.where(np.isnan(X), np.inf, X)
    assert found.low.tolist() == known.min(axis=0).tolist()
    known = np.where(np.isnan(X), -np.inf, X)
    assert found.high.tolist() == known.max(axis=0).tolist()
    assert found.missing.tolist() == np.isnan(X).sum(axis=0).tolist()
    assert found.whole.tolist() == ((np.floor(X) == X) | np.isnan(X)).all(axis=0).tolist()


def test_the_layout_of_the_table_does_not_matter():
    X = np.random.default_rng(0).normal(size=(30, 20))
    plain, turned = summarise(X), summarise(np.asfortranarray(X))
    assert plain.low.tolist() == turned.low.tolist()
    assert plain.high.tolist() == turned.high.tolist()
