"""The command line; each command is a module of `fsframe.cli.commands`.

A command can be run in a child process, within limits of time and memory.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import sys
import traceback
import warnings
from collections.abc import Sequence
from typing import Any

import click
from click.shell_completion import CompletionItem

from fsframe.cli.commands import COMMANDS
from fsframe.cli.terminal import (
    REPEATABLE,
    RUNNING,
    TRACEBACK,
    WRITTEN,
    completions,
    escape_unencodable,
    option,
    requested_traceback,
    say,
    say_error,
    say_usage,
    traceback_option,
    written_summary,
)
from fsframe.errors import (
    FsframeError,
    FsframeWarning,
    PluginError,
    RequestError,
    StoreError,
    UntidyTableError,
    one_line,
)
from fsframe.execution.process_start import (
    OutputStream,
    TolerantStream,
    check_address_space,
    occupy_standard_streams,
    reserve_little,
)
from fsframe.registry import OwnAndPlugins, classifiers, selectors

# Under its own name it would hide the package of commands as an attribute of this one.
from fsframe.registry import commands as commands_of_plugins
from fsframe.registry.manager import interrupted
from fsframe.system import (
    NAME,
    OVER_TIME,
    PASSED_ON,
    can_limit_processes,
    limited_process,
    signals_handled,
)
from fsframe.text import meant_by, most_alike, printable

__all__ = ["cli", "main"]

BROKEN_PIPE = 141
"""Exit code if the reader of the output went away: that of a program stopped by SIGPIPE."""

MEMORY = 4_000_000_000
"""Limit of the child's address space in bytes; the program itself reserves about 1.1 GB of it."""

SECONDS = 60
"""Limit of the child's processor time."""

_CHILD = "import sys; sys.path[:] = {path!r}; from fsframe.cli import main; main()"


