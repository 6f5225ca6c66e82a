"""A run on a table in parts is audited, applied, shown and continued by its own record."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import polars
import pytest

import fsframe

from .conftest import Call, Context

ROWS = 60


@pytest.fixture
def parts(here: Path) -> Path:
    """The same table as a folder of Parquet files, and as one of HDF5 files."""
    rng = np.random.default_rng(5)
    X = rng.integers(0, 4, (ROWS, 4)).astype(float)
    X[3, 2] = np.nan
    y = (X[:, 1] > 1).astype(int)
    for name in ("P", "H"):
        (here / name).mkdir()
    for number, rows in enumerate((slice(0, 25), slice(25, ROWS))):
        frame = polars.DataFrame({f"f{k}": X[rows, k] for k in range(4)} | {"ill": y[rows]})
        frame = frame.with_columns(place=polars.Series(["north, east", "south"] * 30)[rows])
        frame.select("place", *frame.columns[:-1]).write_parquet(here / f"P/{number}.parquet")
        with h5py.File(here / f"H/{number}.h5", "w") as file:
            file["X"], file["y"] = X[rows], y[rows]
            file["feature_names"] = [f"f{k}" for k in range(4)]
    return here


@pytest.mark.parametrize("source", ["P", "P/*.parquet", "H"])
def test_a_run_on_parts_is_audited_and_applied_by_its_own_record(
    call: Call, parts: Path, source: str
) -> None:
    drop = "" if source == "H" else "--drop place"
    done = call(f"chain mim:top=2,missing=pairwise on {source} {drop} -o run.h5 -q")
    assert done.code == 0, done.err
    assert "f1" in fsframe.load_run("run.h5").selected_names
    audited = call("audit run.h5")
    assert audited.code == 0 and "same bits" in audited.out, audited.err
    applied = call(f"apply run.h5 on {source} -o reduced.csv")
    assert applied.code == 0, applied.err
    reduced = polars.read_csv("reduced.csv")
    whole = fsframe.read(parts / "P", drop=("place",)).loaded()
    kept = [name for name in whole.feature_names if name in reduced.columns]
    assert len(kept) == 2 and reduced.height == ROWS
    expected = whole.X[:, [whole.feature_names.index(name) for name in kept]]
    assert np.array_equal(reduced.select(kept).cast(float).fill_null(np.nan), expected, True)
    if source != "H":
        assert reduced["ill"].to_list() == whole.y.tolist()
        further = call(f"apply run.h5 on {source} -o - --keep place")
        assert further.code == 0 and '"north, east"' in further.out
        assert call(f"apply run.h5 on {source} -o - --keep nowhere").code == 4


def test_parts_that_lack_a_column_or_changed_are_refused(call: Call, parts: Path) -> None:
    assert call("chain mim:top=2,missing=pairwise on P --drop place -o run.h5 -q").code == 0
    (parts / "Q").mkdir()
    for file in (parts / "P").glob("*.parquet"):
        polars.read_parquet(file).drop("f1").write_parquet(parts / "Q" / file.name)
    lacking = call("apply run.h5 on Q -o -")
    assert lacking.code == 4 and "lacks 1 of the 2 columns" in lacking.err
    (parts / "P").rename(parts / "gone")
    gone = call("audit run.h5")
    assert gone.code == 4 and "is not there; give its path" in gone.err


def test_an_interrupted_run_on_parts_is_continued(
    call: Call, parts: Path, full_disk: Context
) -> None:
    with full_disk():
        begun = call("chain mim:top=2,missing=pairwise npfs:n=5 on P --drop place -o run.h5")
        assert begun.code == 5
    assert call("resume run.h5").code == 0
    assert call("audit run.h5").code == 0
