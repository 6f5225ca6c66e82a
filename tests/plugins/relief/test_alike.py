"""The forms with a star for a numeric target: hits are the rows with a similar value."""

from __future__ import annotations

import numpy as np
import pytest

import fsframe
from fsframe import Dataset, Run
from fsframe_relief import plain

STARS = ["surfstar", "multisurfstar", "swrfstar"]


def scores(name: str, data: Dataset, run: Run | None = None, **settings: object) -> np.ndarray:
    found = fsframe.selectors[name](**settings).select(data, run=run or Run(entropy=0)).scores
    assert found is not None
    return found


def columns(rows: int, seed: int, gaps: float = 0.0) -> np.ndarray:
    """Three discrete columns and three continuous ones."""
    rng = np.random.default_rng(seed)
    X = np.hstack([rng.integers(0, 3, (rows, 3)), rng.normal(size=(rows, 3))])
    return np.where(rng.random(X.shape) < gaps, np.nan, X)


@pytest.mark.parametrize("name", STARS)
@pytest.mark.parametrize("gaps", [0.0, 0.15])
def test_scores_are_those_of_plain_arrays(name: str, gaps: float) -> None:
    X, y = columns(50, 1, gaps), np.random.default_rng(2).normal(size=50)
    wanted = plain.alike_scores(X, y, np.arange(6) < 3, name)
    got = scores(name, Dataset.from_arrays(X, y), discrete_features=[0, 1, 2])
    np.testing.assert_allclose(got, wanted, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", STARS)
@pytest.mark.parametrize("gaps", [0.0, 0.15])
def test_a_target_of_two_values_is_scored_as_two_classes(name: str, gaps: float) -> None:
    # Values 0 and 1 differ by more than their standard deviation, about a half.
    X, y = columns(60, 3, gaps), np.arange(60) % 2
    as_classes = scores(name, Dataset.from_arrays(X, y), discrete_features=[0, 1, 2])
    data = Dataset.from_arrays(X, y.astype(float), task="regression")
    as_numbers = scores(name, data, discrete_features=[0, 1, 2])
    np.testing.assert_allclose(as_numbers, as_classes, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", STARS[:2])
def test_a_hand_case(name: str) -> None:
    # One column, x = 0, 1, 10 and y = 0, 0.1, 1: 0 and 1 are alike, sd(y) = 0.55. Distances are
    # 0.1, 0.9, 1.0 and T their mean 2/3. Of targets 0 and 1 the near hit has diff 0.1 and the far
    # miss 1.0 and 0.9; of target 2 both others are far misses.
    X, y = np.array([[0.0], [1.0], [10.0]]), np.array([0.0, 0.1, 1.0])
    wanted = ((-0.1 - 1.0) + (-0.1 - 0.9) - 0.95) / 3
    if name == "multisurfstar":
        # Bounds of target 2: 0.95 ± 0.025, so that one miss is near and the other far.
        wanted = ((-0.1 - 1.0) + (-0.1 - 0.9) + (0.9 - 1.0)) / 3
    got = scores(name, Dataset.from_arrays(X, y), discrete_features="none")
    assert got == pytest.approx([wanted], abs=1e-12)


@pytest.mark.parametrize("name", STARS)
def test_blocks_threads_and_the_order_of_rows_change_nothing(name: str) -> None:
    X, y = columns(300, 4, 0.05), np.random.default_rng(5).normal(size=300)
    data = Dataset.from_arrays(X, y)
    one = scores(name, data, Run(entropy=0, threads=1), discrete_features=[0, 1, 2])
    small = Run(entropy=0, threads=2, memory=400_000)
    np.testing.assert_allclose(
        scores(name, data, small, discrete_features=[0, 1, 2]), one, rtol=0, atol=1e-12
    )
    order = np.random.default_rng(6).permutation(300)
    shuffled = Dataset.from_arrays(X[order], y[order])
    moved = scores(name, shuffled, Run(entropy=0, threads=1), discrete_features=[0, 1, 2])
    assert moved.tobytes() == one.tobytes()


@pytest.mark.parametrize("name", STARS)
def test_p_values_of_a_numeric_target(name: str) -> None:
    rng = np.random.default_rng(8)
    X = rng.integers(0, 2, (80, 6))
    y = (X[:, 1] ^ X[:, 4]) + 0.2 * rng.normal(size=80)
    stage = fsframe.selectors[name](permutations=99, discrete_features="all")
    found = stage.select(Dataset.from_arrays(X, y), seed=0)
    p_values = found.tables["p_values"]
    assert set(np.argsort(p_values, kind="stable")[:2].tolist()) == {1, 4}
    assert p_values[[1, 4]].max() <= 0.02
