"""Chance corrections against the enumeration of every pair of sets."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import hypergeom

import fsframe
from fsframe_stability.agreement import (
    corrected_for_chance,
    expected_score,
    intersection_law,
    kappa,
    unadjusted,
)
from fsframe_stability.coefficients import dice, hamming, jaccard, ochiai
from fsframe_stability.similar_features import alike, expected_replaceable, replaceable

metrics = fsframe.stability_metrics


def subsets(p: int, size: int) -> np.ndarray:
    """All C(p, size) sets as rows of a boolean matrix."""
    rows = list(itertools.combinations(range(p), size))
    matrix = np.zeros((len(rows), p), dtype=bool)
    for row, features in zip(matrix, rows, strict=True):
        row[list(features)] = True
    return matrix


@given(st.integers(1, 60), st.data())
@settings(max_examples=60, deadline=None)
def test_intersection_law_is_the_exact_hypergeometric_one(p: int, data: st.DataObject) -> None:
    first, second = data.draw(st.integers(0, p)), data.draw(st.integers(0, p))
    shared, probability = intersection_law(first, second, p)
    exact = [
        Fraction(
            math.comb(first, int(r)) * math.comb(p - first, second - int(r)), math.comb(p, second)
        )
        for r in shared
    ]
    assert sum(exact) == 1  # nothing possible is left out
    np.testing.assert_allclose(probability, [float(e) for e in exact], rtol=1e-12)


def test_intersection_law_stays_exact_for_many_features() -> None:
    first, second, p = 3000, 5000, 100_000
    shared, probability = intersection_law(first, second, p)
    assert np.sum(probability * shared) == pytest.approx(first * second / p, rel=1e-12)
    near = slice(120, 180)
    np.testing.assert_allclose(
        probability[near], hypergeom(p, first, second).pmf(shared[near]), rtol=1e-8
    )


@pytest.mark.parametrize("score", [jaccard, dice, ochiai, hamming])
def test_expected_score_is_the_mean_over_all_pairs_of_sets(score) -> None:
    p = 6
    for first, second in itertools.product(range(p + 1), repeat=2):
        a, b = subsets(p, first).astype(np.int64), subsets(p, second).astype(np.int64)
        shared = (a @ b.T).ravel()
        every = score(shared, np.full_like(shared, first), np.full_like(shared, second), p)
        np.testing.assert_allclose(
            expected_score(score, first, second, p), every.mean(), atol=1e-14, equal_nan=True
        )


def test_linear_scores_corrected_for_chance_are_the_classical_indices() -> None:
    random = np.random.default_rng(3)
    p = 40
    first, second = random.integers(1, p, size=(2, 200))
    shared = random.integers(np.maximum(0, first + second - p), np.minimum(first, second) + 1)
    for score, classical in ((dice, kappa), (hamming, kappa), (ochiai, unadjusted)):
        np.testing.assert_allclose(
            corrected_for_chance(score)(shared, first, second, p),
            classical(shared, first, second, p),
            atol=1e-12,
        )


def some_similarity(p: int, seed: int) -> np.ndarray:
    random = np.random.default_rng(seed)
    like = np.triu(random.random((p, p)), k=1)
    return like + like.T + np.eye(p)


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("threshold", [0.3, 0.7])
def test_expected_replaceable_is_the_mean_over_all_pairs_of_sets(
    seed: int, threshold: float
) -> None:
    p = 6
    similar = alike(some_similarity(p, seed), threshold)
    degrees = np.diff(similar.indptr)
    sizes = np.arange(p + 1)
    exact = expected_replaceable(sizes, sizes, degrees)
    assert exact.max() > 0.1
    for first, second in itertools.product(sizes, repeat=2):
        a, b = subsets(p, first), subsets(p, second)
        stacked = replaceable(np.concatenate([a, b]), similar)
        assert exact[first, second] == pytest.approx(stacked[: len(a), len(a) :].mean(), abs=1e-13)


def jaccard_of(a: set[int], b: set[int], like: np.ndarray) -> float:
    return len(a & b) / len(a | b)


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
        ("ochiai-corrected", ochiai_of),
        ("hamming-corrected", hamming_of),
        ("zucknick-corrected", zucknick_of),
        ("yu", yu_of),
    ],
)
def test_metrics_and_their_corrections_are_those_that_enumeration_gives(name: str, raw) -> None:
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


def test_replaceable_counts_what_its_definition_says() -> None:
    random = np.random.default_rng(8)
    p, like = 12, some_similarity(12, seed=9)
    matrix = random.random((5, p)) < 0.4
    counted = replaceable(matrix, alike(like, 0.8))
    for i, j in itertools.product(range(5), repeat=2):
        mine = set(np.flatnonzero(matrix[i])) - set(np.flatnonzero(matrix[j]))
        other = set(np.flatnonzero(matrix[j])) - set(np.flatnonzero(matrix[i]))
        assert counted[i, j] == sum(any(like[x, y] >= 0.8 for y in other) for x in mine)
    assert counted.max() > 0
