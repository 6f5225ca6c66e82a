"""Arrays of an HDF5 file; links to other files are not followed."""

from __future__ import annotations

import contextlib
import math
import mmap
import struct
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from h5py import h5pl
from numpy.typing import NDArray

from fsframe.errors import DataError
from fsframe.table.spelling.text_file import check_expansion, check_size, reading_of, shown

_lock = threading.Lock()
_readers = 0
_folders: list[bytes] = []


@contextlib.contextmanager
def no_hdf5_plugins() -> Iterator[None]:
    """Empty this process's search path of HDF5 plugins until the last reader has ended.

    A dataset or a group names the filters by which it is compressed. To find a filter, HDF5 loads
    every library on its search path until one fits; for a group it does so as soon as a member is
    looked up, before anything in the group can be checked.

    >>> with no_hdf5_plugins():
    ...     h5pl.size()
    0
    """
    global _readers, _folders
    with _lock:
        if not _readers:
            _folders = [h5pl.get(place) for place in range(h5pl.size())]
            for _ in _folders:
                h5pl.remove(0)
        _readers += 1
    try:
        yield
    finally:
        with _lock:
            _readers -= 1
            if not _readers:
                for folder in _folders:
                    h5pl.append(folder)


_SIGNATURE = b"GCOL\x01\x00\x00\x00"
_HEADER = struct.Struct("<8sQ")
_OBJECT = struct.Struct("<HHIQ")


def check_heaps(path: Path) -> None:
    """Check all global heap collections of a file; DataError says where the first damage is.

    A collection begins with its signature, version and reserved bytes, eight in all, followed by
    its size and by objects. Each object has a number, a size, and that many bytes, padded to a
    multiple of eight. Number 0 is free space, whose size covers its own header (HDF5 file format
    specification 3.0, III.E). O(size of the file), read once through the page cache.
    """
    with path.open("rb") as file:
        try:
            content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except ValueError:
            return  # an empty file
        with content:
            place = content.find(_SIGNATURE)
            while place >= 0:
                _check_heap(content, place, path)
                place = content.find(_SIGNATURE, place + 1)


def check_lengths(path: Path, name: str, offset: int | None, n: int) -> None:
    """Raise DataError if a text of a contiguous dataset is longer than its file.

    HDF5 would allocate memory for it first.

    The `n` references, each a length of 4 bytes, an address of 8 and a number of 4, begin at
    `offset`, which is None for chunked datasets; these are not checked.
    """
    if offset is None or not n:
        return
    size = path.stat().st_size
    form = np.dtype([("length", "<u4"), ("address", "<u8"), ("number", "<u4")])
    references = np.fromfile(path, form, count=n, offset=offset)
    if len(references) < n or int(references["length"].max()) > size:
        raise DataError(f"{path} is damaged: a text of {name!r} is longer than the file")


