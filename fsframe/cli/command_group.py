"""The group of all commands: those of the folder `fsframe.cli.commands`, and those of plugins."""

from __future__ import annotations

import traceback
from typing import Any

import click
from click.shell_completion import CompletionItem

from fsframe.cli.contained import is_contained, run_contained
from fsframe.errors import FsframeError, PluginError, one_line
from fsframe.escaping import printable
from fsframe.execution.allocator import check_address_space
from fsframe.registry import commands
from fsframe.registry.folders import ModulesAndPlugins
from fsframe.registry.importing import interrupted

__all__ = ["CommandGroup"]

# They load neither tables nor numerical kernels.
_LIGHT = {"info", "methods", "new-plugin", "plugins", "show", "verify"}


class CommandGroup(click.Group):
    """A group whose commands are imported when they are called.

    A plugin's command with the name of a bundled command, or of another plugin's, is called
    ``provider/name``.
    """

    _commands = ModulesAndPlugins("fsframe.cli.commands", commands)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._commands.listed())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        found: click.Command | None = self._commands.get(cmd_name)
        if found is None and not ctx.resilient_parsing:
            raise self._commands.unknown(cmd_name)
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        found = super().resolve_command(ctx, args)
        if found[0] not in _LIGHT and not ctx.resilient_parsing and not {"-h", "--help"} & {*args}:
            check_address_space()
        return found

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        given = [*args]
        rest = super().parse_args(ctx, args)
        if is_contained(ctx) and not ctx.resilient_parsing:
            given.remove("--contained")
            raise click.exceptions.Exit(run_contained(given))
        return rest

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except (FsframeError, click.ClickException, click.Abort, click.exceptions.Exit):
            raise
        except (KeyboardInterrupt, MemoryError, BrokenPipeError):
            raise
        except BaseException as error:
            name = ctx.invoked_subcommand
            if name is None or name in self._commands.own:
                raise
            # The plugin boundary: errors of a plugin's command name the plugin.
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
            formatter.write_dl(
                [(name, printable(line)) for name, line in self._commands.listed().items()]
            )

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        found = [
            CompletionItem(name, help=line)
            for name, line in self._commands.listed().items()
            if name.startswith(incomplete)
        ]
        return found + click.Command.shell_complete(self, ctx, incomplete)
