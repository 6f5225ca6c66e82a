"""Column statistics of a table in parts, kept beside the table."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fsframe.errors import StoreError
from fsframe.storage.atomic import place_file
from fsframe.table.kept_folders import (
    Unsound,
    arrays_as_bytes,
    arrays_in_bytes,
    note_unsound,
    open_sealed,
    seal,
)

if TYPE_CHECKING:
    # Compiled, and needed by tables in parts only.
    from fsframe.table.columns_seen import ColumnsSeen

__all__ = ["CACHE_FOLDER", "FoundFacts", "load_facts", "save_facts"]

CACHE_FOLDER = ".fsframe-parts"
"""The name of the folder beside a table; it may be removed."""

FoundFacts = tuple["ColumnsSeen", int, str, np.dtype[Any]]
"""Column statistics, number of rows, SHA-256 of the values, and dtype of the features."""

_OVERHEAD = 1 << 14
"""Bytes of the headers in a file of facts, and more."""


def load_facts(path: Path, identity: str, n_rows: int, n_columns: int) -> FoundFacts | None:
    """What an earlier pass over the table of that identity has stored, or None.

    None if there is no file; with a remark if it is damaged, or another user has written it.
    """
    from fsframe.table.columns_seen import ColumnsSeen

    most = ColumnsSeen(n_columns, False).nbytes + _OVERHEAD
    try:
        content = open_sealed(path, f"facts {identity}", most)
        return None if content is None else _facts_in(arrays_in_bytes(content), n_rows, n_columns)
    except Unsound as error:
        note_unsound(path, error)
        return None


def _facts_in(arrays: dict[str, NDArray[Any]], n_rows: int, n_columns: int) -> FoundFacts:
    """The stored facts, if they have the form of those of a table of that shape."""
    from fsframe.table.columns_seen import ColumnsSeen

    try:
        n_samples, digest = int(arrays.pop("n_samples")), str(arrays.pop("digest"))
        small = str(arrays.pop("dtype")) == "uint8"
    except (KeyError, TypeError, ValueError):
        raise Unsound("holds other facts") from None
    empty = ColumnsSeen(n_columns, small).arrays()
    alike = set(arrays) == set(empty) and all(
        (values.shape, values.dtype) == (empty[name].shape, empty[name].dtype)
        for name, values in arrays.items()
    )
    if (
        not alike
        or n_samples != n_rows
        or min(arrays["missing"].min(), arrays["infinite"].min()) < 0
    ):
        raise Unsound("holds other facts")
    dtype = np.dtype(np.uint8 if small else np.float64)
    return ColumnsSeen.from_arrays(arrays), n_samples, digest, dtype


def save_facts(path: Path, identity: str, found: FoundFacts) -> None:
    """Store what a pass has found; failing to do so is no error."""
    facts, n_samples, digest, dtype = found
    about = {"n_samples": n_samples, "digest": digest, "dtype": str(dtype)}
    content = arrays_as_bytes({**{key: np.array(about[key]) for key in about}, **facts.arrays()})
    with contextlib.suppress(StoreError):
        place_file(path, seal(content, f"facts {identity}"), overwrite=True)
