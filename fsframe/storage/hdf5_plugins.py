"""No library that an HDF5 file asks for is loaded while files are read."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

from h5py import h5pl

__all__ = ["no_hdf5_plugins"]

_lock = threading.Lock()
_readers = 0
_folders: list[bytes] = []


@contextlib.contextmanager
def no_hdf5_plugins() -> Iterator[None]:
    """Empty HDF5's search path of plugins, of the whole process, until the last reader has ended.

    A dataset or a group names the filters by which it is compressed. HDF5 loads every library on
    its search path until one is the filter, for a group as soon as a member is looked for: earlier
    than anything of the group can be checked.

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
