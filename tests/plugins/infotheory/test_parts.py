"""Counts are sums over rows and over values held: tables in parts, sparse tables."""

from __future__ import annotations

import h5py
import numpy as np
import polars
import pytest
from numpy.typing import NDArray
from scipy import sparse

import fsframe
from fsframe import Chain, Dataset
from fsframe.errors import RequestError
from fsframe.method.run import Run
from fsframe.table import columns_seen
from fsframe.testing.tables import assert_equal
from fsframe_infotheory.engine import part_counts, sparse_table
from fsframe_infotheory.engine.discretise import Discretiser
from fsframe_infotheory.engine.encode import encode
from fsframe_infotheory.engine.part_counts import encode_parts
from tests.grids import diagonal
from tests.plugins.shared import ROWS, divided, mixed_table


@pytest.fixture(autouse=True)
def small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(part_counts, "SHARD_ROWS", 128)
    monkeypatch.setattr(part_counts, "GROUP", 8)


def test_whole_numbers_far_apart_stay_levels_in_wide_tables_too(tmp_path, monkeypatch):
    # As short as the windows of the columns are in a table of a million.
    monkeypatch.setattr(columns_seen, "_MOST", 1)
    rng = np.random.default_rng(5)
    far = rng.choice([0.0, 1000.0, 1001.0], ROWS)
    real, y = rng.normal(size=ROWS), rng.integers(0, 2, ROWS)
    frame = polars.DataFrame({"far": far, "real": real, "y": y})
    result = Discretiser().learn_columns(divided(frame, tmp_path / "p", (1, 400)), 0, 2)
    expected = Discretiser().learn(fsframe.read(frame))
    for name, values in expected.tables().items():
        np.testing.assert_array_equal(result.tables()[name], values, err_msg=name)


@pytest.mark.parametrize("target", ["classes", "numbers"])
def test_sums_of_squares_have_the_bits_of_the_table_in_memory(target, tmp_path):
    frame = mixed_table()
    if target == "numbers":
        frame = frame.with_columns(y=polars.col("y") + polars.col("real0"))
    method = fsframe.selectors["anova-f"](missing="pairwise")
    expected = method.select(fsframe.read(frame))
    for k, memory in enumerate((1 << 30, 120 * ROWS)):
        data = divided(frame, tmp_path / str(k), (1, 300))
        selection = method.select(data, run=Run(memory=memory))
        assert selection.scores.tobytes() == expected.scores.tobytes()
        assert selection.tables["p_values"].tobytes() == expected.tables["p_values"].tobytes()
    with pytest.raises(RequestError, match="use chi2 or mim"):
        method.select(data, run=Run(memory=100 * ROWS))


def test_numeric_targets_and_bytes_are_taken(tmp_path):
    frame = mixed_table("kind").with_columns(y=polars.col("y") + polars.col("real0"))
    chain = Chain.parse("jmi:top=4,missing=level")
    selection = chain.select(divided(frame, tmp_path / "a", (300,)))
    np.testing.assert_array_equal(selection.selected, chain.select(fsframe.read(frame)).selected)
    small = frame.select(polars.col("^code.*$").cast(polars.UInt8), "y")
    data = divided(small, tmp_path / "b", (300,))
    assert data.matrix.dtype == np.uint8
    chain = Chain.parse("mrmr:top=4")
    np.testing.assert_array_equal(
        chain.select(data).selected, chain.select(fsframe.read(small)).selected
    )


def test_bytes_by_rows_and_by_columns_become_the_same_codes(tmp_path):
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
        expected, _ = encode(fsframe.read(frame), rule)
        digests = []
        for data in (by_row, by_column):
            result = encode_parts(data, rule, Run(memory=1 << 17))[0]
            np.testing.assert_array_equal(result.relevance, expected.relevance)
            digests.append(
                [path.read_bytes() for path in sorted(result.shards.form.folder.glob("*.s*"))]
            )
        assert digests[0] == digests[1]


def test_what_counts_over_parts_must_be_the_same_plugin():
    from fsframe.resampling.dispatch import needed_by
    from fsframe_infotheory.engine.part_counts import count_units

    assert {"fsframe", "numpy", "plugin infotheory"} <= set(needed_by(count_units))


# Sparse tables


N = 400


