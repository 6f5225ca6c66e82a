"""Neighbours screened by distances of bytes; tables that cross the edges of tiles and registers."""

from __future__ import annotations

import json
from unittest import mock

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fsframe.method.run import Run
from fsframe.table.dataset import Dataset
from fsframe_relief import plain
from fsframe_relief.engine import feature_scores
from fsframe_relief.engine.columns import prepare_columns
from fsframe_relief.engine.feature_scores import distance_rows, full_distances
from fsframe_relief.engine.neighbours import Nearest, Target
from tests.command_line import python
from tests.grids import diagonal, examples

from .conftest import method

SAD = """
import json, numpy as np
from fsframe_relief.engine.neighbour_kernels import near_rows_of_four
from numba import njit

@njit
def run(mine, rows, words, limits):
    out = np.empty(32, np.int64)
    return near_rows_of_four(mine, 0, rows, 0, words, limits, out), out

rng = np.random.default_rng(5)
x, y = rng.integers(0, 256, (4, 24), np.uint8), rng.integers(0, 256, (8, 24), np.uint8)
x[0], y[0], y[1] = 0, 255, 0
packed = y.view(np.uint64).T.ravel().copy()
exact = np.abs(x[:, None].astype(int) - y.astype(int)).sum(axis=2)
limits = np.median(exact, axis=1).astype(np.int64)
mask, out = run(x.view(np.uint64), packed, 3, limits)
bits = [(int(mask) >> e) & 1 for e in range(32)]
print(json.dumps([out.tolist() == exact.ravel().tolist(),
                  bits == (exact <= limits[:, None]).astype(int).ravel().tolist()]))
"""


def test_distances_of_bytes_are_exact_on_a_processor_without_extensions():
    told = python("-c", SAD, env={"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""})
    assert json.loads(told.out.splitlines()[-1]) == [True, True]


def screened(X: np.ndarray, y: np.ndarray, k: int) -> tuple[feature_scores.NearestBytes, Target]:
    order = np.argsort(y, kind="stable")
    columns = prepare_columns(X, np.zeros(X.shape[1], bool), order=order)
    target = Target(y=y[order], prior=np.bincount(y) / len(y), counts=np.ones(len(y)),
                    omega=np.ones(len(y)) / len(y))  # fmt: skip
    return feature_scores.NearestBytes(columns, Nearest(k=k), target, 1 << 30), target


@pytest.mark.parametrize(
    ("text", "copies"),
    diagonal(["relief:m=500", "relieff", "relieff:k=3,weighting=rank"], [0, 2500]),
)
def test_scores_have_the_bits_of_all_exact_distances(text, copies, monkeypatch):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(3000, 6))
    X[:copies] = X[0]
    y = (X[:, 0] * X[:, 1] + rng.normal(size=3000) > 0).astype(int)
    data, stage = Dataset.from_arrays(X, y), method(text)
    with monkeypatch.context() as patch:
        patch.setattr(feature_scores.NearestBytes, "suffices", lambda self: False)
        expected = stage.select(data).scores
    settled = []
    real = feature_scores.NearestBytes.candidates

    def candidates(self, rows):
        settled.append((found := real(self, rows))[2].all())
        return found

    monkeypatch.setattr(feature_scores.NearestBytes, "candidates", candidates)
    monkeypatch.setattr(feature_scores.NearestBytes, "suffices", lambda self: True)
    for threads in (1, 3):
        found = stage.select(data, run=Run(memory=1 << 31, threads=threads)).scores
        assert found.tobytes() == expected.tobytes()
    # Thousands of copies are more than a list holds.
    assert settled and all(settled) == (copies == 0)
    # Little memory moves the borders of blocks.
    for memory in (1 << 19, 1 << 21):
        found = stage.select(data, run=Run(memory=memory, threads=2)).scores
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13)


def test_tables_that_bytes_do_not_tell_apart_are_not_screened():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(9000, 10))
    y = rng.integers(0, 2, 9000)
    assert screened(X, y, 10)[0].suffices()
    X[0] *= 1e4
    assert not screened(X, y, 10)[0].suffices()


METHODS = [
    "relief", "relieff:k=4", "relieff:k=4,ties=index", "relieff:k=9,weighting=rank",
    "relieff:k=5,weighting=distance", "relieff:k=4,m=40", "rrelieff:k=9",
]  # fmt: skip


