"""Neighbours from trees are the neighbours of a look at all distances."""

from __future__ import annotations

import numpy as np
import pytest

from fsframe.table.dataset import Dataset
from fsframe_relief.engine import feature_scores
from fsframe_relief.methods.variants import Relieff, Rrelieff


@pytest.mark.parametrize("bootstrap", [False, True])
@pytest.mark.parametrize("digits", [None, 1])
@pytest.mark.parametrize(
    "method", [Relieff(k=7), Relieff(weighting="rank", k=9), Relieff(k=5, m=300), Rrelieff(k=9)]
)
def test_trees_and_all_distances_give_the_same_scores(method, digits, bootstrap, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 3))
    if digits is not None:
        X = X.round(digits)  # many equal distances: most groups of ties are larger than looked at
    y = X[:, 0] * X[:, 1] + 0.1 * rng.normal(size=1500)
    if not isinstance(method, Rrelieff):
        y = (y > 0).astype(int) + (y > 1)
    data = Dataset.from_arrays(X, y)
    if bootstrap:
        data = data.with_counts(np.random.default_rng(1).integers(1, 4, 1500))
    with monkeypatch.context() as patch:
        patch.setattr("fsframe_relief.engine.feature_scores.screening_pays", lambda *_: False)
        expected = method.select(data, seed=1).scores
    monkeypatch.setattr("fsframe_relief.engine.screening.LEAST_TREE_ROWS", 0)
    calls = []
    listed = feature_scores.NearestTrees.listed

    def counted(self, rows):
        found = listed(self, rows)
        calls.append(found[3].mean())
        return found

    monkeypatch.setattr(feature_scores.NearestTrees, "listed", counted)
    found = method.select(data, seed=1).scores
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13)
    assert calls
    if digits is None:
        assert min(calls) == 1.0
