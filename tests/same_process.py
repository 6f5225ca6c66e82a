"""Running the command line in this process: where what it says and leaves is all that matters."""

from __future__ import annotations

import contextlib
import io
import os
import shlex
import sys
import warnings
from pathlib import Path

from fsframe.cli import main
from tests.command_line import Done


def fsframe(*arguments: str, cwd: str | Path | None = None) -> Done:
    """Run ``fsframe ARGUMENTS`` without the second that a new interpreter takes to start.

    A single argument with blanks is a whole line, read as a shell reads it. The plugins are those
    of this process. As of a fresh one, no test may end in a traceback.
    """
    if len(arguments) == 1 and " " in arguments[0]:
        arguments = tuple(shlex.split(arguments[0]))
    own = {name: os.environ.pop(name) for name in [*os.environ] if name.startswith("FSFRAME_")}
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    code = 0
    try:
        with (
            contextlib.chdir(cwd or Path.cwd()),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            warnings.catch_warnings(),
        ):
            # pytest keeps warnings for itself; a command writes them.
            warnings.showwarning = _shown
            main(arguments)
    except SystemExit as ended:
        code = int(ended.code or 0)
    finally:
        os.environ.update(own)
    said = []
    for stream in (out, err):
        stream.flush()
        said.append(stream.buffer.getvalue().decode())  # type: ignore[attr-defined]
    assert "Traceback (most recent call last)" not in said[1], said[1]
    return Done(code, *said)


def _shown(message, category, filename, lineno, file=None, line=None) -> None:
    sys.stderr.write(warnings.formatwarning(message, category, filename, lineno, line))
