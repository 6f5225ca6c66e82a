"""Nominal columns, a step where levels differ; equally near rows, by their place in the table."""

from __future__ import annotations

import numpy as np
import pytest

import fsframe
from fsframe.table.dataset import Dataset
from fsframe_margin.engine.implicit_weights import ImplicitPairs, ImplicitWeights
from fsframe_margin.engine.margins import PairSpace
from fsframe_margin.engine.nearest_kernels import TIE, k_nearest
from fsframe_margin.engine.pair_spaces import expected_margins
from fsframe_margin.engine.prediction import class_distances
from fsframe_margin.engine.standardise import SQUARES, Indicators, nominal_steps
from fsframe_margin.methods.immigrate import Immigrate, descend
from fsframe_margin.methods.nearest_margins import Simba
from fsframe_margin.plain import coefficients

STEPS = np.array([0.0, 1.7, 0.0, 0.0, 0.6])


def _table(n=24, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 5))
    X[:, 1] = rng.integers(0, 5, n)
    X[:, 4] = rng.choice([3.0, 11.0], n)
    return X, rng.permutation(np.arange(n) % 3)


def _differences(X, Y):
    D = np.abs(X[:, None] - Y[None])
    for a in np.flatnonzero(STEPS):
        D[:, :, a] = (D[:, :, a] > 0) * STEPS[a]
    return D


@pytest.mark.parametrize("memory", [1 << 31, 1])
def test_cost_and_scatter_are_those_of_indicator_differences(memory):
    X, y = _table()
    D = _differences(X, X)
    W = np.abs(np.random.default_rng(1).standard_normal((5, 5)))
    W = (W + W.T) / np.linalg.norm(W + W.T)
    space = PairSpace(X, y, steps=STEPS, memory=memory)
    point = space.point(W, 0.8)
    cost, c = coefficients(np.einsum("ija,ab,ijb->ij", D, W, D), y, 0.8)
    assert point.cost == pytest.approx(cost, rel=1e-12)
    expected = np.einsum("ij,ija,ijb->ab", c, D, D)
    assert space.gradient(point, 0.8) == pytest.approx(expected, rel=1e-9, abs=1e-12)
    w = W.sum(axis=0) / W.sum()
    linear = PairSpace(X, y, steps=STEPS, memory=memory, linear=True)
    point = linear.point(w, 0.8)
    cost, c = coefficients(D @ w, y, 0.8)
    assert point.cost == pytest.approx(cost, rel=1e-12)
    expected = np.einsum("ij,ija->a", c, D)
    assert linear.gradient(point, 0.8) == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_expected_margins_of_logo_are_those_of_indicator_differences():
    X, y = _table()
    space, w = PairSpace(X, y, steps=STEPS, linear=True), np.full(5, 0.4)
    D, z = _differences(X, X), expected_margins(space, w, 1.3)
    f = np.exp(-(D @ w) / 1.3)
    np.fill_diagonal(f, 0.0)
    same = np.equal.outer(y, y)
    expected = np.zeros((len(y), 5))
    for members, sign in ((same, -1.0), (~same, 1.0)):
        share = f * members
        share /= share.sum(axis=1, keepdims=True)
        expected += sign * np.einsum("ij,ija->ia", share, D)
    assert z == pytest.approx(expected[space.order], rel=1e-9, abs=1e-12)


def test_new_rows_with_levels_that_training_rows_lack_are_one_step_from_all():
    X, y = _table()
    for levels in (2, 3, 4, 5):
        X[:, 1] = np.arange(len(X)) % levels
        rows = X[:4].copy()
        rows[0, 1], rows[1, 4] = 77.0, -5.0
        space, w = PairSpace(X, y, steps=STEPS, linear=True), np.full(5, 0.2)
        q = _differences(rows, X) @ w
        f = np.exp(-q / 0.9)
        expected = [(f * q)[:, y == c].sum(axis=1) / f[:, y == c].sum(axis=1) for c in range(3)]
        found = class_distances(space, w, 0.9, rows, 3)
        assert found == pytest.approx(np.array(expected).T, rel=1e-9)


def test_weights_by_tiles_and_a_diagonal_rest_descend_as_the_whole_matrix_does():
    X, y = _table(30)
    whole = PairSpace(X, y, steps=STEPS)
    dense = descend(whole, np.eye(5) / np.sqrt(5), 1.0, max_iter=6)
    pairs = ImplicitPairs(PairSpace(X, y, steps=STEPS), rows=X, steps=STEPS)
    start = ImplicitWeights(np.full(5, 1 / np.sqrt(5)))
    tiled = descend(pairs, start, 1.0, max_iter=6)
    assert tiled.cost == pytest.approx(dense.cost, rel=1e-9)
    assert pairs.among(tiled.weights, 0.0, np.arange(5)) == pytest.approx(dense.weights, rel=1e-7)


