"""Symmetric uncertainty, fast correlation-based filter, pair weights; filters that say how many."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import chi2_contingency

import fsframe
from fsframe.errors import RequestError
from fsframe.method.run import Run
from fsframe.table.dataset import Dataset
from fsframe_infotheory.engine.discretise import Discretiser
from fsframe_infotheory.engine.encode import encode
from fsframe_infotheory.engine.greedy import conditional_gain


def test_symmetric_uncertainty_by_hand(table):
    found = fsframe.selectors["symmetric-uncertainty"]().select(table("tiny"))
    # H(x0) = H(y) = 1, so that their symmetric uncertainty is their information.
    assert_allclose(found.scores[0], 0.4564355568004036, atol=1e-12)
    assert found.scores[5] == 0


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
    found = fsframe.selectors["fcbf"](delta=delta).select(Dataset.from_arrays(X, y))
    assert found.selected.tolist() == literal_fcbf(X, y, delta)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("by", ["keep", "given"])
def test_fcbf_with_a_kept_noise_column_keeps_the_better_ones(by, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(200, 12))
    y = X[:, :3].sum(axis=1) + rng.normal(size=200) > 0
    alone = fsframe.selectors["fcbf"]().select(Dataset.from_arrays(X, y))
    assert alone.scores[5] < alone.scores[:3].min()
    if by == "keep":
        found = fsframe.selectors["fcbf"]().select(Dataset.from_arrays(X, y, keep=[5]))
    else:
        found = fsframe.selectors["fcbf"](given=("f6",)).select(Dataset.from_arrays(X, y))
    assert found.selected[0] == 5
    better = [f for f in alone.selected.tolist() if alone.scores[f] > alone.scores[5]]
    assert found.selected[1:].tolist()[: len(better)] == better and better


def test_fcbf_with_a_kept_column_removes_its_copy_and_what_is_worse():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 200)
    best = np.where(rng.random(200) < 0.8, y, 1 - y)
    worse = np.where(rng.random(200) < 0.9, best, 1 - best)
    data = Dataset.from_arrays(np.column_stack([best, worse, best]), y, keep=[2])
    assert fsframe.selectors["fcbf"]().select(data).selected.tolist() == [2]


def test_pair_weights_by_hand(table):
    found = fsframe.selectors["mim"](pairs="synergy").select(table("tiny"))
    pairs = found.pair_weights
    # y = x3 xor x4: nothing alone, one bit together; x0 and its copy tell the same twice.
    assert_allclose(pairs.matrix[3, 4], 1.0, atol=1e-12)
    assert_allclose(pairs.matrix[0, 1], -0.4564355568004036, atol=1e-12)
    assert_allclose(np.diagonal(pairs.matrix), found.scores, atol=1e-12)
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
    found = fsframe.selectors["jmi"](pairs="joint", pair_columns="selected", top=3)
    found = found.select(table("m1"))
    assert_array_equal(found.pair_weights.columns, np.sort(found.selected))


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
    found = fsframe.selectors["mrmr"](stop="significant", test=test).select(signals())
    assert sorted(found.selected.tolist()) == [4, 9]
    p = found.tables["stopping_tests"][:, 2]
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
    found = fsframe.selectors["jmi"](stop="significant", alpha=1e-6).select(data)
    assert found.selected.size == 0 and "nothing was selected" in found.warnings[-1]


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
