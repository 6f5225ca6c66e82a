"""Small files that ask for much: refused with their size, before memory or time is taken."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zipfile
import zlib

import h5py
import numpy as np
import polars
import pytest
from numpy.lib import format as npy

from fsframe.errors import DataError, RequestError
from fsframe.table.dataset import Dataset
from fsframe.table.read import read
from fsframe.table.spelling import text_file

PLAIN = "a,b,class\n1,2.5,ill\n3,-4e2,well\n5,6,ill\n7,8,well\n"

DIGITS = np.random.default_rng(0).integers(48, 58, 1_100_000, dtype=np.uint8).tobytes()


@pytest.fixture(autouse=True)
def _little_memory(monkeypatch):
    monkeypatch.setenv("FSFRAME_TABLE_MEMORY", "4MB")


@pytest.mark.parametrize(
    ("machine", "limit", "bound"), [(64, None, 32), (64, 10, 5), (4, 10, 2), (None, 10, 5)]
)
def test_half_of_the_memory_of_this_process_is_the_bound(monkeypatch, machine, limit, bound):
    monkeypatch.delenv("FSFRAME_TABLE_MEMORY")
    monkeypatch.setattr(text_file, "physical_memory", lambda: machine)
    monkeypatch.setattr(text_file, "address_space_limit", lambda: limit)
    assert text_file.memory_bound() == bound


def zipped(content: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("table.csv", content)
    return out.getvalue()


def xz(content: bytes) -> bytes:
    return lzma.compress(content, preset=0)


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, xz, zipped])
def test_a_packed_table_reads_as_itself_and_one_that_holds_too_much_is_refused(
    put, pack, monkeypatch
):
    monkeypatch.setenv("FSFRAME_TABLE_MEMORY", "1MB")
    assert read(put(pack(PLAIN.encode()), "small")).sha256 == read(put(PLAIN)).sha256
    with pytest.raises(DataError, match=r"more than 1\.0 MB when .* are read in parts"):
        read(put(pack(DIGITS), "bomb"))


def test_cells_that_would_not_fit_are_refused_with_their_size(put):
    line = "0," * 120_000 + "x\n"
    with pytest.raises(DataError, match=r"4 rows × 120000 columns would take .* MB"):
        read(put(line * 2 + line.replace("x", "y") * 2, "wide.csv"))


def test_a_larger_file_is_refused_unread_and_the_bound_can_be_set(put, monkeypatch):
    path = put(PLAIN + "9,9,ill\n" * 600_000)
    with pytest.raises(DataError, match=r"FSFRAME_TABLE_MEMORY"):
        read(path)
    monkeypatch.setenv("FSFRAME_TABLE_MEMORY", "much")
    with pytest.raises(RequestError, match="'much' is not a size"):
        read(path)


def test_a_line_of_commas_is_reported_as_such(put, monkeypatch):
    monkeypatch.setattr("fsframe.table.files.sheet.MAX_COLUMNS", 1000)
    with pytest.raises(DataError, match="more than 1000 columns"):
        read(put("," * 2000))


def test_more_classes_than_can_be_distinguished_are_refused(put):
    rows = "".join(f"{k % 7},k{k // 2}\n" for k in range(12_000))
    with pytest.raises(
        DataError, match=r"6000 different values in 12000 rows; at most 5000 classes"
    ):
        read(put("a,k\n" + rows))


@pytest.mark.parametrize("form", ["parquet", "arrow"])
@pytest.mark.parametrize("in_parts", [False, True])
def test_many_rows_in_a_few_bytes_are_refused_by_their_number(
    tmp_path, monkeypatch, form, in_parts
):
    """By what the file declares: 20 million rows of equal bytes are not decompressed."""
    monkeypatch.delenv("FSFRAME_TABLE_MEMORY")
    path = tmp_path / f"t.{form}"
    zeros = polars.repeat(0, 20_000_000, dtype=polars.UInt8, eager=True)
    frame = polars.DataFrame({"a": zeros, "y": zeros})
    frame.write_parquet(path) if form == "parquet" else frame.write_ipc(path, compression="zstd")
    monkeypatch.setattr("polars.read_parquet", None)
    monkeypatch.setattr("polars.read_ipc", None)
    assert path.stat().st_size < 300_000
    with pytest.raises(DataError, match=r"20000000 rows × 2 columns in .* take 320.0 MB"):
        read([path] if in_parts else path)
    monkeypatch.setenv("FSFRAME_TABLE_MEMORY", "2GB")
    with pytest.raises(DataError, match=r"NoneType|one class only"):
        read([path] if in_parts else path)


def test_an_hdf5_table_or_matrix_of_equal_numbers_is_refused_by_its_size(tmp_path, monkeypatch):
    monkeypatch.delenv("FSFRAME_TABLE_MEMORY")
    with h5py.File(tmp_path / "t.h5", "w") as file:
        X = file.create_dataset("X", (2_000_000, 20), "u1", chunks=(100_000, 20), compression=9)
        for start in range(0, 2_000_000, 100_000):
            X.id.write_direct_chunk((start, 0), zlib.compress(bytes(2_000_000), 9))
        file["y"] = [0, 1]
    with gzip.open(tmp_path / "t.mtx.gz", "wb") as packed:
        packed.write(b"%%MatrixMarket matrix array real general\n2000000 20\n")
        packed.write(b"1\n" * 40_000_000)
    for name in ("t.h5", "t.mtx.gz"):
        with pytest.raises(DataError, match=r"would take 320\.0 MB"):
            read(tmp_path / name)


@pytest.mark.parametrize("form", ["csv", "npz", "h5"])
def test_one_long_name_or_label_costs_its_own_length_only(put, tmp_path, form):
    import tracemalloc

    n, long = 8_000, "n" * 4_000
    names = [long, *(f"f{k}" for k in range(n - 1))]
    labels = ["l" * 3_000, "m"] * 2
    X = np.arange(4.0 * n).reshape(4, n) % 7
    path = tmp_path / f"t.{form}"
    if form == "csv":
        rows = (",".join(f"{v:.0f}" for v in row) for row in X)
        lines = [f"{row},{label}" for row, label in zip(rows, labels, strict=True)]
        path.write_text("\n".join([",".join([*names, "class"]), *lines]))
    elif form == "npz":
        np.savez(path, X=X, y=np.array(labels))
    else:
        with h5py.File(path, "w") as file:
            file["X"], file["feature_names"] = X, names
            file["y"] = np.array(labels, dtype=object)
    tracemalloc.start()
    data = read(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8e6
    assert data.n_classes == 2
    assert form == "npz" or data.feature_names[0] == long


def _npz(path, shape, dtype=np.float64, n_bytes=64):
    header = io.BytesIO()
    npy.write_array_header_1_0(
        header, {"shape": shape, "fortran_order": False, "descr": np.dtype(dtype).str}
    )
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("X.npy", header.getvalue() + bytes(n_bytes))
    return path


@pytest.mark.parametrize(
    ("shape", "n_bytes", "part"),
    [
        ((True, 8), 64, "has no shape"),
        ((-1, -8), 64, "has no shape"),
        ((10**9, 10**9), 64, "declares 8000000000000000000 bytes and holds 64"),
        ((1_000, 600), 4_800_000, "would decompress to 4.8 MB"),
    ],
)
def test_a_shape_that_an_npz_declares_is_checked_before_memory_is_taken(
    tmp_path, shape, n_bytes, part
):
    with pytest.raises(DataError) as caught:
        read(_npz(tmp_path / "t.npz", shape, n_bytes=n_bytes))
    assert part in str(caught.value)


def test_bytes_are_bounded_by_what_they_become(tmp_path):
    np.savez(tmp_path / "t.npz", X=np.zeros((1000, 600), np.uint8), y=np.arange(1000) % 2)
    with pytest.raises(DataError, match=r"would take 4\.8 MB"):
        read(tmp_path / "t.npz")


def test_text_that_is_none_is_refused(tmp_path):
    X = np.arange(8.0).reshape(4, 2)
    beyond = np.array([[97], [0x110000]], dtype=np.uint32).view("U1").ravel()
    for names in (beyond, np.array(["a", "b\ud800"])):
        np.savez(tmp_path / "t.npz", X=X, y=[0, 1, 0, 1], feature_names=names)
        with pytest.raises(DataError, match="invalid text"):
            read(tmp_path / "t.npz")
    for wrong in ("a\ud800", "\udfffb"):
        with pytest.raises(DataError, match="unpaired surrogate"):
            Dataset.from_arrays(X, [0, 1, 0, 1], ["a", wrong])
        with pytest.raises(DataError, match="unpaired surrogate"):
            Dataset.from_arrays(X, ["a", wrong, "a", wrong])


def test_hdf5_that_holds_nothing_or_declares_what_it_has_not_is_refused(tmp_path):
    path = tmp_path / "t.h5"
    with h5py.File(path, "w") as file:
        file["X"] = h5py.Empty("f8")
        file["y"] = [0, 1, 0, 1]
    with pytest.raises(DataError, match="null dataspace"):
        read(path)
    with h5py.File(path, "w") as file:
        file.create_dataset("X", shape=(4, 10**12), dtype="f8", chunks=(4, 1000))
        file["y"] = [0, 1, 0, 1]
    for in_memory in (None, True, False):
        with pytest.raises(DataError, match=r"declares 32\.0 TB and stores 0 bytes"):
            read(path, in_memory=in_memory)


def test_a_filter_that_does_not_come_with_hdf5_is_never_looked_for(tmp_path):
    path = tmp_path / "t.h5"
    with h5py.File(path, "w") as file:
        plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        plist.set_chunk((4, 2))
        # Optional, so that HDF5 writes without having it.
        plist.set_filter(32_015, h5py.h5z.FLAG_OPTIONAL, (1,))
        space = h5py.h5s.create_simple((4, 2))
        h5py.h5d.create(file.id, b"X", h5py.h5t.NATIVE_DOUBLE, space, plist)
        file["y"] = [0, 1, 0, 1]
    with pytest.raises(DataError, match=r"HDF5 filter .* which fsframe does not load"):
        read(path)
