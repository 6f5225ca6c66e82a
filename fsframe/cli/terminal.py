"""Printing to the terminal, and the declaration of options, for all commands.

Names of columns, classes, stages, warnings and commands come from files, which may be untrusted.
Each call prints one line, in which every control sequence, line break and direction mark is written
as an escape, so that no name can forge a line, such as a verdict. Characters that the terminal's
encoding lacks are replaced.
"""

from __future__ import annotations

import codecs
import io
import shutil
import sys
import textwrap
import threading
import traceback
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from fsframe.errors import FsframeError
from fsframe.text import json_text, printable

_NARROWEST = 40
# Since click 8.2 a command without arguments raises this with its help.
_HELP: Any = getattr(click.exceptions, "NoArgsIsHelpError", ())


def say(text: str = "", *, err: bool = False) -> None:
    """Print one line, on stdout or stderr; on a terminal, wrapped to its width between words."""
    for line in _wrapped(printable(text), sys.stderr if err else sys.stdout):
        click.echo(line, err=err)


def _wrapped(text: str, stream: Any) -> list[str]:
    """The text as lines that fit the terminal, without breaking words; one line elsewhere."""
    if stream is None or not stream.isatty():
        return [text]
    width = shutil.get_terminal_size().columns
    if len(text) <= max(width, _NARROWEST):
        return [text]
    indent = " " * (len(text) - len(text.lstrip(" ")) + 2)
    return textwrap.wrap(
        text,
        max(width, _NARROWEST),
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
        replace_whitespace=False,
    )


def say_lines(lines: Iterable[str]) -> None:
    """Print several lines on stdout."""
    for line in lines:
        say(line)


def shows_text() -> bool:
    """Whether stdout is a terminal, where control sequences in names would take effect."""
    return sys.stdout is not None and sys.stdout.isatty()


def cell(value: Any) -> Any:
    """A cell for `print_text`; on a terminal without line breaks, which could forge a line."""
    return printable(value) if isinstance(value, str) and shows_text() else value


def print_text(text: str) -> None:
    """Print a text on stdout: line by line on a terminal, unchanged into a file or pipe."""
    if shows_text():
        say_lines(text.splitlines())
    else:
        click.echo(text, nl=False)


def say_error(text: str) -> None:
    """Print an error on stderr; further lines are indented, so that none imitates a message."""
    say_block(f"fsframe: {text}", indent="  ", err=True)


def say_block(text: str, *, indent: str = "", err: bool = False) -> None:
    """Print a text of several lines, such as a docstring; all but the first are indented."""
    first, *others = text.split("\n")
    say(first, err=err)
    for line in others:
        say(f"{indent}{line}" if line else "", err=err)


def say_usage(error: click.ClickException) -> None:
    """Print an error of click on stderr: the usage, then the problem."""
    if isinstance(error, _HELP):
        say_block(error.format_message(), err=True)
        return
    context = error.ctx if isinstance(error, click.UsageError) else None
    if context is not None:
        say_block(context.get_usage(), err=True)
        if context.command.get_help_option(context) is not None:
            option = max(context.help_option_names, key=len)
            say(f"Try '{context.command_path} {option}' for help.", err=True)
        say(err=True)
    # Arguments may contain line breaks, which are indented.
    say_block(f"Error: {error.format_message()}", indent="  ", err=True)


def say_json(value: Any, *, err: bool = False) -> None:
    """Print one JSON value on one line, as `json_text` writes it."""
    click.echo(json_text(value), err=err)


_IN_ASCII = {"█": "#", "×": "x", "—": "-", "–": "-", "…": "...", "±": "+-", "²": "^2", "−": "-"}


def _replacement(error: UnicodeError) -> tuple[str, int]:
    """Replace our own symbols by ASCII, others by JSON escapes, which keep --json valid."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    replacements = []
    for character in error.object[error.start : error.end]:
        units = character.encode("utf-16-be", "surrogatepass").hex()
        escaped = "".join(f"\\u{units[i : i + 4]}" for i in range(0, len(units), 4))
        replacements.append(_IN_ASCII.get(character, escaped))
    return "".join(replacements), error.end


def escape_unencodable() -> None:
    """Make stdout and stderr replace characters that their encoding lacks."""
    codecs.register_error("fsframe", _replacement)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="fsframe")


Completion = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def completions(known: Mapping[str, str], incomplete: str) -> list[CompletionItem]:
    """Shell completions of an incomplete word, from the known words with their help."""
    return [CompletionItem(n, help=h or None) for n, h in known.items() if n.startswith(incomplete)]


def completing(known: Callable[[], Mapping[str, str]]) -> Completion:
    """The completion of an option or argument from the words that `known` returns when asked."""
    return lambda context, parameter, incomplete: completions(known(), incomplete)


F = TypeVar("F", bound=Callable[..., Any])
Option = Callable[[Any], Any]


def all_options(*options: Option) -> Callable[[F], F]:
    """A decorator that adds all these options, in this order."""

    def decorate(function: F) -> F:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


def option(names: str, help: str, *, called: str = "", **settings: Any) -> Option:
    """An option whose names, and the word for its value, are written as its help shows them.

    ``-o --out FILE`` takes a value; without such a word, a type or a second name after a slash, the
    option is a flag. Its function gets it under its longest name, or the name `called`. A default
    is shown in the help, except that of an option with a second name after a slash.
    """
    words = names.split()
    dashed = [word for word in words if word.startswith("-")]
    if len(dashed) < len(words):
        settings["metavar"] = " ".join(words[len(dashed) :])
    elif "type" not in settings and "/" not in names:
        settings["is_flag"] = True
    shown = settings.get("default") is not None and "/" not in names
    declared = [*dashed, *([called] if called else [])]
    return click.option(*declared, help=help, show_default=shown, **settings)


json_option = option("--json", "Print one JSON object.", called="as_json")
quiet_option = option("-q --quiet", "No progress or notes on stderr.")

TRACEBACK = threading.Event()
"""Set if the traceback of an error is to be shown; cleared when a command begins."""


def _take_traceback(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value:
        TRACEBACK.set()


traceback_option = option(
    "--traceback",
    "After an error, also print the traceback.",
    expose_value=False,
    # Also for errors in the values of other options.
    is_eager=True,
    callback=_take_traceback,
)
"""The option ``--traceback``, of the program and of the commands that run methods."""


def requested_traceback(error: FsframeError) -> str:
    """The traceback of an error; empty if not requested."""
    if not TRACEBACK.is_set():
        return ""
    return error.detail or "".join(traceback.format_exception(error))


RUNNING = "fsframe.running"
"""Where the contexts of a command line keep that of a command with ``--log`` and ``--progress``."""


WRITTEN: dict[str, None] = {}
"""The run files that this command has written, in order."""


REPEATABLE: list[str] = []
"""The line of this command, if giving it again continues it where it was interrupted."""


def written_summary() -> str:
    """The part of an interrupted command's message: what it has written, and how to continue."""
    if not WRITTEN:
        written = "this command wrote nothing"
    elif len(WRITTEN) == 1:
        written = f"{next(iter(WRITTEN))} is written already"
    else:
        written = f"{len(WRITTEN)} run files are written already"
    return "; ".join([written, *(f"continue with: {line}" for line in REPEATABLE)])
