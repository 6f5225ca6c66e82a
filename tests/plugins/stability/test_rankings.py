"""Metrics of rankings against scipy and by enumeration; where a metric has no value."""

from __future__ import annotations

import itertools
import math
import re

import numpy as np
import pytest
from scipy.stats import kendalltau, rankdata, spearmanr, weightedtau

import fsframe
from fsframe_stability.agreement import Overlap
from fsframe_stability.rankings import expected_canberra

metrics = fsframe.stability_metrics


def scores(runs: int, features: int, ties: bool, seed: int = 0) -> np.ndarray:
    drawn = np.random.default_rng(seed).normal(size=(runs, features))
    return np.round(drawn, 1) if ties else drawn


def pairs(matrix: np.ndarray):
    return itertools.combinations(matrix, 2)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize(
    ("runs", "features"), [(6, 2), (6, 7), (6, 60), (3, 400), (24, 900)],
    ids=["2", "7", "60", "sorted", "many blocks of signs"],
)  # fmt: skip
def test_correlations_are_the_means_of_scipys(runs, features, ties):
    matrix = scores(runs, features, ties, seed=features)
    if runs == 24 and not ties:
        # Ties in some runs, and between some.
        matrix[3] = np.round(matrix[3], 1)
        matrix[20] = matrix[3] + np.round(matrix[20], 1)
    truth = {
        "spearman": [spearmanr(a, b).statistic for a, b in pairs(matrix)],
        "kendall": [kendalltau(a, b).statistic for a, b in pairs(matrix)],
        "weighted-tau": [weightedtau(a, b).statistic for a, b in pairs(matrix)],
    }
    for name, expected in truth.items():
        assert metrics[name]()(matrix).value == pytest.approx(np.mean(expected), abs=1e-12), name


@pytest.mark.parametrize("name", ["spearman", "kendall", "weighted-tau", "canberra"])
def test_ranks_and_the_scores_they_come_from_give_the_same(name):
    matrix = scores(5, 30, ties=True)
    ranks = rankdata(-matrix, axis=1)
    from_ranks = metrics[name](best="smallest")(ranks).value
    assert from_ranks == metrics[name](best="largest")(matrix).value
    assert from_ranks == metrics[name]()(np.exp(3 * matrix)).value  # any increasing function


@pytest.mark.parametrize("p", [2, 3, 5, 6])
def test_canberras_expectation_is_the_mean_over_all_permutations(p):
    first = np.arange(1, p + 1)
    for depth in range(1, p + 1):
        a = np.minimum(first, depth + 1)
        total = [
            np.sum(np.abs(a - b) / (a + b))
            for b in (np.minimum(np.array(o), depth + 1) for o in itertools.permutations(first))
        ]
        assert expected_canberra(p, depth) == pytest.approx(np.mean(total), abs=1e-13)


def test_canberras_expectation_is_the_double_sum_for_many_features():
    p, depth = 3000, 700
    places = np.minimum(np.arange(1, p + 1), depth + 1).astype(float)
    table = np.abs(places[:, None] - places) / (places[:, None] + places)
    assert expected_canberra(p, depth) == pytest.approx(table.sum() / p, rel=1e-12)


def test_canberra_takes_mean_ranks_for_ties():
    # Ranks 1, 2.5, 2.5 against 1, 2, 3: 0.5/4.5 + 0.5/5.5; expectation of 3 places.
    expected = (0.5 / 4.5 + 0.5 / 5.5) / expected_canberra(3)
    assert metrics["canberra"]()([[9, 4, 4], [9, 5, 4]]).value == pytest.approx(expected, abs=1e-14)


def test_canberra_refuses_a_depth_beyond_the_features():
    with pytest.raises(fsframe.DataError, match="depth 9 is beyond the 5 features"):
        metrics["canberra"](depth=9)(scores(3, 5, ties=False))


# Where a metric has no value: NaN with the reason, an imputed value, or an error


EMPTY, FULL = [0, 0, 0, 0], [1, 1, 1, 1]
SOME, OTHER = [1, 1, 0, 0], [0, 1, 1, 0]

