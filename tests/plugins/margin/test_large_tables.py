"""Routes for many features, many rows and tables in parts give what the plain route gives."""

from __future__ import annotations

import attrs
import numpy as np
import pytest

from fsframe.errors import DataError
from fsframe.method.run import Run
from fsframe.table.dataset import Dataset
from fsframe.testing.tables import assert_equal
from fsframe_margin.engine import implicit_weights
from fsframe_margin.engine.implicit_weights import ImplicitPairs, ImplicitWeights
from fsframe_margin.engine.margins import PairSpace
from fsframe_margin.engine.pair_spaces import DiagonalRestSpace
from fsframe_margin.engine.prediction import stratified_folds
from fsframe_margin.engine.training import drawn_prototypes, training_of, with_prototypes
from fsframe_margin.methods import immigrate_fit
from fsframe_margin.methods.bim import Bim, BimVote
from fsframe_margin.methods.im4e import Im4e
from fsframe_margin.methods.immigrate import Immigrate, descend
from fsframe_margin.methods.margin_selector import Margin

ENOUGH_FOR_TILES = 400 << 20


@pytest.fixture(scope="module")
def wide():
    rng = np.random.default_rng(21)
    X = rng.standard_normal((30, 90))
    y = np.repeat([0, 1, 2], 10)
    X[:, 5] += 2 * y
    X[:, 70] += np.where(y == 1, 2.0, 0.0)
    return X, y


@pytest.fixture
def small_tiles(monkeypatch):
    monkeypatch.setattr(implicit_weights, "_ROWS", 32)
    monkeypatch.setattr(implicit_weights, "_COLUMNS", 40)
    monkeypatch.setattr(implicit_weights, "_PAIRS", 100)


def descents(X, y, sigma, memory, penalty=0.0, threads=1):
    A = X.shape[1]
    dense = descend(PairSpace(X, y), np.eye(A) / np.sqrt(A), sigma, penalty=penalty, max_iter=12)
    pairs = ImplicitPairs(PairSpace(X, y, threads=threads), memory)
    start = ImplicitWeights(np.full(A, A**-0.5))
    found = descend(pairs, start, sigma, penalty=penalty, max_iter=12)
    return dense, pairs, found


@pytest.mark.usefixtures("small_tiles")
@pytest.mark.parametrize("penalty", [0.0, 0.3])
@pytest.mark.parametrize("memory", [0, 1 << 40], ids=["from terms", "tiles held"])
def test_w_by_tiles_equals_w_as_a_matrix(wide, memory, penalty):
    X, y = wide
    dense, pairs, found = descents(X, y, 2.0, memory, penalty)
    rate = penalty * pairs.space.total
    assert pairs.stores_tiles == (memory > 0)
    assert len(found.weights.factors) > 1  # mixtures occur, not whole steps only
    np.testing.assert_allclose(found.cost, dense.cost, rtol=1e-10)
    np.testing.assert_array_equal(found.step, dense.step)
    W = pairs.among(found.weights, rate, np.arange(90))
    np.testing.assert_allclose(W, dense.weights, atol=1e-10)
    of_tiles = pairs.space.margin(found.point, 2.0)
    np.testing.assert_allclose(of_tiles, pairs.space.margin(dense.point, 2.0), rtol=1e-10)
    summary = pairs.summary(found.weights, rate, 50)
    np.testing.assert_allclose(summary.squares, (dense.weights**2).sum(axis=1), atol=1e-10)
    np.testing.assert_allclose(summary.main, np.diag(dense.weights), atol=1e-10)
    i, j = np.triu_indices(90, 1)
    best = np.argsort(-dense.weights[i, j], kind="stable")[:50]
    np.testing.assert_array_equal(summary.i, i[best])
    np.testing.assert_array_equal(summary.j, j[best])
    np.testing.assert_allclose(summary.weight, dense.weights[i, j][best], atol=1e-10)


@pytest.mark.parametrize("keep", ["best", "last"])
def test_keep_holds_where_w_is_not_held(monkeypatch, wide, keep):
    # Whole steps at a small σ swing: the last iterate is not the best one.
    X, y = wide
    data = Dataset.from_arrays(X, y)
    method = Immigrate(sigma=0.3, keep=keep, line_search=False, max_iter=7, tol=0, prune=False)
    dense = method.select(data)
    monkeypatch.setattr(immigrate_fit, "fits_dense", lambda size, memory: False)
    tiles = method.select(data, run=Run(memory=ENOUGH_FOR_TILES))
    np.testing.assert_allclose(tiles.scores, dense.scores, rtol=1e-9, atol=1e-12)
    other = attrs.evolve(method, keep="last" if keep == "best" else "best").select(data)
    assert np.abs(other.scores - dense.scores).max() > 1e-6


