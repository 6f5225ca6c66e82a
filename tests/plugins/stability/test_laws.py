"""Laws that hold for any collection of sets or rankings."""

from __future__ import annotations

import inspect
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

import fsframe
from fsframe.method.stability_metric import StabilityMetric
from fsframe_stability import plain as plain_programs
from fsframe_stability.agreement import Overlap

from .test_chance import some_similarity, subsets

metrics = fsframe.stability_metrics
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
def test_for_equal_sizes_the_corrected_indices_are_all_kuncheva(matrix: np.ndarray) -> None:
    index = metrics["kuncheva"]()(matrix).value
    for name in EQUAL_TO_KUNCHEVA:
        assert metrics[name]()(matrix).value == pytest.approx(index, abs=1e-12), name


@given(collections())
@settings(deadline=None)
def test_without_similar_features_the_adjusted_metrics_are_the_plain_ones(
    matrix: np.ndarray,
) -> None:
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


@given(collections(), st.integers(1, 40))
@settings(deadline=None)
def test_uncorrected_shares_ignore_features_that_nobody_keeps(
    matrix: np.ndarray, more: int
) -> None:
    padded = np.pad(matrix, ((0, 0), (0, more)))
    for name in ("jaccard", "dice", "ochiai", "davis", "novovicova", "somol-cw"):
        assert value(name, padded) == pytest.approx(value(name, matrix), abs=1e-14, nan_ok=True), (
            name
        )


@given(collections())
@settings(deadline=None)
def test_values_stay_within_their_bounds(matrix: np.ndarray) -> None:
    p = matrix.shape[1]
    shares = ("jaccard", "dice", "ochiai", "hamming", "davis", "novovicova", "somol-cw",
              "somol-cwrel", "krizek")  # fmt: skip
    least = dict.fromkeys(shares, 0.0) | dict.fromkeys(("kappa", "phi", "lustgarten"), -1.0)
    least |= {"wald": 1 - p, "nogueira": -1 / (len(matrix) - 1)}
    for name, low in least.items():
        found = value(name, matrix)
        assert np.isnan(found) or low - 1e-12 <= found <= 1 + 1e-12, name


@pytest.mark.parametrize("name", SETS)
def test_a_metric_of_sets_says_truly_whether_it_is_corrected_for_chance(name: str) -> None:
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
def test_a_metric_of_rankings_says_truly_whether_it_is_corrected_for_chance(name: str) -> None:
    every = list(itertools.permutations([1.0, 2.0, 3.0, 4.0]))
    mean = np.mean([metrics[name]()([a, b]).value for a in every for b in every])
    if metrics[name].chance_corrected:
        assert mean == pytest.approx(0.0, abs=1e-13)
    else:
        assert mean == pytest.approx(1.0, abs=1e-13)  # Canberra, in units of chance


@pytest.mark.parametrize("name", NAMES)
def test_every_metric_says_where_it_has_no_value_and_where_it_is_from(name: str) -> None:
    metric = metrics[name]
    assert metric.undefined_when or name == "hamming"
    doc = inspect.getdoc(metric)
    assert doc is not None and "References" in doc and "Notes" in doc and "Examples" in doc


@given(st.integers(2, 6), st.integers(1, 12), st.data())
@settings(deadline=None, max_examples=40)
def test_growing_sets_are_measured_as_if_one_size_at_a_time(
    m: int, p: int, data: st.DataObject
) -> None:
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
def test_growing_sets_are_measured_with_similarity_too(name: str) -> None:
    random = np.random.default_rng(0)
    orders = random.random((4, 6)).argsort(axis=1)
    values = metrics[name]().along_rankings(orders, 6, 3, similarity=np.eye(6))
    matrix = np.zeros((4, 6), dtype=bool)
    np.put_along_axis(matrix, orders[:, :3], True, axis=1)
    assert values[2] == metrics[name]()(matrix, np.eye(6))


def test_intersections_are_counted_right_over_many_blocks_of_columns() -> None:
    random = np.random.default_rng(0)
    matrix = random.random((4, 20_001)) < 0.3
    chosen = [set(np.flatnonzero(row)) for row in matrix]
    found = Overlap.of(matrix).intersections
    for i, j in itertools.product(range(4), repeat=2):
        assert found[i, j] == len(chosen[i] & chosen[j])


@pytest.mark.parametrize("name", NAMES)
def test_the_number_of_threads_changes_no_bit(name: str) -> None:
    random = np.random.default_rng(1)
    scores = random.normal(size=(40, 400))
    matrix = scores if metrics[name].input == "ranks" else scores.argsort(axis=1) < 40
    with threadpool_limits(1):
        alone = value(name, matrix)
    with threadpool_limits(4):
        assert value(name, matrix) == alone


def test_the_plain_program_gives_kuncheva() -> None:
    rng = np.random.default_rng(6)
    for runs, features, k in ((2, 5, 1), (7, 12, 4), (20, 30, 29)):
        chosen = np.argsort(rng.random((runs, features)), axis=1) < k
        found = metrics["kuncheva"]()(chosen.astype(int)).value
        assert found == pytest.approx(plain_programs.kuncheva(chosen), rel=1e-12)
