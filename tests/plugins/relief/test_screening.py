"""Neighbours that bytes let through are those of a look at all exact distances."""

from __future__ import annotations

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fsframe.method.run import Run
from fsframe.table.dataset import Dataset
from fsframe_relief.engine import feature_scores, screening
from fsframe_relief.engine.columns import prepare_columns
from fsframe_relief.engine.neighbours import Nearest, Target
from fsframe_relief.methods.variants import Relief, Relieff, Rrelieff

METHODS = [
    Relief(),
    Relieff(k=4),
    Relieff(k=4, ties="index"),
    Relieff(k=9, weighting="rank"),
    Relieff(k=5, weighting="distance"),
    Relieff(k=4, m=40),
    Rrelieff(k=9),
]


def both_ways(method, data, **options):
    """Scores with the screen and without, and how often it was used."""
    used = []
    listed = screening.NearestBytes.listed

    def counted(self, rows):
        used.append(len(rows))
        return listed(self, rows)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(screening, "ROWS_PER_NEIGHBOUR", 0)
        patch.setattr(screening, "LEAST_ROWS", 0)
        patch.setattr(feature_scores, "bytes_suffice", lambda *_: True)
        patch.setattr(screening.NearestBytes, "listed", counted)
        found = method.select(data, **options).scores
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(feature_scores, "screening_pays", lambda *_: False)
        plain = method.select(data, **options).scores
    return found, plain, sum(used)


@settings(max_examples=60, deadline=None)
@given(
    method=st.sampled_from(METHODS),
    n=st.integers(12, 150),
    p=st.integers(1, 20),
    digits=st.sampled_from([None, 2, 0]),
    drawn=st.booleans(),
    seed=st.integers(0, 10**6),
)
def test_screened_and_all_distances_give_the_same_scores(method, n, p, digits, drawn, seed):
    # Columns rounded to whole numbers make groups of ties far larger than k.
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) * 10.0 ** rng.integers(-3, 4, p)
    if digits is not None:
        X = (X / np.ptp(X, axis=0) * 5).round(digits)
    y = rng.normal(size=n) if isinstance(method, Rrelieff) else rng.integers(0, 3, n)
    if not isinstance(method, Rrelieff):
        y[:3] = np.arange(3)
    data = Dataset.from_arrays(X, y)
    if drawn:
        data = data.with_counts(rng.integers(1, 4, n))
    method = attrs.evolve(method, discrete_features="none")
    found, plain, used = both_ways(method, data, seed=3)
    np.testing.assert_allclose(found, plain, rtol=0, atol=1e-12)
    assert used or not np.ptp(X, axis=0).any()


def test_an_instance_that_bytes_put_too_far_is_still_found():
    # Column 0 is rounded up for row 1 and down for row 2: by bytes row 2 is nearer to row 0, in
    # truth row 1 is.
    step = 1 / screening.LEVELS
    X = np.zeros((60, 3))
    X[1:, 0] = 1.0
    X[3:, 1] = 1.0
    X[1] = [10.51 * step, 0.0, 0.0]
    X[2] = [5.25 * step, 5.27 * step, 0.0]
    X[3:, 2] = np.linspace(0.5, 1, 57)
    y = np.r_[0, np.zeros(30), np.ones(29)].astype(int)
    columns = prepare_columns(X, np.zeros(3, bool))
    ones = np.ones(60)
    target = Target(y=y, prior=np.bincount(y) / 60, counts=ones, omega=ones / 60)
    screen = screening.NearestBytes(columns, Nearest(k=1), target, 1 << 30)
    codes = screen.mine.view(np.uint8).astype(int)
    whole = np.abs(codes[:1] - codes).sum(axis=1)
    assert whole[2] < whole[1]
    index, weight, length, _ = screen.listed(np.arange(1))
    hits = [j for j, w in zip(index[0, : length[0]], weight[0], strict=False) if w < 0]
    assert hits == [1]


@pytest.mark.parametrize("memory", [1 << 19, 1 << 21, 1 << 30])
def test_the_bound_on_memory_moves_only_the_borders_of_blocks(memory):
    rng = np.random.default_rng(0)
    data = Dataset.from_arrays(rng.normal(size=(2900, 6)), rng.integers(0, 2, 2900))
    found = Relieff(k=5).select(data, run=Run(memory=memory, threads=2)).scores
    np.testing.assert_allclose(found, Relieff(k=5).select(data).scores, rtol=0, atol=1e-13)
