"""Routes for many features and many rows give what the plain route gives; nominal columns."""

from __future__ import annotations

import attrs
import numpy as np
import pytest

import fsframe
from fsframe.errors import RequestError
from fsframe.method.run import Run
from fsframe.table.dataset import Dataset
from fsframe.testing.tables import assert_equal
from fsframe_margin.engine.margins import PairSpace, expected_margins
from fsframe_margin.engine.nearest_kernels import TIE, add_nearest
from fsframe_margin.engine.prediction import class_distances, stratified_folds
from fsframe_margin.engine.training import (
    drawn_prototypes,
    nominal_steps,
    training_of,
    with_prototypes,
)
from fsframe_margin.methods.bim import Bim, BimVote
from fsframe_margin.methods.im4e import Im4e
from fsframe_margin.methods.immigrate import Immigrate
from fsframe_margin.methods.nearest_margins import Simba
from fsframe_margin.plain import coefficients


@pytest.fixture(scope="module")
def wide():
    rng = np.random.default_rng(21)
    X = rng.standard_normal((30, 90))
    y = np.repeat([0, 1, 2], 10)
    X[:, 5] += 2 * y
    X[:, 70] += np.where(y == 1, 2.0, 0.0)
    return X, y


def test_columns_are_screened_as_published_where_w_over_all_does_not_fit():
    rng = np.random.default_rng(0)
    data = Dataset.from_arrays(rng.standard_normal((20, 3000)), np.repeat([0, 1], 10))
    run = Run(memory=400 << 20)
    alone, screened = (m.select(data, run=run) for m in (Immigrate(), Immigrate(screen=2.0)))
    assert_equal(alone, screened, "the paper's screen", besides=("warnings",))
    assert any("W over 3000 columns takes 549 MiB" in note for note in alone.warnings)
    # Whether to screen is decided by the limit of the run, not by a worker's share of it.
    share = Run(memory=1 << 20, route_memory=600 << 20)
    with pytest.raises(RequestError, match=r"W over 3000 columns.*`im4e:top=128 immigrate`"):
        Immigrate().select(data, run=share)
    assert Immigrate().select(data, Im4e(top=128).select(data), run=share).selected.size


def test_screening_inside_immigrate_equals_im4e_before_it(wide):
    X, y = wide
    data = Dataset.from_arrays(X, y)
    inside = Immigrate(screen=2.0).select(data)
    chained = Immigrate().select(data, Im4e().select(data))
    np.testing.assert_array_equal(inside.selected, chained.selected)
    np.testing.assert_allclose(inside.scores[inside.selected], chained.scores[chained.selected])


@pytest.fixture(scope="module")
def many_rows():
    rng = np.random.default_rng(2)
    X, y = rng.standard_normal((1000, 4)), np.repeat([0, 1, 2], [600, 390, 10])
    X[:, 1] += y
    X[:, 3] += 0.7 * (y > 0)
    return Dataset.from_arrays(X, y)


@pytest.mark.parametrize("method", [Immigrate(), Im4e(), Bim(rounds=5)])
def test_a_method_learns_from_prototypes(method, many_rows):
    full, drawing = method.select(many_rows), attrs.evolve(method, prototypes=300)
    few, again, other = (drawing.select(many_rows, seed=seed) for seed in (3, 3, 4))
    assert any("learned from 300 of 1000 rows" in note for note in few.warnings)
    assert 0 < np.abs(few.scores - full.scores).max() < 0.2
    assert few.selected[0] == full.selected[0] == 1
    assert_equal(again, few, "with the same seed")
    assert (other.scores != few.scores).any()
    all_of_them = attrs.evolve(method, prototypes=1000).select(many_rows)
    np.testing.assert_array_equal(all_of_them.scores, full.scores)
    assert all_of_them.warnings == full.warnings


def test_prototypes_keep_their_groups_in_inner_folds(many_rows):
    groups = np.arange(many_rows.n_samples) // 5 * 2 + many_rows.y  # a label in common
    data = attrs.evolve(many_rows, groups=groups, group_name="person")
    training = with_prototypes(training_of("im4e", data, None), 300, np.random.default_rng(0))
    assert training.groups is not None and len(training.groups) == len(training.y)
    folds = stratified_folds(training.y, 5, np.random.default_rng(0), training.groups)
    for person in np.unique(training.groups):
        assert np.unique(folds[training.groups == person]).size == 1
    tuned = Im4e(sigma="cv", prototypes=200)
    assert tuned.select(data, seed=3).tables["tuning-accuracy"].size > 1


