"""Scores against definitions written out as loops, a slow independent program, and CORElearn."""

from __future__ import annotations

import numpy as np
import pytest

from fsframe.method.selection import Selection
from fsframe.table.dataset import Dataset
from fsframe_relief import plain
from fsframe_relief.methods.variants import (
    Multisurf,
    Multisurfstar,
    Relief,
    Relieff,
    Rrelieff,
    Surf,
    Surfstar,
)

from .conftest import read_scores

RULES = {
    "nearest": Relieff(k=4),
    "surf": Surf(),
    "surfstar": Surfstar(),
    "multisurf": Multisurf(),
    "multisurfstar": Multisurfstar(),
}
KINDS = ("continuous", "discrete", "mixed")


def make_table(kind, n=36, p=7, classes=3, gaps=0.0, seed=0):
    """Random columns of a kind, with equal rows, a constant column and missing values."""
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    X = rng.normal(size=(n, p)).round(1)
    discrete = np.zeros(p, dtype=bool)
    if kind != "continuous":
        discrete[: p if kind == "discrete" else p // 2] = True
        X[:, discrete] = rng.integers(0, 3, (n, int(discrete.sum())))
    X[:, -1] = 2.0
    y = rng.integers(0, classes, n)
    y[:classes] = np.arange(classes)
    X[5] = X[4]
    X[rng.random((n, p)) < gaps] = np.nan
    return X, y, discrete


@pytest.mark.parametrize("gaps", [0.0, 0.15])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rule", RULES)
def test_counts_equal_copied_rows_that_are_not_their_own_neighbours(rule, kind, gaps):
    X, y, discrete = make_table(kind, gaps=gaps)
    rng = np.random.default_rng(3)
    counts = rng.multinomial(len(y), np.full(len(y), 1 / len(y)))
    counts[:3] = np.maximum(counts[:3], 1)
    data = Dataset.from_arrays(X, y, categorical=discrete).with_counts(counts)
    found = RULES[rule].select(data).scores
    row = np.repeat(np.arange(len(y)), counts)
    truth = plain.scores(X[row], y[row], discrete, rule, k=4, row=row)
    np.testing.assert_allclose(found, truth, rtol=0, atol=1e-12)


@pytest.mark.parametrize("ties", ["share", "index"])
def test_k_counts_drawn_copies_beyond_the_number_of_different_rows(ties):
    # 10 rows, 8 to 10 copies of each: 15 neighbours are copies of two rows, not all there are
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(10, 3)), np.arange(10) % 2
    counts = rng.integers(8, 11, 10)
    data = Dataset.from_arrays(X, y).with_counts(counts)
    found = Relieff(k=15, ties=ties, discrete_features="none").select(data).scores
    row = np.repeat(np.arange(10), counts)
    truth = plain.scores(X[row], y[row], np.zeros(3, bool), "nearest", k=15, row=row)
    np.testing.assert_allclose(found, truth, rtol=0, atol=1e-12)


@pytest.mark.parametrize("rule", RULES)
def test_instance_weights_weigh_targets_and_nothing_else(rule):
    X, y, discrete = make_table("mixed")
    omega = np.random.default_rng(5).random(len(y))
    upstream = Selection(
        selected=np.arange(X.shape[1]), scores=np.zeros(X.shape[1]), instance_weights=omega
    )
    found = RULES[rule].select(Dataset.from_arrays(X, y, categorical=discrete), upstream).scores
    truth = plain.scores(X, y, discrete, rule, k=4, omega=omega)
    np.testing.assert_allclose(found, truth, rtol=0, atol=1e-12)


@pytest.mark.parametrize("gapped", [[0], [1], [0, 3], [2, 4]])
@pytest.mark.parametrize("method", [Relieff(k=4), Surf(), Rrelieff(k=4)])
def test_codes_with_gaps_in_some_columns_score_in_their_own_places(method, gapped):
    # columns without gaps are put first inside; scores must come back to where they belong
    rng = np.random.default_rng(4)
    X = rng.integers(0, 3, (40, 5)).astype(float)
    for column in gapped:
        X[rng.integers(0, 40, 4), column] = np.nan
    y = rng.random(40) if isinstance(method, Rrelieff) else rng.integers(0, 2, 40)
    data = Dataset.from_arrays(X, y, categorical=np.ones(5, bool))
    if isinstance(method, Rrelieff):
        truth = plain.regression_scores(X, y, np.ones(5, bool), 4, decay=20.0)
    else:
        rule = "surf" if isinstance(method, Surf) else "nearest"
        truth = plain.scores(X, data.y, np.ones(5, bool), rule, k=4)
    np.testing.assert_allclose(method.select(data).scores, truth, rtol=0, atol=1e-12)


