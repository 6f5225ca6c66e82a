"""Calls from the core into a plugin: what the plugin raises is attributed to it."""

from __future__ import annotations

import contextlib
import traceback
from collections.abc import Iterator

from fsframe.errors import DataError, FsframeError, PluginError, one_line
from fsframe.registry.importing import interrupted
from fsframe.registry.registry import default_manager

# A package may put a whole table into its message.
_LONGEST = 300


@contextlib.contextmanager
def in_stage(method: type, name: str, part: str = "stage") -> Iterator[None]:
    """Context for running the code of a plugin author.

    Parameters
    ----------
    method : type
        The class of the stage.
    name : str
        Its name if no plugin offers that class.
    part : str
        Kind of object, if it is not a stage, such as ``"writer"``.

    Raises
    ------
    PluginError
        For any exception other than fsframe's own, even SystemExit; with the traceback as its
        `detail`.
    DataError
        For what the class declares as its `data_errors`.
    KeyboardInterrupt
        If it was interrupted, even if the stage raised something else.
    MemoryError
        Unchanged: the command line says what to do.
    """
    try:
        yield
    except (FsframeError, MemoryError, GeneratorExit, KeyboardInterrupt):
        raise
    except BaseException as error:
        # What a listener raises only passes through here (see `Run.progress`).
        if getattr(error, "from_outside", False):
            raise
        if interrupted(error):
            raise KeyboardInterrupt from error
        what = one_line(error)
        if isinstance(error, getattr(method, "data_errors", ())):
            text = " ".join(str(error).split()) or type(error).__name__
            raise DataError(f"{name}: {text[:_LONGEST]}") from error
        if isinstance(error, SystemExit):
            what = f"it tried to end the program ({what})"
        failure = PluginError(f"{stage_words(method, name, part)}: {what}")
        failure.detail = "".join(traceback.format_exception(error))
        raise failure from error


def stage_words(method: type, name: str, part: str = "stage") -> str:
    """A stage, its plugin and that plugin's version, for a message.

    >>> from fsframe.registry import selectors
    >>> stage_words(selectors["mim"], "mim").startswith("stage `mim` of plugin `infotheory` ")
    True
    """
    target = f"{method.__module__}:{method.__qualname__}"
    for plugin in default_manager().plugins():
        for entry in plugin.entries:
            if getattr(entry, "target", "") == target:
                if plugin.registered is not None:
                    return f"{part} `{entry.name}` ({target})"
                return f"{part} `{entry.name}` of plugin `{plugin.name}` {plugin.source.version}"
    return f"{part} `{name}` ({target})"
