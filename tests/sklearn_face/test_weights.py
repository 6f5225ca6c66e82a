"""`sample_weight` equals repeated rows, or is refused, in every estimator and in chains."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import fsframe.sklearn
from fsframe import classifiers, selectors
from fsframe.method.selector import Selector
from fsframe.sklearn import ChainClassifier, ChainRegressor, ChainSelector, offered_names
from tests.grids import shortened

from .estimator_checks import CHAINS, TRIED_AS

pytestmark = pytest.mark.filterwarnings("ignore::fsframe.errors.FsframeWarning")

draw = np.random.default_rng(0)
N = 48
X = draw.normal(size=(N, 5))
X[:, 3], X[:, 4] = np.round(X[:, 3]), draw.integers(0, 3, N)
CLASSES = (X[:, 0] + 0.5 * X[:, 4] + draw.normal(size=N) > 0.3).astype(int)
NUMBERS = X[:, 0] + 0.5 * X[:, 4] + 0.7 * draw.normal(size=N)
TIMES = np.where(draw.random(N) < 0.3, -1, 1) * np.exp(NUMBERS)
LABELS = {"classification": CLASSES, "regression": NUMBERS, "survival": TIMES}
HOLED = np.where(draw.random(X.shape) < 0.1, np.nan, X)
SITE = draw.integers(0, 3, N)
NEW = draw.normal(size=(9, 5))
# Each row up to three times; the rows in the order of the table.
WEIGHTS = draw.integers(0, 4, N)
ROWS = np.repeat(np.arange(N), WEIGHTS)
REFUSED = r"takes no sample_weight|samples or splits single rows|permutations shuffle labels"


def found(fitted: Any) -> dict[str, NDArray[Any]]:
    """What a fit says: of selectors scores, order and p-values, of the others predictions."""
    said: dict[str, NDArray[Any]] = {}
    for name in ("scores_", "ranking_", "pvalues_"):
        if hasattr(fitted, name):
            said[name] = np.asarray(getattr(fitted, name), dtype=float)
    if hasattr(fitted, "decision_function"):
        said["scores of classes"] = fitted.decision_function(NEW)
    elif hasattr(fitted, "predict"):
        said["numbers"] = fitted.predict(NEW)
    return said


def weights_are_rows(make: Any, table: NDArray[Any], y: NDArray[Any], **roles: Any) -> bool | None:
    """Whether weights were accepted; they then have to give what repeated rows give.

    None if such a table is refused without weights too.
    """
    try:
        weighted = make().fit(table, y, sample_weight=WEIGHTS, **roles)
    except ValueError as error:
        if re.search(REFUSED, str(error)):
            return False
        with pytest.raises(type(error)):
            make().fit(table, y, **roles)
        return None
    repeated = make().fit(table[ROWS], y[ROWS], **{k: v[ROWS] for k, v in roles.items()})
    told, expected = found(weighted), found(repeated)
    assert told.keys() == expected.keys() and told
    for name, values in told.items():
        np.testing.assert_allclose(values, expected[name], rtol=1e-7, atol=1e-9, err_msg=name)
    return True


def variants(name: str, method: Any) -> Iterator[dict[str, Any]]:
    """Parameters: each value of each choice that is not the default."""
    tried = TRIED_AS.get(name, {})
    for parameter in method.parameters():
        for word in parameter.kind.choices():
            value = parameter.kind.parse(word)
            if value != parameter.default and parameter.name not in tried:
                yield {**tried, parameter.name: value}


def answers(name: str, values: dict[str, Any]) -> set[bool | None]:
    """What `weights_are_rows` says of an estimator with these parameters, on all labels."""
    text = offered_names()[name]
    method = (selectors if text in selectors else classifiers)[text]
    made = getattr(fsframe.sklearn, name)
    selects = issubclass(method, Selector)
    tables: list[tuple[NDArray[Any], dict[str, Any]]] = [(X, {})]
    if values == TRIED_AS.get(name, {}) or "missing" in values:
        tables += [(HOLED, {}), (X, {"adjust": SITE})] if selects else [(HOLED, {})]
    found: set[bool | None] = set()
    for task, y in LABELS.items():
        predicts = ChainClassifier if task == "classification" else ChainRegressor
        kind = ChainSelector if selects else predicts

        def make(kind: Any = kind) -> Any:
            return made(**values) if takes_weights(name) else kind([made(**values)])

        found |= {weights_are_rows(make, table, y, **roles) for table, roles in tables}
    return found - {None}


def takes_weights(name: str) -> bool:
    """Whether `fit` of the estimator itself has `sample_weight`; others are tried as a chain."""
    return "sample_weight" in inspect.signature(getattr(fsframe.sklearn, name).fit).parameters


IN_EVERY_RUN = {
    *("AnovaF", "Boruta", "CoxScore", "Immigrate", "Impute", "Interactions", "JMI", "KNN"),
    *("Lasso", "MRMR", "NPFS", "ReliefF", "Ridge", "Sklearn", "Variance", "WeightedKNN"),
}
"""Some of each family; the conformance suite tries weights of rows with every method."""


@pytest.mark.parametrize("name", shortened(list(offered_names()), IN_EVERY_RUN))
def test_weights_are_repeated_rows_or_refused(name: str) -> None:
    result = answers(name, TRIED_AS.get(name, {}))
    assert result == {True} if takes_weights(name) else result


@pytest.mark.slow
@pytest.mark.parametrize("name", offered_names())
def test_weights_are_so_with_every_other_choice(name: str) -> None:
    text = offered_names()[name]
    method = (selectors if text in selectors else classifiers)[text]
    tried = [answers(name, values) for values in variants(name, method)]
    # What suits no label is refused without weights too.
    assert not takes_weights(name) or not tried or {True} in tried


WEIGHED = [(ChainSelector, "mim:top=3 lasso:top=2"), (ChainRegressor, "knn:k=5")]


@pytest.mark.parametrize(("kind", "chain"), [*CHAINS, *WEIGHED])
def test_weights_of_chains_are_repeated_rows_or_refused(kind: Any, chain: str) -> None:
    y = NUMBERS if kind is ChainRegressor else CLASSES
    accepts = {"mim:top=3 jmi:top=1", "mim:top=2 knn", *(text for _, text in WEIGHED)}
    assert weights_are_rows(lambda: kind(chain), X, y) == (chain in accepts)


@pytest.mark.parametrize("kind", [fsframe.sklearn.AnovaF, fsframe.sklearn.Chi2])
def test_p_values_count_the_rows_whatever_the_scale_of_relative_weights(kind: Any) -> None:
    rng = np.random.default_rng(5)
    X, y = rng.integers(0, 3, (60, 3)).astype(float), np.arange(60) % 2
    X[:, 0] += y
    weights = rng.random(60) + 0.5
    plain = kind().fit(X, y).pvalues_
    np.testing.assert_allclose(kind().fit(X, y, sample_weight=np.full(60, 7.5)).pvalues_, plain)
    relative = kind().fit(X, y, sample_weight=weights).pvalues_
    assert not np.allclose(relative, plain)
    np.testing.assert_allclose(
        kind().fit(X, y, sample_weight=20 * weights).pvalues_, relative, rtol=1e-8
    )


def test_the_unit_of_weights_does_not_matter_where_they_need_not_be_numbers_of_rows() -> None:
    for chain in ("mrmr:top=4", "mim:top=3 jmi:top=1"):
        once, quarters = (
            ChainSelector(chain).fit(X, CLASSES, sample_weight=weights).scores_
            for weights in (WEIGHTS, WEIGHTS / 4)
        )
        np.testing.assert_allclose(quarters, once, atol=1e-12)
    with pytest.raises(ValueError, match="knn counts rows, so the weights must be integers"):
        ChainClassifier("mim:top=4 knn").fit(X, CLASSES, sample_weight=WEIGHTS / 4)
    with pytest.raises(ValueError, match=r"npfs samples .* rows have weights \('sample_weight'\)"):
        ChainSelector("mim:top=1 npfs:n=9").fit(X, CLASSES, sample_weight=WEIGHTS)


FURTHER = [
    ('importance:options={"n_estimators":5}', True),
    ("rfe:step=0.5,top=2", True),
    ("jmi:given=[x0],top=2", True),
    ("mim:discretise=edges,edges=[-0.5,0.5]", True),
    ('sklearn-selector:estimator=SelectKBest,options={"score_func":"mutual_info_classif"}', True),
    ("lasso:top=2,weakness=0.5", True),
    ("elastic-net:top=2,score_by=coefficient", True),
]


@pytest.mark.parametrize(("chain", "accepted"), FURTHER)
def test_weights_are_so_with_further_parameters(chain: str, accepted: bool) -> None:
    assert weights_are_rows(lambda: ChainSelector(chain), X, CLASSES) == accepted


@pytest.mark.parametrize(
    ("kind", "chain", "why"),
    [
        (ChainClassifier, "immigrate margin", "immigrate .* copies of a row are never its neigh"),
        (ChainSelector, "mim:estimator=knn", r"mim .* no neighbour of itself \(estimator=knn\)"),
        (ChainSelector, "rfecv:of=SVC", "rfecv .* all copies of a weighted row are in one fold"),
        (ChainRegressor, "lasso ridge", "lasso .* one fold(.|\n)*ridge .* leaving out a weighted"),
        (ChainClassifier, "mim:top=2 weighted-knn", "weighted-knn .* one of the k neighbours"),
        (ChainClassifier, "bim-vote", "bim-vote .* no neighbours of each other"),
    ],
)
def test_a_refusal_says_which_stage_and_why(kind: Any, chain: str, why: str) -> None:
    y = NUMBERS if kind is ChainRegressor else CLASSES
    with pytest.raises(ValueError, match=why):
        kind(chain).fit(X, y, sample_weight=WEIGHTS)
    # Fractions too; weights that are all one are none.
    with pytest.raises(ValueError, match="sample_weight"):
        kind(chain).fit(X, y, sample_weight=WEIGHTS / 4)
