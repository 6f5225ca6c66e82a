"""Ridge regression: scikit-learn's own, the formula, copies of rows, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import RidgeCV
from sklearn.preprocessing import StandardScaler

import fsframe
from fsframe import Chain, Dataset
from fsframe.errors import DataError
from fsframe_sklearn.methods.by_name import Ridge


def table(seed: int = 0, n: int = 50, p: int = 6) -> Dataset:
    generator = np.random.default_rng(seed)
    X = generator.standard_normal((n, p)) * 10.0 ** np.arange(p)
    y = X[:, 0] - X[:, 3] / 500 + generator.standard_normal(n)
    return Dataset.from_arrays(X, y, task="regression")


def test_it_is_scikit_learns_on_standardised_columns() -> None:
    data, new = table(), table(1).X
    scale = StandardScaler().fit(data.X)
    theirs = RidgeCV(np.logspace(-3, 5, 33)).fit(scale.transform(data.X), data.y)
    expected = theirs.predict(scale.transform(new))
    assert Ridge().fit(data).predict(new) == pytest.approx(expected, rel=1e-9)


def test_a_given_penalty_solves_the_normal_equations() -> None:
    data = table()
    counts = np.random.default_rng(2).integers(0, 3, data.n_samples)
    rows = np.repeat(np.arange(data.n_samples), counts)
    Z = (data.X[rows] - data.X[rows].mean(axis=0)) / data.X[rows].std(axis=0)
    y = data.y[rows] - data.y[rows].mean()
    beta = np.linalg.solve(Z.T @ Z + 7.0 * np.eye(6), Z.T @ y)
    new = (table(1).X - data.X[rows].mean(axis=0)) / data.X[rows].std(axis=0)
    found = Ridge(penalty=7.0).fit(data.with_counts(counts)).predict(table(1).X)
    assert found == pytest.approx(new @ beta + data.y[rows].mean(), rel=1e-9)


def test_no_copy_of_a_row_helps_to_choose_the_penalty_for_it() -> None:
    # Noise: rows left out with their copies ask for a large penalty, copies by themselves do not.
    generator = np.random.default_rng(3)
    data = Dataset.from_arrays(
        generator.standard_normal((30, 25)), generator.standard_normal(30), task="regression"
    )
    drawn = data.with_counts(np.full(30, 4))
    copied = data.take_rows(np.repeat(np.arange(30), 4))
    spread = [np.ptp(Ridge().fit(each).predict(data.X)) for each in (data, drawn, copied)]
    assert spread[1] == pytest.approx(spread[0], rel=0.2)
    assert spread[2] > 2 * spread[0]


def test_it_ends_a_chain_and_is_listed_as_a_regressor() -> None:
    data = table()
    fitted = Chain.parse("rrelieff:top=2 ridge").fit(data)
    assert np.corrcoef(fitted.predict(data.X), data.y)[0, 1] > 0.9
    assert fsframe.regressors["ridge"] is fsframe.classifiers["ridge"] is Ridge
    assert "knn" not in fsframe.regressors


def test_classes_are_refused_before_any_work() -> None:
    data = Dataset.from_arrays(table().X, np.arange(50) % 2)
    with pytest.raises(DataError, match=r"ridge needs a numeric target, not classes .*classifier"):
        Chain.parse("mim ridge").run(data)
