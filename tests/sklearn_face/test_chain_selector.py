"""The scikit-learn face: a chain inside pipelines, searches and scikit-learn's own checks."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="the scikit-learn face is an extra")

from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import estimator_checks_generator

from fsframe.chains.chain import Chain
from fsframe.contracts.dataset import Dataset
from fsframe.sklearn import ChainSelector


def table():
    rng = np.random.default_rng(5)
    X = rng.standard_normal((120, 8))
    return X, (X[:, 2] * X[:, 6] > 0).astype(int)


@pytest.mark.parametrize(
    ("estimator", "check"),
    [
        pytest.param(estimator, check, id=check.func.__name__)
        for estimator, check in estimator_checks_generator(ChainSelector("mim:top=1,missing=level"))
    ],
)
def test_scikit_learns_own_checks_pass(estimator, check):
    check(estimator)


def test_support_is_what_the_chain_selects():
    X, y = table()
    selector = ChainSelector("immigrate:top=2").fit(X, y)
    expected = Chain.parse("immigrate:top=2").select(Dataset.from_arrays(X, y)).selected
    assert selector.ranking_.tolist() == expected.tolist()
    assert selector.get_support(indices=True).tolist() == [2, 6]


def test_chain_in_a_pipeline_is_selected_inside_the_folds():
    X, y = table()
    pipeline = make_pipeline(ChainSelector("immigrate:top=2"), KNeighborsClassifier())
    assert cross_val_score(pipeline, X, y, cv=5).mean() > 0.8


def test_chain_is_a_parameter_of_a_search():
    X, y = table()
    pipeline = make_pipeline(ChainSelector(), KNeighborsClassifier())
    chains = ["mim:top=2", "immigrate:top=2"]
    search = GridSearchCV(pipeline, {"chainselector__chain": chains}, cv=4).fit(X, y)
    assert search.best_params_ == {"chainselector__chain": "immigrate:top=2"}
    assert clone(search.best_estimator_[0]).chain == "immigrate:top=2"
