"""A table in parts is the same table however it is divided, and whatever holds it."""

from __future__ import annotations

import hashlib
from functools import partial
from pathlib import Path
from typing import Literal

import attrs
import h5py
import numpy as np
import polars
import pytest
from pyarrow import dataset

import fsframe
from fsframe.chains.chain import Chain
from fsframe.cli.run_file import valid_reading
from fsframe.errors import DataError, RequestError
from fsframe.kernels import in_threads
from fsframe.table.columns_seen import ColumnsSeen
from fsframe.table.parts import CACHE_FOLDER
from fsframe.table.read import read_table
from fsframe.table.row_readers import Hdf5Rows
from fsframe.table.table_columns import Table


@pytest.fixture
def frame() -> polars.DataFrame:
    rng = np.random.default_rng(1)
    n = 700
    return polars.DataFrame(
        {
            "few": rng.integers(0, 4, n),
            "wide": rng.integers(-3000, 9000, n),
            "real": rng.normal(size=n),
            "gap": np.where(rng.random(n) < 0.1, None, rng.normal(size=n)).astype(float),
            "kind": polars.Series(rng.choice(["b", "a", "c"], n)).cast(polars.Categorical),
            "yes": rng.random(n) < 0.5,
            "ill": rng.choice(["no", "yes"], n),
        }
    ).with_columns(polars.col("gap").fill_nan(None))


def written(frame: polars.DataFrame, folder: Path, cuts: tuple[int, ...]) -> Path:
    folder.mkdir()
    for k, (start, stop) in enumerate(zip((0, *cuts), (*cuts, len(frame)), strict=True)):
        frame[start:stop].write_parquet(folder / f"{k:02}.parquet")
    return folder


@pytest.fixture
def folder(frame: polars.DataFrame, tmp_path: Path) -> Path:
    """The frame in two files."""
    return written(frame, tmp_path / "parts", (100,))


def test_values_labels_and_kinds_are_those_of_the_table_in_memory(
    frame: polars.DataFrame, tmp_path: Path
) -> None:
    whole = fsframe.read(frame)
    data = fsframe.read(written(frame, tmp_path / "parts", (100, 101, 650)))
    assert data.in_parts and not data.in_memory
    for name in ("feature_names", "classes", "kinds", "warnings"):
        assert getattr(data, name) == getattr(whole, name), name
    np.testing.assert_array_equal(data.y, whole.y)
    np.testing.assert_array_equal(data.categorical, whole.categorical)
    np.testing.assert_array_equal(data.loaded().X, whole.X)
    np.testing.assert_array_equal(data.columns(2, 4), whole.X[:, 2:4])
    few = data.take_columns(np.array([4, 0]))
    assert few.in_parts
    np.testing.assert_array_equal(few.loaded().X, whole.X[:, [4, 0]])


