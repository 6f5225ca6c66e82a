"""The methods against their plain programs, on a table with two classes and one with three."""

from __future__ import annotations

import numpy as np
import pytest

from fsframe.errors import RequestError
from fsframe.table.dataset import Dataset
from fsframe_margin import plain
from fsframe_margin.methods.bim import Bim, BimVote
from fsframe_margin.methods.im4e import Im4e
from fsframe_margin.methods.immigrate import Immigrate
from fsframe_margin.methods.local_learning import Irelief, Lfe
from fsframe_margin.methods.margin_selector import Margin
from fsframe_margin.methods.nearest_margins import Mbiw, Simba, SimbaMbiw, WeightedKnn


@pytest.fixture(params=[2, 3], ids=["two classes", "three classes"])
def table(request):
    rng = np.random.default_rng(request.param)
    X, y = rng.standard_normal((30, 5)), np.arange(30) % request.param
    X[:, 1] += 0.8 * y
    return X, y, Dataset.from_arrays(X, y)


@pytest.mark.parametrize("sigma", [0.5, 3.0])
def test_immigrate(table, sigma):
    X, y, data = table
    method = Immigrate(sigma=sigma, line_search=False, max_iter=3, keep="last", standardize=False)
    W = plain.immigrate(X, y, sigma, 3)
    np.testing.assert_allclose(method.select(data).model["W"], W, atol=1e-10)


@pytest.mark.parametrize("sigma", [0.5, 3.0])
def test_weights_of_the_linear_measure(table, sigma):
    X, y, data = table
    linear = {
        plain.im4e: Im4e(sigma=sigma, max_iter=1, standardize=False),
        plain.irelief: Irelief(sigma=sigma, max_iter=1, standardize=False),
    }
    for program, method in linear.items():
        np.testing.assert_allclose(method.select(data).weights, program(X, y, sigma, 1), atol=1e-12)


@pytest.mark.parametrize("penalty", [0.5, 20.0, 400.0])
def test_exact_steps_of_im4e_on_the_simplex(table, penalty):
    X, y, data = table
    for updates in (1, 3):
        # tol=0: every update is made; the last one is asked for where it has the lowest cost.
        found = Im4e(sigma=1.5, penalty=penalty, max_iter=updates, tol=0, standardize=False).select(
            data
        )
        steps = [plain.im4e(X, y, 1.5, k, penalty) for k in range(updates + 1)]
        D = np.abs(X[:, None] - X[None])
        costs = [plain.coefficients(D @ w, y, 1.5)[0] + penalty * w @ w for w in steps]
        np.testing.assert_allclose(found.tables["cost"], costs[: len(found.tables["cost"])])
        np.testing.assert_allclose(found.weights, steps[int(np.argmin(costs))], atol=1e-9)


def test_margins_and_entropies_of_rows(table):
    X, y, data = table
    found = Im4e(sigma=0.7, margins=True, standardize=False).select(data)
    wanted = plain.margins_of_rows(X, y, found.weights, 0.7)
    for name, values in zip(("margins", "hit-entropy", "miss-entropy"), wanted, strict=True):
        np.testing.assert_allclose(found.tables[name], values, atol=1e-12)
    counts = np.random.default_rng(0).integers(1, 4, size=len(y))
    method = Im4e(sigma=0.7, margins=True, max_iter=0, standardize=False)
    drawn = method.select(data.with_counts(counts)).tables
    copied = method.select(data.take_rows(np.repeat(np.arange(len(y)), counts))).tables
    # Copies of other rows are neighbours of their own; those of the row itself are none to it.
    alone = counts == 1
    at = np.cumsum(counts) - 1
    for name in ("margins", "hit-entropy", "miss-entropy"):
        np.testing.assert_allclose(drawn[name][alone], copied[name][at[alone]], atol=1e-12)


