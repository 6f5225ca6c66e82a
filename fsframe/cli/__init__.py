"""The command line: one command per module, each imported when it is called."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence

import click

from fsframe.cli.encoding import speak_any_encoding
from fsframe.cli.lazy import LazyGroup
from fsframe.cli.saying import say, say_error, say_usage
from fsframe.cli.tracebacks import begin, told_traceback, traceback_option
from fsframe.cli.written import written_words
from fsframe.errors import FsframeError, PluginWarning, StoreError, one_line
from fsframe.execution.lasting_stream import LastingStream, occupy_standard_streams

__all__ = ["cli", "main"]

_COMMANDS = {
    "apply": ("fsframe.cli.apply:apply", "Write a table reduced to the features a run kept."),
    "chain": ("fsframe.cli.chain:chain", "Run selectors one after the other on a table."),
    "check": ("fsframe.cli.check:check", "Hold a method to every law of its kind."),
    "compare": ("fsframe.cli.compare:compare", "Say which of several chains predicts better."),
    "evaluate": (
        "fsframe.cli.evaluate:evaluate",
        "Say how well a chain predicts, and how stable its choice is.",
    ),
    "info": ("fsframe.cli.info:info", "Say which versions, folders and limits are in use."),
    "methods": ("fsframe.cli.methods:methods", "List the methods there are, or explain one."),
    "new-plugin": (
        "fsframe.cli.new_plugin:new_plugin",
        "Write a plugin with one selector, to start from.",
    ),
    "plugins": ("fsframe.cli.plugins:plugins", "List the plugins and what became of each."),
    "predict": ("fsframe.cli.predict:predict", "Predict the rows of a table with a run."),
    "report": ("fsframe.cli.report:report", "Write a page with pictures about a run."),
    "stability": (
        "fsframe.cli.stability:stability",
        "Say how alike the features are that a chain keeps on resamples.",
    ),
    "resume": ("fsframe.cli.resume:resume", "Go on with a run that was interrupted."),
    "show": ("fsframe.cli.show:show", "Show what a run file holds."),
    "verify": ("fsframe.cli.verify:verify", "Check that a run file is sound."),
}

_EPILOG = """\b
Example:
  fsframe chain immigrate npfs on examples/parkinsons.csv
"""


@click.group(
    cls=LazyGroup,
    lazy=_COMMANDS,
    epilog=_EPILOG,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(package_name="fsframe", message="fsframe %(version)s")
@traceback_option
def cli() -> None:
    """Which features matter, which interact, how many to keep, and would it be the same next time?

    fsframe runs chains of published feature-selection methods on a table.
    """


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and end the process with its exit code.

    0 done; 1 out of memory; 2 the request is wrong; 3 a plugin is missing or broken; 4 the data
    cannot be used; 5 a file is unreadable or in the way; 6 the workers are lost; 130 interrupted,
    143 told to stop, 129 the terminal has gone.
    """
    sys.exit(_run(arguments))


_formatted = warnings.formatwarning


def _remark(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    line: str | None = None,
) -> str:
    """A warning of fsframe's own as a note, without the line of code that it came from."""
    if issubclass(category, PluginWarning):
        return f"note: {message}\n"
    return _formatted(message, category, filename, lineno, line)


def _run(arguments: Sequence[str] | None) -> int:
    occupy_standard_streams()
    speak_any_encoding()
    warnings.formatwarning = _remark
    begin()
    talk = sys.stderr
    # Who listens to progress and remarks may leave; the run goes on.
    sys.stderr = LastingStream(talk)  # type: ignore[assignment]
    try:
        return _ended(arguments)
    finally:
        sys.stderr = talk


def _ended(arguments: Sequence[str] | None) -> int:
    try:
        code = cli.main(args=arguments, prog_name="fsframe", standalone_mode=False)
        # Python has no stdout where the shell has closed it.
        if sys.stdout is not None:
            sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except FsframeError as error:
        for line in told_traceback(error).splitlines():
            say(line, err=True)
        say_error(str(error))
        return error.exit_code
    except click.ClickException as error:
        say_usage(error)
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        say_error(f"interrupted; {written_words()}")
        return 130
    except BrokenPipeError:
        # The reader of our output went away (`| head`); what follows must not complain again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except OSError as error:
        # What the system refuses: no permission, a name too long, a disk that is full.
        place = f"{error.filename}: " if error.filename else ""
        say_error(f"{place}{error.strerror or one_line(error)}")
        return StoreError.exit_code
    except MemoryError as error:
        detail = f" ({error})" if str(error) else ""
        say_error(f"not enough memory{detail}; screen first, or use fewer columns")
        return FsframeError.exit_code