def test_rounds_learned_from_prototypes_vote_against_all_rows(many_rows):
    full = BimVote(rounds=5).fit(many_rows)
    few = BimVote(rounds=5, prototypes=300).fit(many_rows)
    assert few.inner.space.n_rows == full.inner.space.n_rows == 1000
    assert not np.array_equal(few.inner.rounds.weights, full.inner.rounds.weights)
    agree = few.predict(many_rows.X) == full.predict(many_rows.X)
    assert agree.mean() > 0.9


def test_prototypes_stand_for_their_class(many_rows):
    rows = drawn_prototypes(many_rows.y, 100, np.random.default_rng(0))
    np.testing.assert_array_equal(np.bincount(many_rows.y[rows]), [60, 39, 2])
    full, few = (Immigrate(prototypes=n).select(many_rows, seed=3) for n in (1000, 300))
    # the summed cost keeps its size: rows stand for those left out
    assert few.tables["cost"][0] == pytest.approx(full.tables["cost"][0], rel=0.3)


# Nominal columns, a step where levels differ; equally near rows, by their place in the table


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
        result = class_distances(space, w, 0.9, rows, 3)
        assert result == pytest.approx(np.array(expected).T, rel=1e-9)


def test_two_levels_mean_what_their_numbers_mean():
    X, y = _table(40)
    X[:, 1] = X[:, 1] > 2
    numbers, levels = (Dataset.from_arrays(X, y, categorical=c) for c in (None, [1, 4]))
    for method in (Immigrate(), Immigrate(screen=1), Simba()):
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


def chosen_of(x, new, k, *, share):
    """Which of the rows x are among the k nearest to a new one, or the shares that they have."""
    sums, place = np.zeros((1, len(x))), np.arange(len(x))
    ones = np.ones((1, len(x)))
    add_nearest(x[None], np.zeros(1), np.array([[new]]), np.ones(1), k, share, place, ones, sums)
    return sums[0]


def test_the_k_nearest_come_in_groups_of_equals_by_index():
    rng = np.random.default_rng(0)
    for _ in range(200):
        n = int(rng.integers(3, 25))
        k = int(rng.integers(1, n))
        # distances² 1, 4 and 9, each up to a fraction of the tolerance, and zero
        x = rng.integers(0, 4, n) * (1 + 0.01 * TIE * rng.integers(-1, 2, n))
        order = np.lexsort((np.arange(n), np.round(x)))
        assert np.flatnonzero(chosen_of(x, 0.0, k, share=False)).tolist() == sorted(order[:k])
        # Rows at the distance of the k-th share what nearer ones leave.
        last = np.round(x) == np.round(x[order[k - 1]])
        nearer = np.round(x) < np.round(x[order[k - 1]])
        shares = nearer + last * (k - nearer.sum()) / last.sum()
        assert chosen_of(x, 0.0, k, share=True) == pytest.approx(shares, abs=1e-12)
        for i in range(n):
            others = np.array([j for j in range(n) if j != i])
            result = others[chosen_of(x[others], x[i], k, share=False) > 0].tolist()
            gap = np.abs(np.round(x) - np.round(x[i]))
            # rows equal but for rounding are at distances of that size, whose order is their own
            far = [j for j in others.tolist() if gap[j] > 0]
            near = [j for j in others.tolist() if gap[j] == 0]
            order = sorted(far, key=lambda j, gap=gap: (gap[j], j))
            ahead = set(order[: max(0, k - len(near))])
            assert {j for j in result if gap[j] > 0} == ahead


@pytest.mark.parametrize("method", ["knn:k={}", "weighted-knn:k={},standardize=no"])
@pytest.mark.parametrize("k", [1, 2, 5])
def test_rows_that_are_equally_near_vote_in_any_order_of_the_table(method, k):
    draw = np.random.default_rng(5)
    X, y = draw.integers(0, 3, (60, 2)).astype(float), draw.integers(0, 3, 60)
    expected = None
    for seed in range(3):
        at = np.random.default_rng(seed).permutation(60)
        chain = fsframe.Chain.parse(method.format(k)).fit(Dataset.from_arrays(X[at], y[at]))
        scores = chain.predict_scores(X[:9])
        expected = scores if expected is None else expected
        np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-14)
    equal = (X[:, None] == X[None, :9]).all(axis=2)
    # All rows with the same values vote, where they are at least k.
    shares = np.array([np.bincount(y[rows], minlength=3) / rows.sum() for rows in equal.T])
    many = equal.sum(axis=0) >= k
    assert many.any()
    np.testing.assert_allclose(expected[many], shares[many], rtol=0, atol=1e-14)
