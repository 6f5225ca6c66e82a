"""Tests of pairs need counts, which are sums over rows: a table in parts gives what memory does."""

from __future__ import annotations

from pathlib import Path

import polars
import pytest

import fsframe
from fsframe import Chain
from fsframe.errors import DataError, RequestError
from fsframe.method.run import Run
from tests.plugins.shared import ROWS, divided, mixed_table

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
