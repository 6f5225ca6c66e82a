"""Scores as the margins that features carry: derivation, same ranking, natural zero."""

from __future__ import annotations

import numpy as np
import pytest

from fsframe.chains.chain import Chain
from fsframe.method.selection import rank_by_score
from fsframe.table.dataset import Dataset
from fsframe_margin import plain
from fsframe_margin.engine.margins import PairSpace
from fsframe_margin.methods.im4e import descend_im4e
from fsframe_margin.methods.immigrate import Immigrate
from fsframe_margin.methods.local_learning import Irelief
from fsframe_margin.methods.margin_selector import carried

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
    found = method.select(data)
    W, N = found.pair_weights.matrix, len(y)
    _, gradient = plain.immigrate_cost(X, y, W, sigma)
    entries = -W * (gradient / N + setting.get("l1", 0.0))
    # The sum is exact at any W; the parts are as far as the descent has converged.
    np.testing.assert_allclose(found.scores.sum(), entries.sum(), rtol=1e-9)
    np.testing.assert_allclose(found.scores, entries.sum(axis=1), rtol=2e-3, atol=1e-4)
    assert (found.scores >= 0).all()


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
        found = linear.margin(linear.point(w, 0.7), 0.7)
        assert found == pytest.approx(-along / outer.sum(), rel=1e-10)


def test_scores_of_im4e_are_parts_of_the_mean_margin_of_rows(table):
    X, y, data = table
    found = Chain.parse("im4e:standardize=false,sigma=2").select(data)
    rows = plain.margins_of_rows(X, y, found.weights, 2.0)[0]
    assert found.scores.sum() == pytest.approx(rows.mean())
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
    found = Irelief(sigma=3.0, standardize=False).select(data)
    D = np.abs(X[:, None] - X[None])
    f = np.exp(-(D @ found.weights) / 3.0)
    np.fill_diagonal(f, 0.0)
    inlier = (f * np.equal.outer(y, y)).sum(axis=1) / f.sum(axis=1)
    nu = -np.einsum("ij,ija->a", plain.coefficients(D @ found.weights, y, 3.0, inlier)[1], D)
    np.testing.assert_allclose(found.scores, found.weights * nu / 60, rtol=1e-3, atol=1e-6)

    found = Chain.parse("lfe:standardize=false").select(data)
    W, total = found.model["W"], 0.0
    for n in range(60):
        hit, miss = plain.nearest(X, y, n)
        total += (X[n] - miss) @ W @ (X[n] - miss) - (X[n] - hit) @ W @ (X[n] - hit)
    assert found.scores.sum() == pytest.approx(total / 60)

    found = Chain.parse("simba:standardize=false").select(data)
    w, total = np.sqrt(found.weights), 0.0
    for n in range(60):
        hit, miss = plain.nearest(X, y, n, w)
        total += (np.linalg.norm(w * (X[n] - miss)) - np.linalg.norm(w * (X[n] - hit))) / 2
    assert found.scores.sum() == pytest.approx(total / 60)


def test_scores_of_bim_sum_to_the_mean_margin_of_its_rounds(table):
    X, y, data = table
    found = Chain.parse("bim:rounds=6,standardize=false").select(data)
    model, margins = found.model, []
    for W, sigma in zip(model["rounds"], model["round-sigma"], strict=True):
        _, gradient = plain.immigrate_cost(X, y, W, sigma)
        margins.append(-float((W * gradient).sum()) / 60)
    alpha = model["round-alpha"]
    assert found.scores.sum() == pytest.approx(alpha @ margins / alpha.sum())


@pytest.mark.parametrize(
    "chain",
    [
        "immigrate",
        "immigrate:sigma=cv",
        "immigrate:l1=0.1",
        "immigrate:screen=1",
        "immigrate:screen=1,screened=diagonal",
        "immigrate:prototypes=40",
        "bim:rounds=8",
        "lfe",
    ],
)
def test_ranking_and_kept_columns_are_those_of_the_shares(table, chain):
    found = Chain.parse(chain).select(table[2])
    shares = found.weights**2
    assert shares.sum() == pytest.approx(1.0)
    varying = int((found.scores > 0).sum()) if "screen" in chain and "diag" not in chain else 7
    above = int((shares > 1.0 / varying).sum())
    np.testing.assert_array_equal(found.selected, rank_by_score(shares)[: max(1, above)])
    np.testing.assert_array_equal(rank_by_score(found.scores), rank_by_score(shares))
    assert Chain.parse(chain).natural_zero
