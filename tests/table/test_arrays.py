"""NPZ and HDF5 tables: what is read, and what a hostile, damaged or wrong file gets."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest

from fsframe.errors import DataError
from fsframe.table.files.hdf5 import Hdf5Arrays, check_heaps
from fsframe.table.read import read

X = np.array([[1.0, 2.5], [3, 4], [5, np.nan], [7, 8]])
Y = np.array(["ill", "well", "ill", "well"])
NAMES = np.array(["a", "b"])


def npz(path: Path, **arrays) -> Path:
    np.savez(path, **arrays)
    return path


def hdf5(path: Path, **arrays) -> Path:
    with h5py.File(path, "w") as file:
        for name, array in arrays.items():
            kind = h5py.string_dtype() if np.asarray(array).dtype.kind == "U" else None
            file.create_dataset(
                name, data=np.asarray(array).astype(object) if kind else array, dtype=kind
            )
    return path


@pytest.fixture(params=["npz", "hdf5"])
def save(request, tmp_path):
    """A function that saves arrays in one of the two forms."""
    ending, writer = {"npz": (".npz", npz), "hdf5": (".h5", hdf5)}[request.param]
    return lambda name="table", **arrays: writer(tmp_path / f"{name}{ending}", **arrays)


def test_arrays_read_as_the_same_table_in_csv_would(save, tmp_path):
    data = read(save(X=X, y=Y, feature_names=NAMES))
    csv = tmp_path / "table.csv"
    csv.write_text("a,b,y\n1,2.5,ill\n3,4,well\n5,,ill\n7,8,well\n")
    assert data.sha256 == read(csv).sha256
    assert (data.name, data.label_name, data.classes) == ("table", "y", ("ill", "well"))


def test_names_may_be_absent_and_paths_given(save):
    data = read(save(features=X, outcome=Y), x="/features", y="outcome")
    assert (data.feature_names, data.label_name) == (("f1", "f2"), "outcome")


@pytest.mark.parametrize(
    ("y", "classes", "task"),
    [
        ([10, 9, 10, 9], (9, 10), "classification"),
        ([1.0, 2.0, 1.0, 2.0], (1, 2), "classification"),
        ([True, False, True, False], (0, 1), "classification"),
        ([0.5, 2.0, 1.0, 2.0], (), "regression"),
        ([[1], [2], [1], [2]], (1, 2), "classification"),
    ],
)
def test_labels_of_any_kind_are_understood(save, y, classes, task):
    data = read(save(X=X, y=np.array(y)))
    assert (data.classes, data.task) == (classes, task)


@pytest.mark.parametrize("dtype", ["float32", "int8", "uint16", "bool", "float16", ">f8"])
def test_features_of_any_number_type_become_float64(save, dtype):
    data = read(save(X=np.array([[1, 0], [0, 1], [1, 1], [0, 1]], dtype=dtype), y=Y))
    assert data.X.dtype == np.float64
    assert data.X.tolist() == [[1, 0], [0, 1], [1, 1], [0, 1]]


@pytest.mark.parametrize(
    ("arrays", "parts"),
    [
        ({"data": X, "y": Y}, ["no features '/X'", "data"]),
        ({"X": X}, ["has no label 'y'", "X: name one (y=…, --y)"]),
        ({"X": X, "y": Y[:3]}, ["label '/y' has shape (3,)", "4 rows"]),
        ({"X": X.T, "y": Y}, ["transposed"]),
        ({"X": X[:, 0], "y": Y}, ["shape (4,)"]),
        ({"X": np.array([["u", "v"]] * 4), "y": Y}, ["must be a table of numbers"]),
        ({"X": X * 1j, "y": Y}, []),
        ({"X": X, "y": Y, "feature_names": np.array(["a"])}, ["2 features"]),
        ({"X": X, "y": Y, "feature_names": np.array(["a", "a"])}, ["more than once"]),
        ({"X": X, "y": np.array(["ill"] * 4)}, ["one class only"]),
        ({"X": X, "y": np.array(["u", "v", "v", "v"])}, ["single member", "u (row 1)"]),
        ({"X": X, "y": np.array([1, 2, np.nan, 2])}, ["row 3", "missing"]),
        ({"X": X, "y": np.array(["u", "", "v", "u"])}, ["row 2", "missing"]),
        ({"X": np.where(X == 4, np.inf, X), "y": Y}, ["row 2, column 2 (f2)", "infinite"]),
    ],
)
def test_wrong_arrays_are_reported_with_their_place(save, arrays, parts):
    path = save(**arrays)
    with pytest.raises(DataError) as caught:
        read(path)
    assert str(path) in str(caught.value)
    assert [part for part in parts if part not in str(caught.value)] == []


def test_pickles_in_npz_are_never_loaded(tmp_path):
    marker = tmp_path / "ran"

    class Bomb:
        def __reduce__(self):
            return (marker.write_text, ("boom",))

    for name, arrays in (
        ("X", {"X": np.array([[Bomb()]], dtype=object), "y": Y}),
        ("/y", {"X": X, "y": np.array([Bomb()] * 4, dtype=object)}),
    ):
        with pytest.raises(DataError, match=f"{name}.*Python objects"):
            read(npz(tmp_path / "bomb.npz", **arrays))
    assert not marker.exists()


@pytest.mark.parametrize("position", [0.1, 0.3, 0.5, 0.7, 0.9])
def test_damaged_array_files_raise_data_errors(save, position):
    rng = np.random.default_rng(1)
    path = save(X=rng.normal(size=(40, 30)), y=np.array(["u", "v"] * 20))
    whole = path.read_bytes()
    path.write_bytes(whole[: int(position * len(whole))])
    with pytest.raises(DataError):
        read(path)


def test_an_hdf5_file_whose_root_group_lies_elsewhere_is_reported(tmp_path):
    path = tmp_path / "t.h5"
    with h5py.File(path, "w") as file:
        file["X"], file["y"] = X, Y.tolist()
    # In the superblock, where the address of the root group stands.
    content = bytearray(path.read_bytes())
    refused = 0
    for place in range(64, 128):
        path.write_bytes(content[:place] + bytes([content[place] ^ 0xFF]) + content[place + 1 :])
        try:
            read(path)
        except DataError as error:
            refused += "its root group cannot be read" in str(error)
    assert refused


def test_files_that_are_something_else_are_reported(tmp_path):
    for name in ("t.npz", "t.h5"):
        (tmp_path / name).write_text("a,b\n1,2\n")
        with pytest.raises(DataError, match=r"is not an (NPZ|HDF5) file"):
            read(tmp_path / name)


def virtual(file, secret):
    layout = h5py.VirtualLayout(shape=X.shape, dtype="f8")
    layout[:] = h5py.VirtualSource(str(secret), "X", shape=X.shape)
    file.create_virtual_dataset("X", layout)


def external_storage(file, secret):
    file.create_dataset("X", shape=X.shape, dtype="f8", external=[(str(secret), 0, X.nbytes)])


@pytest.mark.parametrize(
    ("build", "said"),
    [
        (lambda file, secret: file.update(X=h5py.ExternalLink(str(secret), "/X")), "link to else"),
        (lambda file, secret: file.update(X=h5py.SoftLink("/elsewhere")), "link to elsewhere"),
        (external_storage, "in other files"),
        (virtual, "in other files"),
    ],
    ids=["external link", "link on the way", "external storage", "virtual"],
)
def test_hdf5_that_points_to_other_files_is_refused(tmp_path, build, said):
    secret = hdf5(tmp_path / "secret.h5", X=X, y=Y)
    with h5py.File(tmp_path / "t.h5", "w") as file:
        build(file, secret)
        file["y"] = Y.astype(object)
    with pytest.raises(DataError, match=said):
        read(tmp_path / "t.h5")


def test_a_run_file_given_as_data_is_recognised(tmp_path):
    path = tmp_path / "run.h5"
    with h5py.File(path, "w") as file:
        file.attrs["encoding-type"] = "fsframe-run"
        file.create_group("stages")
    with pytest.raises(DataError, match="is a run file of fsframe, not a table: `fsframe show`"):
        read(path)


@pytest.fixture
def sound(tmp_path):
    path = tmp_path / "t.h5"
    text = h5py.string_dtype()
    with h5py.File(path, "w") as file:
        file["X"] = np.arange(6.0).reshape(3, 2)
        file.create_dataset("names", data=["a gene", "another"], dtype=text)
        file.attrs["says"] = "text in an attribute lies in the same heap"
    return path


def _damage(path, at, value):
    content = bytearray(path.read_bytes())
    content[at : at + len(value)] = value
    path.write_bytes(bytes(content))


def test_a_sound_heap_is_read(sound):
    with Hdf5Arrays(sound) as file:
        assert file.array("names").tolist() == ["a gene", "another"]
        assert file.attribute("/", "says").startswith("text")


def _free_space(content):
    """Where the object that stands for free space begins."""
    at = content.index(b"GCOL") + 16
    while int.from_bytes(content[at : at + 2], "little"):
        at += 16 + -(-int.from_bytes(content[at + 8 : at + 16], "little") // 8) * 8
    return at


@pytest.mark.parametrize("size", [0, 8, 1 << 60])
@pytest.mark.parametrize("ask", ["array", "attribute"])
def test_free_space_of_an_impossible_size_is_refused_and_not_walked(sound, size, ask):
    # With size zero HDF5 stays where it is, for ever.
    _damage(sound, _free_space(sound.read_bytes()) + 8, size.to_bytes(8, "little"))
    with Hdf5Arrays(sound) as file, pytest.raises(DataError, match="no possible size"):
        file.array("names") if ask == "array" else file.attribute("/", "says")


def test_a_text_longer_than_the_file_is_refused_before_room_is_made_for_it(sound):
    with h5py.File(sound) as file:
        offset = file["names"].id.get_offset()
    _damage(sound, offset, (1 << 31).to_bytes(4, "little"))
    with Hdf5Arrays(sound) as file, pytest.raises(DataError, match="longer than the file"):
        file.array("names")


def test_numbers_are_read_whatever_the_heap_is(sound):
    _damage(sound, sound.read_bytes().index(b"GCOL") + 8, bytes(8))
    with Hdf5Arrays(sound) as file:
        assert file.array("X").shape == (3, 2)
    with pytest.raises(DataError, match="does not fit the file"):
        check_heaps(sound)
