"""Corrections for many tests and intervals: against definition, scipy and law."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from fsframe_npfs.engine.decisions import adjusted, level_of_one_test
from fsframe_npfs.engine.nulls import clopper_pearson, hoeffding

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