@pytest.fixture(autouse=True)
def any_density(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sparse_table, "DENSEST", 1)


def table(kind: str) -> NDArray[np.float64]:
    """Columns of every sort, most of them nearly empty."""
    rng = np.random.default_rng(5)
    X = np.where(rng.random((N, 60)) < 0.04, rng.integers(1, 5, (N, 60)), 0).astype(float)
    if kind == "bytes":
        X[:, 7] = np.where(rng.random(N) < 0.3, rng.integers(0, 256, N), 0)
        return X
    X[:, 3] = np.where(rng.random(N) < 0.2, rng.normal(size=N), 0)
    X[:, 4] = np.where(rng.random(N) < 0.1, rng.integers(-9, 14, N), 0)
    X[:, 5] = np.where(rng.random(N) < 0.1, 1e6 * rng.integers(-1, 2, N), 0)
    X[:, 6] = rng.integers(1, 20, N)
    X[:, 8] = np.where(rng.random(N) < 0.1, -rng.random(N), 0)
    X[:, 9] = np.where(rng.random(N) < 0.1, 1e-310, 0)
    X[:, 10] = 0
    X[:, 11] = 3
    if kind == "gaps":
        X[rng.random(N) < 0.1, 12] = np.nan
        X[rng.random(N) < 0.1, 3] = np.nan
        X[:, 13] = np.nan
        X[: N // 2, 14] = X[N // 4 :, 15] = np.nan
    return X


def pair(kind: str) -> tuple[Dataset, Dataset]:
    X = table(kind)
    y = (X[:, :4].sum(axis=1) + np.random.default_rng(1).integers(0, 3, N)) % 3
    y[np.isnan(y)] = 1
    wide = X.astype(np.uint8) if kind == "bytes" else X
    return Dataset.from_arrays(sparse.csr_array(wide), y), Dataset.from_arrays(wide, y)


TEXTS = [
    "mim", "symmetric-uncertainty", "mrmr:top=8", "mrmr:form=quotient,top=6", "mifs:top=8",
    "mrmr:bins=24,discretise=equal-width,top=8", "mrmr:max_levels=0,top=5", "mim:discretise=none",
    "mrmr:discretise=none,top=4", "mrmr:discretise=equal-frequency,top=5",
    "mrmr:given=[f1],exclude=[f2],constants=last,top=56", "mrmr:stop=positive",
]  # fmt: skip


@pytest.mark.parametrize(("text", "kind"), diagonal(TEXTS, ["bytes", "numbers", "gaps"], width=2))
def test_selections_have_the_bits_of_the_widened_table(text, kind):
    held, wide = pair(kind)
    chain = Chain.parse(text + (",missing=level" if ":" in text else ":missing=level"))
    expected = chain.select(wide)
    for threads in (1, 3):
        assert_equal(chain.select(held, run=Run(threads=threads)), expected, f"{threads} threads")


def test_it_is_not_widened(monkeypatch):
    held, _ = pair("bytes")
    monkeypatch.setattr(
        type(held.matrix), "read", lambda *given: pytest.fail("columns were widened")
    )
    Chain.parse("mrmr:top=4").select(held)
    Chain.parse("mim").select(held)


def test_what_it_does_not_count_is_counted_as_before():
    held, wide = pair("numbers")
    npfs = "mrmr:top=3 npfs:n=6,permutations=19,permuted_n=2,alpha=0.2"
    for text in ("jmi:top=4", "cmim:top=4", "mrmr:stop=significant", npfs):
        chain = Chain.parse(text)
        found, expected = (chain.run(data, seed=3).scores for data in (held, wide))
        assert found.tobytes() == expected.tobytes()
    assert sparse_table.encode_sparse(held, Discretiser(rule="none"), Run(), True) is None


def test_bit_rows_are_taken_where_they_are_faster_and_fit(monkeypatch):
    held, _ = pair("bytes")
    given = held, Discretiser()
    assert sparse_table.encode_sparse(*given, Run(), True) is not None
    monkeypatch.setattr(sparse_table, "DENSEST", 64)
    assert sparse_table.encode_sparse(*given, Run(), True) is None
    assert sparse_table.encode_sparse(*given, Run(), False) is not None
    assert sparse_table.encode_sparse(*given, Run(memory=1000), True) is not None
