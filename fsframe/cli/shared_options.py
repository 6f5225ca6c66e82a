"""Options that several commands share, and what ``--traceback`` asks for."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any, TypeVar

import click

from fsframe.errors import FsframeError

F = TypeVar("F", bound=Callable[..., Any])
Option = Callable[[Any], Any]


def all_options(*options: Option) -> Callable[[F], F]:
    """A decorator that adds all these options, in this order."""

    def decorate(function: F) -> F:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
quiet_option = click.option("-q", "--quiet", is_flag=True, help="No progress or notes on stderr.")

_wanted = False


def forget_traceback() -> None:
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
