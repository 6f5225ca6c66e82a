"""Commands in a folder of their own, and what `inspect` says of a table there."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import polars
import pytest

from tests.cli.conftest import Call, call, here

__all__ = ["call", "here"]


@attrs.frozen
class Told:
    """What was said of a table, and the command that was proposed, each without its lines."""

    said: str
    way: str


def told(out: str) -> Told:
    """What `inspect` printed."""
    words = " ".join(out.replace("\\\n", "").split())
    said, _, proposed = words.partition("Suggested command:")
    return Told(said, re.split("answers:|forecast", proposed)[0])


@pytest.fixture
def inspected(call: Call, here: Path) -> Callable[..., Told]:
    """Writes a frame to t.csv, and says what `inspect` tells of it."""

    def inspect(frame: polars.DataFrame, options: str = "") -> Told:
        frame.write_csv(here / "t.csv")
        return told(call(f"inspect t.csv {options}").out)

    return inspect


@pytest.fixture
def ran(call: Call) -> Callable[[str], Any]:
    """Runs a command as it was printed; what it found as JSON."""

    def run(printed: str) -> Any:
        done = call(
            *shlex.split(printed)[1:], "--json", *["--no-out"] * ("--no-out" not in printed), code=0
        )
        return done.json

    return run
