"""The files this command has written, to be named if it is interrupted later."""

from __future__ import annotations

__all__ = ["clear_written", "note_written", "written", "written_summary"]

_files: dict[str, None] = {}


def note_written(path: object) -> None:
    """Record that a run file was written."""
    _files[str(path)] = None


def clear_written() -> None:
    """Forget the files of earlier commands of this process."""
    _files.clear()


def written() -> list[str]:
    """The run files written, in order."""
    return list(_files)


def written_summary() -> str:
    """What an interrupted command has written, for its message."""
    if not _files:
        return "this command wrote nothing"
    return f"{', '.join(written())} {'is' if len(_files) == 1 else 'are'} written already"