def test_gaps_by_probability_differ_by_one_minus_the_chance_of_the_value():
    # Two classes, one discrete column with a gap in the last row of class 0, worked by hand with
    # Laplace: P(0 | 0) = (2 + 1) / (3 + 2), P(1 | 0) = 2 / 5, P(0 | 1) = 1 / 5, P(1 | 1) = 4 / 5.
    X = np.array([[0.0], [0], [1], [np.nan], [1], [1], [1], [np.nan]])
    y = np.array([0, 0, 0, 0, 1, 1, 1, 1])
    chance = {0: {0: 3 / 5, 1: 2 / 5}, 1: {0: 1 / 5, 1: 4 / 5}}

    def diff(i, j):
        a, b = X[i, 0], X[j, 0]
        if np.isnan(a) and np.isnan(b):
            return 1 - sum(chance[y[i]][v] * chance[y[j]][v] for v in (0, 1))
        if np.isnan(a):
            return 1 - chance[y[i]][int(b)]
        if np.isnan(b):
            return 1 - chance[y[j]][int(a)]
        return float(a != b)

    truth = 0.0
    for i in range(8):
        hits = [diff(i, j) for j in range(8) if j != i and y[j] == y[i]]
        misses = [diff(i, j) for j in range(8) if y[j] != y[i]]
        truth += (np.mean(misses) - np.mean(hits)) / 8
    method = Relieff(k=100, missing="probability", discrete_features="all")
    found = method.select(Dataset.from_arrays(X, y)).scores[0]
    assert found == pytest.approx(truth, abs=1e-14)


def test_instances_that_share_no_feature_are_no_neighbours():
    gap = np.nan
    X = np.array([[0, gap], [gap, 1], [1, gap], [0, 0], [1, 1]])
    data = Dataset.from_arrays(X, [0, 0, 1, 1, 0])
    found = Relieff(k=3, discrete_features="none").select(data).scores
    truth = plain.scores(X, data.y, np.zeros(2, bool), "nearest", k=3)
    np.testing.assert_allclose(found, truth, rtol=0, atol=1e-14)


def test_distance_weighting_gives_a_neighbour_at_distance_zero_all_the_weight():
    X = np.array([[0.0, 0], [0, 0], [0.2, 0], [1, 1], [0.9, 1]])
    data = Dataset.from_arrays(X, [0, 0, 0, 1, 1])
    near = Relieff(k=5, weighting="distance", discrete_features="none").select(data).scores
    # rows 0 and 1 are each other's only hit that counts; row 2 has both at 0.2; 3 and 4 each other
    misses_0 = (1 / 2 * 1.0 + 1 / 1.9 * 0.9) / (1 / 2 + 1 / 1.9)
    misses_2 = (1 / 1.8 * 0.8 + 1 / 1.7 * 0.7) / (1 / 1.8 + 1 / 1.7)
    misses_3 = (2 / 2 * 1.0 + 1 / 1.8 * 0.8) / (2 / 2 + 1 / 1.8)
    misses_4 = (2 / 1.9 * 0.9 + 1 / 1.7 * 0.7) / (2 / 1.9 + 1 / 1.7)
    truth = (2 * misses_0 + (misses_2 - 0.2) + (misses_3 - 0.1) + (misses_4 - 0.1)) / 5
    assert near[0] == pytest.approx(truth, abs=1e-14)


PLAIN = {
    "gametes2way": {
        "plain_ReliefF_k10_tieindex": Relieff(k=10, ties="index"),
        "plain_ReliefF_k10_tiefrac": Relieff(k=10),
        "plain_ReliefF_k100_tieindex": Relieff(k=100, ties="index"),
        "plain_ReliefF_k100_tiefrac": Relieff(k=100),
        "plain_SURF": Surf(),
        "plain_SURFstar": Surfstar(),
        "plain_MultiSURF": Multisurf(),
        "plain_MultiSURFstar": Multisurfstar(),
    },
    "mixed3class_complete": {
        "plain_ReliefF_k10_prior": Relieff(k=10),
        "plain_ReliefF_k100_prior": Relieff(k=100),
        "plain_SURF_prior": Surf(),
        "plain_SURFstar_prior": Surfstar(),
        "plain_MultiSURF_prior": Multisurf(),
        "plain_MultiSURFstar_prior": Multisurfstar(),
    },
}
CORELEARN = {
    "mixed3class_complete": {
        "cl_ReliefFequalK_k10_noramp": Relieff(k=10),
        "cl_ReliefFequalK_k100_noramp": Relieff(k=100),
        "cl_ReliefFexpRank_k70_s20_noramp": Relieff(weighting="rank"),
        "cl_ReliefFdistance_noramp": Relieff(weighting="distance"),
        "cl_Relief": Relief(),
    },
    "contreg": {
        "cl_RReliefFequalK_k10_noramp": Rrelieff(k=10, weighting="equal"),
        "cl_RReliefFequalK_k100_noramp": Rrelieff(k=100, weighting="equal"),
        "cl_RReliefFexpRank_k70_s20_noramp": Rrelieff(),
        "cl_RReliefFdistance_noramp": Rrelieff(weighting="distance"),
        "cl_RReliefFequalK_k10_ramp": Rrelieff(k=10, weighting="equal", ramp=[0.04, 0.1]),
        "cl_RReliefFexpRank_default": Rrelieff(ramp=[0.04, 0.1]),
    },
}


def cases(references):
    return [
        (name, column, method) for name, of in references.items() for column, method in of.items()
    ]


@pytest.mark.parametrize(("name", "column", "method"), cases(PLAIN))
def test_scores_equal_the_slow_program(table, name, column, method):
    truth = read_scores(f"scores_{name}_plain.csv")[column]
    scores = method.select(table(f"{name}.csv")).scores
    np.testing.assert_allclose(scores, truth, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("name", "column", "method"), cases(CORELEARN))
def test_scores_equal_corelearn_where_its_definitions_are_ours(table, name, column, method):
    truth = read_scores(f"scores_{name}_corelearn.csv")[column]
    scores = method.select(table(f"{name}.csv")).scores
    np.testing.assert_allclose(scores, truth, rtol=0, atol=1e-12)
