"""Counts are sums over rows: a table in parts gives what it gives in memory, however divided."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import polars
import pytest

import fsframe
from fsframe import Chain
from fsframe.errors import DataError, RequestError
from fsframe.method.run import Run
from fsframe.table import columns_seen
from fsframe_infotheory.engine import shards
from fsframe_infotheory.engine.discretise import RULES, Discretiser
from fsframe_infotheory.engine.encode import encode
from fsframe_infotheory.engine.part_counts import encode_parts
from tests.plugins.shared import ROWS, divided, mixed_table


@pytest.fixture(autouse=True)
def small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shards, "SHARD_ROWS", 128)
    monkeypatch.setattr(shards, "GROUP", 8)


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule != "edges"])
def test_codes_are_those_of_the_table_in_memory(rule: str, tmp_path: Path) -> None:
    frame = mixed_table("kind", "gap")
    whole, data = fsframe.read(frame), divided(frame, tmp_path / "p", (1, 400))
    rule_ = Discretiser(rule=rule)
    expected, bins = encode(whole, rule_)
    found, learned = encode_parts(data, rule_, Run())
    for name, values in bins.tables().items():
        np.testing.assert_array_equal(learned.tables()[name], values, err_msg=name)
    assert learned.binned_by_default == bins.binned_by_default
    np.testing.assert_array_equal(found.sum_j, expected.sum_j)
    np.testing.assert_array_equal(found.relevance, expected.relevance)
    at = 0
    for k, sizes in enumerate(found.shards.sizes.tolist()):
        shard = found.shards.form.open(k, tuple(sizes))
        rows = np.arange(at, at + shard.layout.n)
        order = rows[np.argsort(whole.y[rows], kind="stable")]
        for j in range(data.n_features):
            own = bins.apply(whole.X)[order, j]
            np.testing.assert_array_equal(shard.codes_of(j), own, err_msg=f"{rule} {j}")
        at += shard.layout.n
    assert at == ROWS


def test_whole_numbers_far_apart_stay_levels_in_wide_tables_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As short as the windows of the columns are in a table of a million.
    monkeypatch.setattr(columns_seen, "_MOST", 1)
    rng = np.random.default_rng(5)
    far = rng.choice([0.0, 1000.0, 1001.0], ROWS)
    real, y = rng.normal(size=ROWS), rng.integers(0, 2, ROWS)
    frame = polars.DataFrame({"far": far, "real": real, "y": y})
    found = Discretiser().learn_columns(divided(frame, tmp_path / "p", (1, 400)), 0, 2)
    expected = Discretiser().learn(fsframe.read(frame))
    for name, values in expected.tables().items():
        np.testing.assert_array_equal(found.tables()[name], values, err_msg=name)


@pytest.mark.parametrize("target", ["classes", "numbers"])
def test_sums_of_squares_have_the_bits_of_the_table_in_memory(target: str, tmp_path: Path) -> None:
    frame = mixed_table()
    if target == "numbers":
        frame = frame.with_columns(y=polars.col("y") + polars.col("real0"))
    method = fsframe.selectors["anova-f"](missing="pairwise")
    expected = method.select(fsframe.read(frame))
    for k, memory in enumerate((1 << 30, 120 * ROWS)):
        data = divided(frame, tmp_path / str(k), (1, 300))
        found = method.select(data, run=Run(memory=memory))
        assert found.scores.tobytes() == expected.scores.tobytes()
        assert found.tables["p_values"].tobytes() == expected.tables["p_values"].tobytes()
    with pytest.raises(RequestError, match="use chi2 or mim"):
        method.select(data, run=Run(memory=100 * ROWS))


def test_numeric_targets_and_bytes_are_taken(tmp_path: Path) -> None:
    frame = mixed_table("kind").with_columns(y=polars.col("y") + polars.col("real0"))
    chain = Chain.parse("jmi:top=4,missing=level")
    found = chain.select(divided(frame, tmp_path / "a", (300,)))
    np.testing.assert_array_equal(found.selected, chain.select(fsframe.read(frame)).selected)
    small = frame.select(polars.col("^code.*$").cast(polars.UInt8), "y")
    data = divided(small, tmp_path / "b", (300,))
    assert data.matrix.dtype == np.uint8
    chain = Chain.parse("mrmr:top=4")
    np.testing.assert_array_equal(
        chain.select(data).selected, chain.select(fsframe.read(small)).selected
    )


def test_bytes_by_rows_and_by_columns_become_the_same_codes(tmp_path: Path) -> None:
    rng = np.random.default_rng(8)
    levels = np.array([2, 3, 10, 16, 17, 60, 250, 3, 5, 1])
    X = (rng.random((ROWS, 10)) * levels).astype(np.uint8)
    X[:, 7:9] += 248
    y = rng.integers(0, 3, ROWS)
    frame = polars.DataFrame({f"f{k + 1}": X[:, k] for k in range(10)}).with_columns(y=y)
    by_column = divided(frame, tmp_path / "columns", (1, 400))
    (tmp_path / "rows").mkdir()
    with h5py.File(tmp_path / "rows" / "table.h5", "w") as file:
        file["X"], file["y"] = X, y
    by_row = fsframe.read(tmp_path / "rows")
    assert by_row.matrix.rows_sha256 == by_column.matrix.rows_sha256
    for rule in (Discretiser(), Discretiser(rule="equal-width", bins=4)):
        expected, bins = encode(fsframe.read(frame), rule)
        digests = []
        for data in (by_row, by_column):
            found = encode_parts(data, rule, Run(memory=1 << 17))[0]
            np.testing.assert_array_equal(found.relevance, expected.relevance)
            digests.append(
                [path.read_bytes() for path in sorted(found.shards.form.folder.glob("*.s*"))]
            )
        assert digests[0] == digests[1]
        at = 0
        for k, sizes in enumerate(found.shards.sizes.tolist()):
            shard = found.shards.form.open(k, tuple(sizes))
            rows = np.arange(at, at + shard.layout.n)
            order = rows[np.argsort(y[rows], kind="stable")]
            at += len(rows)
            own = np.column_stack([shard.codes_of(j) for j in range(10)])
            np.testing.assert_array_equal(own, bins.apply(X[order]))
        assert at == ROWS


def test_what_needs_the_table_in_memory_loads_it_or_is_refused_before_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = mixed_table("kind", "gap")
    data, whole = divided(frame, tmp_path / "p", (300,)), fsframe.read(frame)
    for text in (
        "relieff:top=3",
        "cmi:top=3",
        "mim:top=5 relieff:top=2",
        "mim:estimator=knn,top=2",
    ):
        chain = Chain.parse(text)
        np.testing.assert_array_equal(chain.select(data).selected, chain.select(whole).selected)
    monkeypatch.setenv("FSFRAME_TABLE_MEMORY", str(8 * ROWS * 6))
    large = fsframe.read(tmp_path / "p")
    Chain.parse("mim:top=5 relieff:top=2").check_request(large)
    for text in ("relieff", "cmi", "jmi:stop=significant", "mim:top=7 relieff", "mim npfs"):
        with pytest.raises(DataError, match=r"needs its table in memory.*such as mim:top=3"):
            Chain.parse(text).check_request(large)
    with pytest.raises(DataError, match="needs its table in memory"):
        fsframe.selectors["relieff"]().select(large)


def test_what_counts_over_parts_must_be_the_same_plugin() -> None:
    from fsframe.resampling.work import needed_by
    from fsframe_infotheory.engine.part_counts import count_units

    assert {"fsframe", "numpy", "plugin infotheory"} <= set(needed_by(count_units))
