"""Errors that fsframe raises, each with the exit code of its kind; several may be raised as one."""

from __future__ import annotations

from collections.abc import Iterable


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


def refuse(kind: type[FsframeError], problems: Iterable[str]) -> None:
    """Raise an error of that kind that lists all problems, each once; nothing if there are none.

    >>> refuse(RequestError, ["k must be a number", "k must be a number", "no column 'age'"])
    Traceback (most recent call last):
    fsframe.errors.RequestError: k must be a number
    no column 'age'
    """
    lines = dict.fromkeys(problems)
    if lines:
        raise kind("\n".join(lines))


class GatheredErrors:
    """Context of pieces of work whose errors are to be reported together, by `end`.

    >>> errors = GatheredErrors()
    >>> for problem in ("no stage", "no column"):
    ...     with errors:
    ...         raise RequestError(problem)
    >>> len(errors.found)
    2
    """

    def __init__(self) -> None:
        self.found: list[FsframeError] = []

    def __enter__(self) -> None:
        pass

    def __exit__(self, _: object, error: BaseException | None, __: object) -> bool:
        """Keep an error of fsframe, which ends the piece of work and no more."""
        if isinstance(error, FsframeError):
            self.found.append(error)
        return isinstance(error, FsframeError)

    def end(self) -> None:
        """Raise what was found: one error as it is; several as one that lists all their lines, of
        their kind, or a RequestError if they are of different kinds."""
        if len(self.found) == 1:
            raise self.found[0]
        kinds = {type(error) for error in self.found}
        kind = kinds.pop() if len(kinds) == 1 else RequestError
        refuse(kind, (line for error in self.found for line in str(error).split("\n")))


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
