"""Scores against slow programs written from the formulas, against CORElearn, and by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import fsframe
from fsframe.method.run import Run
from fsframe.method.selection import Selection
from fsframe.table.dataset import Dataset
from fsframe_relief import plain
from fsframe_relief.engine.columns import prepare_columns
from fsframe_relief.engine.feature_scores import distance_rows
from tests.grids import examples

from .conftest import method, read_scores

EXAMPLES = examples(30)
# The plain program takes the mean of nothing for a row without any value.
pytestmark = pytest.mark.filterwarnings("ignore:Mean of empty slice", "ignore:Degrees of freedom")


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


def select(text, table, **options):
    X, y, discrete = table
    selector = method(text, discrete_features=said(discrete))
    return selector.select(Dataset.from_arrays(X, y), **options)


PLAIN = {
    "relief": ("nearest", {"k": 1, "pooled": True}),
    # one place shared by all that are tied for it is their plain mean
    "relieved-f": ("nearest", {"k": 1}),
    "relieff:k=4": ("nearest", {"k": 4}),
    **{name: (name, {}) for name in ("surf", "multisurf", "surfstar", "multisurfstar", "swrfstar")},
}
"""Each method, and its rule with options of the plain program."""


@pytest.mark.parametrize("text", PLAIN)
@EXAMPLES
@given(table=tables(), drawn=st.booleans(), weighted=st.booleans())
def test_scores_equal_the_definition(text, table, drawn, weighted):
    # Rows that were drawn twice are copies, and no neighbours of one another; weights of instances
    # weigh targets and nothing else.
    X, y, discrete = table
    rng = np.random.default_rng(len(y))
    counts = rng.integers(0, 3, len(y)) if drawn else np.ones(len(y), int)
    row, omega = np.repeat(np.arange(len(y)), counts), rng.random(len(y))
    assume((~np.isnan(X[row])).any(axis=0).all() and len(np.unique(y[row])) > 1)
    everything = np.arange(X.shape[1])
    before = Selection(
        selected=everything, scores=0.0 * everything, instance_weights=omega if weighted else None
    )
    selector = method(text, discrete_features=said(discrete))
    scores = selector.select(Dataset.from_arrays(X, y).with_counts(counts), before).scores
    rule, options = PLAIN[text]
    truth = plain.scores(
        X[row], y[row], discrete, rule, row=row, omega=omega[row] if weighted else None, **options
    )
    np.testing.assert_allclose(scores, truth, rtol=0, atol=1e-12)


@pytest.mark.parametrize("ties", ["share", "index"])
def test_k_counts_drawn_copies_beyond_the_number_of_different_rows(ties):
    # 10 rows, 8 to 10 copies of each: 15 neighbours are copies of two rows, not all there are
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(10, 3)), np.arange(10) % 2
    counts = rng.integers(8, 11, 10)
    data = Dataset.from_arrays(X, y).with_counts(counts)
    scores = method(f"relieff:k=15,ties={ties},discrete_features=none").select(data).scores
    row = np.repeat(np.arange(10), counts)
    truth = plain.scores(X[row], y[row], np.zeros(3, bool), "nearest", k=15, row=row)
    np.testing.assert_allclose(scores, truth, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ["surfstar", "multisurfstar", "swrfstar"])
@EXAMPLES
@given(table=tables())
def test_hits_of_a_numeric_target_are_rows_with_a_similar_value(name, table):
    X, y, discrete = table
    draw = np.random.default_rng(0)
    value, omega = y + draw.random(len(y)), draw.random(len(y))
    everything = np.arange(X.shape[1])
    before = Selection(selected=everything, scores=0.0 * everything, instance_weights=omega)
    truth = plain.alike_scores(X, value, discrete, name, omega)
    scores = select(name, (X, value, discrete), upstream=before).scores
    np.testing.assert_allclose(scores, truth, rtol=0, atol=1e-12)


@EXAMPLES
@given(table=tables(), k=st.integers(2, 8), decay=st.sampled_from([None, 3.0]))
def test_rrelieff_compares_diffs_with_differences_of_the_target(table, k, decay):
    X, y, discrete = table
    value = y + np.random.default_rng(0).random(len(y))
    weighting = "weighting=equal" if decay is None else f"decay={decay}"
    scores = select(f"rrelieff:k={k},{weighting}", (X, value, discrete)).scores
    with np.errstate(invalid="ignore", divide="ignore"):
        truth = plain.regression_scores(X, value, discrete, k, decay)
    # a column of one value scores 0, and a sum that nobody adds to counts 0
    settled = np.isfinite(truth) & (np.nanmin(X, axis=0) < np.nanmax(X, axis=0))
    np.testing.assert_allclose(scores[settled], truth[settled], rtol=0, atol=1e-12)


@EXAMPLES
@given(table=tables(), least=st.integers(1, 5), rounds=st.integers(1, 3))
def test_iterative_relief_weighs_the_distance_by_the_scores_so_far(table, least, rounds):
    X, y, discrete = table
    first = plain.iterative_scores(X, y, discrete, least, 1)
    # nothing to go by after the first round, and a round that changes nothing, end it early
    assume(rounds == 1 or first.max() > 1e-6)
    selection = select(f"iterative-relief:least={least},rounds={rounds},tol=1e-300", table)
    assume(selection.tables["changes"].size == rounds)
    truth = plain.iterative_scores(X, y, discrete, least, rounds)
    # Distances go by the scores of the round before, so that roundings grow from round to round.
    np.testing.assert_allclose(selection.scores, truth, rtol=0, atol=1e-8)


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
    text = f"vls:subset={subset},rounds={rounds},scoring={scoring},k=3"
    np.testing.assert_allclose(select(text, table, run=run).scores, best, rtol=0, atol=1e-12)


def test_vls_says_once_which_columns_have_no_value():
    X = np.random.default_rng(0).normal(size=(40, 6))
    X[:, [2, 5]] = np.nan
    data = Dataset.from_arrays(X, np.arange(40) % 2)
    # The last part of a round has none of them, one or both.
    for seed in range(4):
        result = fsframe.Chain.parse("vls:subset=3,rounds=1").select(data, seed=seed)
        assert np.isnan(result.scores[[2, 5]]).all()
        said = [note for note in result.warnings if "score" in note]
        assert said == ["no score for 2 columns without any value, first 'f3'"], seed


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
    turf = fsframe.selectors["turf"](base=base, drop=drop, top=top)
    selection = turf.select(Dataset.from_arrays(X, y))
    assert set(selection.selected) == set(left)
    np.testing.assert_allclose(selection.tables["last_score"], last, rtol=0, atol=1e-12)


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
    scores = select("relieff:k=1,missing=probability", (X, y, np.array([False, True]))).scores
    np.testing.assert_allclose(scores, truth, rtol=0, atol=1e-14)


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
    text = "relieff:k=5,missing=probability,ramp=[0.1,0.9]"
    scores = select(text, (X, y, np.zeros(1, bool))).scores
    same = y[:, None] == y[None, :]
    hits = np.array([truth[i][same[i] & off[i]].mean() for i in range(6)])
    misses = np.array([truth[i][~same[i]].mean() for i in range(6)])
    np.testing.assert_allclose(scores, (misses - hits).mean(), rtol=0, atol=1e-14)


def test_distance_weighting_gives_a_neighbour_at_distance_zero_all_the_weight():
    X = np.array([[0.0, 0], [0, 0], [0.2, 0], [1, 1], [0.9, 1]])
    table = X, np.array([0, 0, 0, 1, 1]), np.zeros(2, bool)
    near = select("relieff:k=5,weighting=distance", table).scores
    # rows 0 and 1 are each other's only hit that counts; row 2 has both at 0.2; 3 and 4 each other
    misses_0 = (1 / 2 * 1.0 + 1 / 1.9 * 0.9) / (1 / 2 + 1 / 1.9)
    misses_2 = (1 / 1.8 * 0.8 + 1 / 1.7 * 0.7) / (1 / 1.8 + 1 / 1.7)
    misses_3 = (2 / 2 * 1.0 + 1 / 1.8 * 0.8) / (2 / 2 + 1 / 1.8)
    misses_4 = (2 / 1.9 * 0.9 + 1 / 1.7 * 0.7) / (2 / 1.9 + 1 / 1.7)
    truth = (2 * misses_0 + (misses_2 - 0.2) + (misses_3 - 0.1) + (misses_4 - 0.1)) / 5
    assert near[0] == pytest.approx(truth, abs=1e-14)


REFERENCES = {
    "gametes2way_plain": {
        "plain_ReliefF_k10_tieindex": "relieff:k=10,ties=index",
        "plain_ReliefF_k100_tieindex": "relieff:k=100,ties=index",
    },
    "mixed3class_complete_corelearn": {
        "cl_ReliefFequalK_k10_noramp": "relieff:k=10",
        "cl_ReliefFequalK_k100_noramp": "relieff:k=100",
        "cl_ReliefFexpRank_k70_s20_noramp": "relieff:weighting=rank",
        "cl_ReliefFdistance_noramp": "relieff:weighting=distance",
        "cl_Relief": "relief",
    },
    "contreg_corelearn": {
        "cl_RReliefFequalK_k10_noramp": "rrelieff:k=10,weighting=equal",
        "cl_RReliefFequalK_k100_noramp": "rrelieff:k=100,weighting=equal",
        "cl_RReliefFexpRank_k70_s20_noramp": "rrelieff",
        "cl_RReliefFdistance_noramp": "rrelieff:weighting=distance",
        "cl_RReliefFequalK_k10_ramp": "rrelieff:k=10,weighting=equal,ramp=[0.04,0.1]",
        "cl_RReliefFexpRank_default": "rrelieff:ramp=[0.04,0.1]",
    },
}
"""Of ties by row a slow program, of all else CORElearn, where its definitions are ours."""


@pytest.mark.parametrize(
    ("name", "column", "text"),
    [(name, column, text) for name, of in REFERENCES.items() for column, text in of.items()],
)
def test_scores_equal_those_of_other_programs(table, name, column, text):
    truth = read_scores(f"scores_{name}.csv")[column]
    scores = method(text).select(table(f"{name.rpartition('_')[0]}.csv")).scores
    np.testing.assert_allclose(scores, truth, rtol=0, atol=1e-12)
