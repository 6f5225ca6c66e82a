"""Metrics of rankings against scipy, pair by pair, and Canberra's expectation by enumeration."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.stats import kendalltau, rankdata, spearmanr, weightedtau

import fsframe
from fsframe_stability.rankings import expected_canberra, sign_agreement

metrics = fsframe.stability_metrics


def scores(runs: int, features: int, ties: bool, seed: int = 0) -> np.ndarray:
    drawn = np.random.default_rng(seed).normal(size=(runs, features))
    return np.round(drawn, 1) if ties else drawn


def pairs(matrix: np.ndarray):
    return itertools.combinations(matrix, 2)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("features", [2, 7, 60])
def test_correlations_are_the_means_of_scipys(features: int, ties: bool) -> None:
    matrix = scores(6, features, ties, seed=features)
    truth = {
        "spearman": [spearmanr(a, b).statistic for a, b in pairs(matrix)],
        "kendall": [kendalltau(a, b).statistic for a, b in pairs(matrix)],
        "weighted-tau": [weightedtau(a, b).statistic for a, b in pairs(matrix)],
    }
    for name, expected in truth.items():
        assert metrics[name]()(matrix).value == pytest.approx(np.mean(expected), abs=1e-12), name


def test_kendall_by_signs_and_by_sorting_agree() -> None:
    matrix = scores(3, 400, ties=True)  # beyond the crossover: sorting
    ranks = rankdata(-matrix, axis=1)
    gram = sign_agreement(ranks)
    tau = gram / np.sqrt(np.outer(gram.diagonal(), gram.diagonal()))
    expected = np.mean(tau[np.triu_indices(3, k=1)])
    assert metrics["kendall"]()(matrix).value == pytest.approx(expected, abs=1e-13)


def test_weighted_tau_by_signs_and_by_scipy_agree_with_and_without_ties_between() -> None:
    matrix = scores(24, 900, ties=False)  # many blocks of signs
    matrix[3] = np.round(matrix[3], 1)
    matrix[20] = matrix[3] + np.round(matrix[20], 1)
    tau = metrics["weighted-tau"]()._correlations(rankdata(-matrix, axis=1))
    for i, j in ((0, 1), (0, 3), (2, 20), (3, 20), (20, 23), (22, 23)):
        expected = weightedtau(matrix[i], matrix[j]).statistic
        assert tau[i, j] == pytest.approx(expected, abs=1e-12), (i, j)


def test_kendall_over_many_blocks_of_signs_agrees_with_scipy() -> None:
    matrix = scores(40, 900, ties=True)
    expected = np.mean([kendalltau(a, b).statistic for a, b in pairs(matrix[:5])])
    gram = sign_agreement(rankdata(matrix, axis=1))[:5, :5]
    tau = gram / np.sqrt(np.outer(gram.diagonal(), gram.diagonal()))
    assert tau[np.triu_indices(5, k=1)].mean() == pytest.approx(expected, abs=1e-13)


@pytest.mark.parametrize("name", ["spearman", "kendall", "weighted-tau", "canberra"])
def test_ranks_and_the_scores_they_come_from_give_the_same(name: str) -> None:
    matrix = scores(5, 30, ties=True)
    ranks = rankdata(-matrix, axis=1)
    from_ranks = metrics[name](best="smallest")(ranks).value
    assert from_ranks == metrics[name](best="largest")(matrix).value
    assert from_ranks == metrics[name]()(np.exp(3 * matrix)).value  # any increasing function


@pytest.mark.parametrize("p", [2, 3, 5, 6])
def test_canberras_expectation_is_the_mean_over_all_permutations(p: int) -> None:
    first = np.arange(1, p + 1)
    for depth in range(1, p + 1):
        a = np.minimum(first, depth + 1)
        total = [
            np.sum(np.abs(a - b) / (a + b))
            for b in (np.minimum(np.array(o), depth + 1) for o in itertools.permutations(first))
        ]
        assert expected_canberra(p, depth) == pytest.approx(np.mean(total), abs=1e-13)


def test_canberras_expectation_is_the_double_sum_for_many_features() -> None:
    p, depth = 3000, 700
    places = np.minimum(np.arange(1, p + 1), depth + 1).astype(float)
    table = np.abs(places[:, None] - places) / (places[:, None] + places)
    assert expected_canberra(p, depth) == pytest.approx(table.sum() / p, rel=1e-12)


def test_canberra_takes_mean_ranks_for_ties() -> None:
    # Ranks 1, 2.5, 2.5 against 1, 2, 3: 0.5/4.5 + 0.5/5.5; expectation of 3 places.
    expected = (0.5 / 4.5 + 0.5 / 5.5) / expected_canberra(3)
    assert metrics["canberra"]()([[9, 4, 4], [9, 5, 4]]).value == pytest.approx(expected, abs=1e-14)


def test_canberra_refuses_a_depth_beyond_the_features() -> None:
    with pytest.raises(fsframe.DataError, match="depth 9 is beyond the 5 features"):
        metrics["canberra"](depth=9)(scores(3, 5, ties=False))