def test_a_row_without_a_hit_has_no_margin():
    X = np.arange(8.0).reshape(4, 2) ** 1.5
    found = Im4e(margins=True).select(Dataset.from_arrays(X, [0, 0, 0, 1]))
    assert np.isnan(found.tables["margins"]).tolist() == [False, False, False, True]
    with pytest.raises(RequestError, match="margins reports on every row"):
        Im4e(margins=True, prototypes=10)


def test_steps_of_simba(table):
    X, y, data = table
    found = Simba(order="given", standardize=False).select(data)
    wanted = plain.simba(X, y, range(len(y)))
    np.testing.assert_allclose(found.tables["raw-weights"], wanted, rtol=1e-10)
    omega = plain.mbiw(X, y)
    for scale, each in (("sum", omega), ("mean", omega * len(y))):
        found = SimbaMbiw(strategy="order", instance_scale=scale, standardize=False).select(data)
        wanted = plain.simba(X, y, np.argsort(-omega, kind="stable"), each)
        np.testing.assert_allclose(found.tables["raw-weights"], wanted, rtol=1e-10)


def test_instance_weights(table):
    X, y, data = table
    found = Mbiw(standardize=False).select(data)
    np.testing.assert_allclose(found.instance_weights, plain.mbiw(X, y), rtol=1e-10)


def test_lfe(table):
    X, y, data = table
    found = Lfe(standardize=False).select(data)
    np.testing.assert_allclose(found.model["W"], plain.lfe(X, y), atol=1e-12)


def test_the_cost_is_that_of_eq_3_5_with_its_entropies(table):
    X, y, _ = table
    rng = np.random.default_rng(9)
    for sigma in (0.3, 1.0, 4.0):
        W = rng.random((5, 5))
        W = (W + W.T) / np.linalg.norm(W + W.T)
        reduced = plain.immigrate_cost(X, y, W, sigma)[0]
        assert plain.cost_with_entropies(X, y, W, sigma) == pytest.approx(reduced, rel=1e-12)


def test_prediction_by_expected_distance(table):
    X, y, data = table
    found = Immigrate(sigma=0.8, top=5, standardize=False).select(data)
    rows = np.random.default_rng(1).standard_normal((40, 5))
    fitted = Margin(standardize=False).fit(data, found)
    wanted = plain.predicted(X, y, found.model["W"], 0.8, rows)
    assert fitted.predict(rows).tolist() == wanted.tolist()


def test_boosting(table):
    X, y, data = table
    settings = {"rounds": 6, "sigma_min": 1.0, "start": "identity", "line_search": False}
    settings["standardize"] = False
    found = Bim(**settings).select(data)
    rounds = plain.bim(X, y, 4.0 * (1.0 / 4.0) ** (np.arange(6) / 6), 5)
    assert 0 < len(rounds) <= 6
    alpha, sigma, W = (np.array(part) for part in zip(*rounds, strict=True))
    np.testing.assert_allclose(found.model["round-alpha"], alpha, rtol=1e-9)
    np.testing.assert_allclose(found.model["round-sigma"], sigma, rtol=1e-12)
    np.testing.assert_allclose(found.model["rounds"], W, atol=1e-9)
    rows = np.random.default_rng(2).standard_normal((60, 5))
    voted = BimVote(**settings).fit(data).predict(rows)
    assert voted.tolist() == plain.bim_vote(X, y, rounds, rows).tolist()


def test_simba_mbiw_and_the_weighted_neighbours(table):
    X, y, data = table
    found = SimbaMbiw(top=5, standardize=False).select(data)
    w, omega = plain.simba_mbiw(X, y), plain.mbiw(X, y)
    np.testing.assert_allclose(found.weights, w, rtol=1e-10)
    rows = np.random.default_rng(3).standard_normal((50, 5))
    for k in (1, 4):
        voted = WeightedKnn(k=k, standardize=False).fit(data, found).predict(rows)
        assert voted.tolist() == plain.weighted_knn(X, y, rows, k, w, omega).tolist()
