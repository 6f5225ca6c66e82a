"""Complementary pairs stability selection: its bounds, and that they hold on pure noise."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from fsframe import Chain, Dataset, Run
from fsframe.errors import DataError, RequestError
from fsframe_npfs.engine.bounds import (
    BOUNDS,
    expected_false,
    largest_tail,
    least_count,
)
from fsframe_npfs.engine.labellings import DRAWS
from fsframe_npfs.engine.resample_counts import complementary_halves
from fsframe_npfs.methods.stability_selection import Cpss


def test_the_bounds_of_theorems_1_and_2_by_hand() -> None:
    # p = 1000, q = 50, B = 50: θ = 0.05, q²/p = 2.5.
    assert expected_false(90, 50, 50, 1000, "worst-case") == pytest.approx(2.5 / 0.8)
    assert expected_false(90, 50, 50, 1000, "unimodal") == pytest.approx(
        4 * (0.1 + 0.01) / 1.02 * 2.5
    )
    assert expected_false(60, 50, 50, 1000, "unimodal") == pytest.approx(2.5 / (2 * 0.19))


@pytest.mark.parametrize(
    ("mean", "n", "least", "r"), [(0.05, 20, 8, -0.25), (0.1, 12, 6, -0.5), (0.02, 30, 10, -0.25)]
)
def test_no_r_concave_distribution_has_a_heavier_tail(
    mean: float, n: int, least: int, r: float
) -> None:
    bound, worst = largest_tail(mean, n, least, r), 0.0
    draw = np.random.default_rng(0)
    for _ in range(4000):
        top = int(draw.integers(least, n + 1))
        if draw.random() < 0.5:
            slopes = np.sort(draw.exponential(size=top) * 10 ** draw.uniform(-3, 3))
        else:
            slopes = np.full(top, 10 ** draw.uniform(-3, 3))
        convex = np.concatenate([[0.0], np.cumsum(slopes)]) + 10 ** draw.uniform(-3, 2)
        mass = convex ** (1 / r)
        mass /= mass.sum()
        if mass @ np.arange(top + 1) <= mean * n:
            worst = max(worst, mass[least:].sum())
    assert 0.9 * bound < worst <= bound * (1 + 1e-9)


@pytest.mark.parametrize("bound", BOUNDS)
def test_a_larger_share_never_has_a_larger_bound(bound: str) -> None:
    values = [expected_false(c, 20, 10, 200, bound) for c in range(1, 41)]
    assert all(a >= b * (1 - 1e-9) for a, b in itertools.pairwise(values))
    wanted = values[29]
    assert least_count(wanted * 1.000001, 20, 10, 200, bound) <= 30


def noise(seed: int, n: int, p: int, relevant: int = 0) -> Dataset:
    draw = np.random.default_rng(seed)
    y = draw.integers(0, 2, n)
    X = draw.normal(size=(n, p))
    X[:, :relevant] += 0.9 * y[:, None]
    return Dataset.from_arrays(X, y, name="noise")


@pytest.mark.parametrize("bound", BOUNDS)
def test_the_bound_holds_on_pure_noise(bound: str) -> None:
    # With nothing relevant every feature is selected from a half with probability q/p.
    base = Chain.parse("anova-f:top=5")
    false = [
        Cpss(pairs=15, false_selections=1.0, bound=bound)
        .select_wrapped(base, noise(seed, 60, 80), None, Run(entropy=seed))
        .selected.size
        for seed in range(12)
    ]
    assert np.mean(false) <= 1.0


def test_copies_of_noise_columns_do_not_break_the_bound() -> None:
    # The control that refuted a promise "whatever the base is": copies share their luck.
    # They break the r-concave bound, too: 2.7 where 1 is promised.
    base, false = Chain.parse("anova-f:top=5"), []
    for seed in range(20):
        alone = noise(seed, 60, 10)
        data = Dataset.from_arrays(np.repeat(alone.X, 4, axis=1), alone.y, name="copies")
        found = Cpss(pairs=15).select_wrapped(base, data, None, Run(entropy=seed))
        false.append(found.selected.size)
        assert found.tables["false-selections-bound"][0] <= 1.0
    assert np.mean(false) <= 1.0


def test_relevant_features_are_kept() -> None:
    data = noise(1, 200, 60, relevant=4)
    found = Chain.parse("anova-f:top=5 cpss:pairs=20").select(data, seed=0)
    assert set(found.selected) == {0, 1, 2, 3}
    assert found.scores[:4].min() > 0.9
    assert found.tables["false-selections-bound"][0] <= 1.0


def test_a_given_threshold_reports_its_bound() -> None:
    data = noise(1, 200, 60, relevant=4)
    found = Chain.parse("anova-f:top=5 cpss:pairs=20,threshold=0.75").select(data, seed=0)
    assert found.tables["threshold"][0] == 0.75
    assert found.tables["false-selections-bound"][0] == expected_false(
        30, 20, 5.0, 60, "worst-case"
    )


def test_a_bound_that_no_threshold_reaches_says_how_many_to_keep() -> None:
    data = noise(2, 100, 40)
    found = Chain.parse("anova-f:top=30 cpss:pairs=10").select(data, seed=0)
    assert not found.selected.size
    [said] = [line for line in found.warnings if "nothing is kept" in line]
    most = int(said.split("keep at most ")[1].split()[0])
    assert least_count(1.0, 10, most, 40, "worst-case")
    assert not least_count(1.0, 10, most + 1, 40, "worst-case")


def test_halves_are_complementary_and_do_not_depend_on_their_number() -> None:
    data = noise(0, 61, 5)
    few, many = (
        complementary_halves(data, data.y, Run(entropy=4), DRAWS, pairs) for pairs in (2, 5)
    )
    np.testing.assert_array_equal(many[:4], few)
    pairs = many[::2] + many[1::2]
    assert (pairs == 1).all()


def test_too_few_rows_of_a_class_are_refused(request: pytest.FixtureRequest) -> None:
    data = Dataset.from_arrays(np.eye(8), ["a"] * 5 + ["b"] * 3, name="few")
    with pytest.raises(DataError, match="four rows of every class, the smallest has 3"):
        Chain.parse("anova-f cpss").select(data)


def test_parameters_that_no_bound_covers_are_refused() -> None:
    with pytest.raises(RequestError, match=r"needs a threshold above 0\.5"):
        Cpss(threshold=0.4, bound="unimodal")


def test_numeric_targets_are_halved_too(slides: Any) -> None:
    draw = np.random.default_rng(0)
    X = draw.normal(size=(80, 12))
    data = Dataset.from_arrays(X, X[:, 0] + 0.3 * draw.normal(size=80), name="numbers")
    found = Chain.parse("correlation:top=2 cpss:pairs=10").select(data, seed=0)
    assert found.selected[0] == 0
