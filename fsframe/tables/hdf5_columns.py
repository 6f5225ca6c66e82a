"""A table that stays in its HDF5 file and is read by columns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.errors import DataError
from fsframe.tables.hdf5 import Hdf5Arrays

__all__ = ["Hdf5Columns", "file_mark"]


@attrs.frozen(eq=False)
class Hdf5Columns:
    """Some columns of a dataset on disk, as `fsframe.table.dataset.ColumnSource`.

    Parameters
    ----------
    path : Path
        Absolute, so that worker processes find it too.
    name : str
        Path of the dataset within the file.
    columns : (n_features,) int
        Which columns of the dataset, ascending.
    n_samples : int
    dtype : numpy dtype
        As stored.
    stamp : (int, int)
        Size and time of change of the file when it was checked.
    codes : tuple of float
        Codes of missing values.

    Notes
    -----
    The file is opened for each reading, so the object can be sent to other processes. Reading a
    span costs what HDF5 needs for the chunks it touches: chunks of few columns read fastest.
    """

    path: Path
    name: str
    columns: NDArray[np.intp] = attrs.field(repr=False)
    n_samples: int
    dtype: np.dtype[Any]
    stamp: tuple[int, int] = attrs.field(repr=False)
    codes: tuple[float, ...] = ()

    @classmethod
    def of(cls, path: Path, name: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Hdf5Columns:
        """All columns of the dataset `name` in the file at `path`."""
        absolute = path.absolute()
        return cls(absolute, name, np.arange(shape[1]), shape[0], dtype, file_mark(absolute))

    @property
    def shape(self) -> tuple[int, int]:
        """Samples, features."""
        return self.n_samples, len(self.columns)

    def with_codes(self, codes: tuple[float, ...]) -> Hdf5Columns:
        """The same columns, NaN where they hold one of the codes."""
        return attrs.evolve(self, codes=codes, dtype=np.dtype(np.float64))

    def take(self, columns: NDArray[np.intp]) -> Hdf5Columns:
        """Only these of the columns, given ascending by position."""
        return attrs.evolve(self, columns=self.columns[columns])

    def read(self, start: int, stop: int) -> NDArray[Any]:
        """Columns ``start … stop-1``, (n_samples, stop-start), as stored (float64 with codes).

        DataError if the file has changed since it was checked, or cannot be read.
        """
        wanted = self.columns[start:stop]
        if not len(wanted):
            return np.empty((self.n_samples, 0), dtype=self.dtype)
        if file_mark(self.path) != self.stamp:
            raise DataError(f"{self.path} was changed while it was in use; start again")
        first, last = int(wanted[0]), int(wanted[-1]) + 1
        with Hdf5Arrays(self.path) as file:
            span = file.block(self.name, slice(None), slice(first, last))
        found = span if last - first == len(wanted) else span[:, wanted - first]
        if self.codes:
            return np.where(np.isin(found, self.codes), np.nan, found).astype(self.dtype)
        return found


def file_mark(path: Path) -> tuple[int, int]:
    """Size and time of change of a file."""
    try:
        status = path.stat()
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror or error}") from error
    return status.st_size, status.st_mtime_ns
