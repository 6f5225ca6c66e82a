"""Sparse X in estimators: selectors take it as the table does, those that predict refuse it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.utils.estimator_checks import (
    check_estimator_sparse_array,
    check_estimator_sparse_matrix,
)

import fsframe.sklearn
from fsframe.sklearn import ChainClassifier, ChainSelector, estimator

draw = np.random.default_rng(3)
Y = np.arange(60) % 2
X = np.where(draw.random((60, 8)) < 0.6, 0.0, draw.normal(size=(60, 8)))
X[:, 5] += 2.0 * Y


def selectors() -> list[Any]:
    single = ("MIM", "AnovaF", "Chi2", "JMI", "MRMR", "ReliefF", "SURF", "Lasso", "Variance")
    made = [getattr(fsframe.sklearn, name)() for name in single]
    return [*made, ChainSelector("mim:top=4 jmi:top=2"), ChainSelector("relieff:top=3 immigrate")]


@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csc_array], ids=["csr", "csc"])
@pytest.mark.parametrize("selector", selectors(), ids=str)
def test_sparse_x_gives_the_bits_of_dense_x(selector: Any, kind: Any) -> None:
    dense = selector.fit(X, Y)
    scores, kept, shown = dense.scores_.tobytes(), dense.get_support(), dense.transform(X)
    thin = selector.fit(kind(X), Y)
    assert thin.scores_.tobytes() == scores and np.array_equal(thin.get_support(), kept)
    given = thin.transform(kind(X))
    assert sparse.issparse(given) and np.array_equal(given.toarray(), shown)


@pytest.mark.parametrize("name", ["MIM", "ReliefF"])
def test_checks_of_scikit_learn_on_sparse_tables_pass(name: str) -> None:
    for check in (check_estimator_sparse_array, check_estimator_sparse_matrix):
        check(name, getattr(fsframe.sklearn, name)())


def test_those_that_predict_refuse_sparse_x() -> None:
    with pytest.raises(TypeError, match="dense data is required"):
        ChainClassifier("mim:top=2 knn").fit(sparse.csr_array(X), Y)


def test_a_sparse_table_is_not_filled() -> None:
    holed = X.copy()
    holed[3, 5] = np.nan
    filling = ChainSelector("impute mim:top=2").fit(holed, Y)
    with pytest.raises(ValueError, match="fills missing values"):
        filling.transform(sparse.csr_array(X))


def test_dir_holds_what_is_public() -> None:
    public = {name for name in dir(fsframe.sklearn) if not name.startswith("__")}
    assert public == set(fsframe.sklearn.__all__)
    assert estimator("mim") is fsframe.sklearn.MIM
