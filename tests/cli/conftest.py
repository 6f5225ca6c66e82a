"""A small table in a folder of its own, and the command line without a new interpreter."""

from __future__ import annotations

import contextlib
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from fsframe.errors import StoreError
from tests.command_line import Done
from tests.same_process import fsframe

Call = Callable[..., Done]
Context = Callable[[], contextlib.AbstractContextManager[None]]
LONGEST = 10
"""Seconds that the answer to anything senseless may take."""


class TooLong(BaseException):
    """Raised amid a command that does not end; commands catch a TimeoutError, as one of disks."""


@contextlib.contextmanager
def within_seconds(seconds: int) -> Iterator[None]:
    """TooLong if the block is not over after so many seconds, such as an endless loop would be.

    Seconds of the processor or, for what only waits, five times as many of the clock: on a busy
    machine a sound answer can take ten. It is raised after the block too, where the block caught
    it and went on.
    """
    began, used = time.monotonic(), time.process_time()
    late: list[str] = []

    def look(*_: object) -> None:
        clock, busy = time.monotonic() - began, time.process_time() - used
        if busy < seconds and clock < 5 * seconds:
            signal.alarm(1)
            return
        late.append(f"not over after {clock:.0f} s, {busy:.0f} s of the processor")
        signal.alarm(1)
        raise TooLong(late[0])

    old = signal.signal(signal.SIGALRM, look)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, old)
    if late:
        raise TooLong(late[0])


def write_small(folder: Path) -> None:
    """``small.csv``: classes ill and well, told apart by column gene-b."""
    generator = np.random.default_rng(0)
    y = np.arange(40) % 2
    X = generator.standard_normal((40, 5)).round(3)
    X[:, 1] += 3 * y
    rows = [[*row, ("ill", "well")[code]] for row, code in zip(X, y, strict=True)]
    names = ["gene-a", "gene-b", "größe", "x y", "last", "state"]
    write_rows(folder / "small.csv", [names, *rows])


def names_and_rows(folder: Path) -> tuple[list[str], list[list[str]]]:
    """The cells of ``small.csv``."""
    lines = (folder / "small.csv").read_text(encoding="utf-8").splitlines()
    names, *rows = (line.split(",") for line in lines)
    return names, rows


def write_rows(path: Path, rows: Iterable[Sequence[object]], sign: str = ",") -> None:
    """A text table of these cells."""
    path.write_text("".join(sign.join(map(str, row)) + "\n" for row in rows), encoding="utf-8")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with ``small.csv``, which is the current one."""
    write_small(tmp_path)
    monkeypatch.chdir(tmp_path)
    for name in ("FSFRAME_PLUGINS", "FSFRAME_BLOCK", "FSFRAME_STRICT", "FSFRAME_TRACE"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture
def call(here: Path) -> Call:
    """Runs ``fsframe …`` here and says what it left."""

    def run(*arguments: str, code: int | None = None) -> Done:
        return fsframe(*arguments, code=code)

    return run


@pytest.fixture
def full_disk(monkeypatch: pytest.MonkeyPatch) -> Context:
    """A context within which no run file can be written, so that a run stays unfinished."""

    def full(*_: object, **__: object) -> None:
        raise StoreError("the disk is full")

    @contextlib.contextmanager
    def within() -> Iterator[None]:
        with monkeypatch.context() as patched:
            patched.setattr("fsframe.chains.request.write_run", full)
            yield

    return within


@pytest.fixture
def boom(here: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A module in the current folder, which is on the path of imports, that leaves a trace."""
    (here / "evilmod.py").write_text(
        "from pathlib import Path\nPath('boom').write_text('run')\n"
        "class Boom:\n    def predict(self, X): ...\n    def get_params(self): return {}\n"
        "X = Boom\n"
    )
    monkeypatch.syspath_prepend(str(here))
    yield here / "boom"
    assert not (here / "boom").exists() and "evilmod" not in sys.modules
