"""Output folders in which only unchanged files of our own are replaced."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

from fsframe.errors import StoreError
from fsframe.storage.atomic import place_file

__all__ = ["RECORD", "check_tracked_files", "place_tracked_files"]

RECORD = ".fsframe-files.json"
"""Name of the file that lists the SHA-256 of each file as written."""


def check_tracked_files(
    folder: Path, contents: Mapping[str, bytes | None], *, overwrite: bool = False
) -> None:
    """Refuse to replace files that `place_tracked_files` did not write, or that were changed since.

    `contents` is by name, None where it is not known yet. StoreError names every such file, unless
    `overwrite` says that whatever is there may be replaced.
    """
    if overwrite or not folder.is_dir():
        return
    known, foreign = _known(folder), []
    for name, content in contents.items():
        path = folder / name
        if not path.exists() and not path.is_symlink():
            continue
        try:
            there = path.read_bytes()
        except OSError:
            foreign.append(name)
            continue
        if there != content and hashlib.sha256(there).hexdigest() != known.get(name):
            foreign.append(name)
    if foreign:
        raise StoreError(
            f"{folder} holds {', '.join(foreign)}, which this study did not write or which were "
            "changed since; nothing was replaced. Move them, choose another folder (--out), or "
            "replace them (--overwrite)"
        )


def place_tracked_files(
    folder: Path, contents: Mapping[str, bytes], *, overwrite: bool = False
) -> None:
    """Write the files and record their digests; none if `check_tracked_files` refuses one."""
    check_tracked_files(folder, contents, overwrite=overwrite)
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}
    # First: a file that is not recorded yet would be considered foreign.
    record = json.dumps({**_known(folder), **digests}, indent=1)
    place_file(folder / RECORD, record.encode(), overwrite=True)
    for name, content in contents.items():
        path = folder / name
        if not (path.is_file() and path.read_bytes() == content):
            place_file(path, content, overwrite=True)


def _known(folder: Path) -> dict[str, str]:
    try:
        found = json.loads((folder / RECORD).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
