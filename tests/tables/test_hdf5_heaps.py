"""HDF5 walks heaps of text by the sizes in them; damaged ones are refused before it does."""

import h5py
import numpy as np
import pytest

from fsframe.errors import DataError
from fsframe.table.hdf5 import Hdf5Arrays, check_heaps


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
