"""Errors that fsframe raises, each with the exit code of its kind; this module imports nothing."""

from __future__ import annotations

__all__ = [
    "DataError",
    "FsframeError",
    "PluginError",
    "RequestError",
    "StoreError",
]


class FsframeError(Exception):
    """Base of every error fsframe raises on purpose.

    The message says what failed and where, what was found, and what to do next.
    `exit_code` is what the command line ends with.
    """

    exit_code = 1


class RequestError(FsframeError):
    """The request is wrong: an unknown name, a value out of range, a chain that makes no sense."""

    exit_code = 2


class PluginError(FsframeError):
    """A plugin is missing, broken, blocked, too new, or its name is contested."""

    exit_code = 3


class DataError(FsframeError):
    """The data cannot be used as they are."""

    exit_code = 4


class StoreError(FsframeError):
    """A run file cannot be read, is damaged, or stands in the way."""

    exit_code = 5
