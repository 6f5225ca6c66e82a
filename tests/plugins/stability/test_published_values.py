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

import fsframe

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


def test_nogueira_gives_the_stabilities_and_the_variance_of_the_authors_demo():
    assert metrics["nogueira"]()([[1, 1, 0]] * 3).value == 1.0
    assert metrics["nogueira"]()([[1, 1, 0], [0, 1, 1], [1, 0, 1]]).value == -0.5
    third = metrics["nogueira"]()(DEMO_3)
    assert third.value == pytest.approx(-0.037037037037, abs=5e-13)
    assert third.variance == pytest.approx(0.00516666666667, abs=5e-15)


def test_jaccard_and_nogueira_give_the_stabm_vignette():
    assert metrics["jaccard"]()(VIGNETTE).value == pytest.approx(0.5595238, abs=5e-8)
    assert metrics["nogueira"]()(VIGNETTE).value == pytest.approx(0.4570136, abs=5e-8)


# The vignette's sets by hand: sizes 3, 4, 6, all three intersections are 3, p = 10.
BY_HAND = {
    "jaccard": (Fraction(3, 4) + Fraction(3, 6) + Fraction(3, 7)) / 3,
    "dice": (Fraction(6, 7) + Fraction(6, 9) + Fraction(6, 10)) / 3,
    "hamming": (Fraction(9, 10) + Fraction(7, 10) + Fraction(6, 10)) / 3,
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
    "krizek": Fraction(0),
}


@pytest.mark.parametrize("name", sorted(BY_HAND))
def test_rational_metrics_agree_with_hand_computation(name):
    assert metrics[name]()(VIGNETTE).value == pytest.approx(float(BY_HAND[name]), abs=1e-14)


def test_metrics_with_roots_and_logarithms_agree_with_hand_computation():
    ochiai = (3 / math.sqrt(12) + 3 / math.sqrt(18) + 3 / math.sqrt(24)) / 3
    assert metrics["ochiai"]()(VIGNETTE).value == pytest.approx(ochiai, abs=1e-14)
    novovicova = 3 * 3 * math.log2(3) / (13 * math.log2(3))
    assert metrics["novovicova"]()(VIGNETTE).value == pytest.approx(novovicova, abs=1e-14)
    phi = (1.8 / math.sqrt(2.1 * 2.4) + 1.2 / math.sqrt(2.1 * 2.4) + 0.6 / math.sqrt(2.4 * 2.4)) / 3
    assert metrics["phi"]()(VIGNETTE).value == pytest.approx(phi, abs=1e-14)
    unadjusted = (
        1.8 / (math.sqrt(12) - 1.2) + 1.2 / (math.sqrt(18) - 1.8) + 0.6 / (math.sqrt(24) - 2.4)
    ) / 3
    assert metrics["unadjusted"]()(VIGNETTE).value == pytest.approx(unadjusted, abs=1e-14)
    # Sets A, A, A, B: entropy (3/4) log(4/3) + (1/4) log 4, largest log 4.
    same = sets(5, (1, 2), (1, 2), (1, 2), (4, 5))
    krizek = 1 - (0.75 * math.log(4 / 3) + 0.25 * math.log(4)) / math.log(4)
    assert metrics["krizek"]()(same).value == pytest.approx(krizek, abs=1e-14)


def test_davis_takes_off_the_penalty_but_never_falls_below_zero():
    penalised = metrics["davis"](penalty=1.0)(VIGNETTE).value  # median size 4, p = 10
    assert penalised == pytest.approx(13 / 21 - 0.4, abs=1e-14)
    assert metrics["davis"](penalty=10.0)(VIGNETTE).value == 0.0


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


def test_lustgarten_of_identical_sets_is_less_than_one():
    # (k − k²/p) / (k − max(0, 2k − p)) = (4 − 16/9) / 4; all others are 1 (conformance).
    same = sets(9, *[(1, 2, 5, 9)] * 4)
    assert metrics["lustgarten"]()(same).value == pytest.approx(5 / 9, abs=1e-14)


def test_disjoint_sets_score_what_the_formula_says():
    apart = sets(12, (1, 2, 3), (4, 5, 6), (7, 8, 9), (10, 11, 12))
    for name in ("kuncheva", "nogueira", "wald", "kappa", "phi", "unadjusted"):
        assert metrics[name]()(apart).value == pytest.approx(-1 / 3, abs=1e-14), name
    for name in ("jaccard", "dice", "ochiai", "novovicova", "somol-cw", "somol-cwrel", "krizek"):
        assert metrics[name]()(apart).value == 0.0, name
    halves = sets(6, (1, 2, 3), (4, 5, 6))
    assert metrics["kuncheva"]()(halves).value == -1.0


def test_canberra_gives_the_value_of_the_authors_software():
    positions = [[2, 4, 1, 3, 0], [3, 4, 1, 2, 0], [2, 4, 3, 0, 1]]
    value = metrics["canberra"](best="smallest", depth=3)(positions).value
    assert value == pytest.approx(0.74862979571499755, abs=1e-15)
