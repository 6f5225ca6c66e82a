"""Tables converted to bytes, cached for the lifetime of the table."""

from __future__ import annotations

import threading
import weakref
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsframe.method.run import Run
from fsframe.table.dataset import Dataset
from fsframe_infotheory.engine.column_kernels import as_flat, write_bytes

__all__ = ["TableBytes", "cached_bytes", "fill", "forget"]

MOST_TABLES = 2
"""Most tables in the cache; the least recently used is dropped."""


class TableBytes:
    """A table as bytes; each group of columns is converted on first use.

    Independent of labels, bootstraps and bins: columns of whole numbers in a short range have
    the same bytes for all of them.

    Parameters
    ----------
    n_rows, n_columns : int
        Shape of the table; one byte per value.
    block : (n_rows, n_columns) uint8, columns contiguous, optional
        The table itself if its values are bytes; then nothing is copied.
    """

    def __init__(self, n_rows: int, n_columns: int, block: NDArray[np.uint8] | None = None) -> None:
        self.block = block
        if block is None:
            self.raw = np.empty((n_columns, n_rows), np.uint8)
            self.base, self.usable = np.empty(n_columns), np.empty(n_columns, bool)
        else:
            self.raw, self.base, self.usable = fill(block, 0, n_columns)
        self._filled: set[int] = set()

    def of(
        self, bound: tuple[int, int], source: NDArray[Any], first: int
    ) -> tuple[NDArray[np.uint8], NDArray[np.float64], NDArray[np.bool_]]:
        """Columns start … stop−1, which begin at column `first` of `source`; see `fill`."""
        start, stop = bound
        part = slice(start, stop)
        if self.block is None and start not in self._filled:
            found = fill(source, first, stop - start, self.raw[part])
            self.base[part], self.usable[part] = found[1:]
            self._filled.add(start)
        return _frozen(self.raw[part]), self.base[part], self.usable[part]

    @classmethod
    def once(cls, data: Dataset, most: int) -> TableBytes | None:
        """Uncached bytes for one call; None if they would exceed `most`."""
        if data.n_features * data.n_samples > most:
            return None
        if data.matrix.dtype != np.uint8:
            return cls(data.n_samples, data.n_features)
        return cls(data.n_samples, data.n_features, data.columns(0, data.n_features))


_tables: list[tuple[weakref.ref[Any], TableBytes]] = []
_lock = threading.Lock()


def cached_bytes(data: Dataset, run: Run) -> TableBytes | None:
    """The cached bytes of a table in memory; None if they would take too much memory.

    Notes
    -----
    The key is the table's array, which is frozen and shared by bootstraps and permuted labels. At
    most `MOST_TABLES` are cached, each of at most an eighth of the memory allowed; an entry is
    dropped with its array.
    """
    if not data.nbytes or data.n_features * data.n_samples > run.memory // 8:
        return None
    with _lock:
        _tables[:] = [entry for entry in _tables if entry[0]() is not None]
        for position, (array, found) in enumerate(_tables):
            if array() is data.matrix:
                _tables.append(_tables.pop(position))
                return found
        found = TableBytes(data.n_samples, data.n_features)
        _tables.append((weakref.ref(data.matrix, _drop), found))
        del _tables[:-MOST_TABLES]
        return found


def _drop(array: weakref.ref[Any]) -> None:
    # Without the lock: an array may be collected while this thread has it.
    for entry in list(_tables):
        if entry[0] is array:
            _tables.remove(entry)


def forget() -> None:
    """Empty the cache."""
    with _lock:
        _tables.clear()


def fill(
    source: NDArray[Any], first: int, m: int, into: NDArray[np.uint8] | None = None
) -> tuple[NDArray[np.uint8], NDArray[np.float64], NDArray[np.bool_]]:
    """Columns from `first` on as bytes, the value of byte 0 in each, and which columns fit.

    Parameters
    ----------
    source : (n, …) uint8 or float64
    into : (m, n) uint8, optional
        Where to write; by default the table itself is returned where possible.
    """
    if source.dtype == np.uint8:
        columns = source[:, first : first + m].T
        if into is None:
            into = np.ascontiguousarray(columns)
        else:
            into[:] = columns
        return _frozen(into), np.zeros(m), np.ones(m, bool)
    into = np.empty((m, len(source)), np.uint8) if into is None else into
    base = _bases(source[:64, first : first + m])
    usable = ~np.isnan(base)
    flat, by_row, by_column = as_flat(source)
    write_bytes(flat, by_row, by_column, first, len(source), base, usable, into)
    return _frozen(into), base, usable


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    """A read-only view, so that kernels are compiled for one array type only."""
    view = array.view()
    view.setflags(write=False)
    return view


def _bases(head: NDArray[Any]) -> NDArray[np.float64]:
    """The value of byte 0 of each column, with the range of its first values in the middle."""
    low = np.fmin.reduce(head, axis=0).astype(np.float64)
    span = np.fmax.reduce(head, axis=0) - low
    return np.where(span <= 253, np.floor(low - (253 - span) // 2), np.nan)
