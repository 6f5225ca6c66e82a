"""Scikit-learn's own checks of estimators, for one method of each family and slowly for all."""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

import fsframe.sklearn
from fsframe.sklearn import ChainClassifier, ChainRegressor, ChainSelector, estimator
from fsframe.sklearn.naming import offered_names

pytestmark = pytest.mark.filterwarnings("ignore::fsframe.errors.FsframeWarning")

# What the defaults leave open, or less to compute.
_TREE = {"of": "DecisionTreeClassifier"}
TRIED_AS: dict[str, dict[str, Any]] = {
    "BIM": {"rounds": 5},
    "BIMVote": {"rounds": 5},
    "Boruta": {"max_runs": 3, "trees": 5},
    "Ensemble": {"base": "mim:top=2", "n": 5},
    "Importance": _TREE,
    "InteractionsSplit": {"base": "mim:top=2"},
    "NPFS": {"base": "mim:top=1", "n": 5, "null": "published", "alpha": 0.3},
    "RFE": _TREE,
    "RFECV": _TREE,
    "Sequential": _TREE,
    "Sklearn": {"estimator": "sklearn.linear_model.LogisticRegression"},
    "SklearnSelector": {"estimator": "SelectKBest", "options": '{"k": 1}'},
    "TuRF": {"base": "relieff"},
}
_ROWS = "a class of its table has fewer than the four rows that two halves need"
EXPECTED_TO_FAIL = {
    "InteractionsSplit": {
        "check_dict_unchanged": _ROWS,
        "check_dont_overwrite_parameters": _ROWS,
        "check_f_contiguous_array_estimator": _ROWS,
        "check_fit2d_1feature": _ROWS,
        "check_fit2d_predict1d": _ROWS,
        "check_methods_sample_order_invariance": _ROWS,
        "check_methods_subset_invariance": _ROWS,
    },
    "RFECV": {
        "check_sample_weight_equivalence_on_dense_data": "15 rows: the folds of copied rows are "
        "other folds",
    },
}
ALWAYS = ("Immigrate", "MRMR", "ReliefF", "WeightedKNN")


def tried(name: str) -> Any:
    return getattr(fsframe.sklearn, name)(**TRIED_AS.get(name, {}))


def exceptions(estimator: Any) -> dict[str, str]:
    """rrelieff takes missing values, so that the chain does; knn refuses the columns it keeps."""
    alone = str(getattr(estimator, "chain", "")).startswith("rrelieff")
    return {"check_estimators_pickle": exceptions.__doc__ or ""} if alone else {}


@parametrize_with_checks(
    [
        *map(tried, ALWAYS),
        ChainSelector("mim:top=1,missing=level relieff"),
        ChainSelector("mim:top=3 jmi:top=1"),
        ChainClassifier("mim:top=2 knn"),
        ChainRegressor(),
        fsframe.sklearn.Ridge(),
        fsframe.sklearn.Sklearn(estimator="LogisticRegression"),
        fsframe.sklearn.SklearnSelector(estimator="SelectKBest", options='{"k": 1}'),
    ],
    expected_failed_checks=exceptions,
)
def test_scikit_learns_own_checks_pass(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in offered_names() if name not in ALWAYS])
def test_scikit_learns_own_checks_pass_for_every_method(name: str) -> None:
    check_estimator(tried(name), expected_failed_checks=EXPECTED_TO_FAIL.get(name))


def test_every_method_but_the_protocols_is_an_estimator() -> None:
    from fsframe import classifiers, selectors

    offers = [*selectors.offers(), *classifiers.offers()]
    bundled = {o.name for o in offers if o.plugin.source.bundled}
    left_out = bundled - set(offered_names().values())
    assert left_out == {"cross-validation", "stability-study"}
    assert all(estimator(name).__name__ in offered_names() for name in bundled - left_out)
