"""Errors that fsframe raises, each with the exit code of its kind; this module imports nothing."""

from __future__ import annotations


def one_line(error: BaseException) -> str:
    """An exception of plugin code as one line that is safe on a terminal: its type and message.

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

    The message says what failed and where, what was found, and what to do next. `exit_code` is the
    exit code of the command line; `detail` is a traceback if the cause is in a plugin, shown with
    ``--traceback``; `told` is whether the log and the events of a command have it.
    """

    exit_code = 1
    detail = ""
    told = False


class RequestError(FsframeError):
    """The request is invalid: an unknown name, a value out of range, an impossible chain."""

    exit_code = 2


class MemoryBoundError(RequestError):
    """The request needs more memory than the limit of the run allows."""


class PluginError(FsframeError):
    """A plugin is missing, broken, blocked, too new, or its name is contested."""

    exit_code = 3


class FsframeWarning(UserWarning):
    """A weakness of a result, or a behaviour that may be unexpected."""


class Forewarning(FsframeWarning):
    """A warning, before a run starts, that its result will be weak."""


class PluginWarning(FsframeWarning):
    """A name is deprecated, or refers to a bundled object although another plugin offers it too."""


class DataError(FsframeError):
    """The data cannot be used as they are."""

    exit_code = 4


class UntidyTableError(DataError):
    """A table that cannot be used without further arguments.

    Parameters
    ----------
    problem : str
        What is wrong or uncertain, and where.
    ways : tuple of dict
        Arguments of `fsframe.read` to add, each of which makes the table usable.
    """

    def __init__(self, problem: str, ways: tuple[dict[str, object], ...] = ()) -> None:
        super().__init__(problem, ways)
        self.problem = problem
        self.ways = ways

    def __str__(self) -> str:
        said = [", ".join(f"{key}={value!r}" for key, value in way.items()) for way in self.ways]
        return "\n".join([self.problem, *(f"  {text}" for text in said)])


class StoreError(FsframeError):
    """A run file cannot be read or written, is damaged, or would be replaced."""

    exit_code = 5


class EngineError(FsframeError):
    """The workers of a run are lost: they died repeatedly, or their cluster is gone."""

    exit_code = 6
