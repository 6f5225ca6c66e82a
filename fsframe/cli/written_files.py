"""The files this command has written, to be named if it is interrupted later."""

from __future__ import annotations

__all__ = ["clear_written", "note_written", "written", "written_summary"]

_files: dict[str, None] = {}


def note_written(path: object) -> None:
    """A run file is in its place."""
    _files[str(path)] = None


def clear_written() -> None:
    """A command begins, in a process that may have run others."""
    _files.clear()


def written() -> list[str]:
    """The run files that are in their places, in order."""
    return list(_files)


def written_summary() -> str:
    """What an interrupted command has written; no run is going on."""
    if not _files:
        return "this command wrote nothing"
    return f"{', '.join(written())} {'is' if len(_files) == 1 else 'are'} written already"
