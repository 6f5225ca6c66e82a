"""Sparse X in estimators: selectors take it as the table does, and those that predict."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import is_classifier
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import (
    check_estimator_sparse_array,
    check_estimator_sparse_matrix,
)

import fsframe.sklearn
from fsframe import selectors
from fsframe.sklearn import (
    ChainClassifier,
    ChainRegressor,
    ChainSelector,
    offered_names,
)
from fsframe.testing.conformance import peak_bytes
from tests.grids import shortened

from .estimator_checks import CHAINS, TRIED_AS

pytestmark = pytest.mark.filterwarnings("ignore::fsframe.errors.FsframeWarning")

draw = np.random.default_rng(3)
Y = np.arange(40) % 2
X = np.where(draw.random((40, 7)) < 0.6, 0.0, draw.normal(size=(40, 7)))
X[:, 5] += 2.0 * Y
HOLED = X.copy()
HOLED[3, 5] = HOLED[7, 1] = np.nan
NUMBERS = X[:, 5] + 0.3 * draw.normal(size=40)
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


KINDS = (sparse.csr_matrix, sparse.csc_array, sparse.csr_array, sparse.csc_matrix)


def same_bits(make: Callable[[], Any], y: Any, kinds: Sequence[Any] = KINDS) -> None:
    """Fits on csr and csc, matrices and arrays, give scores, columns and rows of a dense X."""
    dense = make().fit(X, y)
    shown = dense.transform(X)
    for kind in kinds:
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


IN_EVERY_RUN = {"AnovaF", "Immigrate", "Impute", "Lasso", "MIM", "NPFS", "ReliefF", "RFE"}
"""One of each family; the conformance suite tries sparse tables with every method."""


@pytest.mark.parametrize("name", shortened(SELECTS, IN_EVERY_RUN))
def test_every_selector_finds_in_sparse_x_the_bits_of_dense_x(name: str) -> None:
    made = getattr(fsframe.sklearn, name)
    # All that select take X in one place: of the kinds one by rows and one by columns, by turns.
    first = SELECTS.index(name) % 2 * 2
    same_bits(lambda: made(**TRIED_AS.get(name, {})), label_of(name), KINDS[first : first + 2])


@pytest.mark.parametrize("chain", [*CHAINS_THAT_SELECT, *FURTHER])
def test_chains_find_in_sparse_x_the_bits_of_dense_x(chain: str) -> None:
    same_bits(lambda: ChainSelector(chain), Y)


@pytest.mark.parametrize("name", PREDICTS)
def test_all_that_predict_find_in_sparse_x_the_bits_of_dense_x(name: str) -> None:
    made = getattr(fsframe.sklearn, name)
    fitted = made(**TRIED_AS.get(name, {}))
    y = Y if is_classifier(fitted) else TIMES if name == "Cox" else NUMBERS
    same_predictions(lambda: made(**TRIED_AS.get(name, {})), X, y)


@pytest.mark.parametrize(
    ("kind", "chain", "table", "y"),
    [
        (ChainClassifier, "mim:top=3 weighted-knn", X, Y),
        (ChainClassifier, "immigrate margin", X, Y),
        (ChainClassifier, "mim:top=0.3 sklearn:estimator=GaussianNB", X, Y),
        (ChainRegressor, "rrelieff:top=3 ridge", X, NUMBERS),
        # Gaps are filled as those of dense rows are.
        (ChainClassifier, "impute knn", HOLED, Y),
        (ChainClassifier, "impute:method=neighbours knn", HOLED, Y),
    ],
)
def test_chains_that_predict_find_in_sparse_x_the_bits_of_dense_x(kind, chain, table, y) -> None:
    same_predictions(lambda: kind(chain), table, y)


def test_only_the_columns_that_are_read_are_widened() -> None:
    wide = sparse.random_array((40, 200_000), density=1e-4, rng=1, format="csr")
    y = np.arange(40) % 2
    chain = ChainClassifier("anova-f:top=3 knn").fit(wide, y)
    # 40 × 200,000 numbers are 64 MB.
    assert peak_bytes(lambda: chain.predict(wide)) < 15e6


def same_predictions(make: Callable[[], Any], table: Any, y: Any) -> None:
    """Fits on csr and csc, matrices and arrays, predict what a dense X gives, of either form."""
    dense = make().fit(table, y)
    expected = dense.predict(table)
    for kind in (sparse.csr_matrix, sparse.csr_array, sparse.csc_matrix, sparse.csc_array):
        thin = make().fit(kind(table), y)
        assert np.array_equal(thin.predict(kind(table)), expected)
        assert np.array_equal(thin.predict(table), expected)
        if is_classifier(dense):
            scores = thin.decision_function(kind(table))
            assert scores.tobytes() == dense.decision_function(table).tobytes()
    assert get_tags(dense).input_tags.sparse


@pytest.mark.parametrize("name", ["MIM", "ReliefF", "KNN", "Margin", "Ridge"])
def test_checks_of_scikit_learn_on_sparse_tables_pass(name: str) -> None:
    for check in (check_estimator_sparse_array, check_estimator_sparse_matrix):
        check(name, getattr(fsframe.sklearn, name)())
