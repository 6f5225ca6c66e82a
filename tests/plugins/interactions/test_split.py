"""Pairs tested on rows that did not choose them: the level of p, and that no row does both."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import pytest

import fsframe
from fsframe.chains.chain import Chain
from fsframe.errors import DataError
from fsframe.method.run import Run
from fsframe.method.selection import Selection
from fsframe.table.dataset import Dataset
from fsframe_interactions.split import InteractionsSplit, choosing_half


def noise(seed: int, rows: int = 120, columns: int = 20) -> Dataset:
    rng = np.random.default_rng([seed, 15])
    X = rng.normal(size=(rows, columns))
    return Dataset.from_arrays(X, rng.permutation(np.arange(rows) % 2))


def test_halves_share_out_classes_and_keep_groups_whole() -> None:
    y = np.repeat([0, 1, 2], [9, 7, 4])
    data = Dataset.from_arrays(np.random.default_rng(0).normal(size=(20, 2)), y)
    half = choosing_half(data, np.random.default_rng(1))
    assert np.bincount(y[half]).tolist() == [4, 4, 2]
    who = np.arange(20) // 2 + 100 * y
    grouped = attrs.evolve(data, groups=who, group_name="who")
    half = choosing_half(grouped, np.random.default_rng(1))
    for each in np.unique(who):
        assert np.unique(half[who == each]).size == 1
    assert 6 <= half.sum() <= 14
    with pytest.raises(DataError, match=r"class 'c' has 3 rows; to be halved"):
        choosing_half(
            Dataset.from_arrays(np.eye(11), ["a"] * 4 + ["b"] * 4 + ["c"] * 3),
            np.random.default_rng(0),
        )


def test_the_base_sees_one_half_and_the_test_the_other() -> None:
    seen: list[Any] = []

    class Look:
        def __str__(self) -> str:
            return "look"

        def select_many(self, data: Any, counts: Any, upstream: Any = None, run: Any = None) -> Any:
            seen.append(counts.copy())
            scores = np.arange(data.n_features, dtype=float)
            return [Selection(selected=[3, 7, 11], scores=scores) for _ in counts]

    data = noise(0)
    found = InteractionsSplit().select_wrapped(Look(), data, None, Run())
    choosing = found.tables["choosing_rows"]
    np.testing.assert_array_equal(seen[0][0], choosing.astype(int))
    rest = data.take_rows(np.flatnonzero(~choosing))
    alone = fsframe.selectors["interactions"]().test_pairs(
        rest, np.array([3, 7, 11]), np.empty((0, 2), np.intp), 0, Run().child(2)
    )
    np.testing.assert_array_equal(found.tables["pairs"], alone.pairs)
    np.testing.assert_array_equal(found.tables["p_values"], alone.p_values)


def test_an_interaction_is_found_and_reported_as_the_answers_own_test() -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(400, 8))
    data = Dataset.from_arrays(X, X[:, 2] * X[:, 5] > 0)
    record = Chain.parse("relieff:top=4 interactions-split").run(data, seed=1)
    assert sorted(record.selected.tolist()) == [2, 5]
    tests = record.pair_tests
    assert tests.name == "interactions-split" and tests.tests.n_tested == 6
    assert tests.tests.of(2, 5)[1] < 0.05
    y = X[:, 2] * X[:, 5] + rng.normal(size=400)
    numeric = Chain.parse("mim:top=8 interactions-split").run(Dataset.from_arrays(X, y), seed=1)
    assert sorted(numeric.selected.tolist())[:2] == [2, 5] or {2, 5} <= set(numeric.selected)


def test_a_base_behind_stages_that_saw_all_rows_is_warned_of() -> None:
    found = Chain.parse("mim:top=8 interactions-split:base=relieff:top=4").select(noise(2), seed=0)
    assert any("used all rows" in text for text in found.warnings)
    few = Chain.parse("relieff:top=1 interactions-split").select(noise(2), seed=0)
    assert any("no pair to test" in text for text in few.warnings) and not few.selected.size


def test_a_base_that_keeps_nothing_leaves_no_pair_to_test() -> None:
    found = Chain.parse("interactions-split:base=interactions:alpha=1e-9").select(noise(2), seed=0)
    assert any("no pair to test" in text for text in found.warnings) and not found.selected.size
