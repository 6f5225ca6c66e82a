"""The family finds interacting features that have no effect alone (table in docs/methods)."""

from __future__ import annotations

import attrs
import numpy as np
import pytest

from fsframe.table.dataset import Dataset
from fsframe_relief.methods.repeated import IterativeRelief, Turf, Vls
from fsframe_relief.methods.variants import (
    Multisurf,
    Multisurfstar,
    Relief,
    Relieff,
    RelievedF,
    Rrelieff,
    Surf,
    Surfstar,
    Swrfstar,
)

ALL = {
    "relief": Relief(),
    "relieff": Relieff(),
    "surf": Surf(),
    "surfstar": Surfstar(),
    "multisurf": Multisurf(),
    "multisurfstar": Multisurfstar(),
    "swrfstar": Swrfstar(),
    "relieved-f": RelievedF(),
    "iterative-relief": IterativeRelief(rounds=3),
    "vls": Vls(subset=10, rounds=6),
    "turf": Turf(base="multisurf", top=4, drop=0.25),
}


# One table tells whether a method finds the pair, two more whether that was luck.
SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))]


def ranks(selection, columns):
    order = np.argsort(-selection.scores, kind="stable").tolist()
    return sorted(order.index(column) + 1 for column in columns)


def predictive(data):
    """The columns whose names have a P: P1, P2 or M0P0, M0P1."""
    return [k for k, name in enumerate(data.feature_names) if "P" in name]


@pytest.mark.parametrize("name", ["gametes2way", "gametes_missing", "gametes_3class"])
@pytest.mark.parametrize("method", ALL)
def test_the_pair_is_at_ranks_one_and_two(table, method, name):
    data = table(f"{name}.csv")
    assert ranks(ALL[method].select(data), predictive(data)) == [1, 2]


@pytest.mark.parametrize("method", [Relieff(), Surf(), Multisurf(), Surfstar(), Swrfstar()])
def test_the_pair_is_found_with_gaps_by_probability(table, method):
    data = table("gametes_missing.csv")
    method = attrs.evolve(method, missing="probability")
    assert ranks(method.select(data), predictive(data)) == [1, 2]


@pytest.mark.parametrize(
    "method", [Rrelieff(), Relieff(), Surf(), Multisurf(), Surfstar(), Multisurfstar(), Swrfstar()]
)
def test_the_pair_is_found_with_a_numeric_endpoint(table, method):
    data = table("gametes_continuous.csv")
    assert data.task == "regression"
    assert ranks(method.select(data), predictive(data)) == [1, 2]


def noisy(table, seed, n=800, extra=500):
    """n balanced rows of the two-way set with `extra` independent SNPs."""
    data = table("gametes2way.csv")
    rng = np.random.default_rng(seed)
    rows = np.concatenate(
        [rng.choice(np.flatnonzero(data.y == c), n // 2, replace=False) for c in (0, 1)]
    )
    snps = rng.binomial(2, rng.uniform(0.05, 0.5, extra), (n, extra))
    X = np.column_stack([data.X[rows], snps])
    wide = Dataset.from_arrays(X, data.y[rows], categorical=np.ones(X.shape[1], bool))
    return wide, predictive(data)


@pytest.mark.parametrize(
    "method",
    [Surfstar(), Multisurf(), Multisurfstar(), Swrfstar(), Turf(base="relieff", top=10, drop=0.2)],
)
@pytest.mark.parametrize("seed", SEEDS)
def test_the_pair_is_found_among_five_hundred_noise_snps(table, method, seed):
    data, pair = noisy(table, seed)
    assert ranks(method.select(data), pair) == [1, 2]


@pytest.mark.parametrize("method", [Relieff(), Surf()])
@pytest.mark.parametrize("seed", SEEDS)
def test_the_pair_is_near_the_top_for_methods_without_far_instances(table, method, seed):
    data, pair = noisy(table, seed)
    assert ranks(method.select(data), pair)[1] <= 20


@pytest.mark.parametrize("method", [Relieff(), Multisurf(), Relief(), Vls(subset=10, rounds=12)])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_three_way_xor_is_found(method, seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (1600, 20)).astype(float)
    data = Dataset.from_arrays(X, X[:, :3].sum(axis=1) % 2, categorical=np.ones(20, bool))
    assert ranks(method.select(data), [0, 1, 2]) == [1, 2, 3]


def test_a_main_effect_is_lost_by_star_methods_and_kept_by_the_others():
    rng = np.random.default_rng(0)
    X = rng.binomial(2, 0.3, (600, 30)).astype(float)
    y = (X[:, 4] + rng.normal(size=600) > 0.8).astype(int)
    data = Dataset.from_arrays(X, y, categorical=np.ones(30, bool))
    for method in (Relieff(), Surf(), Multisurf()):
        assert ranks(method.select(data), [4]) == [1]
    near = Surf().select(data).scores[4]
    assert Surfstar().select(data).scores[4] < near / 2
