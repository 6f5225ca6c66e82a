"""Arrays of an NPZ file, read without ever unpickling."""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from fsframe.errors import DataError

__all__ = ["NpzArrays"]


class NpzArrays:
    """An NPZ file as named arrays.

    Parameters
    ----------
    path : Path

    Raises
    ------
    DataError
        If it is no NPZ file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._zip = zipfile.ZipFile(path)
        except (zipfile.BadZipFile, OSError, NotImplementedError) as error:
            raise DataError(f"{path} is not an NPZ file, or is damaged: {error}") from None

    def __enter__(self) -> NpzArrays:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._zip.close()

    def listing(self) -> str:
        """The names of the arrays, for messages."""
        names = [name.removesuffix(".npy") for name in self._zip.namelist()]
        return ", ".join(names[:10]) or "nothing"

    def array(self, name: str) -> NDArray[Any] | None:
        """The array of that name (a leading slash does not count), text as str; None if absent.

        Raises
        ------
        DataError
            If it holds Python objects, or is damaged.
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
            EOFError,
            OSError,
            zipfile.BadZipFile,
            zlib.error,
            MemoryError,
        ) as error:
            raise DataError(f"{self._path}: array {name!r} is damaged: {error}") from None
        except (NotImplementedError, RuntimeError) as error:
            raise DataError(f"{self._path}: array {name!r} cannot be unpacked: {error}") from None
        if array.dtype.kind == "S":
            try:
                return np.char.decode(array, "utf-8")
            except UnicodeDecodeError as error:
                raise DataError(f"{self._path}: array {name!r} is not UTF-8: {error}") from None
        return array

    def _check_header(self, member: str, name: str) -> None:
        """Refuse objects, and sizes that the archive does not hold, before memory is taken."""
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
        size = dtype.itemsize * int(np.prod([int(n) for n in shape], dtype=object))
        held = self._zip.getinfo(member).file_size - begin
        if size != held:
            raise DataError(
                f"{self._path}: array {name!r} declares {size} bytes and holds {held}; it is "
                "damaged"
            )
