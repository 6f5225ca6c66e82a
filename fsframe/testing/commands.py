"""The checks of commands that plugins add to ``fsframe``."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import click
from click.testing import CliRunner, Result

from fsframe.errors import FsframeError
from fsframe.testing.conformance import Conformance, check, not_applicable

# Loading them takes longer than printing help.
_SLOW_MODULES = ("numpy", "numba", "scipy", "sklearn", "pandas", "polars", "matplotlib", "h5py")


class CommandConformance(Conformance):
    """What users expect of every command of ``fsframe``; inherit it and write `make`.

    Attributes
    ----------
    name : str, optional
        The name it is registered under.
    target : str
        ``"module:command"``, as in its entry.
    arguments : callable, optional
        Takes an empty folder, writes what the command needs into it, and returns the arguments of
        a call that succeeds; without it the command is not called.
    """

    target: ClassVar[str] = ""
    arguments: ClassVar[Callable[[Path], Sequence[str]] | None] = None

    @staticmethod
    def make() -> click.Command:
        raise NotImplementedError("write make() so that it returns the command to test")

    @check
    def test_declarations_are_complete(self) -> None:
        command = self.make()
        assert isinstance(command, click.Command), f"make() returned {type(command).__name__}"
        assert (command.help or "").strip(), "the command has no docstring: it is its help"
        silent = [
            parameter.name
            for parameter in command.params
            if isinstance(parameter, click.Option) and not (parameter.help or "").strip()
        ]
        assert not silent, f"no help for {', '.join(map(str, silent))}"

    @check
    def test_help_is_printed(self) -> None:
        done = CliRunner().invoke(self.make(), ["--help"])
        assert done.exit_code == 0, f"--help ends with {done.exit_code}"
        assert "Usage:" in done.output

    @check
    def test_help_loads_no_large_library(self) -> None:
        if not self.target:
            raise not_applicable("target is not given")
        module = self.target.partition(":")[0]
        code = f"import sys, {module}; print(*(m for m in {_SLOW_MODULES!r} if m in sys.modules))"
        done = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            env=_environment(),
            timeout=60,
        )
        assert done.returncode == 0, f"{module} cannot be imported: {done.stderr[-300:]}"
        assert not done.stdout.strip(), (
            f"importing {module} loads {done.stdout.strip()}: import them in the function"
        )

    @check
    def test_an_unknown_option_is_refused(self) -> None:
        done = CliRunner().invoke(self.make(), ["--no-such-option-here"])
        assert done.exit_code == 2, f"an unknown option ends with {done.exit_code}, not 2"

    @check
    def test_it_does_its_work_and_says_the_same_again(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            arguments = self._arguments(Path(name))
            first = self._call(arguments)
            assert first.exit_code == 0, f"it ends with {first.exit_code}: {_message(first)}"
            assert first.stdout.strip(), "it prints nothing on stdout: results belong there"
            second = self._call(arguments)
            assert second.stdout == first.stdout, "called again, it prints something else"

    @check
    def test_missing_files_are_refused_with_a_message(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            arguments = self._arguments(Path(name))
            paths = [text for text in arguments if Path(text).is_file()]
            if not paths:
                raise not_applicable("no argument is a file")
            for path in paths:
                missing = [f"{text}.missing" if text == path else text for text in arguments]
                self._assert_refused(missing, "a file that is not there")

    @check
    def test_damaged_files_are_refused_with_a_message(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            arguments = self._arguments(Path(name))
            paths = [Path(text) for text in arguments if Path(text).is_file()]
            if not paths:
                raise not_applicable("no argument is a file")
            for path in paths:
                content = path.read_bytes()
                path.write_bytes(content[: len(content) // 3])
                self._assert_refused(arguments, "a file that was cut")
                path.write_bytes(content)

    def _arguments(self, folder: Path) -> list[str]:
        given = type(self).arguments
        if given is None:
            raise not_applicable("no arguments are given to call it with")
        return [str(argument) for argument in given(folder)]

    def _call(self, arguments: Sequence[str]) -> Result:
        return CliRunner().invoke(self.make(), list(arguments))

    def _assert_refused(self, arguments: Sequence[str], what: str) -> None:
        done = self._call(arguments)
        assert done.exit_code != 0, f"{what} ends with 0"
        error = done.exception
        # fsframe prints its own errors, and click those of its own.
        told = isinstance(error, (FsframeError, click.ClickException, SystemExit))
        assert told, f"{what} ends with a Python error: {error!r}; raise a DataError or StoreError"
        assert _message(done).strip(), f"{what}: refused without a message"


def _message(done: Result) -> str:
    if isinstance(done.exception, FsframeError):
        return str(done.exception)
    return f"{done.output}{done.exception if done.exception else ''}"


def _environment() -> dict[str, Any]:
    import os

    return {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
