"""Filters that say how many."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import chi2_contingency

import fsframe
from fsframe.table.dataset import Dataset
from fsframe_infotheory.engine.discretise import Discretiser
from fsframe_infotheory.engine.encode import encode
from fsframe_infotheory.engine.greedy import conditional_gain


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


def test_g_statistic_and_freedom_equal_scipy_without_condition():
    data = signals()
    encoded, _ = encode(data, Discretiser())
    gain, freedom, n = conditional_gain(encoded.partner(4), None)
    expected = chi2_contingency(
        cross(data.X[:, 4], data.y), correction=False, lambda_="log-likelihood"
    )
    assert_allclose([2 * n * np.log(2) * gain, freedom], [expected.statistic, expected.dof])


def test_conditional_gain_sums_over_the_levels_of_the_condition():
    data = signals()
    encoded, _ = encode(data, Discretiser())
    gain, freedom, n = conditional_gain(encoded.partner(4), encoded.partner(9))
    total = dof = 0
    for level in range(3):
        rows = data.X[:, 9] == level
        table = cross(data.X[rows, 4], data.y[rows])
        part = chi2_contingency(table, correction=False, lambda_="log-likelihood")
        total, dof = total + part.statistic, dof + part.dof
    assert_allclose([2 * n * np.log(2) * gain, freedom], [total, dof])


def test_same_seed_same_permutations():
    a, b = (
        fsframe.selectors["jmi"](stop="significant", test="permutation").select(signals(), seed=5)
        for _ in range(2)
    )
    assert a.tables["stopping_tests"].tobytes() == b.tables["stopping_tests"].tobytes()
