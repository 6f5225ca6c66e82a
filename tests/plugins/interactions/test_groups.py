"""Rows of one person are tested by their means; rows of tables in parts as those in memory."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars
import pytest

import fsframe
from fsframe import Chain
from fsframe.errors import DataError, RequestError
from fsframe.method.run import Run
from fsframe.resampling.groups import with_group_means
from fsframe.table.dataset import Dataset
from tests.plugins.shared import ROWS, divided, mixed_table, people

EXAMPLES = Path(__file__).parents[3] / "examples"


def test_the_result_is_that_of_the_table_of_means() -> None:
    data = people(0, 60, 4, 6)
    means = data.X.reshape(60, 4, 6).mean(axis=1)
    plain = Dataset.from_arrays(means, data.y[::4])
    found = fsframe.selectors["interactions"](top=3).select(data, seed=1)
    same = fsframe.selectors["interactions"](top=3).select(plain, seed=1)
    np.testing.assert_array_equal(found.selected, same.selected)
    np.testing.assert_allclose(found.tables["g2"], same.tables["g2"])
    assert any("means of 60 groups (person)" in text for text in found.warnings)


def test_categories_gaps_and_counts_of_groups() -> None:
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


def test_a_label_that_varies_within_a_group_is_refused_before_work() -> None:
    data = people(0, 60, 4, 6)
    y = data.y.copy()
    y[5] = 1 - y[5]
    with pytest.raises(DataError, match=r"varies within 'person' \(rows 5 and 6\)"):
        fsframe.Chain.parse("mim interactions").run(data.with_labels(y))


def test_labels_dealt_again_over_few_people_name_no_pair() -> None:
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


def test_pairs_after_a_chain_are_tested_as_in_memory(tmp_path: Path) -> None:
    frame = mixed_table(*WITHOUT, "gap", "kind", "same")
    chain = Chain.parse("jmi:top=4,pairs=synergy")
    whole = chain.run(fsframe.read(frame)).pair_tests
    found = chain.run(divided(frame, tmp_path / "p", (150,))).pair_tests
    assert len(whole.tests.p_values) >= 6
    assert found.tests.p_values.tobytes() == whole.tests.p_values.tobytes()
    assert found.digest == whole.digest


def test_what_is_no_sum_of_counts_is_refused_before_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = mixed_table(*WITHOUT, "kind")
    monkeypatch.setenv("FSFRAME_TABLE_MEMORY", str(8 * ROWS * 4))
    data = divided(frame, tmp_path / "p", (150,))
    Chain.parse("interactions").check_request(data)
    numbers = frame.with_columns(polars.col("y") + polars.col("real0"))
    of_numbers = divided(numbers, tmp_path / "q", (150,))
    with pytest.raises(DataError, match="interactions needs its table in memory"):
        Chain.parse("interactions").check_request(of_numbers)
    with pytest.raises(RequestError, match=r"interactions: 192 bytes for each of 500 rows"):
        fsframe.selectors["interactions"]().select(data, run=Run(memory=100 * ROWS))