# Which pairs have no value, by the denominators of the formulas; agrees with the list of
# undefined pairs of the R package stabm 1.2.2.
NO_VALUE = {
    "jaccard": [(EMPTY, EMPTY)],
    "dice": [(EMPTY, EMPTY)],
    "ochiai": [(EMPTY, EMPTY), (EMPTY, SOME), (EMPTY, FULL)],
    "hamming": [],
    "wald": [(EMPTY, EMPTY), (EMPTY, SOME), (EMPTY, FULL), (FULL, SOME), (FULL, FULL)],
    "lustgarten": [(EMPTY, EMPTY), (EMPTY, SOME), (EMPTY, FULL), (FULL, SOME), (FULL, FULL)],
    "phi": [(EMPTY, EMPTY), (EMPTY, SOME), (EMPTY, FULL), (FULL, SOME), (FULL, FULL)],
    "kappa": [(EMPTY, EMPTY), (FULL, FULL)],
    "unadjusted": [(EMPTY, EMPTY), (EMPTY, SOME), (EMPTY, FULL), (FULL, FULL)],
    "kuncheva": [(EMPTY, EMPTY), (FULL, FULL)],
    "jaccard-corrected": [(EMPTY, EMPTY), (FULL, FULL)],
    "dice-corrected": [(EMPTY, EMPTY), (FULL, FULL)],
    "ochiai-corrected": [(EMPTY, EMPTY), (EMPTY, SOME), (EMPTY, FULL), (FULL, FULL)],
    "hamming-corrected": [(EMPTY, EMPTY), (FULL, FULL)],
    "nogueira": [(EMPTY, EMPTY), (FULL, FULL)],
    "davis": [(EMPTY, EMPTY)],
    "novovicova": [(EMPTY, EMPTY)],
    "somol-cw": [(EMPTY, EMPTY)],
    "somol-cwrel": [(EMPTY, EMPTY), (FULL, FULL)],
    "krizek": [(EMPTY, EMPTY), (FULL, FULL)],
    "yu": [(EMPTY, EMPTY), (FULL, FULL)],
    "zucknick": [(EMPTY, EMPTY)],
    "zucknick-corrected": [(EMPTY, EMPTY), (FULL, FULL)],
    "sechidis": [(EMPTY, EMPTY), (FULL, FULL)],
}
ALL_PAIRS = [(EMPTY, EMPTY), (EMPTY, SOME), (EMPTY, FULL), (FULL, SOME), (FULL, FULL)]
ALL_PAIRS += [(SOME, OTHER)]
PAIRWISE = [name for name in NO_VALUE if "impute" in metrics[name]().values()]


def measured(name: str, matrix, **parameters) -> fsframe.StabilityMetric:
    metric = metrics[name](**parameters)
    if metric.needs_similarity:
        return metric(matrix, np.eye(len(matrix[0])))
    return metric(matrix)


def test_the_table_speaks_of_every_metric_of_sets():
    offered = {
        name
        for name in metrics
        if metrics[name].input == "sets"
        and metrics.offer(name).entry.target.startswith("fsframe_stability.")
    }
    assert set(NO_VALUE) == offered


@pytest.mark.parametrize("name", sorted(NO_VALUE))
def test_a_pair_has_no_value_exactly_where_the_denominator_is_zero(name):
    for pair in ALL_PAIRS:
        if not metrics[name].unequal_sizes and sum(pair[0]) != sum(pair[1]):
            continue
        for matrix in (pair, pair[::-1]):
            result = measured(name, matrix)
            absent = pair in NO_VALUE[name]
            assert math.isnan(result.value) == absent, (name, pair)
            assert bool(result.undefined) == absent


@pytest.mark.parametrize("name", PAIRWISE)
def test_one_undefined_pair_leaves_the_collection_undefined_unless_imputed(name):
    if name in ("hamming", "kuncheva"):  # always defined; sizes must be equal
        return
    matrix = [EMPTY, EMPTY, SOME, OTHER]
    result = measured(name, matrix)
    assert math.isnan(result.value)
    assert "of 6 pairs" in result.undefined and "first runs 1 and 2" in result.undefined
    zero, one = measured(name, matrix, impute=0.0).value, measured(name, matrix, impute=1.0).value
    undefined_pairs = int(result.undefined.split(" of ")[0])
    assert one - zero == pytest.approx(undefined_pairs / 6, abs=1e-12)


TIED = [[1.0, 2.0, 3.0], [5.0, 5.0, 5.0], [3.0, 1.0, 2.0]]
REASONS = [
    ("somol-cwrel", [EMPTY, [0, 1, 0, 0], EMPTY], "bounds"),
    ("canberra", [[1.0], [2.0]], "one feature"),
    *((name, TIED, "2 of 3 pairs.*same score") for name in ("spearman", "kendall", "weighted-tau")),
]


