"""Arrays of an NPZ file, read without ever unpickling."""

from __future__ import annotations

import math
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from fsframe.errors import DataError
from fsframe.tables.size_limits import VARIABLE, check_size, decompressed_bound, shown

__all__ = ["NpzArrays"]


class NpzArrays:
    """An NPZ file as named arrays; DataError if it is none."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._zip = zipfile.ZipFile(path)
        except (zipfile.BadZipFile, OSError, NotImplementedError, UnicodeDecodeError) as error:
            raise DataError(f"{path} is not an NPZ file, or is damaged: {error}") from None

    def __enter__(self) -> NpzArrays:
        return self

    def __exit__(self, *_: object) -> None:
        self._zip.close()

    def listing(self) -> str:
        """The names of the arrays, for messages."""
        names = [name.removesuffix(".npy") for name in self._zip.namelist()]
        return ", ".join(names[:10]) or "nothing"

    def array(self, name: str) -> NDArray[Any] | None:
        """The array of that name (a leading slash is ignored), text as str; None if absent.

        DataError if it holds Python objects, or is damaged.
        """
        member = f"{name.strip('/')}.npy"
        if member not in self._zip.namelist():
            return None
        try:
            self._check_header(member, name)
            with self._zip.open(member) as file:
                array = npy.read_array(file, allow_pickle=False)
        except (
            ValueError,
            TypeError,
            SyntaxError,
            EOFError,
            OverflowError,
            OSError,
            zipfile.BadZipFile,
            zlib.error,
            MemoryError,
        ) as error:
            raise DataError(f"{self._path}: array {name!r} is damaged: {error}") from None
        except (NotImplementedError, RuntimeError) as error:
            raise DataError(
                f"{self._path}: array {name!r} cannot be decompressed: {error}"
            ) from None
        if array.dtype.kind == "S":
            try:
                return np.char.decode(array, "utf-8")
            except UnicodeDecodeError as error:
                raise DataError(f"{self._path}: array {name!r} is not UTF-8: {error}") from None
        if array.dtype.kind == "U" and array.size:
            points = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("=")).view("u4")
            if points.max() > 0x10FFFF or ((points >> 11) == 0xD800 >> 11).any():
                raise DataError(
                    f"{self._path}: array {name!r} holds invalid text (unpaired surrogates, or "
                    "codes that are not characters)"
                )
        return array

    def _check_header(self, member: str, name: str) -> None:
        """Refuse objects and wrong sizes before memory is allocated."""
        with self._zip.open(member) as file:
            version = npy.read_magic(file)
            read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
            shape, _, dtype = read(file)
            begin = file.tell()
        if dtype.hasobject:
            raise DataError(
                f"{self._path}: array {name!r} holds Python objects (a pickle), which fsframe "
                "never loads; save numbers, or text as a text array (np.array(values, dtype=str))"
            )
        if any(type(n) is not int or n < 0 for n in shape):
            raise DataError(f"{self._path}: array {name!r} has no shape: {shape}; it is damaged")
        size = dtype.itemsize * math.prod(shape)
        info = self._zip.getinfo(member)
        held = info.file_size - begin
        if size != held:
            raise DataError(
                f"{self._path}: array {name!r} declares {size} bytes and holds {held}; it is "
                "damaged"
            )
        bound = decompressed_bound(info.compress_size)
        if size > bound:
            raise DataError(
                f"{self._path}: array {name!r} would decompress to {shown(size)} from "
                f"{shown(info.compress_size)}, and {shown(bound)} are allowed; save it without "
                f"compression (np.savez), or set {VARIABLE}"
            )
        if dtype.kind in "fiub" and len(shape) == 2:
            check_size(8 * math.prod(shape), f"{self._path}: array {name!r} of shape {shape}")