def test_last_column_that_names_groups_is_not_the_label(
    frame: polars.DataFrame, tmp_path: Path
) -> None:
    frame = frame.with_columns(who=polars.Series(np.arange(len(frame)) // 7))
    data = fsframe.read(written(frame, tmp_path / "parts", (100,)), groups="who")
    assert (data.label_name, data.group_name) == ("ill", "who")
    assert data.feature_names == fsframe.read(frame, groups="who").feature_names


def test_division_into_parts_changes_no_digest(frame: polars.DataFrame, tmp_path: Path) -> None:
    plain = frame.drop("gap")
    divided = [written(plain, tmp_path / str(k), cuts) for k, cuts in enumerate([(), (1, 350)])]
    digests = {fsframe.read(folder).sha256 for folder in divided}
    digests.add(fsframe.read(str(divided[1] / "*.parquet")).sha256)
    digests.add(fsframe.read(sorted(divided[1].glob("*.parquet"))).sha256)
    digests.add(fsframe.read(polars.scan_parquet(divided[1] / "*.parquet")).sha256)
    digests.add(fsframe.read(plain.lazy()).sha256)
    assert len(digests) == 1
    changed = plain.with_columns(polars.col("few") + 1)
    assert fsframe.read(written(changed, tmp_path / "other", (5,))).sha256 not in digests


def test_digest_is_that_of_the_rows(frame: polars.DataFrame, tmp_path: Path) -> None:
    """Rows after rows, as doubles or as bytes, whatever the order that files store them in."""
    numbers = frame.select(polars.col("few", "wide").cast(polars.Float64), "real", "ill")
    data = fsframe.read(written(numbers, tmp_path / "doubles", (333,)))
    rows = np.ascontiguousarray(numbers.drop("ill").to_numpy())
    assert data.matrix.rows_sha256 == hashlib.sha256(rows.tobytes()).hexdigest()
    many = np.random.default_rng(2).integers(0, 9, (700, 37), dtype=np.uint8)
    bytes_too = polars.DataFrame({f"f{j}": many[:, j] for j in range(37)}).with_columns(
        ill=frame["ill"]
    )
    data = fsframe.read(written(bytes_too, tmp_path / "bytes", (333,)))
    assert data.matrix.dtype == np.uint8
    assert data.matrix.rows_sha256 == hashlib.sha256(many.tobytes()).hexdigest()


@pytest.mark.parametrize("most", [1, 63, 64, 255])
@pytest.mark.parametrize("order", ["C", "F"])
def test_levels_of_bytes_are_those_of_the_columns(most: int, order: Literal["C", "F"]) -> None:
    rows = np.random.default_rng(3).integers(0, most + 1, (500, 11), dtype=np.uint8)
    rows[:, 4] = most
    seen = ColumnsSeen(11, True)
    for block in np.array_split(rows, 3):
        seen.add(np.asarray(block, order=order), partial(in_threads, 2), 40)
    levels = [np.unique(rows[:, column]) for column in range(11)]
    every = np.arange(11)
    np.testing.assert_array_equal(seen.levels_of(every), np.concatenate(levels))
    assert seen.n_levels_of(every).tolist() == [len(each) for each in levels]
    np.testing.assert_array_equal(seen.low, rows.min(axis=0))
    np.testing.assert_array_equal(seen.high, rows.max(axis=0))


def test_blocks_that_are_kept_do_not_change(frame: polars.DataFrame, tmp_path: Path) -> None:
    data = fsframe.read(written(frame, tmp_path / "parts", (100, 500)))
    whole = data.matrix.read(0, data.n_features)
    kept = list(data.matrix.blocks(90, most=100))
    np.testing.assert_array_equal(np.concatenate(kept), whole)
    assert [len(block) for block in kept] == [90] * 7 + [70]
    reader, names = data.matrix.reader, data.matrix.names
    views = [block[3:, 1:] for block in reader.blocks(names, 50, np.float64)]
    np.testing.assert_array_equal(views[0], whole[3:50, 1:])
    np.testing.assert_array_equal(views[-1], whole[-len(views[-1]) :, 1:])


def test_datasets_of_pyarrow_and_frames_of_dask_are_tables_in_parts(
    frame: polars.DataFrame, tmp_path: Path
) -> None:
    dask_frames = pytest.importorskip("dask.dataframe")
    plain = frame.drop("gap", "kind")
    folder = written(plain, tmp_path / "parts", (300,))
    expected = fsframe.read(folder)
    for given in (
        dataset.dataset(folder, format="parquet"),
        dask_frames.from_pandas(plain.to_pandas(), npartitions=3),
    ):
        data = fsframe.read(given)
        assert data.sha256 == expected.sha256
        np.testing.assert_array_equal(data.loaded().X, expected.loaded().X)


def test_files_may_hold_other_kinds_of_numbers(tmp_path: Path) -> None:
    bytes_ = polars.DataFrame({"a": [1, 2], "y": [0, 1]}, schema={"a": polars.UInt8, "y": int})
    wide = polars.DataFrame({"a": [300.5, None], "y": [0, 1]})
    for k, frame in enumerate((bytes_, wide)):
        frame.write_parquet(tmp_path / f"{k}.parquet")
    data = fsframe.read(tmp_path)
    np.testing.assert_array_equal(data.loaded().X[:, 0], [1, 2, 300.5, np.nan])
    polars.DataFrame({"b": [1], "y": [0]}).write_parquet(tmp_path / "2.parquet")
    with pytest.raises(DataError, match="cannot be read"):
        fsframe.read(tmp_path)


@pytest.mark.parametrize("kind", [np.uint8, np.float32])
def test_hdf5_files_are_parts(tmp_path: Path, kind: type) -> None:
    X = np.random.default_rng(0).integers(0, 9, (500, 7)).astype(kind)
    y = np.arange(500) % 3
    for name, rows in (("a.h5", slice(0, 120)), ("b.h5", slice(120, 500))):
        with h5py.File(tmp_path / name, "w") as file:
            file["X"], file["y"] = X[rows], y[rows]
    data = fsframe.read(tmp_path / "*.h5")
    assert data.matrix.dtype == (np.uint8 if kind is np.uint8 else np.float64)
    np.testing.assert_array_equal(data.loaded().X, X)
    np.testing.assert_array_equal(data.y, y)
    labelled = fsframe.read(tmp_path / "*.h5", label="f3", y="y")
    assert labelled.reading == {"label": "f3", "y": "y"}
    np.testing.assert_array_equal(labelled.y, X[:, 2])
    assert labelled.n_features == 6


@pytest.mark.parametrize("name", ["t.h5", "t.parquet"])
def test_table_of_a_run_is_read_again_in_the_same_way_under_another_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    path = tmp_path / name
    if name == "t.h5":
        with h5py.File(path, "w") as file:
            file["X"], file["y"] = np.eye(50), np.arange(50) % 2
    else:
        frame = polars.DataFrame(np.eye(50)).with_columns(y=polars.Series(range(50)) % 2)
        frame.write_parquet(path)
    whole = fsframe.read(path, label="y")
    monkeypatch.setenv("FSFRAME_TABLE_MEMORY", "15KB")
    parts = fsframe.read(path, label="y")
    with pytest.raises(DataError, match=r"15\.0 kB are allowed"):
        fsframe.read(path, **valid_reading(whole.reading))
    monkeypatch.undo()
    for data, in_memory in ((whole, True), (parts, False)):
        assert data.reading["in_memory"] is in_memory
        assert fsframe.read(path, **valid_reading(data.reading)).sha256 == data.sha256


@pytest.mark.parametrize("chunks", [None, (64, 400), (500, 10), (7, 3)])
def test_scattered_columns_are_read_a_little_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunks: tuple[int, int] | None
) -> None:
    X = np.random.default_rng(0).integers(0, 9, (500, 400)).astype(np.uint8)
    with h5py.File(tmp_path / "t.h5", "w") as file:
        file.create_dataset("X", data=X, chunks=chunks)
        file["y"] = np.arange(500) % 2
    monkeypatch.setattr("fsframe.table.read.LARGE", 0)
    monkeypatch.setattr("fsframe.table.files.hdf5._AT_A_TIME", 2000)
    largest = []

    def read(self: h5py.Dataset, where: tuple[slice, slice]) -> np.ndarray:
        result = whole(self, where)
        largest.append(result.nbytes)
        return result

    columns = np.array([399, 0, 250, 3, 251])
    taken = fsframe.read(tmp_path / "t.h5").matrix.take(columns)
    whole = h5py.Dataset.__getitem__
    monkeypatch.setattr(h5py.Dataset, "__getitem__", read)
    np.testing.assert_array_equal(taken.read(0, 5), X[:, columns])
    np.testing.assert_array_equal(np.concatenate(list(taken.blocks(77))), X[:, columns])
    one_chunk = 0 if chunks is None else int(np.prod(chunks))
    assert max(largest) <= max(5 * 500, 2000, one_chunk)


def test_large_hdf5_file_is_read_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with h5py.File(tmp_path / "t.h5", "w") as file:
        file["X"], file["y"] = np.eye(50), np.arange(50) % 2
    assert fsframe.read(tmp_path / "t.h5").in_memory
    monkeypatch.setattr("fsframe.table.read.LARGE", 8 * 50 * 50 - 1)
    data = fsframe.read(tmp_path / "t.h5")
    assert data.in_parts
    np.testing.assert_array_equal(data.loaded().X, np.eye(50))
    monkeypatch.setattr("fsframe.table.read.LARGE", 1 << 31)
    monkeypatch.setenv("FSFRAME_TABLE_MEMORY", "15KB")
    assert fsframe.read(tmp_path / "t.h5").in_parts
    # As for rows that are predicted.
    assert isinstance(read_table(tmp_path / "t.h5"), Hdf5Rows)
    monkeypatch.undo()
    assert isinstance(read_table(tmp_path / "t.h5"), Table)
    (tmp_path / "t.csv").write_text("a,class\n1,x\n2,y\n3,x\n4,y\n")
    with pytest.raises(RequestError, match=r"t\.csv: others are loaded whole"):
        fsframe.read(tmp_path / "t.csv", in_memory=False)
    nominal = attrs.evolve(data, categorical=np.arange(50) == 1)
    with pytest.raises(DataError, match=r"in parts cannot be encoded; load it \(`data.loaded"):
        nominal.encoded("onehot")
    assert nominal.loaded().encoded("onehot").feature_names[1] == "f2=1"


def test_what_an_earlier_pass_found_is_used_and_checked(
    folder: Path, frame: polars.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = fsframe.read(folder)
    kept = next((folder / CACHE_FOLDER).glob("*/facts-*/index"))
    passes = []
    real = fsframe.table.parts._pass
    monkeypatch.setattr(
        "fsframe.table.parts._pass", lambda *given: passes.append(1) or real(*given)
    )
    assert fsframe.read(folder).sha256 == first.sha256
    assert not passes
    kept.write_bytes(kept.read_bytes()[:-100])
    assert fsframe.read(folder).sha256 == first.sha256
    assert len(passes) == 1
    frame[::-1][:100].write_parquet(folder / "00.parquet")
    assert fsframe.read(folder).sha256 != first.sha256
    assert len(passes) == 2


def test_table_that_changes_while_it_is_used_is_refused(
    folder: Path, frame: polars.DataFrame
) -> None:
    data = fsframe.read(folder)
    frame[:90].write_parquet(folder / "00.parquet")
    with pytest.raises(DataError, match="was changed while it was in use"):
        data.loaded()
    given = [frame]
    lazy = fsframe.read(frame.lazy().map_batches(lambda _: given[-1]))
    for rows in (frame[:90], polars.concat([frame, frame])):
        given.append(rows)
        with pytest.raises(DataError, match="was changed while it was in use"):
            lazy.loaded()


def test_refusals_name_what_would_work(
    folder: Path, frame: polars.DataFrame, tmp_path: Path
) -> None:
    with pytest.raises(
        RequestError, match=r"does not support adjust: strata .*; dates: .*; time: .*drop"
    ):
        fsframe.read(folder, time="few", dates="days", adjust="real")
    assert not (folder / CACHE_FOLDER).exists(), "the table was taken in before it was refused"
    with pytest.raises(DataError, match=r"'ill' .String. hold neither numbers nor categories"):
        fsframe.read(folder, label="few")
    (tmp_path / "a.csv").write_text("a,y\n1,0\n2,1\n")
    with pytest.raises(DataError, match="sink_parquet"):
        fsframe.read([tmp_path / "a.csv"])
    with pytest.raises(DataError, match="infinite"):
        infinite = frame.with_columns(real=polars.lit(float("inf")))
        fsframe.read(written(infinite, tmp_path / "inf", ()))
    with pytest.raises(DataError, match="no file"):
        fsframe.read(str(tmp_path / "none" / "*.parquet"))


@pytest.fixture
def weighted(frame: polars.DataFrame) -> polars.DataFrame:
    draw = np.random.default_rng(6)
    times = draw.integers(0, 4, frame.height)
    times[5] = 40
    return frame.with_columns(times=times, person=np.arange(frame.height) // 2)


@pytest.mark.parametrize(
    "chain",
    ["mim", "mim:discretise=equal-frequency", "chi2", "anova-f", "mrmr:top=3", "jmi:top=3"],
)
def test_weights_of_rows_are_those_of_the_table_in_memory(
    frame: polars.DataFrame, weighted: polars.DataFrame, tmp_path: Path, chain: str
) -> None:
    folder = written(weighted, tmp_path / "parts", (100, 101))
    roles = {"label": "ill", "weight": "times", "drop": ["person", "gap"]}
    whole = fsframe.read(weighted, **roles)
    parts = fsframe.read(folder, **roles)
    found, expected = (Chain.parse(chain).run(data, seed=0) for data in (parts, whole))
    assert found.selected_names == expected.selected_names
    one, other = (run.stages[-1].selection.scores for run in (found, expected))
    assert np.allclose(one, other, rtol=1e-9, atol=1e-12, equal_nan=True)
    assert found.environment["weights"] == expected.environment["weights"]
    again = fsframe.read(written(weighted, tmp_path / "others", (7,)), **roles)
    assert again.sha256 == parts.sha256


def test_what_is_no_sum_over_rows_refuses_weights_in_parts(
    weighted: polars.DataFrame, tmp_path: Path
) -> None:
    folder = written(weighted, tmp_path / "parts", (100,))
    data = fsframe.read(folder, label="ill", weight="times", groups="person", drop="gap")
    for chain in ("relieff", "mim:top=2 relieff", "mim:top=2 knn", "cmi:top=2"):
        with pytest.raises(DataError, match=r"row weights \('times'\) of a table in parts"):
            Chain.parse(chain).run(data)
    with pytest.raises(DataError, match="npfs samples or splits single rows"):
        Chain.parse("mim:top=2 npfs").run(data)
    with pytest.raises(DataError, match="weights 'real' must be whole numbers"):
        fsframe.read(folder, label="ill", weight="real")


def test_events_make_a_label_of_parts_a_time(frame: polars.DataFrame, tmp_path: Path) -> None:
    seen = np.arange(frame.height) % 2
    table = frame.drop("ill").with_columns(years=np.arange(frame.height) + 1.0, seen=seen)
    data = fsframe.read(written(table, tmp_path / "parts", (50,)), label="years", event="seen")
    expected = fsframe.read(table, label="years", event="seen")
    assert data.task == "survival" and np.array_equal(data.y, expected.y)
    assert data.feature_names == expected.feature_names and data.reading["event"] == "seen"


def test_folder_that_cannot_be_written_to_is_no_obstacle(folder: Path) -> None:
    (folder / CACHE_FOLDER).write_text("in the way")
    data = fsframe.read(folder)
    assert any("cannot be written to" in warning for warning in data.warnings)
    assert fsframe.selectors["mim"](top=2, missing="level").select(data).selected.size == 2
