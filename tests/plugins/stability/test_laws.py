"""Chance corrections against all pairs of sets, laws for any collection of sets, and rankings."""

from __future__ import annotations

import itertools
import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import hypergeom, kendalltau, rankdata, spearmanr, weightedtau
from threadpoolctl import threadpool_limits

import fsframe
from fsframe.method.stability_metric import StabilityMetric
from fsframe_stability import plain as plain_programs
from fsframe_stability.agreement import Overlap, intersection_law
from fsframe_stability.rankings import expected_canberra
from tests.grids import examples

metrics = fsframe.stability_metrics


def subsets(p: int, size: int) -> np.ndarray:
    """All C(p, size) sets as rows of a boolean matrix."""
    rows = list(itertools.combinations(range(p), size))
    matrix = np.zeros((len(rows), p), dtype=bool)
    for row, features in zip(matrix, rows, strict=True):
        row[list(features)] = True
    return matrix


def test_intersection_law_stays_exact_for_many_features():
    first, second, p = 3000, 5000, 100_000
    shared, probability = intersection_law(first, second, p)
    assert np.sum(probability * shared) == pytest.approx(first * second / p, rel=1e-12)
    near = slice(120, 180)
    np.testing.assert_allclose(
        probability[near], hypergeom(p, first, second).pmf(shared[near]), rtol=1e-8
    )


def some_similarity(p: int, seed: int) -> np.ndarray:
    random = np.random.default_rng(seed)
    like = np.triu(random.random((p, p)), k=1)
    return like + like.T + np.eye(p)


def jaccard_of(a: set[int], b: set[int], like: np.ndarray) -> float:
    return len(a & b) / len(a | b)


def dice_of(a: set[int], b: set[int], like: np.ndarray) -> float:
    return 2 * len(a & b) / (len(a) + len(b))


def ochiai_of(a: set[int], b: set[int], like: np.ndarray) -> float:
    return len(a & b) / math.sqrt(len(a) * len(b))


def hamming_of(a: set[int], b: set[int], like: np.ndarray) -> float:
    return 1 - len(a ^ b) / len(like)


def zucknick_of(a: set[int], b: set[int], like: np.ndarray) -> float:
    one = sum(like[x, y] for x in a for y in b - a if like[x, y] >= 0.5) / len(b)
    other = sum(like[x, y] for x in b for y in a - b if like[x, y] >= 0.5) / len(a)
    return (len(a & b) + one + other) / len(a | b)


def yu_of(a: set[int], b: set[int], like: np.ndarray) -> float:
    one = sum(any(like[x, y] >= 0.5 for y in b - a) for x in a - b)
    other = sum(any(like[x, y] >= 0.5 for y in a - b) for x in b - a)
    return (len(a & b) + (one + other) / 2) / ((len(a) + len(b)) / 2)


@pytest.mark.parametrize(
    ("name", "raw"),
    [
        ("jaccard-corrected", jaccard_of),
        ("dice-corrected", dice_of),
        ("ochiai-corrected", ochiai_of),
        ("hamming-corrected", hamming_of),
        ("zucknick-corrected", zucknick_of),
        ("yu", yu_of),
    ],
)
def test_metrics_and_their_corrections_are_those_that_enumeration_gives(name, raw):
    p, like = 6, some_similarity(6, seed=11)
    matrix = np.array([[1, 1, 0, 0, 0, 1], [0, 1, 1, 0, 0, 0], [1, 0, 0, 1, 1, 1]], dtype=bool)
    chosen = [set(np.flatnonzero(row).tolist()) for row in matrix]

    def measured(name: str) -> float:
        metric = metrics[name]
        found = metric(threshold=0.5)(matrix, like) if metric.needs_similarity else metric()(matrix)
        return found.value

    pairs, expected = list(itertools.combinations(chosen, 2)), []
    if name != "yu":
        plain = np.mean([raw(a, b, like) for a, b in pairs])
        assert measured(name.removesuffix("-corrected")) == pytest.approx(plain, abs=1e-13)
    for a, b in pairs:
        by_chance = np.mean(
            [
                raw(set(one), set(other), like)
                for one in itertools.combinations(range(p), len(a))
                for other in itertools.combinations(range(p), len(b))
            ]
        )
        expected.append((raw(a, b, like) - by_chance) / (1 - by_chance))
    assert measured(name) == pytest.approx(np.mean(expected), abs=1e-13)


# Laws


NAMES = [
    name for name in metrics if metrics.offer(name).entry.target.startswith("fsframe_stability.")
]
SETS = [name for name in NAMES if metrics[name].input == "sets"]
PLAIN = [name for name in SETS if not metrics[name].needs_similarity]
RANKS = [name for name in NAMES if metrics[name].input == "ranks"]
UNEQUAL_APART = ("nogueira", "sechidis")
"""Corrected by the mean size: zero on average for sets of equal sizes."""
EQUAL_TO_KUNCHEVA = ["wald", "kappa", "phi", "unadjusted", "nogueira"]
EQUAL_TO_KUNCHEVA += ["dice-corrected", "ochiai-corrected", "hamming-corrected"]


