"""Pairs tested on rows that did not choose them; rows of one person, and tables in parts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest

import fsframe
from fsframe.chains.chain import Chain
from fsframe.errors import DataError
from fsframe.method.run import Run
from fsframe.method.selection import Selection
from fsframe.resampling.groups import with_group_means
from fsframe.table.dataset import Dataset
from fsframe_interactions.split import InteractionsSplit, choosing_half
from tests.plugins.shared import divided, mixed_table, people


def noise(seed: int, rows: int = 120, columns: int = 20) -> Dataset:
    rng = np.random.default_rng([seed, 15])
    X = rng.normal(size=(rows, columns))
    return Dataset.from_arrays(X, rng.permutation(np.arange(rows) % 2))


def test_halves_share_out_classes_and_keep_groups_whole():
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


def test_the_base_sees_one_half_and_the_test_the_other():
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


def test_an_interaction_is_found_and_reported_as_the_answers_own_test():
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


def test_a_base_behind_stages_that_saw_all_rows_is_warned_of():
    found = Chain.parse("mim:top=8 interactions-split:base=relieff:top=4").select(noise(2), seed=0)
    assert any("used all rows" in text for text in found.warnings)
    few = Chain.parse("relieff:top=1 interactions-split").select(noise(2), seed=0)
    assert any("no pair to test" in text for text in few.warnings) and not few.selected.size


def test_a_base_that_keeps_nothing_leaves_no_pair_to_test():
    found = Chain.parse("interactions-split:base=interactions:alpha=1e-9").select(noise(2), seed=0)
    assert any("no pair to test" in text for text in found.warnings) and not found.selected.size


# Rows of one person are tested by their means


EXAMPLES = Path(__file__).parents[3] / "examples"


def test_the_result_is_that_of_the_table_of_means():
    data = people(0, 60, 4, 6)
    means = data.X.reshape(60, 4, 6).mean(axis=1)
    plain = Dataset.from_arrays(means, data.y[::4])
    found = fsframe.selectors["interactions"](top=3).select(data, seed=1)
    same = fsframe.selectors["interactions"](top=3).select(plain, seed=1)
    np.testing.assert_array_equal(found.selected, same.selected)
    np.testing.assert_allclose(found.tables["g2"], same.tables["g2"])
    assert any("means of 60 groups (person)" in text for text in found.warnings)


def test_categories_gaps_and_counts_of_groups():
    X = np.array([[1.0, 2.0], [1.0, 4.0], [2.0, np.nan], [0.0, np.nan], [3.0, 7.0], [3.0, 7.0]])
    data = Dataset.from_arrays(
        X, [0, 0, 1, 1, 1, 1], categorical=[0], groups=[4, 4, 9, 9, 2, 2], group_name="who"
    )
    found = with_group_means(data, "interactions")  # in the order of the groups' names
    np.testing.assert_array_equal(found.X, [[3.0, 7.0], [1.0, 3.0], [0.0, np.nan]])
    assert found.y.tolist() == [1, 0, 1] and found.groups is None
    drawn = with_group_means(data.with_counts(np.array([2, 2, 1, 1, 0, 0])), "interactions")
    assert drawn.counts is not None and drawn.counts.tolist() == [0, 2, 1]
    with pytest.raises(DataError, match="splits rows of one 'who'"):
        with_group_means(data.with_counts(np.array([2, 1, 1, 1, 0, 0])), "interactions")


def test_a_label_that_varies_within_a_group_is_refused_before_work():
    data = people(0, 60, 4, 6)
    y = data.y.copy()
    y[5] = 1 - y[5]
    with pytest.raises(DataError, match=r"varies within 'person' \(rows 5 and 6\)"):
        fsframe.Chain.parse("mim interactions").run(data.with_labels(y))


def test_labels_dealt_again_over_few_people_name_no_pair():
    # 32 people, 8 of them healthy: margins that allow few tables, so that G² takes few values.
    data = with_group_means(
        fsframe.read(EXAMPLES / "parkinsons_subjects.csv", groups="subject"), "interactions"
    )
    rng = np.random.default_rng(0)
    named, least = 0, 1.0
    for _ in range(8):
        table = Dataset.from_arrays(data.X, rng.permutation(data.y))
        found = fsframe.selectors["interactions"]().select(table)
        named += int(found.tables["q_values"][0] <= 0.05)
        least = min(least, float(found.tables["p_values"][0]))
    # With a gamma tail fitted to so few values, five of 15 name a pair, one at p = 4e-11.
    assert named == 0 and least > 1 / 1848


# Tables in parts

WITHOUT = ("person", "near", "wide", "far")


def test_pairs_after_a_chain_are_tested_as_in_memory(tmp_path):
    frame = mixed_table(*WITHOUT, "gap", "kind", "same")
    chain = Chain.parse("jmi:top=4,pairs=synergy")
    whole = chain.run(fsframe.read(frame)).pair_tests
    found = chain.run(divided(frame, tmp_path / "p", (150,))).pair_tests
    assert len(whole.tests.p_values) >= 6
    assert found.tests.p_values.tobytes() == whole.tests.p_values.tobytes()
    assert found.digest == whole.digest