contained_option = option(
    "--contained",
    "For files from strangers: run the command in a child process that may use at most "
    f"{SECONDS} s of processor time and {MEMORY // 10**9} GB of address space. A crash of a "
    "library ends only this process.",
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
    ended = None
    # Signals that would end this process go to the child instead.
    with signals_handled(PASSED_ON, lambda number, _: child.send_signal(number)):
        while ended is None:
            # After Ctrl-C: the terminal has interrupted the child too, which will end by itself.
            with contextlib.suppress(KeyboardInterrupt):
                ended = child.wait()
    if ended >= 0:
        return ended
    name = signal.Signals(-ended).name
    why = f" after {seconds} s of processor time" if name == OVER_TIME else ""
    raise StoreError(
        f"the contained process was ended by {name}{why}; do not trust what it has printed or "
        "written, nor the file that it was reading"
    )


# Names of `chain` in other programs.
_CALLED_ELSEWHERE = {"fit", "run", "select"}

# Commands that load neither tables nor numerical kernels.
_LIGHT = {"info", "methods", "new-plugin", "plugins", "show", "verify"}


class CommandGroup(click.Group):
    """A group whose commands are imported when they are called.

    A plugin's command with the name of a bundled command, or of another plugin's, is called
    ``provider/name``.
    """

    _commands = OwnAndPlugins(COMMANDS, commands_of_plugins)

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
        if ctx.params.get("contained") and not ctx.resilient_parsing:
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
            raise click.exceptions.Exit(BROKEN_PIPE) from None
        except BaseException as error:
            name = ctx.invoked_subcommand
            if name is None or name in self._commands.own:
                raise
            # The plugin boundary: errors of a plugin's command name the plugin.
            if interrupted(error):
                raise KeyboardInterrupt from error
            offer = commands_of_plugins.offer(name)
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


_EPILOG = """\b
Example:
  fsframe chain immigrate npfs on examples/parkinsons.csv

\b
Completion of commands, stages, parameters and columns, for bash (zsh and fish likewise):
  eval "$(_FSFRAME_COMPLETE=bash_source fsframe)"
"""


@click.group(
    cls=CommandGroup, epilog=_EPILOG, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.version_option(package_name="fsframe", message="fsframe %(version)s")
@traceback_option
@contained_option
def cli(contained: bool) -> None:
    """Feature selection by chains of published methods.

    Which features matter, which interact, how many to keep, and would the answer be the same next
    time?
    """


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and end the process with its exit code.

    0 done; 1 out of memory; 2 the request is wrong; 3 a plugin is missing or broken; 4 the data
    cannot be used; 5 a file is unreadable or in the way; 6 the workers are lost; 130 interrupted,
    143 told to stop, 129 the terminal has gone.
    """
    sys.exit(_run(arguments))


def _run(arguments: Sequence[str] | None) -> int:
    reserve_little()
    occupy_standard_streams()
    escape_unencodable()
    warnings.formatwarning = _format_warning
    TRACEBACK.clear()
    WRITTEN.clear()
    REPEATABLE.clear()
    stdout, stderr = sys.stdout, sys.stderr
    sys.stdout = OutputStream(stdout, lambda: bool(WRITTEN))  # type: ignore[assignment]
    # The run continues if the reader of progress and notes goes away.
    sys.stderr = TolerantStream(stderr)  # type: ignore[assignment]
    try:
        return _ended(arguments)
    finally:
        sys.stdout, sys.stderr = stdout, stderr


_formatted = warnings.formatwarning


def _format_warning(
    message: Warning | str, category: type[Warning], *line: Any, **of_code: Any
) -> str:
    """Format warnings of fsframe as notes, without the line of code."""
    if issubclass(category, FsframeWarning):
        return f"note: {message}\n"
    return _formatted(message, category, *line, **of_code)


def _option_hint(error: click.NoSuchOption, context: click.Context, given: Sequence[str]) -> str:
    """A message about an option that a command does not have: where it belongs, or what was meant.

    `given` holds all words of the command line.
    """
    option, command, parent = error.option_name, context.command, context.parent
    group = command if hasattr(command, "last") else parent and parent.command
    last = getattr(group, "last", None)
    if last is not None and any(option in each.opts for each in last.params):
        if command is group:
            way = f"{context.command_path} STAGES {last.name} DATA {option} …"
            return f"{option} goes after the table: {way}"
        way = f"… {last.name} DATA {option}"
        return f"{option} is not a parameter of {command.name}; put it at the end: {way}"
    if command is last and isinstance(group, click.Group) and parent and last.name in given:
        # After the command's name, and before `on`.
        for word in given[1 : given.index(last.name)]:
            with contextlib.suppress(FsframeError, click.ClickException):
                stage = group.get_command(parent, word)
                if stage and any(option in each.opts for each in stage.params):
                    way = f"{word} {option} … {last.name} DATA"
                    return f"{option} is a parameter of {word}; put it after the stage: {way}"
    files = [word for word in given if word.startswith("-") and os.path.exists(word)]
    if command is last and files:
        return f"{error.format_message()} For the file of that name write ./{files[0]}"
    options = [
        text.removeprefix("--")
        for each in command.get_params(context)
        for text in (*each.opts, *each.secondary_opts)
    ]
    # Without the dashes, by which click finds options alike that are not.
    word = option.lstrip("-")
    meant = next(iter(meant_by(word.replace("-", "_"), options)), most_alike(word, options))
    return f"No such option '{option}'." + (f" Did you mean '--{meant}'?" if meant else "")


def _ended(arguments: Sequence[str] | None) -> int:
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        code = cli.main(args=arguments, prog_name="fsframe", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except UntidyTableError as error:
        from fsframe.cli.options import ways_as_lines

        name = next((word for word in given if not word.startswith("-")), "")
        lines = ways_as_lines(error, given, cli.get_command(click.Context(cli), name))
        say_error("\n".join([error.problem, *lines]))
        return error.exit_code
    except FsframeError as error:
        for line in requested_traceback(error).splitlines():
            say(line, err=True)
        say_error(str(error))
        return error.exit_code
    except click.ClickException as error:
        if isinstance(error, click.NoSuchOption) and error.ctx is not None:
            error = click.UsageError(_option_hint(error, error.ctx, given), error.ctx)
        say_usage(error)
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        say_error(f"interrupted; {written_summary()}")
        return 130
    except BrokenPipeError:
        # The reader of our output went away (`| head`); avoid further errors.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except OSError as error:
        # Errors of the system: no permission, a name too long, a full disk.
        place = f"{error.filename}: " if error.filename else ""
        say_error(f"{place}{error.strerror or one_line(error)}")
        return StoreError.exit_code
    except MemoryError as error:
        detail = f" ({error})" if str(error) else ""
        say_error(f"not enough memory{detail}; screen first, or use fewer columns")
        return FsframeError.exit_code
    except BaseException as error:
        # Messages of Python and Rust; the usual cause is a small address space.
        if not re.search(r"can't (start new|spawn worker) thread", str(error)):
            raise
        say_error(
            "not enough memory, or too few threads allowed, to start (see ulimit -v, ulimit -u)"
        )
        return FsframeError.exit_code