def both_ways(stage, data, **options):
    """Scores with the screen and without, and how often it was used."""
    screen = feature_scores.NearestBytes
    used = mock.Mock(side_effect=screen.listed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(feature_scores, "ROWS_PER_NEIGHBOUR", 0)
        patch.setattr(feature_scores, "LEAST_ROWS", 0)
        patch.setattr(screen, "suffices", lambda self: True)
        patch.setattr(screen, "listed", lambda self, rows: used(self, rows))
        scores = stage.select(data, **options).scores
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(feature_scores, "screening_pays", lambda *_: False)
        plain = stage.select(data, **options).scores
    return scores, plain, used.call_count


@examples(60)
@given(
    text=st.sampled_from(METHODS),
    n=st.integers(12, 150),
    p=st.integers(1, 20),
    digits=st.sampled_from([None, 2, 0]),
    heavy=st.booleans(),
    drawn=st.booleans(),
    seed=st.integers(0, 10**6),
)
def test_screened_and_all_distances_give_the_same_scores(text, n, p, digits, heavy, drawn, seed):
    # Columns rounded to whole numbers make groups of ties far larger than k; with heavy tails most
    # values lie close together, where bytes tell little apart.
    rng = np.random.default_rng(seed)
    X = rng.standard_t(1.5, (n, p)) if heavy else rng.normal(size=(n, p))
    X *= 10.0 ** rng.integers(-3, 4, p)
    if digits is not None:
        X = (X / np.ptp(X, axis=0) * 5).round(digits)
    y = rng.normal(size=n) if text.startswith("rrelieff") else rng.integers(0, 3, n)
    if y.dtype.kind == "i":
        y[:3] = np.arange(3)
    data = Dataset.from_arrays(X, y)
    if drawn:
        data = data.with_counts(rng.integers(1, 4, n))
    found, plain, used = both_ways(method(text, discrete_features="none"), data, seed=3)
    np.testing.assert_allclose(found, plain, rtol=0, atol=1e-12)
    assert used or not np.ptp(X, axis=0).any()


def test_an_instance_that_bytes_put_too_far_is_still_found():
    # Column 0 is rounded up for row 1 and down for row 2: by bytes row 2 is nearer to row 0, in
    # truth row 1 is.
    step = 1 / feature_scores.LEVELS
    X = np.zeros((60, 3))
    X[1:, 0] = 1.0
    X[3:, 1] = 1.0
    X[1] = [10.51 * step, 0.0, 0.0]
    X[2] = [5.25 * step, 5.27 * step, 0.0]
    X[3:, 2] = np.linspace(0.5, 1, 57)
    y = np.r_[0, np.zeros(30), np.ones(29)].astype(int)
    screen, _ = screened(X, y, 1)
    codes = screen.mine.view(np.uint8).astype(int)
    whole = np.abs(codes[:1] - codes).sum(axis=1)
    assert whole[2] < whole[1]
    (index, weight, length), _ = screen.listed(np.arange(1))
    hits = [j for j, w in zip(index[0, : length[0]], weight[0], strict=False) if w < 0]
    assert hits == [1]


# Edges of tiles, words and registers


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
    result = np.empty((len(X), len(X)))
    for i, x in enumerate(X):
        delta = np.abs(X - x)
        delta = np.where(discrete, np.where(np.isnan(delta), np.nan, delta > 0), delta / span)
        known = ~np.isnan(delta)
        with np.errstate(invalid="ignore"):
            result[i] = np.nansum(delta, axis=1) / known.sum(axis=1) * X.shape[1]
    return result


@pytest.mark.parametrize(
    ("kind", "shape"),
    diagonal(
        [(k, g) for k in (0, 2, 3, 4, 5, 16, 17, 300) for g in (False, True)], SHAPES, width=3
    ),
)
def test_distances_are_sums_of_differences(kind, shape):
    (levels, gaps), (n, p) = kind, shape
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
    result = full_distances(prepare_columns(X, discrete))
    np.testing.assert_allclose(result, truth, rtol=1e-12, atol=1e-12)


@examples(15)
@given(
    name=st.sampled_from(["multisurf", "multisurfstar", "surf", "relieff"]),
    n=st.integers(50, 150),
    p=st.integers(1, 70),
    levels=st.sampled_from([0, 2, 3, 17]),
    gaps=st.booleans(),
    classes=st.integers(2, 4),
    seed=st.integers(0, 10**6),
)
@pytest.mark.filterwarnings("ignore:Mean of empty slice", "ignore:Degrees of freedom")
# Masks of more than one register.
@example(name="multisurf", n=513, p=5, levels=3, gaps=False, classes=3, seed=513)
def test_scores_are_those_of_the_definition(name, n, p, levels, gaps, classes, seed):
    X = table(n, p, levels, gaps, seed)
    y = np.random.default_rng(seed).integers(0, classes, n)
    y = np.unique(y, return_inverse=True)[1]
    discrete = np.full(p, levels > 0)
    stage = method(name, discrete_features="all" if levels else "none")
    scores = stage.select(Dataset.from_arrays(X, y)).scores
    rule = "nearest" if name == "relieff" else name
    truth = plain.scores(X, y, discrete, rule, k=10)
    np.testing.assert_allclose(scores, truth, rtol=0, atol=1e-11)
