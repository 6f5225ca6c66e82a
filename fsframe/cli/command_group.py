"""The group of all commands: those of the folder `fsframe.cli.commands`, and those of plugins."""

from __future__ import annotations

import contextlib
import traceback
from functools import cached_property
from importlib import import_module
from typing import Any

import click
from click.shell_completion import CompletionItem

from fsframe.errors import FsframeError, PluginError, RequestError, one_line
from fsframe.escaping import printable
from fsframe.registry import Offer, commands
from fsframe.registry.folders import modules_in
from fsframe.registry.importing import interrupted
from fsframe.suggest import did_you_mean

__all__ = ["CommandGroup"]

_FOLDER = "fsframe.cli.commands"


class CommandGroup(click.Group):
    """A group whose commands are imported when they are called.

    A plugin's command that is called like one of ours, or like another plugin's, is
    ``provider/name``.
    """

    @cached_property
    def _own(self) -> dict[str, str]:
        """Our commands, and the line that the list has of each."""
        return {name.replace("_", "-"): line for name, line in modules_in(_FOLDER).items()}

    def _listed(self) -> dict[str, str]:
        offered: dict[str, str] = {}
        offers: tuple[Offer, ...] = ()
        # Help has to answer whatever FSFRAME_STRICT makes of a broken plugin.
        with contextlib.suppress(PluginError):
            offers = commands.offers()
        for offer in offers:
            name = f"{offer.provider}/{offer.name}" if offer.name in self._own else offer.name
            offered[name] = printable(f"{offer.entry.summary}. [{offer.provider}]")
        return dict(sorted({**offered, **self._own}.items()))

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._listed())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in self._own:
            module = cmd_name.replace("-", "_")
            command: click.Command = getattr(import_module(f"{_FOLDER}.{module}"), module)
            return command
        if commands.matching(cmd_name):
            found: click.Command = commands[cmd_name]
            return found
        if ctx.resilient_parsing:
            return None
        claim = commands.claim(cmd_name)
        if claim is not None:
            raise claim
        hint = did_you_mean(cmd_name, self._listed()) or ". `fsframe --help` lists the commands"
        raise RequestError(f"there is no command {cmd_name!r}{hint}")

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except (FsframeError, click.ClickException, click.Abort, click.exceptions.Exit):
            raise
        except (KeyboardInterrupt, MemoryError, BrokenPipeError):
            raise
        except BaseException as error:
            name = ctx.invoked_subcommand
            if name is None or name in self._own:
                raise
            # The plugin boundary: what a stranger's command raises is named by its plugin.
            if interrupted(error):
                raise KeyboardInterrupt from error
            offer = commands.offer(name)
            failure = PluginError(
                f"command {name!r} of plugin {offer.provider!r} {offer.version}: {one_line(error)}"
            )
            failure.detail = "".join(traceback.format_exception(error))
            raise failure from error

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(self._listed().items()))

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        found = [
            CompletionItem(name, help=line)
            for name, line in self._listed().items()
            if name.startswith(incomplete)
        ]
        return found + click.Command.shell_complete(self, ctx, incomplete)
