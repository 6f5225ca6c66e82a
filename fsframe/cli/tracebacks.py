"""The option ``--traceback``: whether to show where in the code an error was raised."""

from __future__ import annotations

import traceback

import click

from fsframe.errors import FsframeError

__all__ = ["begin", "requested_traceback", "traceback_option"]

_wanted = False


def begin() -> None:
    """Reset: show no traceback unless requested."""
    global _wanted
    _wanted = False


def _take(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    global _wanted
    _wanted = _wanted or value


traceback_option = click.option(
    "--traceback",
    is_flag=True,
    expose_value=False,
    callback=_take,
    help="After an error, also print the traceback.",
)
"""The option ``--traceback``, of the program and of the commands that run methods."""


def requested_traceback(error: FsframeError) -> str:
    """The traceback of an error; empty if not requested."""
    if not _wanted:
        return ""
    return error.detail or "".join(traceback.format_exception(error))
