"""Chi-squared and F compared with SciPy and scikit-learn."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose
from scipy.stats import chi2_contingency
from sklearn.feature_selection import f_classif, f_regression

import fsframe
from fsframe.table.dataset import Dataset


def numbers(seed=0, n=150):
    rng = np.random.default_rng(seed)
    X = np.c_[rng.normal(size=(n, 4)) + 1e6, rng.integers(0, 4, (n, 4))]
    y = rng.integers(0, 3, n)
    X[:, 1] += y
    return Dataset.from_arrays(X, y)


def test_anova_equals_scikit_learn():
    data = numbers()
    found = fsframe.selectors["anova-f"]().select(data)
    statistic, p = f_classif(data.X - 1e6, data.y)
    assert_allclose(found.scores[:4], statistic[:4], rtol=1e-6)
    assert_allclose(found.tables["p_values"][:4], p[:4], rtol=1e-6)


def test_anova_of_a_numeric_target_equals_scikit_learn():
    data = numbers()
    target = data.X[:, 0] - 1e6 + np.random.default_rng(1).normal(size=150)
    found = fsframe.selectors["anova-f"]().select(Dataset.from_arrays(data.X, target))
    # scikit-learn loses digits of a large mean.
    centred = data.X - data.X.mean(axis=0)
    assert_allclose(found.scores, f_regression(centred, target)[0], rtol=1e-6, atol=1e-9)


def test_anova_has_no_opinion_on_constants_and_a_bound_on_perfection():
    X = np.c_[np.full(6, 0.1), [1, 1, 1, 2, 2, 2], [1, 2, 3, 1, 2, 3]]
    found = fsframe.selectors["anova-f"](top=3).select(Dataset.from_arrays(X, [0, 0, 0, 1, 1, 1]))
    assert found.selected.tolist() == [1, 0, 2]
    assert found.scores.tolist() == [0, np.finfo(float).max, 0]
    assert "separate the classes perfectly" in found.warnings[0]


def test_anova_leaves_missing_values_out_feature_by_feature():
    data = numbers()
    X = data.X - 1e6
    holed = X.copy()
    holed[::7, 1] = np.nan
    part = Dataset.from_arrays(holed, data.y)
    found = fsframe.selectors["anova-f"](missing="pairwise").select(part)
    present = ~np.isnan(holed[:, 1])
    assert_allclose(found.scores[1], f_classif(X[present][:, [1]], data.y[present])[0])


def cross(x, y):
    return np.array([[np.sum((x == a) & (y == c)) for c in np.unique(y)] for a in np.unique(x)])


def test_chi2_equals_scipy():
    data = numbers()
    found = fsframe.selectors["chi2"]().select(data)
    for j in range(4, 8):
        expected = chi2_contingency(cross(data.X[:, j], data.y), correction=False)
        assert_allclose(found.scores[j], expected.statistic)
        assert_allclose(found.tables["p_values"][j], expected.pvalue)


def test_chi2_by_p_value_does_not_reward_many_levels():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400)
    weak = np.where(rng.random(400) < 0.25, y, rng.integers(0, 2, 400))
    X = np.c_[rng.integers(0, 60, 400), weak]
    data = Dataset.from_arrays(X, y, categorical=[0, 1])
    assert fsframe.selectors["chi2"](top=1).select(data).selected.tolist() == [0]
    assert fsframe.selectors["chi2"](top=1, rank_by="p-value").select(data).selected.tolist() == [1]
