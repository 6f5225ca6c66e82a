"""Tests of pairs need counts, which are sums over rows: a table in parts gives what memory does."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import polars
import pytest

import fsframe
from fsframe import Chain
from fsframe.errors import DataError, RequestError
from fsframe.execution import open_engine
from fsframe.method.run import Run
from fsframe.method.selection import Selection
from fsframe_interactions import levels as module
from fsframe_interactions.engine import screen
from tests.plugins.shared import divided, selected_in_parts

N = 350


def table() -> polars.DataFrame:
    rng = np.random.default_rng(5)
    y = rng.integers(0, 3, N)
    columns = {f"gene{k}": rng.binomial(2, 0.1 + 0.1 * k, N).astype(float) for k in range(6)}
    columns |= {f"real{k}": rng.normal(size=N) + 0.3 * k * y for k in range(6)}
    columns["real1"] += columns["real0"]
    columns["gene0"] = np.where(rng.random(N) < 0.7, (y + columns["gene1"]) % 3, columns["gene0"])
    columns |= {"same": np.ones(N), "gap": np.where(rng.random(N) < 0.2, np.nan, rng.random(N))}
    kinds = np.array(list("abcdefg"))[rng.integers(0, 7, N)]
    frame = polars.DataFrame({**columns, "kind": kinds})
    return frame.with_columns(polars.col("kind").cast(polars.Categorical), y=y)


def assert_same_bits(found: Selection, expected: Selection) -> None:
    np.testing.assert_array_equal(found.selected, expected.selected)
    assert found.scores.tobytes() == expected.scores.tobytes()
    assert set(found.tables) == set(expected.tables)
    for name, values in expected.tables.items():
        assert found.tables[name].tobytes() == values.tobytes(), name
    assert found.warnings == expected.warnings


@pytest.fixture(autouse=True)
def small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SHARD_ROWS", 75)


TEXTS = (
    "interactions", "interactions:calibrate=0", "interactions:bins=5,max_levels=2,draws=30",
    "interactions:keep=20,draws=50", "interactions:top=3,keep=5",
    "interactions:correction=by,draws=30",
)  # fmt: skip


@pytest.mark.parametrize("text", TEXTS)
def test_any_division_memory_and_number_of_threads_give_the_bits_of_memory(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Small, so that the threshold rises while some pairs are still to come.
    monkeypatch.setattr(screen, "TILE", 1)
    monkeypatch.setattr(screen, "BAND", 2)
    frame = table()
    method = Chain.parse(text)
    expected = method.select(fsframe.read(frame))
    least = module.ROW_BYTES * N
    ways = [((), 1, 1 << 30), ((1, 2, 250), 2, 1 << 30), ((225,), 3, least)]
    for found in selected_in_parts(method, frame, tmp_path, ways):
        assert_same_bits(found, expected)


def test_workers_give_the_same_bits(tmp_path: Path) -> None:
    frame = table()
    data = divided(frame, tmp_path / "p", (150,))
    method = fsframe.selectors["interactions"](draws=30)
    expected = method.select(fsframe.read(frame))
    with ThreadPoolExecutor(3) as pool:
        assert_same_bits(method.select(data, run=Run(executor=pool)), expected)
    with open_engine("processes", workers=2) as engine:
        assert_same_bits(method.select(data, run=Run(executor=engine)), expected)


def test_bit_rows_beside_the_table_are_used_checked_and_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = divided(table(), tmp_path / "p", (150,))
    method = fsframe.selectors["interactions"](calibrate=20)
    expected = method.select(data)
    made = []
    real = module._write_new
    monkeypatch.setattr(module, "_write_new", lambda *given: made.append(1) or real(*given))
    assert_same_bits(method.select(data), expected)
    assert not made
    (folder,) = data.matrix.cache_folder.glob("pairs-*")
    for name in ("planes", "index"):
        content = bytearray((folder / name).read_bytes())
        content[len(content) // 2] ^= 1
        (folder / name).write_bytes(content)
        made.clear()
        assert_same_bits(method.select(data), expected)
        assert len(made) == 1, name
    # Nothing is left of the parts of columns that calibration has made.
    assert sorted(p.name for p in data.matrix.cache_folder.iterdir()) == ["facts", folder.name]


def test_pairs_after_a_chain_are_tested_as_in_memory(tmp_path: Path) -> None:
    frame = table()
    kept = [name for name in frame.columns if name not in ("gap", "kind", "same")]
    chain = Chain.parse("jmi:top=4,pairs=synergy")
    whole = chain.run(fsframe.read(frame.select(kept))).pair_tests
    found = chain.run(divided(frame.select(kept), tmp_path / "p", (150,))).pair_tests
    assert len(whole.tests.p_values) >= 6
    assert found.tests.p_values.tobytes() == whole.tests.p_values.tobytes()
    assert found.digest == whole.digest


def test_what_is_no_sum_of_counts_is_refused_before_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = table().drop("kind")
    monkeypatch.setenv("FSFRAME_TABLE_MEMORY", str(8 * N * 4))
    data = divided(frame, tmp_path / "p", (150,))
    Chain.parse("interactions").check_request(data)
    numbers = frame.with_columns(polars.col("y") + polars.col("real0"))
    of_numbers = divided(numbers, tmp_path / "q", (150,))
    with pytest.raises(DataError, match="interactions needs its table in memory"):
        Chain.parse("interactions").check_request(of_numbers)
    with pytest.raises(RequestError, match=r"interactions: 192 bytes for each of 350 rows"):
        fsframe.selectors["interactions"]().select(data, run=Run(memory=100 * N))
