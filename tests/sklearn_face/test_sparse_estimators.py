"""Sparse X in estimators: selectors take it as the table does, those that predict refuse it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import (
    check_estimator_sparse_array,
    check_estimator_sparse_matrix,
)

import fsframe.sklearn
from fsframe import selectors
from fsframe.sklearn import ChainSelector, estimator, offered_names

from .estimator_checks import CHAINS, TRIED_AS

pytestmark = pytest.mark.filterwarnings("ignore::fsframe.errors.FsframeWarning")

draw = np.random.default_rng(3)
Y = np.arange(60) % 2
X = np.where(draw.random((60, 8)) < 0.6, 0.0, draw.normal(size=(60, 8)))
X[:, 5] += 2.0 * Y
NUMBERS = X[:, 5] + 0.3 * draw.normal(size=60)
TIMES = np.where(Y == 0, -1, 1) * np.exp(NUMBERS)

SELECTS = [name for name, text in offered_names().items() if text in selectors]
PREDICTS = [name for name in offered_names() if name not in SELECTS]
CHAINS_THAT_SELECT = [text for kind, text in CHAINS if kind is ChainSelector]
FURTHER = ["relieff:top=3 immigrate", "impute mim:top=2", "variance:top=5 lasso:top=2"]


def label_of(name: str) -> Any:
    """A label of a task that the method takes."""
    tasks = selectors[offered_names()[name]].tasks
    of = {"classification": Y, "regression": NUMBERS, "survival": TIMES}
    return next(of[task] for task in of if task in tasks)


def same_bits(make: Callable[[], Any], y: Any) -> None:
    """Fits on csr and csc, matrices and arrays, give scores, columns and rows of a dense X."""
    dense = make().fit(X, y)
    shown = dense.transform(X)
    for kind in (sparse.csr_matrix, sparse.csr_array, sparse.csc_matrix, sparse.csc_array):
        thin = make().fit(kind(X), y)
        assert thin.scores_.tobytes() == dense.scores_.tobytes()
        assert np.array_equal(thin.ranking_, dense.ranking_)
        if dense.selection_.fill is not None:
            with pytest.raises(ValueError, match=r"fills missing values.*toarray\(\)"):
                thin.transform(kind(X))
            continue
        given = thin.transform(kind(X))
        assert sparse.issparse(given) and given.format == kind(X).format
        assert np.array_equal(given.toarray(), shown)
        assert np.array_equal(thin.transform(X), shown)
    assert get_tags(dense).input_tags.sparse


@pytest.mark.parametrize("name", SELECTS)
def test_every_selector_finds_in_sparse_x_the_bits_of_dense_x(name: str) -> None:
    made = getattr(fsframe.sklearn, name)
    same_bits(lambda: made(**TRIED_AS.get(name, {})), label_of(name))


@pytest.mark.parametrize("chain", [*CHAINS_THAT_SELECT, *FURTHER])
def test_chains_find_in_sparse_x_the_bits_of_dense_x(chain: str) -> None:
    same_bits(lambda: ChainSelector(chain), Y)


@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csc_array], ids=["csr", "csc"])
@pytest.mark.parametrize("name", [*PREDICTS, "ChainClassifier", "ChainRegressor"])
def test_those_that_predict_refuse_sparse_x_and_say_what_to_do(name: str, kind: Any) -> None:
    made = getattr(fsframe.sklearn, name)(**TRIED_AS.get(name, {}))
    y = Y if hasattr(made, "decision_function") else NUMBERS
    with pytest.raises(TypeError, match=r"dense data is required.*toarray"):
        made.fit(kind(X), y)
    made.fit(X, y)
    with pytest.raises(TypeError, match=r"dense data is required.*toarray"):
        made.predict(kind(X))
    assert not get_tags(made).input_tags.sparse


@pytest.mark.parametrize("name", ["MIM", "ReliefF"])
def test_checks_of_scikit_learn_on_sparse_tables_pass(name: str) -> None:
    for check in (check_estimator_sparse_array, check_estimator_sparse_matrix):
        check(name, getattr(fsframe.sklearn, name)())


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
