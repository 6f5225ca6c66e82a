"""A click group whose commands are imported when they are called."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click
from click.shell_completion import CompletionItem

from fsframe.errors import RequestError
from fsframe.suggest import did_you_mean

__all__ = ["LazyGroup"]


class LazyGroup(click.Group):
    """A group that knows its commands by name, target and one line of help.

    Parameters
    ----------
    lazy : mapping
        Name to (``"module:command"``, short help).
    """

    def __init__(self, *args: Any, lazy: Mapping[str, tuple[str, str]], **options: Any) -> None:
        super().__init__(*args, **options)
        self._lazy = lazy

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(self._lazy)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self._lazy:
            if ctx.resilient_parsing:
                return None
            hint = did_you_mean(cmd_name, self._lazy) or ". `fsframe --help` lists the commands"
            raise RequestError(f"there is no command {cmd_name!r}{hint}")
        module, _, name = self._lazy[cmd_name][0].partition(":")
        command: click.Command = getattr(import_module(module), name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, self._lazy[name][1]) for name in sorted(self._lazy)])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        found = [
            CompletionItem(name, help=text)
            for name, (_, text) in sorted(self._lazy.items())
            if name.startswith(incomplete)
        ]
        return found + click.Command.shell_complete(self, ctx, incomplete)
