"""Cache folders beside a table in parts: moved into place whole, and checked when used."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

__all__ = ["file_digest", "made_whole", "write_through"]


def file_digest(path: Path) -> str:
    """SHA-256 of a file, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_through(path: Path, content: bytes) -> None:
    """Write a file; when this returns, it is on the disk."""
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


@contextlib.contextmanager
def made_whole(folder: Path) -> Iterator[Path]:
    """A new folder to write to, which takes the place of `folder` when the block ends well.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as home:
    ...     with made_whole(Path(home) / "kept") as new:
    ...         write_through(new / "a", b"1")
    ...     file_digest(Path(home) / "kept" / "a")[:8]
    '6b86b273'
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}-"))
    try:
        yield made
        _place(made, folder)
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _place(made: Path, folder: Path) -> None:
    """Put a whole folder in its place; one that another process has put there meanwhile stays."""
    for _ in range(2):
        try:
            made.rename(folder)
            return
        except OSError:
            # What is there was found unsound, or has come from another process just now.
            aside = Path(tempfile.mkdtemp(dir=folder.parent, prefix=".old-"))
            with contextlib.suppress(OSError):
                folder.rename(aside / "codes")
            shutil.rmtree(aside, ignore_errors=True)
    made.rename(folder)
