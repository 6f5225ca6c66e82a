"""Equally near rows: decided by their place in the table, whatever units the columns have."""

from __future__ import annotations

import numpy as np
import pytest

import fsframe
from fsframe.table.dataset import Dataset
from fsframe_margin.engine.nearest_kernels import TIE, k_nearest

UNITS = {
    "whole": lambda X: X * 3 + 7,
    "tenths": lambda X: X * 0.1 + 0.3,
    "offset": lambda X: 1e3 + X / 7,
}


def ratings(seed, n=132):
    """Four attributes of 3 or 4 levels and three classes, as in the Hayes–Roth table.

    Levels are equally frequent, so that a step of one column is as long as one of another: a
    neighbour of the one kind taken for the other changes margins, one up for one down does not.
    """
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.permutation(np.arange(n) % k + 1.0) for k in (3, 4, 4, 4)])
    ahead = (X[:, 1:] == 1).sum(axis=1) - (X[:, 1:] == 2).sum(axis=1)
    return X, np.where((X[:, 1:] == 4).any(axis=1), 2, (ahead < 0).astype(int))


@pytest.mark.parametrize("units", UNITS)
@pytest.mark.parametrize(
    "chain",
    [
        *("lfe", "mbiw", "simba", "simba-mbiw", "gflip"),
        *("simba-mbiw:strategy=sample", "simba-mbiw:instance_scale=mean,refresh=40"),
    ],
)
def test_a_change_of_units_selects_the_same(chain, units):
    for seed in range(3):
        X, y = ratings(seed)
        one, other = (
            fsframe.Chain.parse(chain).select(Dataset.from_arrays(Z, y), seed=0)
            for Z in (X, UNITS[units](X))
        )
        assert other.selected.tolist() == one.selected.tolist()
        np.testing.assert_allclose(other.scores, one.scores, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("units", UNITS)
@pytest.mark.parametrize("chain", ["weighted-knn", "knn:k=3", "knn:k=3,distance=manhattan"])
def test_a_change_of_units_predicts_the_same(chain, units):
    change = UNITS[units]
    for seed in range(3):
        X, y = ratings(seed)
        new, _ = ratings(seed + 100)
        one, other = (
            fsframe.Chain.parse(chain).fit(Dataset.from_arrays(Z, y), seed=0)
            for Z in (X, change(X))
        )
        np.testing.assert_array_equal(other.predict(change(new)), one.predict(new))


def test_the_k_nearest_come_in_groups_of_equals_by_index():
    rng = np.random.default_rng(0)
    for _ in range(200):
        n = int(rng.integers(3, 25))
        k = int(rng.integers(1, n))
        # distances² 1, 4 and 9, each up to a fraction of the tolerance, and zero
        x = rng.integers(0, 4, n) * (1 + 0.01 * TIE * rng.integers(-1, 2, n))
        chosen = np.empty((1, k), dtype=np.intp)
        k_nearest(x[None, :], np.zeros(1), np.zeros((1, 1)), np.ones(1), chosen)
        order = np.lexsort((np.arange(n), np.round(x)))
        assert chosen[0].tolist() == order[:k].tolist()
        for i in range(n):
            others = [j for j in range(n) if j != i]
            left = np.empty((1, k), dtype=np.intp)
            k_nearest(x[None, others], np.zeros(1), x[None, [i]], np.ones(1), left)
            found = np.array(others)[left[0]].tolist()
            gap = np.abs(np.round(x) - np.round(x[i]))
            # rows equal but for rounding are at distances of that size, whose order is their own
            far = [j for j in others if gap[j] > 0]
            near = [j for j in others if gap[j] == 0]
            order = sorted(far, key=lambda j, gap=gap: (gap[j], j))
            assert found[len(near) :] == order[: max(0, k - len(near))]
