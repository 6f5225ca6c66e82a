"""The engine against a literal, slow reading of every formula."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from math import log2

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import fsframe
from fsframe.contracts.dataset import Dataset
from fsframe.contracts.run import Run
from fsframe_infotheory.engine import counting


@pytest.fixture(autouse=True, scope="module")
def _threads_share_even_small_work():
    before, counting.SMALL_WORK = counting.SMALL_WORK, 0
    yield
    counting.SMALL_WORK = before


def entropy(*columns, weights):
    sizes = Counter()
    for key, weight in zip(zip(*columns, strict=True), weights, strict=True):
        sizes[key] += weight
    total = sum(sizes.values())
    return -sum(w / total * log2(w / total) for w in sizes.values() if w > 0)


class Literal:
    """Informations by their definitions; rows with a hole in a column used are left out."""

    def __init__(self, X, y, weights):
        self.columns, self.y, self.weights = [list(c) for c in X.T], list(y), list(weights)

    def h(self, used, *parts):
        rows = [
            i for i in range(len(self.y)) if not any(np.isnan(self.columns[j][i]) for j in used)
        ]
        if not rows:
            return 0.0
        taken = [[(self.y if p == "y" else self.columns[p])[i] for i in rows] for p in parts]
        taken = taken or [[0] * len(rows)]
        return entropy(*taken, weights=[self.weights[i] for i in rows])

    def relevance(self, j):
        return self.h([j], j) + self.h([j], "y") - self.h([j], j, "y")

    def red(self, j, s):
        u = [j, s]
        return self.h(u, j) + self.h(u, s) - self.h(u, j, s)

    def condred(self, j, s):
        u = [j, s]
        return self.h(u, j, "y") + self.h(u, s, "y") - self.h(u, j, s, "y") - self.h(u, "y")

    def joint(self, j, *s):
        u = [j, *s]
        return self.h(u, j, *s) + self.h(u, "y") - self.h(u, j, *s, "y")

    def given(self, j, *s):
        u = [j, *s]
        return self.h(u, j, *s) + self.h(u, *s, "y") - self.h(u, j, *s, "y") - self.h(u, *s)

    def ratio(self, j, s):
        e = self.h([j, s], j, s, "y")
        return self.joint(j, s) / e if e > 1e-12 else 0.0


def mean(values):
    return sum(values) / len(values)


CRITERIA = {
    "mifs:beta=0.7": lambda f, j, S: f.relevance(j) - 0.7 * sum(f.red(j, s) for s in S),
    "mrmr": lambda f, j, S: f.relevance(j) - mean([f.red(j, s) for s in S]),
    "jmi": lambda f, j, S: sum(f.joint(j, s) for s in S),
    "jmi:form=mean": lambda f, j, S: (
        f.relevance(j) - mean([f.red(j, s) - f.condred(j, s) for s in S])
    ),
    "cmim": lambda f, j, S: min([f.relevance(j), *(f.given(j, s) for s in S)]),
    "cmim:clamp=false": lambda f, j, S: min(f.given(j, s) for s in S),
    "disr": lambda f, j, S: sum(f.ratio(j, s) for s in S),
    "icap": lambda f, j, S: (
        f.relevance(j) - sum(max(0.0, f.red(j, s) - f.condred(j, s)) for s in S)
    ),
    "cife": lambda f, j, S: f.relevance(j) - sum(f.red(j, s) - f.condred(j, s) for s in S),
    "condred": lambda f, j, S: f.relevance(j) + sum(f.condred(j, s) for s in S),
    "betagamma:beta=0.3,gamma=0.6": lambda f, j, S: (
        f.relevance(j) - sum(0.3 * f.red(j, s) - 0.6 * f.condred(j, s) for s in S)
    ),
    "jmim": lambda f, j, S: min(f.joint(j, s) for s in S),
    "njmim": lambda f, j, S: min(f.ratio(j, s) for s in S),
    "cmi": lambda f, j, S: f.given(j, *S),
    "jmi3": lambda f, j, S: (
        f.joint(j, S[0]) if len(S) == 1 else sum(f.joint(j, u, w) for u, w in combinations(S, 2))
    ),
}


def literally(X, y, weights, score, k):
    facts = Literal(X, y, weights)
    selected, scores = [], []
    while len(selected) < k:
        left = [j for j in range(X.shape[1]) if j not in selected]
        found = [score(facts, j, selected) if selected else facts.relevance(j) for j in left]
        best = next(i for i, v in enumerate(found) if v >= max(found) - 1e-10)
        selected.append(left[best])
        scores.append(found[best])
    return selected, scores


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
    return fsframe.selectors[name].from_texts({**values, **more})


def check(found, order, scores):
    assert found.selected.tolist() == order
    assert_allclose(found.scores[order], scores, rtol=0, atol=1e-10)


@pytest.mark.parametrize("criterion", CRITERIA)
@settings(max_examples=12, deadline=None)
@given(tables())
def test_engine_equals_the_literal_formula(criterion, drawn):
    X, y, _ = drawn
    order, scores = literally(X, y, np.ones(len(y)), CRITERIA[criterion], X.shape[1])
    selector = make(criterion, discretise="none", top="1.0")
    data = Dataset.from_arrays(X, y)
    for threads in (1, 2):
        check(selector.select(data, run=Run(threads=threads)), order, scores)


@pytest.mark.parametrize("criterion", ["jmi", "cmim", "disr", "cmi", "jmi3", "mrmr"])
@settings(max_examples=8, deadline=None)
@given(tables())
def test_importance_weights_equal_the_literal_weighted_formula(criterion, drawn):
    X, y, seed = drawn
    rng = np.random.default_rng(seed)
    weights = rng.integers(1, 9, len(y)) / 4
    order, scores = literally(X, y, weights, CRITERIA[criterion], X.shape[1])
    upstream = fsframe.Selection(
        selected=np.arange(X.shape[1]), scores=np.zeros(X.shape[1]), instance_weights=weights
    )
    selector = make(criterion, discretise="none", top="1.0")
    check(selector.select(Dataset.from_arrays(X, y), upstream=upstream), order, scores)


@pytest.mark.parametrize("criterion", ["jmi", "cmim", "disr", "cife", "cmi", "jmi3", "mrmr"])
@settings(max_examples=8, deadline=None)
@given(tables(holes=True))
def test_pairwise_deletion_equals_the_literal_formula_over_present_rows(criterion, drawn):
    X, y, _ = drawn
    order, scores = literally(X, y, np.ones(len(y)), CRITERIA[criterion], min(3, X.shape[1]))
    selector = make(criterion, discretise="none", missing="pairwise", top=str(len(order)))
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
    selector = make(criterion, discretise="none", top="1.0")
    counted = selector.select(data.with_counts(counts))
    copied = selector.select(data.take_rows(np.repeat(np.arange(len(y)), counts)))
    assert counted.selected.tolist() == copied.selected.tolist()
    assert counted.scores.tobytes() == copied.scores.tobytes()