@st.composite
def collections(draw, equal: bool = False):
    """A boolean matrix of 2–8 runs and 2–15 features."""
    p, m = draw(st.integers(2, 15)), draw(st.integers(2, 8))
    seed = draw(st.integers(0, 2**32 - 1))
    random = np.random.default_rng(seed)
    order = random.random((m, p)).argsort(axis=1)
    sizes = random.integers(0, p + 1, size=m)
    if equal:
        sizes[:] = draw(st.integers(1, p - 1))
    # The later half follows the first run's order, so that sets are often nested or identical.
    order[m // 2 + 1 :] = order[0]
    return order < sizes[:, None]


def value(name: str, matrix: np.ndarray) -> float:
    metric = metrics[name]()
    if not metric.needs_similarity:
        return metric(matrix).value
    p = matrix.shape[1]
    return metrics[name](threshold=0.5)(matrix, some_similarity(p, seed=p)).value


@given(collections(equal=True))
def test_for_equal_sizes_the_corrected_indices_are_all_kuncheva(matrix):
    index = metrics["kuncheva"]()(matrix).value
    for name in EQUAL_TO_KUNCHEVA:
        assert metrics[name]()(matrix).value == pytest.approx(index, abs=1e-12), name


@given(collections())
def test_without_similar_features_the_adjusted_metrics_are_the_plain_ones(matrix):
    nothing = np.eye(matrix.shape[1])
    for adjusted, plain in (
        ("yu", "kappa"),
        ("zucknick", "jaccard"),
        ("sechidis", "nogueira"),
        ("zucknick-corrected", "jaccard-corrected"),
    ):
        assert metrics[adjusted]()(matrix, nothing).value == pytest.approx(
            metrics[plain]()(matrix).value, abs=1e-11, nan_ok=True
        ), adjusted


@pytest.mark.parametrize("name", SETS)
def test_a_metric_of_sets_says_truly_whether_it_is_corrected_for_chance(name):
    for first, second in ((2, 2), (3, 3), (2, 3), (1, 3)):
        if first != second and (name in UNEQUAL_APART or not metrics[name].unequal_sizes):
            continue
        pairs = itertools.product(subsets(4, first), subsets(4, second))
        values = [value(name, np.stack(pair)) for pair in pairs]
        if metrics[name].chance_corrected:
            assert np.mean(values) == pytest.approx(0.0, abs=1e-13) and np.ptp(values) > 0.1
        elif first == second:
            assert np.mean(values) > 0.05


@pytest.mark.parametrize("name", RANKS)
def test_a_metric_of_rankings_says_truly_whether_it_is_corrected_for_chance(name):
    every = list(itertools.permutations([1.0, 2.0, 3.0, 4.0]))
    mean = np.mean([metrics[name]()([a, b]).value for a in every[::6] for b in every])
    if metrics[name].chance_corrected:
        assert mean == pytest.approx(0.0, abs=1e-13)
    else:
        assert mean == pytest.approx(1.0, abs=1e-13)  # Canberra, in units of chance


@given(st.integers(2, 6), st.integers(1, 12), st.data())
@examples(20)
def test_growing_sets_are_measured_as_if_one_size_at_a_time(m, p, data):
    random = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    orders = random.random((m, p)).argsort(axis=1)
    largest = data.draw(st.integers(1, p))
    for name in PLAIN:
        metric = metrics[name]()
        in_one_pass = metric.along_rankings(orders, p, largest)
        size_by_size = StabilityMetric.along_rankings(metric, orders, p, largest)
        # By text, because NaN is not equal to NaN.
        assert repr(in_one_pass) == repr(size_by_size), name
        assert len(in_one_pass) == largest


@pytest.mark.parametrize("name", ["yu", "sechidis"])
def test_growing_sets_are_measured_with_similarity_too(name):
    random = np.random.default_rng(0)
    orders = random.random((4, 6)).argsort(axis=1)
    values = metrics[name]().along_rankings(orders, 6, 3, similarity=np.eye(6))
    matrix = np.zeros((4, 6), dtype=bool)
    np.put_along_axis(matrix, orders[:, :3], True, axis=1)
    assert values[2] == metrics[name]()(matrix, np.eye(6))


def test_intersections_are_counted_right_over_many_blocks_of_columns():
    random = np.random.default_rng(0)
    matrix = random.random((4, 20_001)) < 0.3
    chosen = [set(np.flatnonzero(row)) for row in matrix]
    result = Overlap.of(matrix).intersections
    for i, j in itertools.product(range(4), repeat=2):
        assert result[i, j] == len(chosen[i] & chosen[j])


@pytest.mark.parametrize("name", NAMES)
def test_the_number_of_threads_changes_no_bit(name):
    random = np.random.default_rng(1)
    scores = random.normal(size=(30, 300))
    matrix = scores if metrics[name].input == "ranks" else scores.argsort(axis=1) < 30
    with threadpool_limits(1):
        alone = value(name, matrix)
    with threadpool_limits(4):
        assert value(name, matrix) == alone


def test_the_plain_program_gives_kuncheva():
    rng = np.random.default_rng(6)
    for runs, features, k in ((2, 5, 1), (7, 12, 4), (20, 30, 29)):
        chosen = np.argsort(rng.random((runs, features)), axis=1) < k
        result = metrics["kuncheva"]()(chosen.astype(int)).value
        assert result == pytest.approx(plain_programs.kuncheva(chosen), rel=1e-12)


# Metrics of rankings against scipy and by enumeration; where a metric has no value


def scores(runs: int, features: int, ties: bool, seed: int = 0) -> np.ndarray:
    drawn = np.random.default_rng(seed).normal(size=(runs, features))
    return np.round(drawn, 1) if ties else drawn


def pairs(matrix: np.ndarray):
    return itertools.combinations(matrix, 2)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize(
    ("runs", "features"), [(6, 2), (6, 7), (6, 60), (3, 400), (14, 650)],
    ids=["2", "7", "60", "sorted", "many blocks of signs"],
)  # fmt: skip
def test_correlations_are_the_means_of_scipys(runs, features, ties):
    matrix = scores(runs, features, ties, seed=features)
    if runs == 14 and not ties:
        # Ties in some runs, and between some.
        matrix[3] = np.round(matrix[3], 1)
        matrix[10] = matrix[3] + np.round(matrix[10], 1)
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
BOTH_EMPTY, BOTH_FULL = (EMPTY, EMPTY), (FULL, FULL)
ONE_EMPTY, ONE_FULL = [(EMPTY, SOME), (EMPTY, FULL)], [(FULL, SOME), (FULL, FULL)]
GROUPS = [
    ([], "hamming"),
    ([BOTH_EMPTY], "jaccard dice davis novovicova somol-cw zucknick"),
    ([BOTH_EMPTY, BOTH_FULL], "kappa kuncheva nogueira somol-cwrel krizek yu sechidis "
     "jaccard-corrected dice-corrected hamming-corrected zucknick-corrected"),
    ([BOTH_EMPTY, *ONE_EMPTY], "ochiai"),
    ([BOTH_EMPTY, *ONE_EMPTY, BOTH_FULL], "unadjusted ochiai-corrected"),
    ([BOTH_EMPTY, *ONE_EMPTY, *ONE_FULL], "wald lustgarten phi"),
]  # fmt: skip
NO_VALUE = {name: pairs for pairs, names in GROUPS for name in names.split()}
ALL_PAIRS = [BOTH_EMPTY, *ONE_EMPTY, *ONE_FULL, (SOME, OTHER)]
PAIRWISE = [name for name in NO_VALUE if "impute" in metrics[name]().values()]


def measured(name: str, matrix, like=None, **parameters) -> fsframe.StabilityMetric:
    metric = metrics[name](**parameters)
    if metric.needs_similarity:
        return metric(matrix, np.eye(len(matrix[0])) if like is None else like)
    return metric(matrix)


def test_the_table_speaks_of_every_metric_of_sets():
    assert set(NO_VALUE) == set(SETS)


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
ALL_ALIKE = np.ones((4, 4))


def one_tied(runs: int) -> np.ndarray:
    return np.where(np.arange(runs)[:, None] == 1, 0.0, np.arange(150.0))


REASONS = [
    ("somol-cwrel", [EMPTY, [0, 1, 0, 0], EMPTY], None, "bounds"),
    ("canberra", [[1.0], [2.0]], None, "one feature"),
    *((name, TIED, None, "2 of 3 pairs.*same score")
      for name in ("spearman", "kendall", "weighted-tau")),
    # Few runs are compared by signs, many after sorting.
    *(("kendall", one_tied(runs), None, "same score") for runs in (2, 200)),
    *((name, [SOME, OTHER, SOME], ALL_ALIKE, "")
      for name in ("yu", "zucknick-corrected", "sechidis")),
    # Any two single features score the most: there is nothing to measure.
    ("yu", [[1, 0, 0, 0], [0, 1, 0, 0]], ALL_ALIKE, "would score the most"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "matrix", "like", "reason"), REASONS)
def test_what_leaves_a_collection_without_a_value_is_said(name, matrix, like, reason):
    result = measured(name, matrix, like)
    assert math.isnan(result.value) and result.undefined
    assert re.search(reason, result.undefined)


def test_kuncheva_says_which_sizes_it_found_and_names_its_extension():
    overlap = Overlap.of([[1, 1, 0], [1, 0, 0]])
    result = metrics["kuncheva"]().measure_overlap(overlap)
    assert math.isnan(result.value)
    assert "1 to 2" in result.undefined and "nogueira" in result.undefined
    assert math.isnan(metrics["kuncheva"](impute=0.0).measure_overlap(overlap).value)


@pytest.mark.parametrize("name", ["yu", "zucknick", "zucknick-corrected", "sechidis"])
def test_a_single_feature_divides_by_nothing(name):
    result = metrics[name]()([[1], [0]], np.eye(1))
    assert np.isfinite(result.value) or result.undefined


def test_an_empty_set_beside_another_scores_the_least_which_is_a_value():
    assert measured("yu", [EMPTY, SOME]).value == 0 == measured("kappa", [EMPTY, SOME]).value


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