@pytest.mark.usefixtures("small_tiles")
@pytest.mark.parametrize("memory", [0, 1 << 40], ids=["from terms", "tiles held"])
def test_bits_of_w_by_tiles_do_not_depend_on_threads(wide, memory):
    X, y = wide
    _, first, one = descents(X, y, 2.0, memory, threads=1)
    _, second, other = descents(X, y, 2.0, memory, threads=3)
    np.testing.assert_array_equal(one.cost, other.cost)
    every = np.arange(90)
    np.testing.assert_array_equal(
        first.among(one.weights, 0.0, every), second.among(other.weights, 0.0, every)
    )


@pytest.mark.usefixtures("small_tiles")
def test_immigrate_keeps_the_same_features_and_pairs_where_w_does_not_fit(wide, monkeypatch):
    X, y = wide
    data = Dataset.from_arrays(X, y)
    method = Immigrate(sigma=2.0, max_iter=10)
    whole = method.select(data)
    monkeypatch.setattr(immigrate_fit, "fits_dense", lambda size, memory: False)
    tiles = method.select(data, run=Run(memory=ENOUGH_FOR_TILES))
    np.testing.assert_array_equal(tiles.selected, whole.selected)
    np.testing.assert_allclose(tiles.scores, whole.scores, atol=1e-10)
    kept = np.sort(whole.selected)
    np.testing.assert_array_equal(tiles.pair_weights.columns, kept)
    np.testing.assert_allclose(
        tiles.pair_weights.matrix, whole.pair_weights.matrix[np.ix_(kept, kept)], atol=1e-10
    )
    one, other = (Margin().fit(data, found).predict(X + 0.1) for found in (whole, tiles))
    np.testing.assert_array_equal(one, other)
    monkeypatch.setattr(immigrate_fit, "DENSE_KEPT", 2)
    listed = method.select(data, run=Run(memory=ENOUGH_FOR_TILES))
    assert listed.pair_weights.matrix is None
    best, expected = (found.pair_weights.top(20) for found in (listed, whole))
    assert [p[:2] for p in best] == [p[:2] for p in expected]


def test_settings_that_need_w_whole_are_refused_where_it_does_not_fit():
    rng = np.random.default_rng(0)
    data = Dataset.from_arrays(rng.standard_normal((20, 3000)), np.repeat([0, 1], 10))
    run = Run(memory=ENOUGH_FOR_TILES)
    for method, why in (
        (Immigrate(update="psd"), "update=psd"),
        (Immigrate(prune=True), "pruning"),
        (Immigrate(start="random"), "start=random"),
        (Immigrate(sigma="cv"), "sigma=cv"),
    ):
        with pytest.raises(DataError, match=f"{why}.*screen"):
            method.select(data, run=run)
    with pytest.raises(DataError, match="not even its tiles fit"):
        Immigrate().select(data, run=Run(memory=1 << 20))


def test_diagonal_rest_equals_w_with_all_other_entries_at_zero(wide):
    X, y = wide
    kept, rest = np.array([5, 9, 70]), np.setdiff1d(np.arange(90), [5, 9, 70])
    space = DiagonalRestSpace(X[:, kept], X[:, rest], y)
    rng = np.random.default_rng(4)
    inner, v = rng.random((3, 3)), rng.random(87)
    inner = inner + inner.T
    weights = np.concatenate([inner.ravel(), v])
    W = np.diag(np.r_[np.zeros(3), v])
    W[:3, :3] = inner
    full = PairSpace(X[:, np.r_[kept, rest]], y)
    np.testing.assert_allclose(space.measure(weights), full.measure(W), rtol=1e-11, atol=1e-12)
    a, b = space.point(weights, 1.5), full.point(W, 1.5)
    assert a.cost == pytest.approx(b.cost, rel=1e-12)
    wanted = full.gradient(b, 1.5)
    found_inner, found_v = space.split(space.gradient(a, 1.5))
    np.testing.assert_allclose(found_inner, wanted[:3, :3], atol=1e-10)
    np.testing.assert_allclose(found_v, np.diag(wanted)[3:], atol=1e-10)


def test_screening_inside_immigrate_equals_im4e_before_it(wide):
    X, y = wide
    data = Dataset.from_arrays(X, y)
    inside = Immigrate(screen=2.0).select(data)
    chained = Immigrate().select(data, Im4e().select(data))
    np.testing.assert_array_equal(inside.selected, chained.selected)
    np.testing.assert_allclose(inside.scores[inside.selected], chained.scores[chained.selected])


def test_screened_features_can_come_back_as_diagonal_terms(wide):
    X, y = wide
    data = Dataset.from_arrays(X, y)
    found = Immigrate(screen=4.0, screened="diagonal").select(data)
    dropped = Immigrate(screen=4.0).select(data)
    paired = np.flatnonzero(dropped.scores > 0)
    assert 1 < len(paired) < 90
    margin = found.tables["margin"][0]
    np.testing.assert_allclose(found.scores.sum(), margin)
    alone = np.setdiff1d(np.arange(90), paired)
    assert found.scores[alone].max() > 0
    np.testing.assert_allclose(found.scores[alone], margin * found.tables["main-effect"][alone])
    assert np.all(np.diff(found.tables["cost"]) < 0)


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
    tuned = Im4e(sigma="cv", prototypes=300)
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


# Tables in parts
