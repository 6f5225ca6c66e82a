"""Chance corrections against the enumeration of all pairs of sets, and laws for any collection."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import hypergeom
from threadpoolctl import threadpool_limits

import fsframe
from fsframe.method.stability_metric import StabilityMetric
from fsframe_stability import plain as plain_programs
from fsframe_stability.agreement import (
    Overlap,
    intersection_law,
)

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
@settings(deadline=None)
def test_for_equal_sizes_the_corrected_indices_are_all_kuncheva(matrix):
    index = metrics["kuncheva"]()(matrix).value
    for name in EQUAL_TO_KUNCHEVA:
        assert metrics[name]()(matrix).value == pytest.approx(index, abs=1e-12), name


@given(collections())
@settings(deadline=None)
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
    for first, second in ((2, 2), (3, 3), (2, 3), (1, 4)):
        if first != second and (name in UNEQUAL_APART or not metrics[name].unequal_sizes):
            continue
        pairs = itertools.product(subsets(5, first), subsets(5, second))
        values = [value(name, np.stack(pair)) for pair in pairs]
        if metrics[name].chance_corrected:
            assert np.mean(values) == pytest.approx(0.0, abs=1e-13) and np.ptp(values) > 0.1
        elif first == second:
            assert np.mean(values) > 0.05


@pytest.mark.parametrize("name", RANKS)
def test_a_metric_of_rankings_says_truly_whether_it_is_corrected_for_chance(name):
    every = list(itertools.permutations([1.0, 2.0, 3.0, 4.0]))
    mean = np.mean([metrics[name]()([a, b]).value for a in every for b in every])
    if metrics[name].chance_corrected:
        assert mean == pytest.approx(0.0, abs=1e-13)
    else:
        assert mean == pytest.approx(1.0, abs=1e-13)  # Canberra, in units of chance


@given(st.integers(2, 6), st.integers(1, 12), st.data())
@settings(deadline=None, max_examples=40)
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
    found = Overlap.of(matrix).intersections
    for i, j in itertools.product(range(4), repeat=2):
        assert found[i, j] == len(chosen[i] & chosen[j])


@pytest.mark.parametrize("name", NAMES)
def test_the_number_of_threads_changes_no_bit(name):
    random = np.random.default_rng(1)
    scores = random.normal(size=(40, 400))
    matrix = scores if metrics[name].input == "ranks" else scores.argsort(axis=1) < 40
    with threadpool_limits(1):
        alone = value(name, matrix)
    with threadpool_limits(4):
        assert value(name, matrix) == alone


def test_the_plain_program_gives_kuncheva():
    rng = np.random.default_rng(6)
    for runs, features, k in ((2, 5, 1), (7, 12, 4), (20, 30, 29)):
        chosen = np.argsort(rng.random((runs, features)), axis=1) < k
        found = metrics["kuncheva"]()(chosen.astype(int)).value
        assert found == pytest.approx(plain_programs.kuncheva(chosen), rel=1e-12)