@pytest.mark.parametrize(("name", "matrix", "reason"), REASONS)
def test_what_leaves_a_collection_without_a_value_is_said(name, matrix, reason):
    result = measured(name, matrix)
    assert math.isnan(result.value) and re.search(reason, result.undefined)


@pytest.mark.parametrize("name", ["yu", "zucknick-corrected", "sechidis"])
def test_features_that_are_all_alike_leave_nothing_to_measure(name):
    result = metrics[name]()([SOME, OTHER, SOME], np.ones((4, 4)))
    assert math.isnan(result.value) and result.undefined


def test_kuncheva_says_which_sizes_it_found_and_names_its_extension():
    overlap = Overlap.of([[1, 1, 0], [1, 0, 0]])
    result = metrics["kuncheva"]().measure_overlap(overlap)
    assert math.isnan(result.value)
    assert "1 to 2" in result.undefined and "nogueira" in result.undefined
    assert math.isnan(metrics["kuncheva"](impute=0.0).measure_overlap(overlap).value)


@pytest.mark.parametrize("runs", [2, 200])
def test_kendall_finds_tied_runs_by_signs_and_by_sorting(runs):
    matrix = np.tile(np.arange(150.0), (runs, 1))
    matrix[1] = 0.0
    assert math.isnan(metrics["kendall"]()(matrix).value)


def test_yu_says_what_leaves_it_without_a_value():
    yu = metrics["yu"]()
    # An empty set beside another always scores 0, the least: that is a value, as for kappa.
    assert yu([EMPTY, SOME], np.eye(4)).value == 0 == metrics["kappa"]()([EMPTY, SOME]).value
    # Where all are alike any two single features score the most: there is nothing to measure.
    assert "would score the most" in yu([[1, 0, 0, 0], [0, 1, 0, 0]], np.ones((4, 4))).undefined


@pytest.mark.parametrize("name", ["yu", "zucknick", "zucknick-corrected", "sechidis"])
def test_a_single_feature_divides_by_nothing(name):
    result = metrics[name]()([[1], [0]], np.eye(1))
    assert np.isfinite(result.value) or result.undefined


@pytest.mark.parametrize(
    ("row", "column", "entry", "message"),
    [
        (0, 1, -0.5, r"\[0, 1\]"),
        (0, 1, 1.5, r"\[0, 1\]"),
        (0, 1, float("nan"), "symmetric|0, 1"),
        (2, 2, 0.5, r"feature 2 has 0\.5"),
    ],
)
def test_impossible_similarities_are_refused(row, column, entry, message):
    like = np.eye(4)
    like[row, column] = like[column, row] = entry
    for name in ("zucknick", "yu"):
        with pytest.raises(fsframe.DataError, match=message):
            metrics[name]()([SOME, OTHER], like)


@pytest.mark.parametrize(
    ("name", "orders", "options", "message"),
    [
        ("kuncheva", [[0, 1, 2], [2, 1, 0]], {"largest": 4}, "between 1 and 3"),
        ("kuncheva", [[0, 1, 2], [2, 1, 0]], {"largest": 0}, "between 1 and 3"),
        ("kuncheva", [[0, 1, 1], [2, 1, 0]], {}, "at most once"),
        ("kuncheva", [[0, 1, 3], [2, 1, 0]], {}, "at most once"),
        ("kuncheva", [[0.0, 1.0], [1.0, 0.0]], {}, "whole-number"),
        ("kuncheva", [[0, 1, 2]], {}, "at least two runs"),
        ("spearman", [[0, 1, 2], [2, 1, 0]], {}, "whole rankings"),
        ("jaccard", [[0, 1, 2], [2, 1, 0]], {"similarity": np.eye(3)}, "takes no similarity"),
        ("yu", [[0, 1, 2], [2, 1, 0]], {}, "needs the similarity"),
    ],
)
def test_unusable_rankings_are_refused(name, orders, options, message):
    with pytest.raises(fsframe.RequestError, match=message):
        metrics[name]().along_rankings(orders, len(orders[0]), **options)


@pytest.mark.parametrize("matrix", [[[1, 0]], [1, 0], [[0.5, 1], [1, 0]], np.zeros((2, 0))])
def test_an_unusable_matrix_of_sets_is_refused(matrix):
    with pytest.raises(fsframe.RequestError, match="feature sets must come as a matrix"):
        Overlap.of(matrix)
