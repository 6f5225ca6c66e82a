"""Tails, critical values, intervals and corrections: against scipy, definition and law."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from fsframe_npfs.engine.decisions import adjusted, level_of_one_test
from fsframe_npfs.engine.nulls import (
    binomial_tail,
    clopper_pearson,
    critical_value,
    hoeffding,
    least_bootstraps,
    permutation_tail,
    poisson_binomial_tail,
    selection_tail,
)

DATA = Path(__file__).parent / "data"


@pytest.mark.parametrize("n", [1, 2, 17, 500])
@pytest.mark.parametrize("p0", [0.0, 0.004, 0.1, 0.5, 0.96, 1.0])
def test_binomial_tail_is_scipys_survival_function(n: int, p0: float) -> None:
    z = np.arange(n + 2)
    np.testing.assert_allclose(
        binomial_tail(n, p0), stats.binom.sf(z - 1, n, p0), rtol=1e-9, atol=1e-300
    )


@pytest.mark.parametrize("alpha", [0.001, 0.01, 0.05, 0.2])
def test_critical_value_is_the_inverse_binomial_distribution_function(alpha: float) -> None:
    for n in (1, 2, 5, 10, 50, 100, 500):
        for k in (1, 3, 10, 25, 49):
            expected = stats.binom.ppf(1 - alpha, n, k / 50)
            assert critical_value(binomial_tail(n, k / 50), alpha) == expected, (n, k)


def test_a_tail_that_equals_alpha_exactly_counts_as_reached() -> None:
    # 0.1 squared is 0.010000000000000002 in binary; on paper it is 0.01.
    assert critical_value(binomial_tail(2, 0.1), 0.01) == 1


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=40))
def test_poisson_binomial_tail_agrees_with_scipy_and_never_rises(p: list[float]) -> None:
    tail = poisson_binomial_tail(p)
    expected = stats.poisson_binom.sf(np.arange(-1, len(p)), np.array(p))
    np.testing.assert_allclose(tail[:-1], expected, rtol=1e-9, atol=1e-12)
    assert tail[0] == 1 and tail[-1] == 0 and (np.diff(tail) <= 1e-15).all()


def test_poisson_binomial_of_equal_chances_is_binomial_far_into_the_tail() -> None:
    np.testing.assert_allclose(
        poisson_binomial_tail(np.full(300, 0.07)), binomial_tail(300, 0.07), rtol=1e-9, atol=1e-270
    )


def test_varying_numbers_kept_make_the_null_narrower_than_their_mean() -> None:
    # The variance of a sum of Bernoulli trials is largest when all chances are equal.
    mixed = selection_tail([2, 18] * 50, 20)
    equal = selection_tail([10] * 100, 20)
    assert critical_value(mixed, 0.01) < critical_value(equal, 0.01)
    np.testing.assert_allclose(mixed, poisson_binomial_tail([0.1, 0.9] * 50))


def test_bias_adds_to_p0_and_is_refused_above_one() -> None:
    np.testing.assert_array_equal(selection_tail([5] * 10, 50, 0.1), binomial_tail(10, 0.2))
    with pytest.raises(ValueError, match="above one"):
        selection_tail([5, 45], 50, 0.2)


@settings(max_examples=200, deadline=None)
@given(st.floats(0.001, 0.999), st.floats(0.0001, 0.5))
def test_least_bootstraps_is_the_first_number_that_can_be_relevant(p0: float, alpha: float) -> None:
    n = least_bootstraps(p0, alpha)
    assert n is not None
    assert critical_value(binomial_tail(n, p0), alpha) < n
    if n > 1:
        assert critical_value(binomial_tail(n - 1, p0), alpha) == n - 1


def test_permutation_tail_counts_the_observed_one_in() -> None:
    # Six permuted counts, two of them zero and not listed; n = 3.
    tail = permutation_tail(np.array([3, 1, 1, 2]), n=3, size=6)
    np.testing.assert_allclose(tail, [1, 5 / 7, 3 / 7, 2 / 7, 0])
    assert critical_value(tail, 0.3) == 2
    assert critical_value(tail, 0.1) == 3


p_values = st.lists(st.floats(0, 1), min_size=1, max_size=30).map(np.array)


@settings(max_examples=100, deadline=None)
@given(p_values, st.floats(0.001, 0.3), st.integers(0, 50))
def test_benjamini_hochberg_is_the_step_up_procedure(
    p: np.ndarray, alpha: float, others: int
) -> None:
    tests = p.size + others
    ranked = np.sort(p)
    lines = alpha * np.arange(1, p.size + 1) / tests
    under = np.flatnonzero(ranked <= lines)
    rejected = p <= ranked[under[-1]] if under.size else np.zeros(p.size, bool)
    found = adjusted(p, "bh", tests)
    # Where p equals its level up to rounding either answer is right.
    if np.abs(ranked - lines).min() > 1e-12:
        np.testing.assert_array_equal(found <= alpha, rejected)


@settings(max_examples=100, deadline=None)
@given(p_values, st.sampled_from(["none", "bonferroni", "bh"]), st.floats(0.001, 0.3))
def test_level_of_one_test_rejects_what_the_adjusted_values_reject(
    p: np.ndarray, correction: str, alpha: float
) -> None:
    level = level_of_one_test(p, alpha, correction)
    # Where p equals its level up to rounding either answer is right.
    clear = np.abs(p - level) > 1e-12
    np.testing.assert_array_equal((p <= level)[clear], (adjusted(p, correction) <= alpha)[clear])


def test_tests_left_out_count_in_the_correction() -> None:
    p = np.array([0.001, 0.02])
    padded = np.concatenate((p, np.ones(98)))
    for correction in ("bonferroni", "bh"):
        np.testing.assert_allclose(
            adjusted(p, correction, tests=100), adjusted(padded, correction)[:2]
        )


def test_hoeffding_interval_covers_at_its_rate() -> None:
    z = np.random.default_rng(1).binomial(40, 0.3, size=4000)
    lower, upper = hoeffding(z, 40, 0.1)
    assert ((lower <= 0.3) & (upper >= 0.3)).mean() >= 0.9
    low, high = hoeffding([0, 40], 40, 0.1)
    assert low[0] == 0 and high[1] == 1


@pytest.mark.parametrize("z", [0, 1, 7, 19, 20])
def test_clopper_pearson_is_scipys_exact_interval(z: int) -> None:
    interval = stats.binomtest(z, 20).proportion_ci(0.99, method="exact")
    lower, upper = clopper_pearson([z], 20, 0.01)
    np.testing.assert_allclose([lower[0], upper[0]], [interval.low, interval.high], rtol=1e-9)
