"""Disjoint shards of a table in parts: each is loaded, and what the base keeps is as in memory."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import polars
import pytest

import fsframe
from fsframe import Chain
from fsframe.errors import DataError
from fsframe.method.run import Run
from fsframe_npfs.methods import procedure
from tests.plugins.shared import divided

N = 400


def table() -> polars.DataFrame:
    rng = np.random.default_rng(11)
    y = rng.integers(0, 2, N)
    columns = {f"real{k}": rng.normal(size=N) + 0.5 * k * y for k in range(4)}
    columns |= {f"few{k}": rng.integers(0, 3, N).astype(float) for k in range(4)}
    columns["rare"] = (np.arange(N) < 3).astype(float)
    return polars.DataFrame({**columns, "y": y})


BASES = ("mim:top=3", "relieff:top=3", "anova-f:top=2", "jmi:top=3")


@pytest.mark.parametrize("base", BASES)
def test_any_division_memory_and_workers_give_the_counts_of_memory(
    base: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = table()
    chain = Chain.parse(f"npfs:base=({base}),null=shards,n=10")
    expected = chain.select(fsframe.read(frame), seed=4)
    few_at_a_time = 3 * 8 * 9 * 40 / (1 << 30)
    for k, (cuts, share, workers) in enumerate(
        [((), 0.5, False), ((1, 2, 300), few_at_a_time, False), ((200,), 0.5, True)]
    ):
        monkeypatch.setattr(procedure, "SHARE", share)
        data = divided(frame, tmp_path / str(k), cuts)
        with ThreadPoolExecutor(2) as pool:
            run = Run(entropy=4, memory=1 << 30, executor=pool if workers else None)
            found = chain.select(data, run=run)
        np.testing.assert_array_equal(found.selected, expected.selected)
        assert found.scores.tobytes() == expected.scores.tobytes()
        for name, values in expected.tables.items():
            np.testing.assert_array_equal(found.tables[name], values, err_msg=name)


def test_what_stands_on_the_left_is_resampled_without_loading_the_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chain = Chain.parse("mim:top=3 npfs:null=shards,n=10")
    expected = chain.run(fsframe.read(table()), seed=4)
    monkeypatch.setenv("FSFRAME_TABLE_MEMORY", str(8 * 9 * N - 1))
    data = divided(table(), tmp_path / "p", (1, 300))
    with pytest.raises(DataError, match="FSFRAME_TABLE_MEMORY"):
        data.loaded()
    found = chain.run(data, seed=4)
    np.testing.assert_array_equal(found.selected, expected.selected)
    assert found.scores.tobytes() == expected.scores.tobytes()


def test_rows_of_a_table_in_parts_come_in_any_order(tmp_path: Path) -> None:
    frame = table()
    data, whole = divided(frame, tmp_path / "p", (1, 7, 300)), fsframe.read(frame)
    rows = np.random.default_rng(0).permutation(N)[:123]
    np.testing.assert_array_equal(data.take_rows(rows).X, whole.take_rows(rows).X)
    np.testing.assert_array_equal(data.take_rows(rows).y, whole.y[rows])


def test_shards_that_do_not_fit_are_reported_before_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FSFRAME_TABLE_MEMORY", str(8 * 9 * 50))
    data = divided(table(), tmp_path / "p", (300,))
    Chain.parse("npfs:base=(relieff:top=3),null=shards,n=10").check_request(data)
    Chain.parse("mim:top=3 npfs:null=shards,n=10").check_request(data)
    with pytest.raises(DataError, match=r"a shard of 80 × 9 values.*use n=8 shards or more"):
        Chain.parse("npfs:base=(relieff:top=3),null=shards,n=5").check_request(data)
    with pytest.raises(DataError, match="npfs needs its table in memory"):
        Chain.parse("npfs:base=(mim:top=3)").check_request(data)
