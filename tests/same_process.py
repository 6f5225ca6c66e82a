"""Running the command line in this process: where what it says and leaves is all that matters."""

from __future__ import annotations

import contextlib
import io
import os
import shlex
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from unittest import mock

from fsframe.cli import main
from fsframe.registry import registry
from fsframe.testing import conformance
from tests.command_line import Done, environment, folders_of


def fsframe(
    *arguments: str,
    fakes: Sequence[str | Path] = (),
    env: Mapping[str, str] | None = None,
    cwd: str | Path | None = None,
    encoding: str = "utf-8",
    code: int | None = None,
) -> Done:
    """Run ``fsframe ARGUMENTS`` without the second that a new interpreter takes to start.

    A single argument with blanks is a whole line, read as a shell reads it. The plugins are those
    of this process and `fakes`; its streams have this encoding. As of a fresh one, no test may end
    in a traceback that nobody asked for; and it must end with the exit code, if one is given.
    """
    if len(arguments) == 1 and " " in arguments[0]:
        arguments = tuple(shlex.split(arguments[0]))
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding=encoding) for _ in range(2))
    number = 0
    try:
        with (
            mock.patch.dict(os.environ, environment(fakes, env), clear=True),
            installed(fakes),
            mock.patch.object(conformance, "TALLY", {}),
            contextlib.chdir(cwd or Path.cwd()),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            warnings.catch_warnings(),
        ):
            # pytest keeps warnings for itself; a command writes them.
            warnings.showwarning = _shown
            main(arguments)
    except SystemExit as ended:
        number = int(ended.code or 0)
    said = []
    for stream in (out, err):
        stream.flush()
        said.append(stream.buffer.getvalue().decode(encoding))  # type: ignore[attr-defined]
    assert "--traceback" in arguments or "Traceback (most recent" not in said[1], said[1]
    return Done(number, *said).ended(code)


@contextlib.contextmanager
def installed(fakes: Sequence[str | Path]) -> Iterator[None]:
    """Distributions below these folders are found meanwhile, as if they were installed."""
    if not fakes:
        yield
        return
    folders = folders_of(fakes)
    before = {*sys.modules}
    registries = [each for each in vars(registry).values() if isinstance(each, registry.Registry)]
    with contextlib.ExitStack() as stack:
        stack.enter_context(mock.patch.object(sys, "path", [*folders, *sys.path]))
        stack.enter_context(mock.patch.object(registry, "_manager", None))
        for each in registries:
            stack.enter_context(mock.patch.dict(each._classes))
        try:
            yield
        finally:
            # Also after a command, which ends by SystemExit.
            for name in {*sys.modules} - before:
                if str(getattr(sys.modules[name], "__file__", "")).startswith(tuple(folders)):
                    del sys.modules[name]


def _shown(message, category, filename, lineno, file=None, line=None) -> None:
    sys.stderr.write(warnings.formatwarning(message, category, filename, lineno, line))