def _check_heap(content: mmap.mmap, place: int, path: Path) -> None:
    def damaged(what: str) -> DataError:
        return DataError(
            f"{path} is damaged: in the text heap at byte {place}, {what}; take another copy of "
            "the file"
        )

    if place + _HEADER.size > len(content):
        raise damaged("the header is cut off")
    _, size = _HEADER.unpack_from(content, place)
    end = place + size
    if size < _HEADER.size or end > len(content):
        raise damaged(f"the size, {size} bytes, does not fit the file")
    at, numbers = place + _HEADER.size, set()
    while at + _OBJECT.size <= end:
        number, _, _, length = _OBJECT.unpack_from(content, at)
        # Free space counts its own header.
        needed = length if number == 0 else _OBJECT.size + -(-length // 8) * 8
        if needed < _OBJECT.size or needed % 8 or at + needed > end:
            raise damaged(f"object {number} at byte {at} has no possible size, {length}")
        if number and number in numbers:
            raise damaged(f"there are two objects {number}")
        numbers.add(number)
        at += needed


# Filters that come with HDF5 and h5py: deflate, shuffle, fletcher32, szip, nbit, scaleoffset, lzf.
# For any other that a file names, HDF5 would look for a library and run it.
_FILTERS = frozenset({1, 2, 3, 4, 5, 6, 32000})

_AT_A_TIME = 1 << 24
# Deflate compresses at most about a thousandfold.
_RATIO = 1100
_FREE = 1 << 30


class Hdf5Arrays(contextlib.AbstractContextManager["Hdf5Arrays"]):
    """The named arrays of an HDF5 file; DataError if it is not one, or is damaged."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._heaps_checked = False
        try:
            self._file = h5py.File(path, "r")
        except OSError as error:
            if not h5py.is_hdf5(path):
                raise DataError(
                    f"{path} is not an HDF5 file, or its beginning is damaged"
                ) from None
            raise DataError(
                f"{path} is an HDF5 file that is damaged, or in use by a writer: {error}"
            ) from None
        try:
            with self._reading("its root group"):
                is_run = "encoding-type" in self._file.attrs and "stages" in self._file
            if is_run:
                raise DataError(
                    f"{path} is a run file of fsframe, not a table: `fsframe show` prints it, with "
                    "the table that it was made from"
                )
        except DataError:
            self._file.close()
            raise

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def listing(self) -> str:
        """The members of the root group, for messages."""
        try:
            with no_hdf5_plugins():
                names = sorted(self._file)
        except (OSError, RuntimeError, KeyError, ValueError, TypeError) as error:
            return f"members that cannot be listed ({error})"
        return ", ".join(f"/{name}" for name in names[:10]) or "nothing"

    def members(self, name: str) -> list[str]:
        """The sorted names of the members of a group; empty if there is no such group."""
        with self._reading(repr(name)):
            node = self._node(name)
            return sorted(node) if isinstance(node, h5py.Group) else []

    def is_group(self, name: str) -> bool:
        """Whether there is a group of that path."""
        with self._reading(repr(name)):
            return isinstance(self._node(name), h5py.Group)

    def attribute(self, name: str, key: str) -> Any:
        """An attribute of a group or dataset, text as str; None if absent."""
        with self._reading(f"{key!r} of {name!r}"):
            node = self._node(name)
            if node is not None and key in node.attrs:
                self._check_heaps(node.attrs.get_id(key).get_type())
            value = None if node is None else node.attrs.get(key)
            return value.decode() if isinstance(value, bytes) else value

    def array(self, name: str) -> NDArray[Any] | None:
        """The dataset of that path, text as str; None if absent.

        DataError if it is a link, keeps its values in another file, is neither numbers nor text, or
        cannot be read.
        """
        with self._reading(repr(name)):
            dataset = self._dataset(name)
            return None if dataset is None else self._values(dataset, name)

    def form(self, name: str) -> tuple[tuple[int, ...], np.dtype[Any]] | None:
        """Shape and dtype of the dataset of that path, without reading it; None if absent."""
        with self._reading(repr(name)):
            dataset = self._dataset(name)
            return None if dataset is None else (dataset.shape, dataset.dtype)

    def table_form(self, name: str) -> tuple[tuple[int, int], np.dtype[Any]] | None:
        """`form` of a dataset if it is a two-dimensional array of numbers, else None."""
        found = self.form(name)
        if found is None or len(found[0]) != 2 or found[1].kind not in "fiub":
            return None
        return (found[0][0], found[0][1]), found[1]

    def block(self, name: str, rows: slice, columns: NDArray[np.intp]) -> NDArray[Any]:
        """Some columns of consecutive rows of a dataset, as stored.

        Columns that are not adjacent, in any order, are read a few rows at a time from a dataset
        without chunks, and one column of chunks after the other from another one; each piece takes
        no more than the largest of 16 MB, the result, and one chunk. DataError if the dataset is
        gone or cannot be read.
        """
        with self._reading(repr(name)):
            dataset = self._dataset(name)
            if dataset is None:
                raise DataError(f"{self._path} has no {name!r} any more")
            begin, end, _ = rows.indices(dataset.shape[0])
            values = np.empty((max(0, end - begin), columns.size), dataset.dtype)
            if (np.diff(columns) == 1).all():
                if values.size:
                    source = np.s_[begin:end, columns[0] : columns[-1] + 1]
                    dataset.read_direct(values, source)
                return values
            most = max(_AT_A_TIME, values.nbytes)
            high, wide = dataset.chunks or (1, dataset.shape[1])
            step = max(high, most // (wide * dataset.dtype.itemsize) // high * high)
            for first in np.unique(columns // wide * wide).tolist():
                here = np.flatnonzero((columns >= first) & (columns < first + wide))
                low, last = int(columns[here].min()), int(columns[here].max()) + 1
                for start in range(begin, end, step):
                    stop = min(start + step, end)
                    part = dataset[start:stop, low:last]
                    values[start - begin : stop - begin, here] = part[:, columns[here] - low]
                    del part
            return values

    @contextlib.contextmanager
    def _reading(self, what: str) -> Iterator[None]:
        """Load no plugins, and turn errors of the HDF5 library into DataErrors about `what`."""
        try:
            with no_hdf5_plugins():
                yield
        except (OSError, RuntimeError, KeyError, ValueError, TypeError, MemoryError) as error:
            if "can't find plugin" in str(error):
                raise DataError(
                    f"{self._path}: {what} is in a group compressed by an HDF5 filter which "
                    "fsframe does not load; write it without (h5repack)"
                ) from None
            raise DataError(f"{self._path}: {what} cannot be read: {error}") from None

    def _node(self, name: str) -> Any:
        """The group or dataset of that path, reached without following links; None if absent."""
        node: Any = self._file
        for part in filter(None, name.split("/")):
            if not isinstance(node, h5py.Group) or part not in node.keys():  # noqa: SIM118
                return None
            if not isinstance(node.get(part, getlink=True), h5py.HardLink):
                raise DataError(
                    f"{self._path}: {name!r} is a link to elsewhere, which fsframe does not "
                    "follow; copy the data into the file"
                )
            node = node[part]
        return node

    def _dataset(self, name: str) -> h5py.Dataset | None:
        node = self._node(name)
        if node is None:
            return None
        if not isinstance(node, h5py.Dataset):
            raise DataError(f"{self._path}: {name!r} is a group, not an array")
        if node.external or node.is_virtual:
            raise DataError(
                f"{self._path}: {name!r} keeps its values in other files, which fsframe does not "
                "open; copy the data into the file"
            )
        self._check_form(node, name)
        return node

    def _check_form(self, node: h5py.Dataset, name: str) -> None:
        """Refuse empty datasets, foreign filters, and sizes far above what is stored."""
        if node.shape is None:
            raise DataError(f"{self._path}: {name!r} is empty: it has no shape (a null dataspace)")
        plist = node.id.get_create_plist()
        filters = [plist.get_filter(place) for place in range(plist.get_nfilters())]
        foreign = [entry for entry in filters if entry[0] not in _FILTERS]
        if foreign:
            word = foreign[0][3].decode(errors="replace") or f"number {foreign[0][0]}"
            raise DataError(
                f"{self._path}: {name!r} is compressed by the HDF5 filter {word!r}, which "
                "fsframe does not load; write it with gzip, lzf or no compression "
                "(h5repack -f GZIP=4)"
            )
        declared = node.dtype.itemsize * math.prod(node.shape)
        stored = node.id.get_storage_size()
        if node.ndim == 2 and node.dtype.kind in "fiub":
            rows, columns = node.shape
            check_expansion(rows, columns, stored, f"{self._path}: {name!r}")
        if declared > max(_FREE, _RATIO * stored):
            raise DataError(
                f"{self._path}: {name!r} of shape {node.shape} declares {shown(declared)} and "
                f"stores {shown(stored)}; it is damaged, or was never filled"
            )

    def _check_heaps(self, kind: h5py.h5t.TypeID) -> None:
        """Check the heaps before variable-length text is read: HDF5 could loop forever."""
        variable = isinstance(kind, h5py.h5t.TypeVlenID) or (
            isinstance(kind, h5py.h5t.TypeStringID) and kind.is_variable_str()
        )
        if variable and not self._heaps_checked:
            check_heaps(self._path)
            self._heaps_checked = True

    def _values(self, dataset: h5py.Dataset, name: str) -> NDArray[Any]:
        kind = dataset.id.get_type()
        self._check_heaps(kind)
        if isinstance(kind, h5py.h5t.TypeStringID) and kind.is_variable_str():
            many = math.prod(dataset.shape)
            check_lengths(self._path, name, dataset.id.get_offset(), many)
        if h5py.check_string_dtype(dataset.dtype) is not None:
            # As objects: in a text array each element takes the space of the longest.
            return np.asarray(dataset.asstr()[()], dtype=object)
        if dataset.dtype.kind not in "fiub":
            raise DataError(
                f"{self._path}: {name!r} holds {dataset.dtype}, neither numbers nor text"
            )
        if len(dataset.shape) == 2:
            check_size(
                8 * math.prod(dataset.shape), f"{self._path}: {name!r} of shape {dataset.shape}"
            )
        return np.asarray(dataset[()])


def file_mark(path: Path) -> tuple[int, int]:
    """Size and time of change of a file."""
    with reading_of(path):
        status = path.stat()
    return status.st_size, status.st_mtime_ns


def check_unchanged(path: Path, mark: tuple[int, int]) -> None:
    """Raise DataError if `file_mark` of the file is another one."""
    if file_mark(path) != mark:
        raise DataError(f"{path} was changed while it was in use; start again")
