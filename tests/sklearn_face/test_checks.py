"""Scikit-learn's own checks of one estimator of each kind and of chains, and slowly of all.

What fails is in ``estimator_checks.json``, which `tests.sklearn_face.estimator_checks` writes.
"""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

import fsframe.sklearn
from fsframe.sklearn import estimator, offered_names

from .estimator_checks import CHAINS, PAGE, expected, names, page, stored, tried

pytestmark = pytest.mark.filterwarnings("ignore::fsframe.errors.FsframeWarning")

ALWAYS = (
    # What all methods share is in one base class of each kind: one selects, two predict.
    *("MRMR", "WeightedKNN", "Ridge"),
    'ChainSelector("mim:top=3 jmi:top=1")',
    'ChainClassifier("mim:top=2 knn")',
    'ChainRegressor("rrelieff knn:k=5")',
)


def exceptions(estimator: Any) -> dict[str, str]:
    """The expected failures of a chain that `parametrize_with_checks` asks about."""
    name = f'{type(estimator).__name__}("{getattr(estimator, "chain", "")}")'
    return expected().get(name, {})


@parametrize_with_checks([*map(tried, ALWAYS)], expected_failed_checks=exceptions)
def test_scikit_learns_own_checks_pass(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [name for name in names() if name not in ALWAYS or name in expected()]
)
def test_scikit_learns_own_checks_fail_only_as_listed(name: str) -> None:
    results = check_estimator(tried(name), on_fail=None, on_skip=None)
    failed = {result["check_name"] for result in results if result["status"] == "failed"}
    assert failed == set(expected().get(name, {}))


def test_the_page_says_what_the_run_found() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), (
        "run python -m tests.sklearn_face.estimator_checks --page"
    )


def test_the_run_was_of_every_object_and_each_failure_has_a_reason() -> None:
    result = stored()
    assert list(result) == names()
    for name, each in result.items():
        assert each["passed"] + each["failed"] > 30, name
        # Some checks are made several times, with other parameters.
        assert len(each["failures"]) <= each["failed"], name
        assert bool(each["failures"]) == bool(each["failed"]), name
        assert all(failure["reason"].strip() for failure in each["failures"].values()), name
    # The page says how many chains were tried, and which two of them pass.
    passing = [text for kind, text in CHAINS if not result[f'{kind.__name__}("{text}")']["failed"]]
    assert len(CHAINS) == 8 and passing == ["mim:top=3 jmi:top=1", "mim:top=2 knn"]


def test_every_method_but_the_protocols_is_an_estimator() -> None:
    from fsframe import classifiers, selectors

    offers = [*selectors.offers(), *classifiers.offers()]
    bundled = {o.name for o in offers if o.plugin.source.bundled}
    left_out = bundled - set(offered_names().values())
    assert left_out == {"cross-validation", "stability-study"}
    for name in bundled - left_out:
        assert getattr(fsframe.sklearn, estimator(name).__name__) is estimator(name)