def test_squares_of_expanded_columns_are_squares_of_steps():
    X, _ = _table()
    expanded = Indicators.of(X, STEPS, SQUARES).expand(X)
    squares = ((expanded[:, None] - expanded[None]) ** 2).sum(axis=2)
    assert squares == pytest.approx((_differences(X, X) ** 2).sum(axis=2), rel=1e-12)


def test_two_levels_mean_what_their_numbers_mean():
    X, y = _table(40)
    X[:, 1] = X[:, 1] > 2
    numbers, levels = (Dataset.from_arrays(X, y, categorical=c) for c in (None, [1, 4]))
    for method in (Immigrate(), Immigrate(screen=1, screened="diagonal"), Simba()):
        found, expected = method.select(levels, seed=1), method.select(numbers, seed=1)
        assert found.scores == pytest.approx(expected.scores, rel=1e-6, abs=1e-9)
    steps = nominal_steps(X, np.array([False, True, False, False, True]), np.ones(40), True)
    assert steps[4] == pytest.approx(8.0 / X[:, 4].std(ddof=1))


# Ties


UNITS = {
    "whole": lambda X: X * 3 + 7,
    "tenths": lambda X: X * 0.1 + 0.3,
    "offset": lambda X: 1e3 + X / 7,
}


def ratings(seed, n=132):
    """Four attributes of 3 or 4 levels and three classes, as in the Hayes–Roth table.

    Levels are equally frequent, so that a step of one column is as long as one of another: a
    neighbour of the one kind taken for the other changes margins, one up for one down does not.
    """
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.permutation(np.arange(n) % k + 1.0) for k in (3, 4, 4, 4)])
    ahead = (X[:, 1:] == 1).sum(axis=1) - (X[:, 1:] == 2).sum(axis=1)
    return X, np.where((X[:, 1:] == 4).any(axis=1), 2, (ahead < 0).astype(int))


@pytest.mark.parametrize("units", UNITS)
@pytest.mark.parametrize(
    "chain",
    [
        *("lfe", "mbiw", "simba", "simba-mbiw", "gflip"),
        *("simba-mbiw:strategy=sample", "simba-mbiw:instance_scale=mean,refresh=40"),
    ],
)
def test_a_change_of_units_selects_the_same(chain, units):
    for seed in range(3):
        X, y = ratings(seed)
        one, other = (
            fsframe.Chain.parse(chain).select(Dataset.from_arrays(Z, y), seed=0)
            for Z in (X, UNITS[units](X))
        )
        assert other.selected.tolist() == one.selected.tolist()
        np.testing.assert_allclose(other.scores, one.scores, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("units", UNITS)
@pytest.mark.parametrize("chain", ["weighted-knn", "knn:k=3", "knn:k=3,distance=manhattan"])
def test_a_change_of_units_predicts_the_same(chain, units):
    change = UNITS[units]
    for seed in range(3):
        X, y = ratings(seed)
        new, _ = ratings(seed + 100)
        one, other = (
            fsframe.Chain.parse(chain).fit(Dataset.from_arrays(Z, y), seed=0)
            for Z in (X, change(X))
        )
        np.testing.assert_array_equal(other.predict(change(new)), one.predict(new))


def test_the_k_nearest_come_in_groups_of_equals_by_index():
    rng = np.random.default_rng(0)
    for _ in range(200):
        n = int(rng.integers(3, 25))
        k = int(rng.integers(1, n))
        # distances² 1, 4 and 9, each up to a fraction of the tolerance, and zero
        x = rng.integers(0, 4, n) * (1 + 0.01 * TIE * rng.integers(-1, 2, n))
        chosen = np.empty((1, k), dtype=np.intp)
        k_nearest(x[None, :], np.zeros(1), np.zeros((1, 1)), np.ones(1), chosen)
        order = np.lexsort((np.arange(n), np.round(x)))
        assert chosen[0].tolist() == order[:k].tolist()
        for i in range(n):
            others = [j for j in range(n) if j != i]
            left = np.empty((1, k), dtype=np.intp)
            k_nearest(x[None, others], np.zeros(1), x[None, [i]], np.ones(1), left)
            found = np.array(others)[left[0]].tolist()
            gap = np.abs(np.round(x) - np.round(x[i]))
            # rows equal but for rounding are at distances of that size, whose order is their own
            far = [j for j in others if gap[j] > 0]
            near = [j for j in others if gap[j] == 0]
            order = sorted(far, key=lambda j, gap=gap: (gap[j], j))
            assert found[len(near) :] == order[: max(0, k - len(near))]
