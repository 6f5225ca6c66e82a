"""Cache folders beside a table in parts: put in place as a whole, and checked when used."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsframe.contracts.side_by_side import in_threads

__all__ = ["HashingWriter", "made_whole", "read_index", "write_index"]

_ARRAYS, _MANIFEST = "index.npz", "index.json"


class HashingWriter:
    """Writes a file and computes its SHA-256.

    The disk is not waited for: what a power cut takes is found by the digest, and computed again.
    """

    def __init__(self, path: Path) -> None:
        self.file = path.open("wb")
        self.sha256 = hashlib.sha256()

    def __enter__(self) -> HashingWriter:
        return self

    def __exit__(self, *error: object) -> None:
        if error[0] is None and not self.file.tell():
            # An empty file cannot be mapped.
            self.write(bytes(64))
        self.file.close()

    def write(self, content: Any) -> None:
        """Append bytes."""
        self.file.write(content)
        self.sha256.update(content)

    @property
    def digest(self) -> str:
        """SHA-256 of the bytes written, in hexadecimal."""
        return self.sha256.hexdigest()


def write_index(
    made: Path, key: str, arrays: Mapping[str, NDArray[Any]], files: Mapping[str, str]
) -> None:
    """Write the arrays that describe a folder, and the SHA-256 of each of its other files by name.

    `key` is a digest of everything that the content depends on.
    """
    head = io.BytesIO()
    np.savez(head, **arrays)  # type: ignore[arg-type]
    with HashingWriter(made / _ARRAYS) as file:
        file.write(head.getvalue())
    manifest = {"key": key, "files": {_ARRAYS: file.digest, **files}}
    with HashingWriter(made / _MANIFEST) as file:
        file.write(json.dumps(manifest).encode())


def read_index(
    folder: Path, key: str, threads: int = 1
) -> tuple[dict[str, NDArray[Any]], list[str]] | None:
    """The arrays that describe a folder, and the names of its other files.

    All files are read and digested, several at a time by as many threads.

    Returns
    -------
    tuple, or None
        None if the folder is missing, has another key, or a file of it is damaged.
    """
    try:
        manifest = json.loads((folder / _MANIFEST).read_text())
        files = manifest["files"]
        head = (folder / _ARRAYS).read_bytes()
        if manifest["key"] != key or hashlib.sha256(head).hexdigest() != files.pop(_ARRAYS):
            return None
        paths = [folder / name for name in files]
        if in_threads(threads, _digest, paths) != list(files.values()):
            return None
        with np.load(io.BytesIO(head), allow_pickle=False) as arrays:
            return {name: arrays[name] for name in arrays.files}, list(files)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, EOFError):
        return None


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextlib.contextmanager
def made_whole(folder: Path) -> Iterator[Path]:
    """A new folder to write to, which replaces `folder` if the block ends without an error.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as home:
    ...     with made_whole(Path(home) / "kept") as new:
    ...         write_index(new, "key", {"a": np.arange(3)}, {})
    ...     read_index(Path(home) / "kept", "key")
    ({'a': array([0, 1, 2])}, [])
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}-"))
    try:
        yield made
        _place(made, folder)
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _place(made: Path, folder: Path) -> None:
    """Put a finished folder in its place, instead of what is there."""
    for _ in range(2):
        try:
            made.rename(folder)
            return
        except OSError:
            # The folder there was found damaged, or another process has just put it there.
            aside = Path(tempfile.mkdtemp(dir=folder.parent, prefix=".old-"))
            with contextlib.suppress(OSError):
                folder.rename(aside / "codes")
            shutil.rmtree(aside, ignore_errors=True)
    made.rename(folder)
