"""Running programs and the command line in a fresh interpreter, as a user's shell does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

FAKES = Path(__file__).parent / "plugins" / "data"


@attrs.frozen
class Done:
    """What a finished command left: exit code, stdout, stderr."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output as one JSON value."""
        return json.loads(self.out)

    def ended(self, code: int | None) -> Done:
        """Itself; asserts that it ended with this exit code, if that is not None."""
        said = f"{self.out[-4000:]}{self.err}"
        assert code is None or self.code == code, f"exit code {self.code}: {said}"
        return self


def folders_of(fakes: Sequence[str | Path]) -> list[str]:
    """Where fake distributions lie, which are named or given by their folders."""
    return [str(FAKES / fake) if isinstance(fake, str) else str(fake) for fake in fakes]


def environment(
    fakes: Sequence[str | Path] = (), env: Mapping[str, str] | None = None
) -> dict[str, str]:
    """This process's environment without settings of fsframe, some fakes installed, and `env`."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith("FSFRAME_")}
    if fakes:
        paths = [*folders_of(fakes), *filter(None, [clean.get("PYTHONPATH", "")])]
        clean["PYTHONPATH"] = os.pathsep.join(paths)
    clean["PYTHONDONTWRITEBYTECODE"] = "1"
    return {**clean, **(env or {})}


def python(
    *words: object,
    fakes: Sequence[str | Path] = (),
    env: Mapping[str, str] | None = None,
    cwd: str | Path | None = None,
    code: int | None = 0,
    given: str = "",
    timeout: float = 600,
) -> Done:
    """Run Python with these words, and with `given` on its standard input.

    It has to end with the exit code 0, or another one, or any one if `code` is None.
    """
    done = subprocess.run(
        [sys.executable, *map(str, words)],
        env=environment(fakes, env),
        cwd=cwd,
        input=given,
        capture_output=True,
        text=True,
        timeout=timeout,
    )
    return Done(done.returncode, done.stdout, done.stderr).ended(code)


def fsframe(
    *arguments: str,
    fakes: Sequence[str | Path] = (),
    env: Mapping[str, str] | None = None,
    cwd: str | Path | None = None,
    interpreter: Sequence[str] = (),
    code: int | None = None,
) -> Done:
    """Run ``fsframe ARGUMENTS`` with some of the fake distributions installed.

    No test may end in a traceback, so that is asserted here, once for all; and that it ends with
    the exit code, if one is given.
    """
    words = [*interpreter, "-m", "fsframe", *arguments]
    done = python(*words, fakes=fakes, env=env, cwd=cwd, code=None, timeout=120)
    assert "Traceback (most recent call last)" not in done.err, done.err
    return done.ended(code)
