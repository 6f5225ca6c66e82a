"""Which files this command has written, for what is said if it is interrupted afterwards."""

from __future__ import annotations

__all__ = ["note_written", "written_words"]

_files: list[str] = []


def note_written(path: object) -> None:
    """A run file is in its place."""
    _files.append(str(path))


def written_words() -> str:
    """What an interrupted command has written; no run is going on."""
    if not _files:
        return "this command wrote nothing"
    return f"{', '.join(_files)} {'is' if len(_files) == 1 else 'are'} written already"
