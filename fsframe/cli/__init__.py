"""The command line; each command is a module of `fsframe.cli.commands`."""

from __future__ import annotations

import contextlib
import os
import re
import sys
import warnings
from collections.abc import Sequence
from typing import Any

import click

from fsframe.cli.command_group import READER_GONE, CommandGroup, contained_option
from fsframe.cli.terminal import (
    REPEATABLE,
    WRITTEN,
    escape_unencodable,
    forget_traceback,
    requested_traceback,
    say,
    say_error,
    say_usage,
    traceback_option,
    written_summary,
)
from fsframe.errors import FsframeError, FsframeWarning, StoreError, UntidyTableError, one_line
from fsframe.execution.process_start import (
    OutputStream,
    TolerantStream,
    occupy_standard_streams,
    reserve_little,
)
from fsframe.text import meant_by

__all__ = ["cli", "main"]

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
def cli() -> None:
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


_formatted = warnings.formatwarning


def _format_warning(
    message: Warning | str, category: type[Warning], *line: Any, **of_code: Any
) -> str:
    """Format warnings of fsframe as notes, without the line of code."""
    if issubclass(category, FsframeWarning):
        return f"note: {message}\n"
    return _formatted(message, category, *line, **of_code)


def _run(arguments: Sequence[str] | None) -> int:
    reserve_little()
    occupy_standard_streams()
    escape_unencodable()
    warnings.formatwarning = _format_warning
    forget_traceback()
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


def _option_hint(error: click.NoSuchOption, context: click.Context, given: Sequence[str]) -> str:
    """A message about an option that a command does not have: where it belongs, or what was meant.

    Empty if neither is known. `given` holds all words of the command line.
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
    options = [each.name for each in command.params if each.name]
    meant = meant_by(option.lstrip("-").replace("-", "_"), options)
    return f"No such option '{option}'. Did you mean '--{meant[0]}'?" if meant else ""


def _ended(arguments: Sequence[str] | None) -> int:
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        code = cli.main(args=arguments, prog_name="fsframe", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except UntidyTableError as error:
        from fsframe.cli.reading_options import ways_as_lines

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
            hint = _option_hint(error, error.ctx, given)
            error = click.UsageError(hint, error.ctx) if hint else error
        say_usage(error)
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        say_error(f"interrupted; {written_summary()}")
        return 130
    except BrokenPipeError:
        # The reader of our output went away (`| head`); avoid further errors.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return READER_GONE
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
