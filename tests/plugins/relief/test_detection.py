"""The family finds interacting features that have no effect alone (table in docs/methods)."""

from __future__ import annotations

import numpy as np
import pytest

from fsframe.table.dataset import Dataset

from .conftest import method

ALL = [
    "relief", "relieff", "surf", "surfstar", "multisurf", "multisurfstar", "swrfstar", "relieved-f",
    "iterative-relief:rounds=3", "vls:subset=10,rounds=6",
    "turf:base=multisurf,top=4,drop=0.25",
]  # fmt: skip


# One table tells whether a method finds the pair, two more whether that was luck.
SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))]


def ranks(selection, columns):
    order = np.argsort(-selection.scores, kind="stable").tolist()
    return sorted(order.index(column) + 1 for column in columns)


def predictive(data):
    """The columns whose names have a P: P1, P2 or M0P0, M0P1."""
    return [k for k, name in enumerate(data.feature_names) if "P" in name]


CASES = [
    *((name, text) for name in ("2way", "_missing", "_3class") for text in ALL),
    *(("_missing", f"{text}:missing=probability")
      for text in ("relieff", "surf", "multisurf", "surfstar", "swrfstar")),
    *(("_continuous", text) for text in ("rrelieff", "relieff", "surf", "multisurf", "surfstar",
                                         "multisurfstar", "swrfstar")),
]  # fmt: skip


@pytest.mark.parametrize(("name", "text"), CASES)
def test_the_pair_is_at_ranks_one_and_two(table, name, text):
    data = table(f"gametes{name}.csv")
    assert ranks(method(text).select(data), predictive(data)) == [1, 2]


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
    ("text", "last"),
    [
        *((text, 2) for text in ("surfstar", "multisurf", "multisurfstar", "swrfstar")),
        ("turf:base=relieff,top=10,drop=0.2", 2),
        # without far instances near the top
        ("relieff", 20),
        ("surf", 20),
    ],
)
@pytest.mark.parametrize("seed", SEEDS)
def test_the_pair_is_found_among_five_hundred_noise_snps(table, text, last, seed):
    data, pair = noisy(table, seed)
    assert ranks(method(text).select(data), pair)[1] <= last


@pytest.mark.parametrize("text", ["relieff", "multisurf", "relief", "vls:subset=10,rounds=12"])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_three_way_xor_is_found(text, seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (1600, 20)).astype(float)
    data = Dataset.from_arrays(X, X[:, :3].sum(axis=1) % 2, categorical=np.ones(20, bool))
    assert ranks(method(text).select(data), [0, 1, 2]) == [1, 2, 3]


def test_a_main_effect_is_lost_by_star_methods_and_kept_by_the_others():
    rng = np.random.default_rng(0)
    X = rng.binomial(2, 0.3, (600, 30)).astype(float)
    y = (X[:, 4] + rng.normal(size=600) > 0.8).astype(int)
    data = Dataset.from_arrays(X, y, categorical=np.ones(30, bool))
    scores = {}
    for text in ("relieff", "multisurf", "surf", "surfstar"):
        found = method(text).select(data)
        scores[text] = found.scores[4]
        assert text == "surfstar" or ranks(found, [4]) == [1]
    assert scores["surfstar"] < scores["surf"] / 2
