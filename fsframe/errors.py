"""Errors that fsframe raises, each with the exit code of its kind; this module imports nothing."""

from __future__ import annotations

__all__ = [
    "DataError",
    "EngineError",
    "Forewarning",
    "FsframeError",
    "FsframeWarning",
    "MemoryBoundError",
    "PluginError",
    "PluginWarning",
    "RequestError",
    "StoreError",
    "one_line",
]


def one_line(error: BaseException) -> str:
    """A stranger's exception as one line that is safe on a terminal: its type and its message.

    >>> one_line(ValueError("two\\nlines\\x1b[2J"))
    'ValueError: two lines?[2J'
    """
    try:
        message = " ".join(str(error).split())
    except Exception:  # An exception whose own __str__ is broken still has a type.
        message = ""
    kept = "".join(c if c.isprintable() else "?" for c in message)
    return f"{type(error).__name__}: {kept}" if kept else type(error).__name__


class FsframeError(Exception):
    """Base of every error fsframe raises on purpose.

    The message says what failed and where, what was found, and what to do next.
    `exit_code` is what the command line ends with; `detail` is a traceback where the cause lies in
    a plugin, shown with ``--traceback``.
    """

    exit_code = 1
    detail = ""


class RequestError(FsframeError):
    """The request is wrong: an unknown name, a value out of range, a chain that makes no sense."""

    exit_code = 2


class MemoryBoundError(RequestError):
    """What is asked for takes more memory than the run may hold."""


class PluginError(FsframeError):
    """A plugin is missing, broken, blocked, too new, or its name is contested."""

    exit_code = 3


class FsframeWarning(UserWarning):
    """What makes a result weak, or is done otherwise than one may think."""


class Forewarning(FsframeWarning):
    """Told before a run starts: what it is asked for will come out weak."""


class PluginWarning(FsframeWarning):
    """A name that a plugin wants for itself means something else."""


class DataError(FsframeError):
    """The data cannot be used as they are."""

    exit_code = 4


class StoreError(FsframeError):
    """A run file cannot be read, is damaged, or stands in the way."""

    exit_code = 5


class EngineError(FsframeError):
    """The workers of a run are lost: they died again and again, or their cluster is gone."""

    exit_code = 6
