"""Nearest-neighbour estimators: known answers, ties, and another program."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.feature_selection import mutual_info_classif, mutual_info_regression

import fsframe
from fsframe.errors import DataError
from fsframe.table.dataset import Dataset
from fsframe_infotheory.engine.discretise import Discretiser
from fsframe_infotheory.engine.neighbours import (
    Estimator,
    continuous_information,
    discrete_continuous_information,
)
from fsframe_infotheory.methods.criteria import Mim, Mrmr


def test_constant_columns_tell_exactly_nothing():
    y = np.arange(50) % 3
    assert discrete_continuous_information(np.full(50, 2.5), y) == 0
    assert continuous_information(np.full(50, 2.5), y.astype(float)) == 0
    assert discrete_continuous_information(np.arange(50.0), np.zeros(50, int)) == 0


def test_estimates_equal_scikit_learn_where_nothing_is_tied():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(400, 3))
    y = (x[:, 0] + rng.normal(size=400) > 0).astype(int)
    target = x[:, 1] + rng.normal(size=400)
    ours = [discrete_continuous_information(c, y) for c in x.T]
    theirs = mutual_info_classif(x, y, random_state=0) / np.log(2)
    assert_allclose(np.maximum(ours, 0), theirs, atol=1e-6)
    ours = [continuous_information(c, target) for c in x.T]
    theirs = mutual_info_regression(x, target, random_state=0) / np.log(2)
    assert_allclose(np.maximum(ours, 0), theirs, atol=1e-6)


def test_tied_values_come_out_near_the_plug_in_value():
    rng = np.random.default_rng(2)
    x = rng.integers(0, 3, 3000).astype(float)
    y = (rng.random(3000) < x / 3).astype(int)
    table = np.array([[np.sum((x == a) & (y == c)) for c in (0, 1)] for a in (0, 1, 2)]) / 3000
    expected = sum(
        p * np.log2(p / table[a].sum() / table[:, c].sum()) if p else 0
        for (a, c), p in np.ndenumerate(table)
    )
    assert_allclose(discrete_continuous_information(x, y), expected, atol=0.01)
    assert_allclose(continuous_information(x, y.astype(float)), expected, atol=0.01)


def test_mim_estimates_without_bins_and_says_that_they_are_estimates():
    rng = np.random.default_rng(4)
    X = np.c_[rng.normal(size=(500, 2)), rng.integers(0, 3, 500)]
    y = (X[:, 1] > 0).astype(int)
    found = Mim(estimator="knn", top=1).select(Dataset.from_arrays(X, y))
    assert found.selected.tolist() == [1]
    assert_allclose(found.scores[1], 1.0, atol=0.05)
    assert "is estimated from nearest neighbours" in found.warnings[0]
    target = Dataset.from_arrays(X, X[:, 0] + 0.1 * rng.normal(size=500))
    assert Mim(estimator="knn", top=1).select(target).selected.tolist() == [0]


def gaussians(n=300, seed=5):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    X[:, 1] = X[:, 0] + 0.1 * rng.normal(size=n)
    X[:, 4] = rng.integers(0, 3, n)
    y = (X[:, 0] + X[:, 2] + 0.5 * X[:, 4] + 0.3 * rng.normal(size=n) > 0.5).astype(int)
    return X, y


@pytest.mark.parametrize("holes", [False, True])
def test_mrmr_without_bins_equals_the_formula_on_estimates(holes):
    X, y = gaussians()
    if holes:
        X[::9, 2] = X[::7, 0] = X[::5, 4] = np.nan

    def shared(a, b):
        present = ~np.isnan(X[:, a]) & ~np.isnan(X[:, b])
        x, z = X[present, a], X[present, b]
        if a == 4 and b == 4:
            raise AssertionError("a feature is not compared with itself")
        if b == 4 or a == 4:
            levels, values = (z, x) if b == 4 else (x, z)
            return discrete_continuous_information(values, levels.astype(int))
        return continuous_information(x, z)

    def relevant(j):
        present = ~np.isnan(X[:, j])
        if j == 4:
            return Mim().select(Dataset.from_arrays(X[present][:, [4]], y[present])).scores[0]
        return discrete_continuous_information(X[present, j], y[present])

    relevance = [relevant(j) for j in range(5)]
    order = [int(np.argmax(relevance))]
    scores = [max(relevance)]
    while len(order) < 4:
        left = [j for j in range(5) if j not in order]
        values = [relevance[j] - np.mean([shared(j, s) for s in order]) for j in left]
        order.append(left[int(np.argmax(values))])
        scores.append(max(values))
    found = Mrmr(estimator="knn", missing="pairwise", top=4).select(Dataset.from_arrays(X, y))
    assert found.selected.tolist() == order
    assert_allclose(found.scores[order], scores, atol=1e-12)
    # The near copy of a selected feature comes after the others.
    assert {0, 1} - set(found.selected[:3].tolist())


def test_a_given_feature_without_bins_makes_its_copy_redundant():
    X, y = gaussians()
    data = Dataset.from_arrays(X, y)
    found = Mrmr(estimator="knn", given=["f1"], stop="positive").select(data)
    assert found.selected[0] == 0 and 1 not in found.selected


ESTIMATED = ["mifs", "mrmr", "jmi", "cmim", "icap", "cife", "condred", "betagamma", "jmim"]


@pytest.mark.parametrize("name", ESTIMATED)
def test_estimates_of_discrete_columns_are_the_counted_values(name):
    rng = np.random.default_rng(3)
    X, y = rng.integers(0, 4, (120, 7)).astype(float), rng.integers(0, 3, 120)
    X[:, 2] = np.where(rng.random(120) < 0.5, y, X[:, 2])
    X[:, 5] = np.where(rng.random(120) < 0.7, X[:, 2], X[:, 5])
    data = Dataset.from_arrays(X, y)
    counted = fsframe.selectors[name](top=6).select(data)
    estimated = fsframe.selectors[name](top=6, estimator="knn").select(data)
    assert estimated.selected.tolist() == counted.selected.tolist()
    assert_allclose(estimated.scores, counted.scores, atol=1e-12)


def test_redundancy_within_classes_is_that_of_gaussian_pairs():
    rho, found = 0.8, []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        y = np.arange(1200) % 2
        a = rng.normal(size=1200)
        b = rho * a + np.sqrt(1 - rho**2) * rng.normal(size=1200)
        # The class moves both, so that they share more without it than within it.
        data = Dataset.from_arrays(np.c_[a + 4 * y, b - 4 * y], y)
        estimator = Estimator(data, Discretiser(), None, 3, 1)
        terms = estimator.terms(0, True)
        found.append([terms.conditional_redundancy[1], terms.joint_relevance[1]])
    conditional, joint = np.mean(found, axis=0)
    assert abs(conditional + 0.5 * np.log2(1 - rho**2)) < 0.06
    # The classes hardly overlap, and two features cannot tell more than the one bit there is.
    assert abs(joint - 1) < 0.3


def test_estimates_within_classes_refuse_a_numeric_target():
    rng = np.random.default_rng(0)
    data = Dataset.from_arrays(rng.normal(size=(30, 3)), rng.normal(size=30))
    with pytest.raises(DataError, match=r"within each class.*use mim, mifs or mrmr"):
        fsframe.selectors["jmi"](estimator="knn").select(data)
    assert fsframe.selectors["mrmr"](estimator="knn", top=2).select(data).selected.size == 2
