"""Many bootstraps of one table are one bootstrap after the other, bit by bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fsframe.method.run import Run
from fsframe.method.selection import Selection
from fsframe.table.dataset import Dataset
from fsframe_relief.methods import selector

from .conftest import method


@pytest.fixture(autouse=True, scope="module")
def shared_whatever_the_width():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(selector, "FEWEST_SHARED", 0)
        yield


METHODS = [
    "relief", "relieff:k=4", "relieff:k=4,ties=index", "relieff:k=6,weighting=rank",
    "relieff:k=4,m=20", "relieff:k=4,missing=probability", "relieff:k=4,discrete_features=[f1,f2]",
    "surf", "surf:permutations=19", "multisurf", "multisurfstar", "multisurf:ramp=[0.1,0.3]",
    "swrfstar", "vls:subset=3,rounds=3,k=4", "iterative-relief:least=3,rounds=3", "rrelieff:k=6",
    "multisurf:task=regression",
]  # fmt: skip


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


@pytest.mark.parametrize("text", METHODS)
@settings(max_examples=8, deadline=None)
@given(
    kind=st.sampled_from(["codes", "equal rows", "wide codes", "continuous", "mixed", "gaps"]),
    n=st.integers(10, 100),
    p=st.integers(2, 9),
    halves=st.booleans(),
    weighted=st.booleans(),
    threads=st.integers(1, 3),
    seed=st.integers(0, 10**6),
)
def test_many_equal_one_by_one(text, kind, n, p, halves, weighted, threads, seed):
    stage = method(text)
    data = make_data(kind, n, p, seed, "regression" in text or text.startswith("rrelieff"))
    counts = draws(data, 3, seed, halves)
    upstream = None
    if weighted:
        importance = np.random.default_rng(seed).random(n)
        upstream = Selection(
            selected=np.arange(0, p, 2), scores=np.zeros(p), instance_weights=importance
        )
    run = Run(entropy=5, key=(2,), threads=threads)
    many = stage.select_many(data, counts, upstream, run)
    for b, row in enumerate(counts):
        alone = stage.select(data.with_counts(row), upstream, run.child(b))
        np.testing.assert_array_equal(many[b].scores, alone.scores)
        np.testing.assert_array_equal(many[b].selected, alone.selected)
        assert many[b].warnings == alone.warnings


@pytest.mark.parametrize("text", ["relieff:k=5", "surf", "multisurfstar", "swrfstar"])
def test_codes_are_compared_once_for_all_bootstraps(text, monkeypatch):
    stage, data = method(text), make_data("codes", 80, 12, 0, regression=False)
    counts = draws(data, 6, 0, halves=False)
    alone = [stage.select(data.with_counts(row)).scores for row in counts]
    compared = []
    full = selector.full_distances

    def counted(columns, threads=1):
        compared.append(columns.n)
        return full(columns, threads)

    monkeypatch.setattr(selector, "full_distances", counted)
    monkeypatch.setattr("fsframe_relief.engine.feature_scores.full_distances", counted)
    found = stage.select_many(data, counts)
    assert compared == [80]
    for selection, scores in zip(found, alone, strict=True):
        np.testing.assert_array_equal(selection.scores, scores)
