"""Lines on a terminal: wrapped to its width, and no name is cut."""

from __future__ import annotations

import io
import os
import sys

import pytest

from fsframe.cli.terminal import say


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("width", [60, 80])
def test_long_lines_are_wrapped_between_words(monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    names = [f"MDVP:Jitter(Abs)-{k}" for k in range(12)]
    line = f"  warning: {', '.join(names)} are alike"
    monkeypatch.setattr("shutil.get_terminal_size", lambda: os.terminal_size((width, 24)))
    monkeypatch.setattr(sys, "stdout", Terminal())
    say(line)
    shown = sys.stdout.getvalue()  # type: ignore[attr-defined]
    assert all(len(each) <= width for each in shown.splitlines()) and shown.count("\n") > 2
    assert all(name in shown for name in names)
    assert " ".join(shown.split()) == " ".join(line.split())
    # A file or a pipe gets the line as it is.
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    say(line)
    assert sys.stdout.getvalue() == f"{line}\n"  # type: ignore[attr-defined]
