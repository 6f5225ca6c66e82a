"""Symmetric uncertainty, fcbf, pairs; filters that say how many; nearest-neighbour estimators."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import chi2_contingency
from sklearn.feature_selection import mutual_info_classif, mutual_info_regression

import fsframe
from fsframe.errors import DataError, RequestError
from fsframe.method.run import Run
from fsframe.table.dataset import Dataset
from fsframe_infotheory.engine.discretise import Discretiser
from fsframe_infotheory.engine.encode import encode
from fsframe_infotheory.engine.greedy import conditional_gain
from fsframe_infotheory.engine.neighbours import (
    Estimator,
    continuous_information,
    discrete_continuous_information,
)
from fsframe_infotheory.methods.criteria import Mim, Mrmr


def test_symmetric_uncertainty_by_hand(table):
    selection = fsframe.selectors["symmetric-uncertainty"]().select(table("tiny"))
    # H(x0) = H(y) = 1, so that their symmetric uncertainty is their information.
    assert_allclose(selection.scores[0], 0.4564355568004036, atol=1e-12)
    assert selection.scores[5] == 0


def literal_fcbf(X, y, delta):
    def h(*columns):
        _, sizes = np.unique(np.column_stack(columns), axis=0, return_counts=True)
        p = sizes / sizes.sum()
        return -(p * np.log2(p)).sum()

    def su(a, b):
        total = h(a) + h(b)
        return 2 * (total - h(a, b)) / total if total > 0 else 0.0

    with_class = [su(x, y) for x in X.T]
    order = [j for j in np.argsort(-np.array(with_class), kind="stable") if with_class[j] > delta]
    kept = []
    while order:
        best = order.pop(0)
        kept.append(int(best))
        order = [j for j in order if su(X[:, best], X[:, j]) < with_class[j]]
    return kept


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("delta", [0.0, 0.02])
def test_fcbf_equals_the_published_loop(seed, delta):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, 200)
    X = rng.integers(0, 4, (200, 12))
    for j in range(6):
        X[:, j] = np.where(rng.random(200) < 0.2 + 0.1 * j, y, X[:, j])
    X[:, 7] = np.where(rng.random(200) < 0.9, X[:, 5], X[:, 7])
    selection = fsframe.selectors["fcbf"](delta=delta).select(Dataset.from_arrays(X, y))
    assert selection.selected.tolist() == literal_fcbf(X, y, delta)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("by", ["keep", "given"])
def test_fcbf_with_a_kept_noise_column_keeps_the_better_ones(by, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(200, 12))
    y = X[:, :3].sum(axis=1) + rng.normal(size=200) > 0
    alone = fsframe.selectors["fcbf"]().select(Dataset.from_arrays(X, y))
    assert alone.scores[5] < alone.scores[:3].min()
    if by == "keep":
        selection = fsframe.selectors["fcbf"]().select(Dataset.from_arrays(X, y, keep=[5]))
    else:
        selection = fsframe.selectors["fcbf"](given=("f6",)).select(Dataset.from_arrays(X, y))
    assert selection.selected[0] == 5
    better = [f for f in alone.selected.tolist() if alone.scores[f] > alone.scores[5]]
    assert selection.selected[1:].tolist()[: len(better)] == better and better


def test_fcbf_with_a_kept_column_removes_its_copy_and_what_is_worse():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 200)
    best = np.where(rng.random(200) < 0.8, y, 1 - y)
    worse = np.where(rng.random(200) < 0.9, best, 1 - best)
    data = Dataset.from_arrays(np.column_stack([best, worse, best]), y, keep=[2])
    assert fsframe.selectors["fcbf"]().select(data).selected.tolist() == [2]


def test_pair_weights_by_hand(table):
    selection = fsframe.selectors["mim"](pairs="synergy").select(table("tiny"))
    pairs = selection.pair_weights
    # y = x3 xor x4: nothing alone, one bit together; x0 and its copy tell the same twice.
    assert_allclose(pairs.matrix[3, 4], 1.0, atol=1e-12)
    assert_allclose(pairs.matrix[0, 1], -0.4564355568004036, atol=1e-12)
    assert_allclose(np.diagonal(pairs.matrix), selection.scores, atol=1e-12)
    assert pairs.top(1)[0][:2] == (3, 4)


def test_joint_pair_weights_are_joint_information(table):
    joint = fsframe.selectors["jmi"](pairs="joint").select(table("tiny")).pair_weights.matrix
    synergy = fsframe.selectors["jmi"](pairs="synergy").select(table("tiny")).pair_weights.matrix
    relevance = np.diagonal(joint)
    assert_allclose(joint[3, 4], 1.0, atol=1e-12)
    expected = relevance[:, None] + relevance[None, :] + synergy
    off = ~np.eye(8, dtype=bool)
    assert_allclose(joint[off], expected[off], atol=1e-12)
    assert_array_equal(joint, joint.T)


def test_pairs_of_the_selected_only(table):
    result = fsframe.selectors["jmi"](pairs="joint", pair_columns="selected", top=3)
    result = result.select(table("m1"))
    assert_array_equal(result.pair_weights.columns, np.sort(result.selected))


def test_pairs_that_do_not_fit_say_what_to_do(table):
    with pytest.raises(RequestError, match="pair_columns=selected"):
        fsframe.selectors["mim"](pairs="joint").select(table("m1"), run=Run(memory=10_000))


# Filters that say how many


def signals(n=600, p=30, seed=0, strength=0.6):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    X = rng.integers(0, 3, (n, p))
    for j in (4, 9):
        X[:, j] = np.where(rng.random(n) < strength, y, X[:, j])
    return Dataset.from_arrays(X, y)


@pytest.mark.parametrize("test", ["g", "permutation"])
def test_significance_keeps_the_signals_and_no_noise(test):
    selection = fsframe.selectors["mrmr"](stop="significant", test=test).select(signals())
    assert sorted(selection.selected.tolist()) == [4, 9]
    p = selection.tables["stopping_tests"][:, 2]
    assert (p[:2] <= 0.05).all() and p[2] > 0.05


@pytest.mark.parametrize("test", ["g", "permutation"])
def test_pure_noise_is_selected_about_as_often_as_alpha_says(test):
    chosen = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        data = Dataset.from_arrays(rng.integers(0, 3, (200, 20)), rng.integers(0, 2, 200))
        stop = fsframe.selectors["jmi"](
            stop="significant", test=test, alpha=0.1, permutations=49, top=1
        )
        chosen += len(stop.select(data, seed=seed).selected) > 0
    # Binomial(40, 0.1): above 10 once in 500.
    assert chosen <= 10


def test_nothing_significant_is_an_empty_selection_with_the_reason():
    rng = np.random.default_rng(3)
    data = Dataset.from_arrays(rng.integers(0, 3, (100, 5)), rng.integers(0, 2, 100))
    selection = fsframe.selectors["jmi"](stop="significant", alpha=1e-6).select(data)
    assert selection.selected.size == 0 and "nothing was selected" in selection.warnings[-1]


def test_top_limits_what_a_stopping_rule_allows():
    assert len(fsframe.selectors["jmi"](stop="positive", top=3).select(signals()).selected) == 3


def cross(x, y):
    return np.array([[np.sum((x == a) & (y == c)) for c in np.unique(y)] for a in np.unique(x)])


@pytest.mark.parametrize("condition", [None, 9])
def test_gain_and_freedom_are_scipys_summed_over_the_levels_of_the_condition(condition):
    data = signals()
    encoded, _ = encode(data, Discretiser())
    given = None if condition is None else encoded.partner(condition)
    gain, freedom, n = conditional_gain(encoded.partner(4), given)
    levels = np.zeros(data.n_samples) if condition is None else data.X[:, condition]
    total = dof = 0
    for level in np.unique(levels):
        table = cross(data.X[levels == level, 4], data.y[levels == level])
        part = chi2_contingency(table, correction=False, lambda_="log-likelihood")
        total, dof = total + part.statistic, dof + part.dof
    assert_allclose([2 * n * np.log(2) * gain, freedom], [total, dof])


# Nearest-neighbour estimators: known answers, ties, and another program


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
    selection = Mim(estimator="knn", top=1).select(Dataset.from_arrays(X, y))
    assert selection.selected.tolist() == [1]
    assert_allclose(selection.scores[1], 1.0, atol=0.05)
    assert "is estimated from nearest neighbours" in selection.warnings[0]
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
    selection = Mrmr(estimator="knn", missing="pairwise", top=4).select(Dataset.from_arrays(X, y))
    assert selection.selected.tolist() == order
    assert_allclose(selection.scores[order], scores, atol=1e-12)
    # The near copy of a selected feature comes after the others.
    assert {0, 1} - set(selection.selected[:3].tolist())


def test_a_given_feature_without_bins_makes_its_copy_redundant():
    X, y = gaussians()
    data = Dataset.from_arrays(X, y)
    selection = Mrmr(estimator="knn", given=["f1"], stop="positive").select(data)
    assert selection.selected[0] == 0 and 1 not in selection.selected


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
