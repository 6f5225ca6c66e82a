"""Values that publications, published software and hand computation give.

Sources, with the tolerance at each test:

* JMLR demo: the demonstration notebook beside Nogueira, Sechidis, Brown, JMLR 18(174), 2018
  (github.com/nogueirs/JMLR2018, python/stabilityDemo.ipynb), printed to 12 digits.
* stabm vignette: "Get started" of the R package stabm (bommert.github.io/stabm), 7 digits.
* mlpy: the documented example of canberra_stability in mlpy 3.5, by the authors of Jurman et al.,
  Bioinformatics 24(2), 2008, 17 digits.
* The rest is worked by hand from the formula in the metric's docstring.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

import fsframe
from fsframe_stability.agreement import Overlap
from fsframe_stability.coefficients import above_threshold_test, difference_test, phi_and_variance

metrics = fsframe.stability_metrics


def sets(p: int, *rows: tuple[int, ...]) -> np.ndarray:
    """A boolean matrix from features numbered from 1."""
    matrix = np.zeros((len(rows), p), dtype=bool)
    for row, features in zip(matrix, rows, strict=True):
        row[[f - 1 for f in features]] = True
    return matrix


VIGNETTE = sets(10, (1, 2, 3), (1, 2, 3, 4), (1, 2, 3, 5, 6, 7))
DEMO_3 = np.array(
    [
        [1, 1, 1, 1, 0, 0, 0, 0, 0, 0],
        [0, 0, 0, 1, 0, 1, 1, 1, 0, 0],
        [0, 1, 0, 0, 0, 1, 1, 1, 0, 0],
        [1, 1, 0, 0, 1, 0, 1, 0, 0, 0],
        [0, 1, 1, 0, 1, 1, 0, 0, 0, 0],
        [0, 1, 1, 1, 0, 0, 1, 0, 0, 0],
        [1, 0, 0, 1, 0, 0, 0, 0, 1, 1],
        [0, 0, 0, 1, 0, 1, 1, 1, 0, 0],
        [0, 0, 1, 1, 1, 1, 0, 0, 0, 0],
        [0, 0, 0, 0, 1, 0, 0, 1, 1, 1],
    ]
)


# The vignette's sets by hand: sizes 3, 4, 6, all three intersections are 3, p = 10.
BY_HAND = {
    # numerators 3 − 1.2, 3 − 1.8, 3 − 2.4
    "wald": (Fraction(18, 18) + Fraction(12, 12) + Fraction(6, 16)) / 3,
    "lustgarten": (Fraction(18, 30) + Fraction(12, 30) + Fraction(6, 40)) / 3,
    "kappa": (Fraction(18, 23) + Fraction(12, 27) + Fraction(6, 26)) / 3,
    # h = 3,3,3,1,1,1,1: q = 13, |V| = 7
    "davis": Fraction(13, 3 * 7),
    "somol-cw": Fraction(3 * 3 * 2, 13 * 2),
    # D = 13 mod 10 = 3, H = 13 mod 3 = 1
    "somol-cwrel": (Fraction(18, 26) - Fraction(169 - 100 - 9, 260))
    / (Fraction(1 + 26 - 3, 26) - Fraction(60, 260)),
    "krizek": 0.0,
    "novovicova": 3 * 3 * math.log2(3) / (13 * math.log2(3)),
    "phi": (3.0 / math.sqrt(2.1 * 2.4) + 0.6 / 2.4) / 3,
    "unadjusted": (1.8 / (math.sqrt(12) - 1.2) + 1.2 / (math.sqrt(18) - 1.8)
                   + 0.6 / (math.sqrt(24) - 2.4)) / 3,
}  # fmt: skip


SAME_BUT_ONE = sets(5, (1, 2), (1, 2), (1, 2), (4, 5))
POSITIONS = [[2, 4, 1, 3, 0], [3, 4, 1, 2, 0], [2, 4, 3, 0, 1]]
VALUES = [
    *((name, {}, VIGNETTE, float(value)) for name, value in BY_HAND.items()),
    # Entropy (3/4) log(4/3) + (1/4) log 4 of sets A, A, A, B, largest log 4.
    ("krizek", {}, SAME_BUT_ONE, 1 - (0.75 * math.log(4 / 3) + 0.25 * math.log(4)) / math.log(4)),
    # Median size 4 of p = 10; never below zero.
    ("davis", {"penalty": 1.0}, VIGNETTE, 13 / 21 - 0.4),
    ("davis", {"penalty": 10.0}, VIGNETTE, 0.0),
    # (k − k²/p) / (k − max(0, 2k − p)) = (6 − 4) / (6 − 3) of equal sets; all others are 1.
    ("lustgarten", {}, sets(9, *[(1, 2, 3, 5, 7, 9)] * 4), 2 / 3),
    ("nogueira", {}, [[1, 1, 0]] * 3, 1.0),
    ("nogueira", {}, [[1, 1, 0], [0, 1, 1], [1, 0, 1]], -0.5),
    ("canberra", {"best": "smallest", "depth": 3}, POSITIONS, 0.74862979571499755),
]


@pytest.mark.parametrize(("name", "settings", "matrix", "value"), VALUES)
def test_metrics_agree_with_hand_computation_and_published_values(name, settings, matrix, value):
    assert metrics[name](**settings)(matrix).value == pytest.approx(value, abs=1e-14)


def test_nogueira_gives_the_digits_that_the_authors_demo_and_stabm_print():
    third = metrics["nogueira"]()(DEMO_3)
    assert third.value == pytest.approx(-0.037037037037, abs=5e-13)
    assert third.variance == pytest.approx(0.00516666666667, abs=5e-15)
    assert metrics["nogueira"]()(VIGNETTE).value == pytest.approx(0.4570136, abs=5e-8)


def test_sechidis_is_the_ratio_of_traces_of_dense_matrices():
    random = np.random.default_rng(4)
    m, p = 7, 9
    matrix = random.random((m, p)) < 0.4
    like = np.triu(random.random((p, p)), k=1)
    like = like + like.T + np.eye(p)
    c = np.where(like >= 0.6, like, 0.0)
    s = np.cov(matrix.astype(float), rowvar=False)
    sizes = matrix.sum(axis=1)
    share = sizes.mean() / p
    sigma = np.full((p, p), (np.mean(sizes**2) - sizes.mean()) / (p * p - p) - share**2)
    np.fill_diagonal(sigma, share * (1 - share))
    expected = 1 - np.trace(c @ s) / np.trace(c @ sigma)
    value = metrics["sechidis"](threshold=0.6)(matrix, like).value
    assert value == pytest.approx(expected, abs=1e-12)


def test_similarities_count_from_the_threshold_on_and_not_below():
    like = np.eye(4)
    like[0, 1] = like[1, 0] = 0.85
    matrix = sets(4, (1, 3), (2, 3))
    for name in ("yu", "zucknick", "sechidis"):
        reached = metrics[name](threshold=0.85)(matrix, like).value
        missed = metrics[name](threshold=0.86)(matrix, like).value
        assert missed == pytest.approx(metrics[name]()(matrix, np.eye(4)).value, abs=1e-14)
        assert reached > missed + 0.1


# Nogueira's φ: the formulas step by step, the sign of φ/2, and the tests


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


@pytest.mark.parametrize(
    ("shape", "shares", "level"),
    [((50, 20), np.linspace(0.05, 0.95, 20), 0.2), ((60, 40), np.repeat([0.9, 0.05], [10, 30]), 0)],
    ids=["ordinary", "below 1e-50"],
)
def test_one_set_test_is_the_upper_tail_of_the_z_value(shape, shares, level):
    matrix = np.random.default_rng(5).random(shape) < shares
    phi, variance = by_definition(matrix)
    outcome = above_threshold_test(matrix, level)
    z = (phi - level) / math.sqrt(variance)
    assert outcome.statistic == pytest.approx(z, rel=1e-9)
    assert outcome.p_value == pytest.approx(norm.sf(z), rel=1e-6)
    assert (outcome.p_value < 1e-50) == (level == 0)


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


@pytest.mark.parametrize(
    "matrix", [np.tile([1, 1, 0, 0], (5, 1)), np.eye(4), np.zeros((3, 4)), np.ones((3, 4))]
)
def test_without_variance_or_value_there_is_no_p_value_but_a_reason(matrix):
    for outcome in (above_threshold_test(matrix, 0.2), difference_test(matrix, matrix)):
        assert math.isnan(outcome.statistic) and math.isnan(outcome.p_value)
        assert outcome.undefined
