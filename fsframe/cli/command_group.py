"""The group of all commands, which can run a command within limits of time and memory."""

from __future__ import annotations

import contextlib
import signal
import sys
import traceback
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from fsframe.cli.commands import COMMANDS
from fsframe.cli.terminal import RUNNING, completions, option
from fsframe.errors import FsframeError, PluginError, RequestError, StoreError, one_line
from fsframe.execution.process_start import check_address_space
from fsframe.registry import OwnAndPlugins, classifiers, commands, selectors
from fsframe.registry.importing import interrupted
from fsframe.system import NAME, OVER_TIME, PASSED_ON, can_limit_processes, limited_process
from fsframe.text import printable

if TYPE_CHECKING:
    import subprocess

READER_GONE = 141
"""Exit code if the reader of the output went away: that of a program stopped by SIGPIPE."""

MEMORY = 4_000_000_000
"""Limit of the child's address space in bytes; the program itself reserves about 1.1 GB of it."""

SECONDS = 60
"""Limit of the child's processor time."""

_META = "fsframe.contained"
_CHILD = "import sys; sys.path[:] = {path!r}; from fsframe.cli import main; main()"


def _take(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    context.meta[_META] = value


contained_option = option(
    "--contained",
    "For files from strangers: run the command in a child process that may use at most "
    f"{SECONDS} s of processor time and {MEMORY // 10**9} GB of address space. A crash of a "
    "library ends only this process.",
    expose_value=False,
    callback=_take,
)
"""The option ``--contained`` of the program, given before the name of a command."""


def run_contained(words: Sequence[str], memory: int = MEMORY, seconds: int = SECONDS) -> int:
    """Run a command in a child process with limits, wait for it, and return its exit code.

    `words` are what follows ``fsframe --contained``, `memory` the bytes of address space and
    `seconds` the processor time of the child. The child has the same user, files and network. The
    limits are those of POSIX (`setrlimit`); no core is dumped.

    Raises
    ------
    RequestError
        If the system has no such limits (macOS, Windows).
    StoreError
        If the child was ended by a signal: it reached the limit of time, or a library crashed.
    """
    if not can_limit_processes():
        raise RequestError(
            f"--contained needs limits of memory for processes, which this system ({NAME}) "
            "does not have; read files from strangers in a container or a virtual machine"
        )
    code = _CHILD.format(path=sys.path)
    child = limited_process([sys.executable, "-c", code, *words], memory, seconds)
    with _passed_on(child):
        ended = _waited_for(child)
    if ended >= 0:
        return ended
    name = signal.Signals(-ended).name
    why = f" after {seconds} s of processor time" if name == OVER_TIME else ""
    raise StoreError(
        f"the contained process was ended by {name}{why}; do not trust what it has printed or "
        "written, nor the file that it was reading"
    )


@contextlib.contextmanager
def _passed_on(child: subprocess.Popen[bytes]) -> Iterator[None]:
    """Send the signals that would end this process to the child instead."""
    before = {
        number: signal.signal(number, lambda number, _: child.send_signal(number))
        for number in PASSED_ON
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _waited_for(child: subprocess.Popen[bytes]) -> int:
    while True:
        # After Ctrl-C: the terminal has interrupted the child too, which will end by itself.
        with contextlib.suppress(KeyboardInterrupt):
            return child.wait()


# Names of `chain` in other programs.
_CALLED_ELSEWHERE = {"fit", "run", "select"}

# Commands that load neither tables nor numerical kernels.
_LIGHT = {"info", "methods", "new-plugin", "plugins", "show", "verify"}


class CommandGroup(click.Group):
    """A group whose commands are imported when they are called.

    A plugin's command with the name of a bundled command, or of another plugin's, is called
    ``provider/name``.
    """

    _commands = OwnAndPlugins(COMMANDS, commands)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._commands.listed())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        command: click.Command | None = self._commands.get(cmd_name)
        if command is None and not ctx.resilient_parsing:
            stage = cmd_name.partition(":")[0]
            if stage in _CALLED_ELSEWHERE or any(
                kind.matching(stage) for kind in (selectors, classifiers)
            ):
                given = "STAGE" if stage in _CALLED_ELSEWHERE else cmd_name
                raise RequestError(
                    f"there is no command {cmd_name!r}; chain runs stages on a table: "
                    f"fsframe chain {given} … on DATA"
                )
            raise self._commands.unknown(cmd_name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        named = super().resolve_command(ctx, args)
        if named[0] not in _LIGHT and not ctx.resilient_parsing and not {"-h", "--help"} & {*args}:
            check_address_space()
        return named

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        given = [*args]
        rest = super().parse_args(ctx, args)
        if ctx.meta.get(_META) and not ctx.resilient_parsing:
            given.remove("--contained")
            raise click.exceptions.Exit(run_contained(given))
        return rest

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except FsframeError as error:
            command = ctx.meta.get(RUNNING)
            if command is not None and not error.told:
                from fsframe.cli.running import tell_early

                tell_early(error, command.params)
            raise
        except (click.ClickException, click.Abort, click.exceptions.Exit):
            raise
        except (KeyboardInterrupt, MemoryError):
            raise
        except BrokenPipeError:
            # click would turn it into exit code 1, which means an error.
            raise click.exceptions.Exit(READER_GONE) from None
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
        items = completions(self._commands.listed(), incomplete)
        return items + click.Command.shell_complete(self, ctx, incomplete)
