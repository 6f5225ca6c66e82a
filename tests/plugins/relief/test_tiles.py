"""Distances and scores of tables that cross the edges of tiles, words and registers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fsframe.table.dataset import Dataset
from fsframe_relief import plain
from fsframe_relief.engine.columns import prepare_columns
from fsframe_relief.engine.feature_scores import distance_rows, full_distances
from fsframe_relief.engine.table_values import summarise

from .conftest import method

SHAPES = [(70, 3), (129, 17), (64, 64), (67, 130), (65, 520), (66, 1030), (131, 66)]


def table(n, p, levels, gaps, seed):
    """Normal columns without levels, else codes; some values missing."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, levels, (n, p)).astype(float) if levels else rng.normal(size=(n, p))
    if gaps:
        X[rng.random((n, p)) < 0.1] = np.nan
    return X


def plain_distances(X, discrete):
    """Row by row, so that large tables need no array of all differences."""
    span = np.nanmax(X, axis=0) - np.nanmin(X, axis=0)
    found = np.empty((len(X), len(X)))
    for i, x in enumerate(X):
        delta = np.abs(X - x)
        delta = np.where(discrete, np.where(np.isnan(delta), np.nan, delta > 0), delta / span)
        known = ~np.isnan(delta)
        with np.errstate(invalid="ignore"):
            found[i] = np.nansum(delta, axis=1) / known.sum(axis=1) * X.shape[1]
    return found


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("levels", [0, 2, 3, 4, 5, 16, 17, 300])
@pytest.mark.parametrize(("n", "p"), SHAPES)
def test_distances_are_sums_of_differences(n, p, levels, gaps):
    X = table(n, p, levels, gaps, seed=n + p + levels)
    discrete = np.full(p, levels > 0)
    columns = prepare_columns(X, discrete)
    truth = plain_distances(X, discrete)
    np.testing.assert_allclose(full_distances(columns), truth, rtol=1e-12, atol=1e-12)
    rows = np.random.default_rng(n).permutation(n)[: n - 5]
    for first in (0, 1, 9, n - 1):
        out = np.full((len(rows), n), -1.0)
        distance_rows(columns, rows, out, first)
        np.testing.assert_allclose(out[:, first:], truth[rows, first:], rtol=1e-12, atol=1e-12)
        assert (out[:, :first] == -1.0).all()


@pytest.mark.parametrize("p", [40, 530])
def test_kinds_of_columns_add_up(p):
    n = 75
    parts = [table(n, p, levels, gaps, p) for levels in (0, 2, 3, 9) for gaps in (False, True)]
    X, discrete = np.hstack(parts), np.repeat([False, True], [2 * p, 6 * p])
    truth = plain_distances(X, discrete)
    found = full_distances(prepare_columns(X, discrete))
    np.testing.assert_allclose(found, truth, rtol=1e-12, atol=1e-12)


@settings(max_examples=15, deadline=None)
@given(
    name=st.sampled_from(["multisurf", "multisurfstar", "surf", "relieff"]),
    n=st.integers(50, 150),
    p=st.integers(1, 70),
    levels=st.sampled_from([0, 2, 3, 17]),
    gaps=st.booleans(),
    classes=st.integers(2, 4),
    seed=st.integers(0, 10**6),
)
def test_scores_are_those_of_the_definition(name, n, p, levels, gaps, classes, seed):
    X = table(n, p, levels, gaps, seed)
    y = np.random.default_rng(seed).integers(0, classes, n)
    y = np.unique(y, return_inverse=True)[1]
    discrete = np.full(p, levels > 0)
    stage = method(name, discrete_features="all" if levels else "none")
    found = stage.select(Dataset.from_arrays(X, y)).scores
    rule = "nearest" if name == "relieff" else name
    truth = plain.scores(X, y, discrete, rule, k=10)
    np.testing.assert_allclose(found, truth, rtol=0, atol=1e-11)


def test_masks_of_more_than_one_register_count_the_same():
    X = table(513, 5, 3, False, seed=513)
    y = np.random.default_rng(513).integers(0, 3, 513)
    found = method("multisurf:discrete_features=all").select(Dataset.from_arrays(X, y)).scores
    truth = plain.scores(X, y, np.full(5, True), "multisurf")
    np.testing.assert_allclose(found, truth, rtol=0, atol=1e-11)


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("shape", [(1, 1), (7, 3), (40, 513), (3, 2000)])
def test_a_summary_is_what_each_column_holds(shape, threads):
    rng = np.random.default_rng(shape[1])
    X = rng.choice([0.0, -0.0, 3.0, -2.0, 0.5, 1e300, np.nan], size=shape)
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
