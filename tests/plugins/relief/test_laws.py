"""What must not change a score, and what must: units, drawing, memory; tables in parts."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars
import pytest

import fsframe
from fsframe import Chain
from fsframe.errors import RequestError
from fsframe.method.run import Run
from fsframe.table.dataset import Dataset
from fsframe.testing.conformance import peak_bytes
from fsframe_relief.engine import part_scores
from tests.plugins.shared import CODES, divided, mixed_table

from .conftest import make_table, method


def make_data(n=150, gaps=0.05):
    X, y, discrete = make_table("mixed", n=n, gaps=gaps)
    return Dataset.from_arrays(X, y, categorical=discrete)


@pytest.mark.parametrize("text", ["relieff:k=5", "surf", "multisurfstar", "swrfstar", "relieved-f"])
def test_extreme_units_and_columns_that_tell_nothing_do_not_matter(text):
    X, y, _ = make_table("continuous", n=80)
    base = method(text).select(Dataset.from_arrays(X, y))
    other = X * np.array([1e-200, 1e140, 3, 1, 7e5, 1, 1])
    wide = np.column_stack([other, np.full(80, np.nan), np.full(80, -1.0)])
    found = method(text).select(Dataset.from_arrays(wide, y))
    np.testing.assert_allclose(found.scores[:-2], base.scores, rtol=0, atol=1e-12)
    assert found.scores[-1] == 0 and np.isnan(found.scores[-2]) and 7 not in found.selected
    assert any("without any value" in note for note in found.warnings)


def test_k_beyond_the_class_takes_all_and_says_so():
    X, y, discrete = make_table("mixed", n=40)
    data = Dataset.from_arrays(X, y, categorical=discrete)
    least = int(np.bincount(y).min())
    enough = method("relieff", k=40).select(data)
    more = method("relieff", k=4000).select(data)
    np.testing.assert_array_equal(enough.scores, more.scores)
    assert any(f"the {least - 1} other members of a class" in w for w in more.warnings)
    assert not any(
        "other members" in w for w in method("relieff", k=least - 1).select(data).warnings
    )


def test_an_instance_is_not_warned_of_its_own_copies():
    # Class 0 has 2 + 3 copies, class 1 has 4 + 4: the second row has 2 hits, not 4.
    data = Dataset.from_arrays([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]).with_counts([2, 3, 4, 4])
    assert any("the 2 other members" in w for w in method("relieff", k=3).select(data).warnings)
    assert not any("other members" in w for w in method("relieff", k=2).select(data).warnings)
    # four copies of one row are one member, without a hit
    alone = Dataset.from_arrays([[0.0], [1.0], [2.0]], [0, 1, 1]).with_counts([4, 1, 1])
    assert any("single member" in w for w in method("relieff", k=1).select(alone).warnings)
    target = Dataset.from_arrays([[0.0], [1.0], [2.0]], [0.1, 0.2, 0.7]).with_counts([4, 1, 1])
    assert any("the 2 other instances" in w for w in method("relieff", k=3).select(target).warnings)


def test_drawing_all_targets_is_no_drawing():
    data = make_data()
    full = method("relieff", k=5).select(data).scores
    all_drawn = method("relieff", k=5, m=data.n_samples).select(data, seed=9).scores
    np.testing.assert_array_equal(all_drawn, full)
    few = [method("relieff", k=5, m=30).select(data, seed=s).scores for s in (1, 1, 2)]
    np.testing.assert_array_equal(few[0], few[1])
    assert not np.array_equal(few[0], few[2])
    many = np.mean(
        [method("relieff", k=5, m=30).select(data, seed=s).scores for s in range(200)], axis=0
    )
    np.testing.assert_allclose(many, full, atol=0.02)


def test_few_levels_are_discrete_when_nobody_says_and_it_is_said():
    X, y, discrete = make_table("mixed", n=60)
    said = method("relieff", k=3).select(Dataset.from_arrays(X, y, categorical=discrete))
    guessed = method("relieff", k=3).select(Dataset.from_arrays(X, y))
    np.testing.assert_array_equal(said.scores, guessed.scores)
    assert any("taken as discrete" in note for note in guessed.warnings)
    assert not any("taken as discrete" in note for note in said.warnings)
    named = method("relieff", k=3, discrete_features=["f1", 1, "f3"]).select(
        Dataset.from_arrays(X, y)
    )
    np.testing.assert_array_equal(named.scores, said.scores)
    none = method("relieff", k=3, discrete_features="none").select(Dataset.from_arrays(X, y))
    assert not np.allclose(none.scores, said.scores)


def test_the_task_can_be_said():
    data = make_data(gaps=0)
    as_numbers = Dataset.from_arrays(data.X, data.y.astype(float), task="regression")
    asked = method("relieff", k=5, task="regression", discrete_features="none").select(data).scores
    given = method("relieff", k=5, discrete_features="none").select(as_numbers).scores
    np.testing.assert_array_equal(asked, given)
    with pytest.raises(RequestError, match="classification"):
        method("relief", task="regression").select(data)
    words = Dataset.from_arrays(data.X, np.array(["a", "b", "c"])[data.y])
    with pytest.raises(RequestError, match="needs numbers"):
        method("relieff", task="regression").select(words)


# Memory


def test_p_values_that_would_not_fit_are_refused_with_the_size():
    rng = np.random.default_rng(0)
    data = Dataset.from_arrays(rng.normal(size=(500, 3)), np.arange(500) % 2)
    with pytest.raises(RequestError, match="500 × 500 matrix"):
        method("surf:permutations=19").select(data, run=Run(memory=1 << 20))


@pytest.mark.parametrize("seed", [5, 15, 17, 33])
def test_ties_and_gaps_of_iterative_relief_do_not_hang_on_the_bound(seed):
    # Values on a grid, so that often all of a class lie on the edge of the ball.
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(30, 140)), int(rng.integers(3, 9))
    X = rng.integers(0, 3, (n, p)).astype(float)
    X[:, : p // 2] = rng.normal(size=(n, p // 2)).round(1)
    X[rng.random((n, p)) < 0.15] = np.nan
    data = Dataset.from_arrays(X, rng.integers(0, 2, n))
    stage = method("iterative-relief:least=3")
    ample = stage.select(data, run=Run(memory=1 << 31)).scores
    # From the least that is not refused: the prepared columns.
    for bound in (8 * n * p, 1 << 16, 8 * n * (n + p)):
        scarce = stage.select(data, run=Run(memory=bound)).scores
        np.testing.assert_allclose(scarce, ample, rtol=0, atol=1e-12)


@pytest.mark.parametrize("missing", ["skip", "probability"])
@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("p", [60, 600])
def test_a_fit_holds_the_copies_that_it_states(missing, gaps, p):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2_400_000 // p, p))
    if gaps:
        X[rng.random(X.shape) < 0.05] = np.nan
    data = Dataset.from_arrays(X, np.arange(len(X)) % 2)
    stage = method("relieff", m=5, missing=missing)
    allowed = int(stage.tables_held(p) * X.nbytes)
    # All kernels are loaded, those of large tables too.
    run = Run(memory=allowed, threads=2)
    stage.select(data, run=run)
    assert peak_bytes(lambda: stage.select(data, run=run)) <= allowed


# Tables in parts


WITHOUT = ("kind", "person", "gap", "near")


def test_equal_rows_beyond_the_lists_are_found_in_longer_ones(tmp_path, monkeypatch):
    frame = mixed_table(*CODES, twins=30)
    data = divided(polars.concat([frame] * 3), tmp_path / "p", (150,))
    chain = Chain.parse("relieff:m=50,k=1")
    monkeypatch.setattr(part_scores, "MOST_LISTED", 1)
    lost: list[int] = []
    real = part_scores.near_rows

    def near_rows(*given: Any) -> Any:
        lost.append(int((found := real(*given)).lost.sum()))
        return found

    monkeypatch.setattr(part_scores, "near_rows", near_rows)
    found = chain.select(data).scores
    assert lost[0] > 0 == lost[-1]
    monkeypatch.undo()
    assert chain.select(data).scores.tobytes() == found.tobytes()


@pytest.mark.parametrize("more", [0, 240])
def test_shuffled_rows_give_the_same_bits(tmp_path, more):
    """With many columns, the rows of a part are in two tiles."""
    frame = mixed_table(*WITHOUT, twins=30)
    noise = np.random.default_rng(2).normal(size=(len(frame), more))
    frame = frame.hstack([polars.Series(f"n{k}", noise[:, k]) for k in range(more)])
    method = fsframe.selectors["relieff"](m=60)
    expected = method.select(divided(frame, tmp_path / "a", (150,), label="y"))
    shuffled = frame.sample(fraction=1.0, shuffle=True, seed=3)
    found = method.select(divided(shuffled, tmp_path / "b", (10, 150), label="y"))
    assert found.scores.tobytes() == expected.scores.tobytes()


def test_weights_that_arrive_count_as_in_memory(tmp_path):
    frame = mixed_table(*WITHOUT, "code", twins=30)
    rng = np.random.default_rng(1)
    whole = fsframe.read(frame)
    every = np.arange(whole.n_features)
    before = fsframe.Selection(
        selected=every, scores=0.0 * every, instance_weights=rng.random(len(frame))
    )
    method = fsframe.selectors["relieff"](m=60)
    expected = method.select(whole, before)
    found = method.select(divided(frame, tmp_path / "a", (150,)), before)
    np.testing.assert_allclose(found.scores, expected.scores, rtol=0, atol=1e-13)


def test_codes_further_apart_than_a_byte_holds_stay_apart(tmp_path):
    frame = mixed_table(*CODES).with_columns(apart=polars.col("code0") * 256)
    chain, whole = Chain.parse("relieff:m=20"), fsframe.read(frame, label="y")
    found = chain.select(divided(frame, tmp_path / "p", (150,), label="y")).scores
    np.testing.assert_allclose(found, chain.select(whole).scores, rtol=0, atol=1e-13)
