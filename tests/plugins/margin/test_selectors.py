"""The selectors of the margin family as a chain uses them, what they refuse, and their scores."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import fsframe
from fsframe.chains.chain import Chain
from fsframe.errors import DataError, MemoryBoundError, RequestError
from fsframe.method.run import Run
from fsframe.method.selection import Selection, rank_by_score
from fsframe.table.dataset import Dataset
from fsframe_margin import plain
from fsframe_margin.engine.margins import PairSpace
from fsframe_margin.methods.bim import Bim, BimVote
from fsframe_margin.methods.im4e import Im4e, descend_im4e
from fsframe_margin.methods.immigrate import Immigrate
from fsframe_margin.methods.local_learning import Irelief, Lfe
from fsframe_margin.methods.margin_selector import Margin, carried
from fsframe_margin.methods.nearest_margins import Gflip

SELECTORS = [
    "immigrate", "im4e", "bim", "simba", "gflip", "irelief", "lfe", "logo", "mbiw", "simba-mbiw",
]  # fmt: skip


@pytest.fixture(scope="module")
def data() -> Dataset:
    rng = np.random.default_rng(12)
    X = rng.standard_normal((70, 6))
    y = np.where(X[:, 1] + 0.4 * rng.standard_normal(70) > 0, "yes", "no")
    y[:12] = "maybe"
    X[:12, 4] += 2.5
    return Dataset.from_arrays(X, y)


@pytest.mark.parametrize("name", SELECTORS)
def test_a_class_with_one_member_is_a_miss_only_and_is_warned_of(name, data):
    labels = np.array(data.classes)[data.y].astype("<U8")
    labels[40] = "lonely"
    lonely = Dataset.from_arrays(data.X, labels)
    selection = fsframe.selectors[name]().select(lonely, seed=0)
    assert np.isfinite(selection.scores).all()
    assert any("one member" in note for note in selection.warnings)


def test_scores_of_immigrate_are_shares_of_the_margin(data):
    selection = Immigrate().select(data)
    W = selection.pair_weights.matrix
    margin = selection.tables["margin"][0]
    np.testing.assert_allclose(selection.scores.sum(), margin, rtol=1e-12)
    np.testing.assert_allclose(selection.scores, (W**2).sum(axis=1) * margin)
    np.testing.assert_allclose(selection.weights, np.sqrt((W**2).sum(axis=1)))
    np.testing.assert_allclose(selection.tables["main-effect"], np.diag(W) ** 2)
    assert (selection.scores[selection.selected] > margin / 6).all()


def test_tuning_reports_every_setting_and_takes_the_best(data):
    selection = Immigrate(sigma="cv", folds=3).select(data, seed=2)
    accuracy = selection.tables["tuning-accuracy"]
    assert accuracy.shape == (12,)
    best = int(np.argmax(accuracy))
    assert selection.tables["sigma"][0] == selection.tables["tuning-sigma"][best]
    assert selection.tables["pruned"][0] == selection.tables["tuning-prune"][best]
    alone = Immigrate(
        sigma=float(selection.tables["sigma"][0]), prune=bool(selection.tables["pruned"][0])
    ).select(data)
    np.testing.assert_array_equal(alone.scores, selection.scores)


def test_instance_weights_from_the_left_are_importance_in_the_outer_sum(data):
    zero = np.ones(70)
    zero[:12] = 0.0  # the class "maybe" has no rows of its own in the sum, but is a miss of others
    upstream = Selection(selected=np.arange(6), scores=np.ones(6), instance_weights=zero)
    selection = Immigrate().select(data, upstream)
    plain = Immigrate().select(data)
    assert not np.allclose(selection.scores, plain.scores)
    double = Selection(selected=np.arange(6), scores=np.ones(6), instance_weights=2 * np.ones(70))
    np.testing.assert_allclose(Immigrate().select(data, double).scores, plain.scores, rtol=1e-12)


def test_im4e_immigrate_starts_from_the_weights_that_arrive(data):
    screened = Im4e(top=4).select(data)
    started = Immigrate(max_iter=0).select(data, screened)
    kept = np.sort(screened.selected)
    W = np.zeros((6, 6))
    W[kept, kept] = screened.weights[kept]
    columns = started.pair_weights.columns
    result = np.zeros((6, 6))
    result[np.ix_(columns, columns)] = started.pair_weights.matrix
    np.testing.assert_allclose(result, W / np.linalg.norm(W), atol=1e-15)
    assert np.isnan(started.scores[np.setdiff1d(np.arange(6), kept)]).all()


def test_margin_takes_the_newest_weights_that_arrive(data):
    pairs = Immigrate().select(data)
    newer = Im4e(start="upstream", top=6).select(data, pairs)
    assert "pair_weights" in newer.carried
    fitted = Margin().fit(data, newer).inner
    assert fitted.weights.ndim == 1
    assert fitted.sigma == 1.0
    with pytest.raises(RequestError, match="needs pair weights"):
        Margin(measure="quadratic").fit(data, Im4e().select(data))


def test_bim_that_never_errs_falls_back_to_its_best_round():
    X = np.r_[np.zeros((6, 2)), np.full((6, 2), 9.0)] + np.arange(24).reshape(12, 2) / 100
    data = Dataset.from_arrays(X, np.repeat([0, 1], 6))
    selection = Bim(rounds=5).select(data)
    assert any("every round was discarded" in note for note in selection.warnings)
    assert (BimVote(rounds=5).fit(data).predict(X) == data.y).all()


def test_memory_bounds_are_errors_that_say_what_to_do():
    rng = np.random.default_rng(0)
    data = Dataset.from_arrays(rng.standard_normal((40, 30)), rng.integers(0, 2, 40))
    small = Run(memory=20_000)
    for method in (Gflip(), Lfe(), Bim(rounds=50)):
        with pytest.raises((DataError, MemoryBoundError), match="allow"):
            method.select(data, run=small)


# What cannot be used is refused in one sentence, or met by a stated rule


@pytest.mark.parametrize("name", SELECTORS)
def test_tables_without_a_hit_a_miss_or_a_difference_are_refused(name):
    X = np.random.default_rng(0).standard_normal((6, 3))
    for table, y, told in (
        (X, np.zeros(6, dtype=int), "class"),
        (X, np.arange(6), "member of its class"),
        (np.ones((6, 3)), np.arange(6) % 2, "constant"),
    ):
        with pytest.raises(DataError, match=told):
            fsframe.selectors[name]().select(Dataset.from_arrays(table, y))


DEGENERATE = {
    "all hits at distance zero": ([[0.0, 1.0, 3.0]] * 4 + [[5.0, 1.5, 3.5]] * 4, [0] * 4 + [1] * 4),
    # every row lies on one of the other class and far from its own: (−Σ)⁺ = 0
    "nothing separates": ([[0.0], [10.0], [0.1], [10.1]], [0, 0, 1, 1]),
}


@pytest.mark.parametrize(
    ("stage", "table"),
    [
        *itertools.product(SELECTORS, DEGENERATE.values()),
        *((f"{name}:sigma={sigma}", None)
          for name in ("immigrate", "im4e", "irelief", "logo") for sigma in (1e-4, 1e4)),
    ],
)  # fmt: skip
def test_degenerate_tables_and_tiny_or_huge_sigma_give_finite_scores(stage, table, data):
    given = data if table is None else Dataset.from_arrays(*table)
    selection = Chain.parse(stage).select(given, seed=0)
    assert np.isfinite(selection.scores).all()
    assert selection.selected.size


def test_no_gain_in_any_pair_leaves_w_where_it_started_and_says_so():
    data = Dataset.from_arrays(*DEGENERATE["nothing separates"])
    selection = fsframe.selectors["immigrate"]().select(data)
    assert any("(−Σ)⁺ = 0" in note for note in selection.warnings)
    np.testing.assert_array_equal(selection.weights, [1.0])
    # Its margin is negative: it carries none.
    np.testing.assert_array_equal(selection.scores, [0.0])


# Scores as the margins that features carry: derivation, same ranking, natural zero


TO_THE_END = {"tol": 1e-15, "max_iter": 3000}


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(11)
    X = rng.standard_normal((60, 7))
    X[:, 5] = X[:, 1] + 0.4 * rng.standard_normal(60)
    y = X[:, 1] * X[:, 3] + 0.5 * X[:, 2] + 0.4 * rng.standard_normal(60) > 0
    return X, y.astype(int), Dataset.from_arrays(X, y)


@pytest.mark.parametrize(
    ("sigma", "setting"),
    [
        *((sigma, {}) for sigma in (0.5, 1.0, 4.0)),
        *((sigma, {"l1": 0.05}) for sigma in (0.5, 1.0, 4.0)),
        *((sigma, {"update": "psd"}) for sigma in (0.5, 1.0, 4.0)),
        # At a small σ a descent over pruned points ends before it reaches a fixed point.
        (16.0, {"prune": True}),
    ],
)
def test_a_score_is_the_features_part_of_the_margin_at_the_solution(table, sigma, setting):
    X, y, data = table
    method = Immigrate(sigma=sigma, standardize=False, **TO_THE_END, **setting)
    selection = method.select(data)
    W, N = selection.pair_weights.matrix, len(y)
    _, gradient = plain.immigrate_cost(X, y, W, sigma)
    entries = -W * (gradient / N + setting.get("l1", 0.0))
    # The sum is exact at any W; the parts are as far as the descent has converged.
    np.testing.assert_allclose(selection.scores.sum(), entries.sum(), rtol=1e-9)
    np.testing.assert_allclose(selection.scores, entries.sum(axis=1), rtol=2e-3, atol=1e-4)
    assert (selection.scores >= 0).all()


def test_the_margin_is_that_of_rows_under_instance_weights_and_counts(table):
    X, y, _ = table
    rng = np.random.default_rng(0)
    outer, count = rng.uniform(0.5, 2, 60), rng.integers(1, 4, 60).astype(float)
    W = np.abs(rng.standard_normal((7, 7)))
    W = (W + W.T) / np.linalg.norm(W + W.T)
    _, gradient = plain.immigrate_cost(X, y, W, 0.7, outer, count)
    wanted = -float((W * gradient).sum()) / outer.sum()
    for memory in (1 << 31, 0):  # distances stored, and recomputed
        space = PairSpace(X, y, outer, count, memory=memory)
        assert space.stored == (memory > 0)
        assert space.margin(space.point(W, 0.7), 0.7) == pytest.approx(wanted, rel=1e-10)
        w = np.diag(W).copy()
        linear = PairSpace(X, y, outer, count, memory=memory, linear=True)
        q = (np.abs(X[:, None] - X[None]) * w).sum(axis=2)
        along = float((plain.coefficients(q, y, 0.7, outer, count)[1] * q).sum())
        result = linear.margin(linear.point(w, 0.7), 0.7)
        assert result == pytest.approx(-along / outer.sum(), rel=1e-10)


def test_scores_of_im4e_are_parts_of_the_mean_margin_of_rows(table):
    X, y, data = table
    selection = Chain.parse("im4e:standardize=false,sigma=2").select(data)
    rows = plain.margins_of_rows(X, y, selection.weights, 2.0)[0]
    assert selection.scores.sum() == pytest.approx(rows.mean())
    # At a fixed point of eq. 9; the iterate of the lowest cost, which is returned, need not be one.
    space = PairSpace(X, y, linear=True)
    w = descend_im4e(
        space, np.full(7, 1 / 7), 2.0, max_iter=500, tol=1e-15, keep_best=False
    ).weights
    D = np.abs(X[:, None] - X[None])
    v = -np.einsum("ij,ija->a", plain.coefficients(D @ w, y, 2.0)[1], D)
    margin = plain.margins_of_rows(X, y, w, 2.0)[0].mean()
    np.testing.assert_allclose(carried(w**2, margin), w * v / len(y), rtol=1e-4, atol=1e-7)


def test_scores_of_irelief_lfe_and_simba_sum_to_their_margins(table):
    X, y, data = table
    selection = Irelief(sigma=3.0, standardize=False).select(data)
    D = np.abs(X[:, None] - X[None])
    f = np.exp(-(D @ selection.weights) / 3.0)
    np.fill_diagonal(f, 0.0)
    inlier = (f * np.equal.outer(y, y)).sum(axis=1) / f.sum(axis=1)
    nu = -np.einsum("ij,ija->a", plain.coefficients(D @ selection.weights, y, 3.0, inlier)[1], D)
    np.testing.assert_allclose(selection.scores, selection.weights * nu / 60, rtol=1e-3, atol=1e-6)

    selection = Chain.parse("lfe:standardize=false").select(data)
    W, total = selection.model["W"], 0.0
    for n in range(60):
        hit, miss = plain.nearest(X, y, n)
        total += (X[n] - miss) @ W @ (X[n] - miss) - (X[n] - hit) @ W @ (X[n] - hit)
    assert selection.scores.sum() == pytest.approx(total / 60)

    selection = Chain.parse("simba:standardize=false").select(data)
    w, total = np.sqrt(selection.weights), 0.0
    for n in range(60):
        hit, miss = plain.nearest(X, y, n, w)
        total += (np.linalg.norm(w * (X[n] - miss)) - np.linalg.norm(w * (X[n] - hit))) / 2
    assert selection.scores.sum() == pytest.approx(total / 60)


def test_scores_of_bim_sum_to_the_mean_margin_of_its_rounds(table):
    X, y, data = table
    selection = Chain.parse("bim:rounds=6,standardize=false").select(data)
    model, margins = selection.model, []
    for W, sigma in zip(model["rounds"], model["round-sigma"], strict=True):
        _, gradient = plain.immigrate_cost(X, y, W, sigma)
        margins.append(-float((W * gradient).sum()) / 60)
    alpha = model["round-alpha"]
    assert selection.scores.sum() == pytest.approx(alpha @ margins / alpha.sum())


@pytest.mark.parametrize(
    "chain",
    [
        "immigrate",
        "immigrate:sigma=cv",
        "immigrate:l1=0.1",
        "immigrate:screen=1",
        "immigrate:prototypes=40",
        "bim:rounds=8",
        "lfe",
    ],
)
def test_ranking_and_kept_columns_are_those_of_the_shares(table, chain):
    selection = Chain.parse(chain).select(table[2])
    shares = selection.weights**2
    assert shares.sum() == pytest.approx(1.0)
    varying = int((selection.scores > 0).sum()) if "screen" in chain and "diag" not in chain else 7
    above = int((shares > 1.0 / varying).sum())
    np.testing.assert_array_equal(selection.selected, rank_by_score(shares)[: max(1, above)])
    np.testing.assert_array_equal(rank_by_score(selection.scores), rank_by_score(shares))
    assert Chain.parse(chain).natural_zero
