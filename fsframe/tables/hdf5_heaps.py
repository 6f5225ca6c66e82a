"""Check the heaps of an HDF5 file, which hold variable-length text, for endless loops.

The HDF5 library traverses a heap by the sizes stored in it. In a damaged file one of them may be
zero, and the traversal never ends, so the heap is traversed here first, with checks.
"""

from __future__ import annotations

import mmap
import struct
from pathlib import Path

import numpy as np

from fsframe.errors import DataError

__all__ = ["check_heaps", "check_lengths"]

_SIGNATURE = b"GCOL\x01\x00\x00\x00"
_HEADER = struct.Struct("<8sQ")
_OBJECT = struct.Struct("<HHIQ")


def check_heaps(path: Path) -> None:
    """Check every global heap collection of the file; DataError says where the first is damaged.

    A collection is found by its signature, version and reserved bytes, eight in all; it is followed
    by its size and by objects, each with its number, its size, and as many bytes filled up to a
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
                _walk(content, place, path)
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
    found = np.fromfile(path, form, count=n, offset=offset)
    if len(found) < n or int(found["length"].max()) > size:
        raise DataError(f"{path} is damaged: a text of {name!r} is longer than the file")


def _walk(content: mmap.mmap, place: int, path: Path) -> None:
    def damaged(what: str) -> DataError:
        return DataError(
            f"{path} is damaged: of the heap of text at byte {place}, {what}; take another copy of "
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
