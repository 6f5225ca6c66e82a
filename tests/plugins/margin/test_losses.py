"""IM4E with other losses, and with ℓ1 in place of the constraint on the sum of weights."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logsumexp

from fsframe.chains.chain import Chain
from fsframe.table.dataset import Dataset
from fsframe_margin.engine.margins import PairSpace
from fsframe_margin.methods.im4e import (
    LOSSES,
    Im4e,
    cost_of_loss,
    descend_sparse,
    gradient_of_loss,
    loss,
    soft_margins,
)


@pytest.fixture(scope="module")
def table():
    generator = np.random.default_rng(3)
    X = generator.normal(size=(45, 6))
    y = (X[:, 1] + X[:, 4] + 0.4 * generator.normal(size=45) > 0.5).astype(int)
    return X, y


def plain_margins(X, y, w, sigma):
    """σ log of the mean e^{−q/σ} over hits, less that over misses, row by row."""
    q = (np.abs(X[:, None] - X[None]) * w).sum(axis=2)
    found = []
    for i in range(len(y)):
        hits = [j for j in range(len(y)) if y[j] == y[i] and j != i]
        misses = np.flatnonzero(y != y[i])
        of_hits = logsumexp(-q[i, hits] / sigma) - np.log(len(hits))
        of_misses = logsumexp(-q[i, misses] / sigma) - np.log(len(misses))
        found.append(sigma * (of_hits - of_misses))
    return np.array(found)


def test_margins_are_those_of_the_formula_whatever_the_sizes_of_classes(table):
    X, y = table
    space = PairSpace(X, y, linear=True)
    w = np.random.default_rng(0).dirichlet(np.ones(6))
    found = soft_margins(space, space.point(w, 0.6), 0.6)
    np.testing.assert_allclose(found, plain_margins(X, y, w, 0.6)[space.order], atol=1e-12)
    # Without weights all rows are equally near, and no margin depends on how many there are.
    nothing = space.point(np.zeros(6), 0.6)
    np.testing.assert_allclose(soft_margins(space, nothing, 0.6), 0.0, atol=1e-12)


@pytest.mark.parametrize("name", LOSSES)
def test_the_gradient_is_that_of_the_cost(table, name):
    X, y = table
    space = PairSpace(X, y, linear=True)
    w, sigma, h = np.random.default_rng(1).dirichlet(np.ones(6)), 0.8, 1e-6

    def cost(at):
        return cost_of_loss(space, space.point(at, sigma), sigma, name)

    steps = h * np.eye(6)
    wanted = [(cost(w + step) - cost(w - step)) / (2 * h) for step in steps]
    found = gradient_of_loss(space, space.point(w, sigma), sigma, name)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


def test_losses_and_their_slopes():
    m, h = np.array([-3.0, -0.2, 0.4, 2.5]), 1e-6
    wanted = {
        "linear": -m, "logistic": np.log(1 + np.exp(-m)), "hinge": np.maximum(0, 1 - m),
        "sigmoid": 1 / (1 + np.exp(m)),
    }  # fmt: skip
    assert set(wanted) == set(LOSSES)
    for name, values in wanted.items():
        value, pull = loss(name, m)
        np.testing.assert_allclose(value, values, rtol=1e-12)
        slope = (loss(name, m + h)[0] - loss(name, m - h)[0]) / (2 * h)
        np.testing.assert_allclose(pull, -slope, atol=1e-6)


@pytest.mark.parametrize("name", LOSSES)
def test_the_informative_columns_have_the_largest_weights(table, name):
    X, y = table
    found = Im4e(loss=name, line_search=True).select(Dataset.from_arrays(X, y))
    assert set(np.argsort(-found.weights)[:2]) == {1, 4}
    assert found.weights.sum() == pytest.approx(1.0)
    assert (np.diff(found.tables["cost"]) <= 1e-12).all()


@pytest.mark.parametrize("name", ["logistic", "hinge", "sigmoid"])
def test_l1_ends_where_no_column_gains(table, name):
    X, y = table
    space, sigma, l1 = PairSpace(X, y, linear=True), 1.0, 0.05
    found = descend_sparse(
        space, np.full(6, 1 / 6), sigma, loss_name=name, l1=l1, max_iter=2000, tol=1e-13
    )
    assert (np.diff(found.cost) <= 0).all()
    w = found.weights
    assert (w >= 0).all() and 0 < np.count_nonzero(w) < 6
    if name == "hinge":
        return  # Its minimum may lie in a kink, where the gradient is not zero.
    slope = gradient_of_loss(space, found.point, sigma, name) / space.total + l1
    assert np.abs(slope[w > 0]).max() < 2e-3
    assert slope[w == 0].min() > -2e-3


def test_l1_leaves_out_more_the_larger_it_is_and_predicts_with_what_it_keeps(table):
    X, y = table
    noisy = np.hstack([X, np.random.default_rng(5).normal(size=(45, 30))])
    data = Dataset.from_arrays(noisy, y)
    kept = [Im4e(loss="logistic", l1=l1).select(data).selected for l1 in (0.02, 0.1)]
    assert {1, 4} <= set(kept[1]) and len(kept[1]) < len(kept[0]) < 36
    nothing = Im4e(loss="logistic", l1=50.0).select(data)
    assert not nothing.weights.any() and any("leaves no weight" in w for w in nothing.warnings)
    chain = Chain.parse("im4e:loss=logistic,l1=0.1 margin")
    assert (chain.fit(data).predict(noisy) == y).mean() > 0.8


def test_the_result_has_the_neighbourhoods_of_the_descent(table):
    X, y = table
    data = Dataset.from_arrays(X, y)
    found = Im4e(loss="logistic", l1=0.05, standardize=False, sigma=0.9).select(data)
    assert found.weights.sum() == pytest.approx(1.0)
    space = PairSpace(X, y, linear=True)
    raw = descend_sparse(space, np.full(6, 1 / 6), 0.9, loss_name="logistic", l1=0.05).weights
    np.testing.assert_allclose(found.weights / found.model["sigma"], raw / 0.9, rtol=1e-12)
