"""Nogueira's φ: the formulas step by step, the sign of φ/2, and the tests."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

import fsframe
from fsframe_stability.agreement import Overlap
from fsframe_stability.nogueira import above_threshold_test, difference_test, phi_and_variance

nogueira = fsframe.stability_metrics["nogueira"]


def by_definition(matrix: np.ndarray, sign: float = 1.0) -> tuple[float, float]:
    """φ and variance straight from Definition 4 and Theorem 7, feature by feature."""
    m, p = matrix.shape
    share = [sum(column) / m for column in matrix.T.tolist()]
    mean = sum(share)
    c = mean / p * (1 - mean / p)
    phi = 1 - sum(m / (m - 1) * s * (1 - s) for s in share) / p / c
    single = []
    for row in matrix.tolist():
        k = sum(row)
        joint = sum(s for kept, s in zip(row, share, strict=True) if kept) / p
        bracket = 2 * k * mean / p**2 - k / p - mean / p + 1
        single.append((joint - k * mean / p**2 + sign * phi / 2 * bracket) / c)
    centre = sum(single) / m
    return phi, 4 / m**2 * sum((one - centre) ** 2 for one in single)


@given(st.integers(0, 2**32 - 1), st.integers(2, 12), st.integers(2, 20))
@settings(deadline=None)
def test_phi_and_variance_follow_the_paper_term_by_term(seed, m, p):
    random = np.random.default_rng(seed)
    matrix = random.random((m, p)) < random.random(p)
    if matrix.all() or not matrix.any():
        return
    phi, variance = phi_and_variance(Overlap.of(matrix))
    expected_phi, expected_variance = by_definition(matrix)
    assert phi == pytest.approx(expected_phi, abs=1e-12)
    assert variance == pytest.approx(expected_variance, rel=1e-9, abs=1e-15)


def test_the_variance_is_exactly_zero_wherever_fractions_say_so():
    random = np.random.default_rng(9)
    zeros = 0
    for _ in range(1500):
        m, p = int(random.integers(2, 5)), int(random.integers(2, 7))
        matrix = (random.random((m, p)) < 0.5).astype(int)
        q = int(matrix.sum())
        if q in (0, m * p):
            continue
        share = [Fraction(int(h), m) for h in matrix.sum(axis=0)]
        mean = sum(share)
        c = mean / p * (1 - mean / p)
        phi = 1 - sum(Fraction(m, m - 1) * s * (1 - s) for s in share) / p / c
        single = set()
        for row in matrix.tolist():
            k = sum(row)
            kept_shares = (s for kept, s in zip(row, share, strict=True) if kept)
            joint = sum(kept_shares, start=Fraction(0)) / p
            bracket = 2 * k * mean / p**2 - Fraction(k, p) - mean / p + 1
            single.add((joint - k * mean / p**2 + phi / 2 * bracket) / c)
        exactly_zero = len(single) == 1
        assert (phi_and_variance(Overlap.of(matrix))[1] == 0.0) == exactly_zero
        zeros += exactly_zero and len(set(matrix.sum(axis=1))) > 1
    assert zeros > 50  # sets of different sizes whose parts cancel but for rounding


def test_the_interval_follows_the_level_and_is_cut_only_on_request():
    random = np.random.default_rng(0)
    matrix = random.random((4, 6)) < 0.5
    wide, narrow = nogueira(level=0.99)(matrix), nogueira(level=0.5)(matrix)
    for result in (wide, narrow):
        low, high = result.interval
        assert (low + high) / 2 == pytest.approx(result.value, abs=1e-14)
        expected = norm.ppf((1 + result.level) / 2) * math.sqrt(result.variance)
        assert high - result.value == pytest.approx(expected, rel=1e-12)
    stable = np.array([[1, 1, 0, 0, 0], [1, 1, 0, 0, 0], [1, 1, 1, 0, 0], [0, 1, 0, 0, 1]])
    assert nogueira(level=0.9999)(stable).interval[1] > 1
    assert nogueira(level=0.9999, clip=True)(stable).interval[1] == 1


def test_few_runs_and_a_variance_of_zero_are_warned_of():
    random = np.random.default_rng(3)
    assert nogueira()(random.random((30, 8)) < 0.5).warnings == ()
    (few,) = nogueira()(random.random((29, 8)) < 0.5).warnings
    assert "29 runs" in few
    apart = np.kron(np.eye(40), np.ones(2))
    for certain in (np.tile([1, 1, 0, 0], (40, 1)), apart):
        result = nogueira()(certain)
        assert result.variance == 0.0 and result.interval == (result.value, result.value)
        assert any("variance is 0" in warning for warning in result.warnings)


def test_one_set_test_is_the_upper_tail_of_the_z_value():
    random = np.random.default_rng(5)
    matrix = random.random((50, 20)) < np.linspace(0.05, 0.95, 20)
    phi, variance = by_definition(matrix)
    outcome = above_threshold_test(matrix, 0.2)
    z = (phi - 0.2) / math.sqrt(variance)
    assert outcome.statistic == pytest.approx(z, rel=1e-9)
    assert outcome.p_value == pytest.approx(norm.sf(z), rel=1e-7)
    assert above_threshold_test(matrix, phi).p_value == pytest.approx(0.5, abs=1e-6)
    assert above_threshold_test(matrix, 0.99).p_value > 0.99


def test_two_set_test_is_two_sided_and_takes_other_numbers_of_runs_and_features():
    random = np.random.default_rng(6)
    first = random.random((50, 20)) < np.linspace(0.05, 0.95, 20)
    second = random.random((40, 12)) < 0.5
    (phi_1, var_1), (phi_2, var_2) = by_definition(first), by_definition(second)
    z = (phi_2 - phi_1) / math.sqrt(var_1 + var_2)
    forward, backward = difference_test(first, second), difference_test(second, first)
    assert forward.statistic == pytest.approx(z, rel=1e-9)
    assert backward.statistic == pytest.approx(-z, rel=1e-9)
    assert forward.p_value == backward.p_value
    assert forward.p_value == pytest.approx(2 * norm.sf(abs(z)), rel=1e-6)


def test_a_tiny_p_value_keeps_its_digits():
    random = np.random.default_rng(7)
    matrix = random.random((60, 40)) < np.where(np.arange(40) < 10, 0.9, 0.05)
    outcome = above_threshold_test(matrix, 0.0)
    assert 0.0 < outcome.p_value < 1e-50


@pytest.mark.parametrize(
    "matrix", [np.tile([1, 1, 0, 0], (5, 1)), np.eye(4), np.zeros((3, 4)), np.ones((3, 4))]
)
def test_without_variance_or_value_there_is_no_p_value_but_a_reason(matrix):
    for outcome in (above_threshold_test(matrix, 0.2), difference_test(matrix, matrix)):
        assert math.isnan(outcome.statistic) and math.isnan(outcome.p_value)
        assert outcome.undefined
