"""The cache of a table in parts: column statistics and derived data, kept beside the table."""

from __future__ import annotations

import contextlib
import io
import os
import tempfile
import weakref
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fsframe.errors import StoreError
from fsframe.storage.atomic import place_file

if TYPE_CHECKING:
    # Compiled, and needed by tables in parts only.
    from fsframe.contracts.columns_seen import ColumnsSeen

__all__ = ["CACHE_FOLDER", "FoundFacts", "cache_folder", "load_facts", "save_facts"]

CACHE_FOLDER = ".fsframe-parts"
"""The name of the folder beside a table; it may be removed."""

FoundFacts = tuple["ColumnsSeen", int, str, np.dtype[Any]]
"""Column statistics, number of rows, SHA-256 of the values, and dtype of the features."""


def cache_folder(home: Path | None, key: str, notes: list[str]) -> tuple[Path, Any]:
    """The folder for data derived from a table, and an object that keeps it in existence.

    Parameters
    ----------
    home : Path, optional
        `CACHE_FOLDER` beside the table; by default a temporary folder.
    key : str
        Digest of the table and of how it is read.
    notes : list of str
        Extended if `home` cannot be written to.
    """
    if home is not None:
        folder = home / key
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if os.access(folder, os.W_OK):
                return folder, None
        except OSError:
            pass
        notes.append(f"{home.parent} cannot be written to: nothing is kept of the table there")
    temporary = tempfile.TemporaryDirectory(prefix="fsframe-parts-")
    owner = _Owner()
    weakref.finalize(owner, temporary.cleanup)
    return Path(temporary.name), owner


class _Owner:
    """Lives as long as a table whose cache folder is temporary."""


def load_facts(path: Path, n_columns: int) -> FoundFacts | None:
    """What an earlier pass has stored; None if the file is missing or damaged."""
    from fsframe.contracts.columns_seen import ColumnsSeen

    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        n_samples, digest = int(arrays.pop("n_samples")), str(arrays.pop("digest"))
        dtype = np.dtype(str(arrays.pop("dtype")))
        known = set(ColumnsSeen(1, True).arrays())
        if set(arrays) != known or n_samples < 1 or dtype not in (np.uint8, np.float64):
            return None
        if any(len(values) != n_columns for values in arrays.values()):
            return None
        return ColumnsSeen.from_arrays(arrays), n_samples, digest, dtype
    except (OSError, ValueError, KeyError, EOFError, TypeError, zipfile.BadZipFile):
        return None


def save_facts(path: Path, found: FoundFacts) -> None:
    """Store what a pass has found; failing to do so is no error."""
    facts, n_samples, digest, dtype = found
    facts_of_table = {"n_samples": n_samples, "digest": digest, "dtype": str(dtype)}
    content = io.BytesIO()
    np.savez(content, **facts_of_table, **facts.arrays())  # type: ignore[arg-type]
    with contextlib.suppress(StoreError):
        place_file(path, content.getvalue(), overwrite=True)
