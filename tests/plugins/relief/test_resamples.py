"""Many bootstraps of one table are one bootstrap after the other, bit by bit."""

from __future__ import annotations

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fsframe.method.run import Run
from fsframe.method.selection import Selection
from fsframe.table.dataset import Dataset
from fsframe_relief.methods import selector
from fsframe_relief.methods.repeated import IterativeRelief, Vls
from fsframe_relief.methods.variants import (
    Multisurf,
    Multisurfstar,
    Relief,
    Relieff,
    Rrelieff,
    Surf,
    Swrfstar,
)


@pytest.fixture(autouse=True, scope="module")
def shared_whatever_the_width():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(selector, "FEWEST_SHARED", 0)
        yield


METHODS = [
    Relief(),
    Relieff(k=4),
    Relieff(k=4, ties="index"),
    Relieff(k=6, weighting="rank"),
    Relieff(k=4, m=20),
    Relieff(k=4, missing="probability"),
    Surf(),
    Surf(permutations=19),
    Multisurf(),
    Multisurfstar(),
    Multisurf(ramp=[0.1, 0.3]),
    Swrfstar(),
    Vls(subset=3, rounds=3, k=4),
    IterativeRelief(least=3, rounds=3),
    Rrelieff(k=6),
    Multisurf(task="regression"),
]


def make_data(kind, n, p, seed, regression):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, rng.integers(2, 5, p), (n, p)).astype(float)
    if kind == "continuous":
        X = rng.normal(size=(n, p))
    if kind == "wide codes":
        # in some bootstraps few enough levels to be taken for discrete, in others not
        X[:, 0] = rng.integers(0, 14, n)
    if kind == "mixed":
        X[:, : p // 2] = rng.normal(size=(n, p // 2))
    if kind == "gaps":
        X[rng.random((n, p)) < 0.1] = np.nan
    if kind == "equal rows":
        X[n // 2 :] = X[: n - n // 2]
    y = rng.normal(size=n) if regression else rng.integers(0, 2, n)
    if not regression:
        y[:2] = 0, 1
    return Dataset.from_arrays(X, y)


def draws(data, many, seed, halves):
    """Counts of some resamples in which every class is met."""
    rng = np.random.default_rng([seed, 1])
    n, found = data.n_samples, []
    while len(found) < many:
        rows = rng.permutation(n)[: n // 2] if halves else rng.integers(0, n, n)
        row = np.bincount(rows, minlength=n)
        if data.task == "regression" or len(np.unique(data.y[row > 0])) == 2:
            found.append(row)
    return np.array(found)


@settings(max_examples=80, deadline=None)
@given(
    method=st.sampled_from(METHODS),
    kind=st.sampled_from(
        ["codes", "equal rows", "wide codes", "continuous", "mixed", "gaps", "codes"]
    ),
    n=st.integers(10, 60),
    p=st.integers(2, 9),
    halves=st.booleans(),
    weighted=st.booleans(),
    threads=st.integers(1, 3),
    seed=st.integers(0, 10**6),
)
def test_many_equal_one_by_one(method, kind, n, p, halves, weighted, threads, seed):
    regression = isinstance(method, Rrelieff) or method.task == "regression"
    data = make_data(kind, n, p, seed, regression)
    counts = draws(data, 3, seed, halves)
    upstream = None
    if weighted:
        importance = np.random.default_rng(seed).random(n)
        upstream = Selection(
            selected=np.arange(0, p, 2), scores=np.zeros(p), instance_weights=importance
        )
    run = Run(entropy=5, key=(2,), threads=threads)
    many = method.select_many(data, counts, upstream, run)
    for b, row in enumerate(counts):
        alone = method.select(data.with_counts(row), upstream, run.child(b))
        np.testing.assert_array_equal(many[b].scores, alone.scores)
        np.testing.assert_array_equal(many[b].selected, alone.selected)
        assert many[b].warnings == alone.warnings


@pytest.mark.parametrize("method", [Relieff(k=5), Surf(), Multisurfstar(), Swrfstar()])
def test_codes_are_compared_once_for_all_bootstraps(method, monkeypatch):
    data = make_data("codes", 80, 12, 0, regression=False)
    counts = draws(data, 6, 0, halves=False)
    alone = [method.select(data.with_counts(row)).scores for row in counts]
    compared = []
    full = selector.full_distances

    def counted(columns, threads=1):
        compared.append(columns.n)
        return full(columns, threads)

    monkeypatch.setattr(selector, "full_distances", counted)
    monkeypatch.setattr("fsframe_relief.engine.feature_scores.full_distances", counted)
    found = method.select_many(data, counts)
    assert compared == [80]
    for selection, scores in zip(found, alone, strict=True):
        np.testing.assert_array_equal(selection.scores, scores)


@pytest.mark.parametrize("method", [m for m in METHODS if not isinstance(m, Rrelieff)])
@pytest.mark.parametrize("halves", [False, True])
def test_genotypes_in_many_bootstraps_equal_one_by_one(method, halves):
    data = make_data("equal rows", 90, 14, 1, regression=method.task == "regression")
    counts = draws(data, 4, 2, halves)
    run = Run(entropy=3, threads=2)
    for b, found in enumerate(method.select_many(data, counts, run=run)):
        alone = method.select(data.with_counts(counts[b]), run=run.child(b))
        np.testing.assert_array_equal(found.scores, alone.scores)


def test_ranges_are_those_of_the_rows_drawn():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 5))
    X[0] = 50.0
    data = Dataset.from_arrays(X, np.arange(40) % 2)
    counts = np.ones((2, 40), int)
    counts[1, 0] = 0
    found = Relieff(k=5).select_many(data, counts)
    without = Relieff(k=5).select(data.take_rows(np.arange(1, 40))).scores
    np.testing.assert_array_equal(found[1].scores, without)
    assert not np.allclose(found[0].scores, found[1].scores)


def test_names_of_discrete_columns_reach_bootstraps():
    data = make_data("codes", 60, 6, 0, regression=False)
    counts = draws(data, 3, 0, halves=False)
    named = attrs.evolve(Relieff(k=4), discrete_features=("f1", "f3"))
    for selection, row in zip(named.select_many(data, counts), counts, strict=True):
        alone = named.select(data.with_counts(row)).scores
        np.testing.assert_array_equal(selection.scores, alone)
