"""Several chains on identical folds: verdicts by every rule, and the summary over tables."""

from __future__ import annotations

import numpy as np
import pytest

from fsframe.errors import RequestError
from fsframe.evaluation.comparison import RULES, Cell, compared, methods_of
from fsframe.evaluation.comparison_tests import (
    corrected_resampled_test,
    paired_t_test,
    wilcoxon_holm,
)
from fsframe.evaluation.summary import summarise
from fsframe.table.dataset import Dataset


def table(seed, signal=2.0):
    generator = np.random.default_rng(seed)
    y = np.arange(50) % 2
    X = generator.standard_normal((50, 12))
    X[:, 0] += signal * y
    return Dataset.from_arrays(X, y, name=f"t{seed}")


def cells(chains, tables, **protocol):
    methods = methods_of(chains, **{"folds": "5", "repeats": "4", **protocol})
    return [
        [
            Cell(
                chain=str(m.base),
                data=data.name,
                evaluation=summarise(m.select(data)),
                seconds=1.0,
            )
            for m in methods
        ]
        for data in tables
    ]


@pytest.fixture(scope="module")
def grid():
    chains = ["anova-f:top=1 knn", "anova-f:top=12 knn", "anova-f:top=2 knn:k=3"]
    return cells(chains, [table(seed) for seed in range(4)])


def test_verdicts_are_those_of_the_tests_on_the_folds(grid):
    result = compared(grid)
    for d, row in enumerate(grid):
        a, b = row[0].better("accuracy"), row[1].better("accuracy")
        assert result.papers[d, 0, 1] == paired_t_test(a, b)
        assert result.corrected[d, 0, 1] == corrected_resampled_test(a, b, 1 / 4)
    assert result.accuracy.shape == (4, 3)
    assert result.adjusted_p.tolist() == wilcoxon_holm(result.accuracy).tolist()


def test_a_win_of_one_is_a_loss_of_the_other_and_every_table_counts_once(grid):
    result = compared(grid)
    for rule in RULES:
        for i, j in ((0, 1), (0, 2), (1, 2)):
            wins, ties, losses = result.tally(rule, i, j)
            assert (losses, ties, wins) == result.tally(rule, j, i)
            assert wins + ties + losses == 4


def test_the_better_chain_wins():
    result = compared(cells(["anova-f:top=1 knn", "anova-f:top=12 knn"], [table(9, 3.0)]))
    assert result.outcome["two-step"][0, 0, 1] == "win" and result.ranks is None


def test_different_splits_are_not_compared():
    few = cells(["knn", "knn:k=3"], [table(0)])
    many = cells(["knn", "knn:k=3"], [table(0)], repeats="2")
    with pytest.raises(ValueError, match="different splits"):
        compared([[few[0][0], many[0][1]]])


def test_a_classifier_is_for_chains_without_one():
    first, second = methods_of(["mim knn", "mim"], classifier="weighted-knn")
    assert (first.classifier, second.classifier) == ("", "weighted-knn")


@pytest.mark.parametrize(
    ("chains", "words"),
    [
        (["mim"], ["at least two"]),
        (["mim:top=0", "nonsense"], ["top", "nonsense"]),
        (["mim  knn", "mim knn"], ["given twice"]),
        (["mim", "mim weighted-knn"], ["given twice"]),
    ],
)
def test_wrong_chains_are_refused_together(chains, words):
    with pytest.raises(RequestError) as caught:
        methods_of(chains)
    assert all(word in str(caught.value) for word in words)
