"""Tables that stay on disk are the same tables."""

from __future__ import annotations

import os

import h5py
import numpy as np
import polars
import pytest

from fsframe.errors import DataError
from fsframe.table.read import read


@pytest.fixture
def table(tmp_path):
    """An HDF5 file of 30 samples × 50 features, four columns to a chunk."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(30, 50)).astype(np.float32)
    X[:, 7] = 1.5
    X[3, 9] = np.nan
    path = tmp_path / "wide.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("X", data=X, chunks=(30, 4), compression="gzip")
        file["y"] = np.tile([0, 1, 2], 10)
        file["feature_names"] = [f"g{k}" for k in range(50)]
    return path, X


def test_a_table_may_stay_in_its_file_and_is_read_in_parts(table, tmp_path):
    path, X = table
    disk, memory = read(path, in_memory=False), read(path)
    assert (disk.in_parts, memory.in_memory) == (True, True)
    assert np.array_equal(disk.loaded().X, memory.X, equal_nan=True)
    assert np.array_equal(disk.columns(3, 9), X[:, 3:9])
    assert disk.columns(5, 5).shape == (30, 0)
    kept = np.array([40, 2, 9])
    assert np.array_equal(disk.take_columns(kept).X, memory.take_columns(kept).X, equal_nan=True)
    frame = polars.DataFrame({"a": [1.0, 2, 3, 4], "y": [0, 1, 0, 1]})
    frame.write_parquet(tmp_path / "t.parquet")
    parquet = read(tmp_path / "t.parquet", label="y", in_memory=False)
    assert parquet.in_parts and parquet.X.tolist() == [[1.0], [2.0], [3.0], [4.0]]


def test_columns_may_be_dropped_and_be_the_label(table):
    path, _ = table
    options = {"label": "g20", "drop": ["g0", "g19", -1], "task": "regression"}
    disk, memory = read(path, in_memory=False, **options), read(path, **options)
    assert disk.feature_names == memory.feature_names and np.array_equal(disk.y, memory.y)
    for start, stop in ((0, 3), (15, 22), (46, 46)):
        assert np.array_equal(
            disk.columns(start, stop), memory.columns(start, stop), equal_nan=True
        )


def test_a_file_that_changes_while_in_use_is_reported(table):
    path, _ = table
    data = read(path, in_memory=False)
    os.utime(path, ns=(1, 1))
    with pytest.raises(DataError, match="was changed while it was in use"):
        data.columns(0, 1)
    path.unlink()
    with pytest.raises(DataError, match="cannot read"):
        data.columns(0, 1)


def genotypes(people: int = 30) -> polars.DataFrame:
    """Twelve genotypes in letters, an answer on a scale, and a class."""
    draw = np.random.default_rng(5)
    letters = {f"rs{k}": draw.choice(["AA", "AG", "GG"], people) for k in range(12)}
    scale = {f"q{k}": draw.choice(["never", "often", "always"], people) for k in range(10)}
    return polars.DataFrame({"id": range(people), **letters, **scale, "y": ["a", "b"] * 15})


SCALE = ["never", "often", "always"]


@pytest.mark.parametrize("form", ["text", "frame", "parts"])
def test_a_star_stands_for_all_columns_so_named(tmp_path, form):
    frame = genotypes()
    given = {"label": "y", "drop": "i*", "categorical": ["rs*", "q9"]}
    listed = {"label": "y", "drop": "id", "categorical": [*(f"rs{k}" for k in range(12)), "q9"]}
    if form == "parts":
        frame = frame.drop([f"q{k}" for k in range(9)])
        frame.write_parquet(tmp_path / "part.parquet")
        table = [tmp_path / "part.parquet"]
    else:
        # `q*` leaves the one alone that --categorical names.
        given["ordinal"] = {"q*": SCALE}
        listed["ordinal"] = {f"q{k}": SCALE for k in range(9)}
        table = frame
    if form == "text":
        frame.write_csv(tmp_path / "t.csv")
        table = tmp_path / "t.csv"
    if form != "parts":
        given["adjust"], listed["adjust"] = "rs1*", ["rs1", "rs10", "rs11"]
        listed["categorical"] = [name for name in listed["categorical"] if name[:3] != "rs1"]
        listed["categorical"] += listed["adjust"]
    short, long = read(table, **given), read(table, **listed)
    assert form == "parts" or short.covariates.names == ("rs1", "rs10", "rs11")
    assert short.sha256 == long.sha256 and dict(short.kinds) == dict(long.kinds)
    assert [text for text in short.warnings if "text in" in text] == [
        "text in 12 columns was coded: AA=0, AG=1, GG=2 "
        "('rs0', 'rs1', 'rs2', 'rs3', 'rs4' and 7 more)",
        "text in column 'q9' was coded: always=0, never=1, often=2",
    ]


def test_a_star_in_a_name_is_itself_and_one_that_fits_nothing_is_told(table):
    X = polars.DataFrame({"p*": [1.0, 2, 3, 5], "pq": [2.0, 1, 1, 4], "y": ["a", "b"] * 2})
    assert read(X, label="y", drop="p*").feature_names == ("pq",)
    assert read(table[0], drop=["g1*", "g3"]).n_features == 50 - 12
    with pytest.raises(DataError, match=r"column to drop.*'z\*'"):
        read(X, label="y", drop="z*")
