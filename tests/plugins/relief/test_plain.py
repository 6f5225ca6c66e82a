"""Methods against slow programs written from the formulas of their pages, on random tables."""

from __future__ import annotations

import warnings

import attrs
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from fsframe.errors import RequestError
from fsframe.method.run import Run
from fsframe.table.dataset import Dataset
from fsframe_relief import plain
from fsframe_relief.engine.columns import prepare_columns
from fsframe_relief.engine.feature_scores import distance_rows
from fsframe_relief.methods.repeated import IterativeRelief, Turf, Vls
from fsframe_relief.methods.variants import (
    Multisurf,
    Multisurfstar,
    Relief,
    Relieff,
    RelievedF,
    Rrelieff,
    Surf,
    Surfstar,
    Swrfstar,
)

EXAMPLES = settings(max_examples=30, deadline=None)


@st.composite
def tables(draw, gaps=True):
    """Features, classes, and which features are discrete; ties, equal rows and gaps among them."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    n, p = draw(st.integers(8, 24)), draw(st.integers(2, 7))
    X = rng.normal(size=(n, p)).round(draw(st.sampled_from([1, 6])))
    discrete = rng.random(p) < draw(st.sampled_from([0.0, 0.5, 1.0]))
    X[:, discrete] = rng.integers(0, 3, (n, int(discrete.sum())))
    y = rng.integers(0, draw(st.integers(2, 4)), n)
    y[:2] = 0, 1
    y = np.unique(y, return_inverse=True)[1]
    if gaps and draw(st.booleans()):
        X[rng.random((n, p)) < 0.1] = np.nan
    assume((~np.isnan(X)).any(axis=0).all())
    return X, y, discrete


def said(discrete):
    """The discrete features by name; few levels are no reason to take others for discrete."""
    return tuple(f"f{a + 1}" for a in np.flatnonzero(discrete)) or "none"


def select(method, table, **options):
    X, y, discrete = table
    method = attrs.evolve(method, discrete_features=said(discrete))
    return method.select(Dataset.from_arrays(X, y), **options)


PLAIN = {
    "relief": (Relief(), "nearest", {"k": 1, "pooled": True}),
    # one place shared by all that are tied for it is their plain mean
    "relieved-f": (RelievedF(), "nearest", {"k": 1}),
    "relieff": (Relieff(k=4), "nearest", {"k": 4}),
    "surf": (Surf(), "surf", {}),
    "surfstar": (Surfstar(), "surfstar", {}),
    "multisurf": (Multisurf(), "multisurf", {}),
    "multisurfstar": (Multisurfstar(), "multisurfstar", {}),
    "swrfstar": (Swrfstar(), "swrfstar", {}),
}
"""Each method, and its rule with options of the plain program."""


@pytest.mark.parametrize("name", PLAIN)
@EXAMPLES
@given(table=tables())
def test_scores_equal_the_definition(name, table):
    method, rule, options = PLAIN[name]
    # The plain program takes the mean of nothing for a row without any value.
    with warnings.catch_warnings(action="ignore"):
        truth = plain.scores(*table, rule, **options)
    np.testing.assert_allclose(select(method, table).scores, truth, rtol=0, atol=1e-12)


@EXAMPLES
@given(table=tables(), k=st.integers(2, 8), decay=st.sampled_from([None, 3.0]))
def test_rrelieff_compares_diffs_with_differences_of_the_target(table, k, decay):
    X, y, discrete = table
    value = y + np.random.default_rng(0).random(len(y))
    method = Rrelieff(k=k, weighting="equal") if decay is None else Rrelieff(k=k, decay=decay)
    found = select(method, (X, value, discrete)).scores
    with np.errstate(invalid="ignore", divide="ignore"):
        truth = plain.regression_scores(X, value, discrete, k, decay)
    # a column of one value scores 0, and a sum that nobody adds to counts 0
    settled = np.isfinite(truth) & (np.nanmin(X, axis=0) < np.nanmax(X, axis=0))
    np.testing.assert_allclose(found[settled], truth[settled], rtol=0, atol=1e-12)


@EXAMPLES
@given(table=tables(), least=st.integers(1, 5), rounds=st.integers(1, 3))
def test_iterative_relief_weighs_the_distance_by_the_scores_so_far(table, least, rounds):
    X, y, discrete = table
    first = plain.iterative_scores(X, y, discrete, least, 1)
    # nothing to go by after the first round, and a round that changes nothing, end it early
    assume(rounds == 1 or first.max() > 1e-6)
    found = select(IterativeRelief(least=least, rounds=rounds, tol=1e-300), table)
    assume(found.tables["changes"].size == rounds)
    truth = plain.iterative_scores(X, y, discrete, least, rounds)
    # Distances go by the scores of the round before, so that roundings grow from round to round.
    np.testing.assert_allclose(found.scores, truth, rtol=0, atol=1e-8)


@EXAMPLES
@given(
    table=tables(),
    subset=st.integers(2, 5),
    rounds=st.integers(1, 3),
    scoring=st.sampled_from(["relieff", "surf", "multisurf"]),
)
def test_vls_keeps_the_largest_score_over_disjoint_subsets(table, subset, rounds, scoring):
    X, y, discrete = table
    p = X.shape[1]
    best, run = np.full(p, -np.inf), Run(entropy=7)
    for t in range(rounds):
        order = run.generator(2, t).permutation(p)
        parts = [order[start : start + subset] for start in range(0, p, subset)]
        if len(parts) > 1 and len(parts[-1]) < subset // 2:
            last = parts.pop()
            parts[-1] = np.concatenate([parts[-1], last])
        for part in map(np.sort, parts):
            rule = "nearest" if scoring == "relieff" else scoring
            of_part = plain.scores(X[:, part], y, discrete[part], rule, k=3)
            best[part] = np.maximum(best[part], of_part)
    method = Vls(subset=subset, rounds=rounds, scoring=scoring, k=3)
    np.testing.assert_allclose(select(method, table, run=run).scores, best, rtol=0, atol=1e-12)


@EXAMPLES
@given(table=tables(), drop=st.integers(1, 3), top=st.integers(1, 3))
def test_turf_drops_the_worst_of_each_round(table, drop, top):
    X, y, discrete = table
    left, last = np.arange(X.shape[1]), np.full(X.shape[1], np.nan)
    while True:
        last[left] = plain.scores(X[:, left], y, discrete[left], "nearest", k=3)
        gaps = np.diff(np.sort(last[left]))
        # scores equal but for rounding may be dropped in either order
        assume(not gaps.size or gaps.min() > 1e-9)
        if len(left) <= top:
            break
        keep = max(top, len(left) - drop)
        left = np.sort(left[np.argsort(-last[left])[:keep]])
    names = said(discrete)
    names = names if isinstance(names, str) else f"[{','.join(names)}]"
    base = f"relieff:k=3,discrete_features={names}"
    found = Turf(base=base, drop=drop, top=top).select(Dataset.from_arrays(X, y))
    assert set(found.selected) == set(left)
    np.testing.assert_allclose(found.tables["last_score"], last, rtol=0, atol=1e-12)


def test_gaps_by_probability_in_continuous_and_discrete_columns_worked_by_hand():
    # Column 0 is continuous with range 1 and five bins of 0.2, column 1 discrete. With Laplace's
    # correction, P(bin | class) is 2/7 for a bin met once and 1/7 for one not met; P(0 | class 0)
    # = 3/5, P(1 | class 0) = 2/5, P(0 | class 1) = 1/3, P(1 | class 1) = 2/3.
    gap = np.nan
    X = np.array([[0.0, 0], [1.0, 1], [gap, 0], [0.5, gap], [gap, gap], [0.9, 1]])
    y = np.array([0, 0, 0, 1, 1, 1])
    real, discrete = np.zeros((6, 6)), np.zeros((6, 6))
    worked = [
        (0, 1, 1, 1),
        (0, 2, 1 - 2 / 7, 0),
        (0, 3, 0.5, 1 - 1 / 3),
        (0, 4, 1 - 1 / 7, 1 - 1 / 3),
        (0, 5, 0.9, 1),
        (1, 2, 1 - 2 / 7, 1),
        (1, 3, 0.5, 1 - 2 / 3),
        (1, 4, 1 - 2 / 7, 1 - 2 / 3),
        (1, 5, 0.1, 0),
        (2, 3, 1 - 1 / 7, 1 - 1 / 3),
        # both missing: 1 - sum of P(v | 0) P(v | 1)
        (2, 4, 1 - (2 + 1 + 2 + 1 + 4) / 49, 1 - 1 / 3),
        (2, 5, 1 - 2 / 7, 1),
        (3, 4, 1 - 2 / 7, 1 - (1 / 9 + 4 / 9)),
        (3, 5, 0.4, 1 - 2 / 3),
        (4, 5, 1 - 2 / 7, 1 - 2 / 3),
    ]
    for i, j, of_real, of_discrete in worked:
        real[i, j] = real[j, i] = of_real
        discrete[i, j] = discrete[j, i] = of_discrete
    columns = prepare_columns(X, np.array([False, True]), classes=y)
    D = distance_rows(columns, np.arange(6), np.empty((6, 6)))
    off = ~np.eye(6, dtype=bool)
    np.testing.assert_allclose(D[off], (real + discrete)[off], rtol=0, atol=1e-14)

    delta, total = np.stack([real, discrete], axis=2), real + discrete
    truth = np.zeros(2)
    for i in range(6):
        hits = sorted((j for j in range(6) if j != i and y[j] == y[i]), key=lambda j: total[i, j])
        misses = sorted((j for j in range(6) if y[j] != y[i]), key=lambda j: total[i, j])
        assert total[i, hits[0]] < total[i, hits[1]]
        assert total[i, misses[0]] < total[i, misses[1]]
        truth += (delta[i, misses[0]] - delta[i, hits[0]]) / 6
    method = Relieff(k=1, missing="probability")
    found = method.select(Dataset.from_arrays(X, y, categorical=[False, True])).scores
    np.testing.assert_allclose(found, truth, rtol=0, atol=1e-14)


def test_a_ramp_holds_between_known_values_of_a_column_with_gaps():
    # Beside its one gap the column is ramped like a complete one: 0.1 counts as nothing, 0.5 as a
    # half, 0.9 as all. The gap keeps its chances: P(bin | class) is 2/7 where met once, 1/7 else.
    X = np.array([[0.0], [0.1], [0.5], [1.0], [0.9], [np.nan]])
    y = np.array([0, 0, 1, 1, 1, 0])
    d = np.abs(X - X.T)
    truth = np.clip((d - 0.1) / 0.8, 0.0, 1.0)
    # bins of 0.2: both of class 0 in the first, of class 1 one in the third and two in the last
    truth[5, :5] = truth[:5, 5] = 1 - np.array([3, 3, 1, 1, 1]) / 7
    off = ~np.eye(6, dtype=bool)
    columns = prepare_columns(X, np.array([False]), classes=y, ramp=(0.1, 0.9))
    D = distance_rows(columns, np.arange(6), np.empty((6, 6)))
    np.testing.assert_allclose(D[off], truth[off], rtol=0, atol=1e-14)
    # all hits and misses are neighbours, so that the score is a difference of plain means
    method = Relieff(k=5, missing="probability", ramp=[0.1, 0.9], discrete_features="none")
    found = method.select(Dataset.from_arrays(X, y)).scores
    same = y[:, None] == y[None, :]
    hits = np.array([truth[i][same[i] & off[i]].mean() for i in range(6)])
    misses = np.array([truth[i][~same[i]].mean() for i in range(6)])
    np.testing.assert_allclose(found, (misses - hits).mean(), rtol=0, atol=1e-14)


@pytest.mark.parametrize("method", [Vls, IterativeRelief])
def test_methods_without_p_values_refuse_to_be_asked_for_them(method):
    with pytest.raises(RequestError, match="permutations are not supported"):
        method(permutations=99)
    with pytest.raises(RequestError, match="level needs permutations"):
        method(level=0.05)
