"""Every criterion against the plain, slow reading of its formula and reference selections."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import fsframe
from fsframe.method.run import Run
from fsframe.table.dataset import Dataset
from fsframe_infotheory import plain
from fsframe_infotheory.engine import counting

CRITERIA = {**plain.CRITERIA, "mim": lambda facts, j, selected: facts.relevance(j)}


@pytest.fixture(autouse=True, scope="module")
def _threads_share_even_small_work():
    before, counting.SMALL_WORK = counting.SMALL_WORK, 0
    yield
    counting.SMALL_WORK = before


def plainly(X, y, weights, score, k):
    return plain.select(plain.Informations(X, y, weights), score, k)


@st.composite
def tables(draw, holes=False):
    """Small tables whose columns have from 1 to 40 levels, so that every way to count is met."""
    n, p = draw(st.integers(4, 70)), draw(st.integers(2, 6))
    seed = draw(st.integers(0, 10**6))
    rng = np.random.default_rng(seed)
    n_levels = rng.choice([1, 2, 3, 5, 17, 40], p)
    X = np.column_stack([rng.integers(0, size, n) for size in n_levels]).astype(float)
    y = rng.integers(0, draw(st.integers(2, 4)), n)
    y[:2] = [0, 1]
    if p > 2 and draw(st.booleans()):
        X[:, 1] = X[:, 0]
    if holes:
        X[rng.random(X.shape) < 0.15] = np.nan
    return X, y, seed


def make(text, **more):
    name, _, options = text.partition(":")
    values = dict(option.split("=") for option in options.split(",") if option)
    return fsframe.selectors[name].from_texts({**values, **{k: str(v) for k, v in more.items()}})


def check(found, order, scores):
    assert found.selected.tolist() == order
    assert_allclose(found.scores[order], scores, rtol=0, atol=1e-10)


@pytest.mark.parametrize("criterion", CRITERIA)
@settings(max_examples=12, deadline=None)
@given(tables())
def test_engine_equals_the_plain_formula(criterion, drawn):
    X, y, _ = drawn
    order, scores = plainly(X, y, np.ones(len(y)), CRITERIA[criterion], X.shape[1])
    selector = make(criterion, discretise="none", top=1.0)
    data = Dataset.from_arrays(X, y)
    for threads in (1, 2):
        check(selector.select(data, run=Run(threads=threads)), order, scores)


@pytest.mark.parametrize("criterion", ["mim", "jmi", "cmim", "disr", "cmi", "jmi3", "mrmr"])
@settings(max_examples=8, deadline=None)
@given(tables())
def test_importance_weights_equal_the_plain_weighted_formula(criterion, drawn):
    X, y, seed = drawn
    rng = np.random.default_rng(seed)
    weights = rng.integers(1, 9, len(y)) / 4
    order, scores = plainly(X, y, weights, CRITERIA[criterion], X.shape[1])
    upstream = fsframe.Selection(
        selected=np.arange(X.shape[1]), scores=np.zeros(X.shape[1]), instance_weights=weights
    )
    selector = make(criterion, discretise="none", top=1.0)
    check(selector.select(Dataset.from_arrays(X, y), upstream=upstream), order, scores)


@pytest.mark.parametrize("criterion", ["mim", "jmi", "cmim", "disr", "cife", "cmi", "jmi3", "mrmr"])
@settings(max_examples=8, deadline=None)
@given(tables(holes=True))
def test_pairwise_deletion_equals_the_plain_formula_over_present_rows(criterion, drawn):
    X, y, _ = drawn
    order, scores = plainly(X, y, np.ones(len(y)), CRITERIA[criterion], min(3, X.shape[1]))
    selector = make(criterion, discretise="none", missing="pairwise", top=len(order))
    check(selector.select(Dataset.from_arrays(X, y)), order, scores)


@pytest.mark.parametrize("criterion", CRITERIA)
@settings(max_examples=6, deadline=None)
@given(tables())
def test_counts_equal_copied_rows_to_the_bit(criterion, drawn):
    X, y, seed = drawn
    rng = np.random.default_rng(seed)
    data = Dataset.from_arrays(X, y)
    counts = rng.integers(0, 4, len(y))
    counts[:2] = 1
    selector = make(criterion, discretise="none", top=1.0)
    counted = selector.select(data.with_counts(counts))
    copied = selector.select(data.take_rows(np.repeat(np.arange(len(y)), counts)))
    assert counted.selected.tolist() == copied.selected.tolist()
    assert counted.scores.tobytes() == copied.scores.tobytes()


# Reference selections

FORMULAS = {
    "mim": "mim",
    "mifs_1": "mifs:beta=1",
    "mifs_0.5": "mifs:beta=0.5",
    "mrmr": "mrmr",
    "cmim": "cmim",
    "cmim_brown": "cmim:clamp=false",
    "jmi": "jmi",
    "jmi_brown": "jmi:form=mean",
    "disr": "disr",
    "cife": "cife",
    "icap": "icap",
    "condred": "condred",
    "betagamma_0.5_0.5": "betagamma:beta=0.5,gamma=0.5",
    "cmi": "cmi",
    "jmim": "jmim",
    "njmim": "njmim",
}


@pytest.mark.parametrize("name", ["tiny", "m1"])
@pytest.mark.parametrize("criterion", FORMULAS)
def test_order_and_scores_equal_the_formula(name, criterion, table, expected):
    order, scores = expected(f"{name}_formula", criterion)
    found = make(FORMULAS[criterion], top=len(order)).select(table(name))
    assert found.selected.tolist() == order
    assert_allclose(found.scores[order], scores, rtol=0, atol=1e-12)
    if criterion != "mim":
        assert_array_equal(found.tables["criterion"], found.scores[order])


@pytest.mark.parametrize("name", ["tiny", "m1"])
@pytest.mark.parametrize(
    "criterion", ["mrmr", "cmim", "jmi", "disr", "jmim", "njmim", "cmi", "jmi3"]
)
def test_order_and_scores_in_nats_equal_praznik(name, criterion, table, expected):
    order, scores = expected(f"{name}_praznik", criterion)
    found = make(criterion, top=len(order), unit="nats").select(table(name))
    assert found.selected.tolist() == order
    assert_allclose(found.scores[order], scores, rtol=0, atol=1e-12)


@pytest.mark.parametrize("criterion", ["cmim", "cmi", "jmim", "njmim"])
def test_stopping_at_the_first_score_not_above_zero_ends_where_praznik_does(
    criterion, table, expected
):
    order, _ = expected("tiny_praznik", criterion)
    assert make(criterion, stop="positive").select(table("tiny")).selected.tolist() == order
