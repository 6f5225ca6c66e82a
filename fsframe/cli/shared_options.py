"""Click options and helpers for options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

__all__ = ["all_options", "json_option", "quiet_option"]

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
