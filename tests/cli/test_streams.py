"""Pipes, closed streams, and lines on a terminal: wrapped to its width, no name cut."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from fsframe.cli.terminal import say
from tests.same_process import fsframe

FSFRAME = f'"{sys.executable}" -m fsframe'


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (f"{FSFRAME} methods | head -n 1", 0),
        (f"{FSFRAME} methods --json | true", 0),
        (f"{FSFRAME} methods >&-", 5),
        (f"{FSFRAME} --version < /dev/null", 0),
        (f"{FSFRAME} imigrate 2>&-", 2),
    ],
)
def test_a_stream_that_goes_away_is_no_traceback(line: str, code: int) -> None:
    done = subprocess.run(line, shell=True, capture_output=True, text=True, timeout=60)
    assert done.returncode == code
    assert "Traceback" not in done.stderr and "Exception" not in done.stderr


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device of Linux")
@pytest.mark.parametrize("where", ["&-", "/dev/full"])
@pytest.mark.parametrize("words", ["methods", "methods --json", "--version"])
def test_output_that_cannot_be_written_is_an_error(words: str, where: str) -> None:
    line = f"{FSFRAME} {words} >{where}"
    done = subprocess.run(line, shell=True, capture_output=True, text=True, timeout=60)
    assert done.returncode == 5
    assert done.stderr.startswith("fsframe: cannot write to standard output: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("words", ["methods", "inspect examples/parkinsons.csv", "--help"])
def test_a_reader_that_has_seen_enough_makes_no_error(words: str) -> None:
    line = f"({FSFRAME} {words}; echo $? >&2) | head -n 1"
    root = Path(__file__).parents[2]
    done = subprocess.run(line, shell=True, capture_output=True, text=True, timeout=60, cwd=root)
    assert done.stderr.strip() in ("0", "141")


def test_the_installed_script_is_the_same_program() -> None:
    script = os.path.join(os.path.dirname(sys.executable), "fsframe")
    done = subprocess.run([script, "--version"], capture_output=True, text=True, timeout=60)
    module = subprocess.run(
        [sys.executable, "-m", "fsframe", "--version"], capture_output=True, text=True, timeout=60
    )
    assert done.stdout == module.stdout
    assert done.stdout.startswith("fsframe ")


@pytest.mark.parametrize("encoding", ["latin-1", "cp437", "utf-8"])
def test_a_terminal_that_lacks_signs_gets_others(tmp_path: Path, encoding: str) -> None:
    rows = [f"{k},{k % 3},{'ab'[k % 2]}" for k in range(12)]
    table = "\n".join(["größe,漢字🧬,label", *rows])
    (tmp_path / "t.csv").write_text(table + "\n", encoding="utf-8")
    screen, found = (
        fsframe(f"chain mim on t.csv --no-out {more}", cwd=tmp_path, encoding=encoding)
        for more in ("", "--json")
    )
    assert screen.code == found.code == 0, screen.err + found.err
    assert set(found.json["selected"]) == {"größe", "漢字🧬"}
    assert ("12 samples x 2" if encoding == "cp437" else "12 samples × 2") in screen.out
    assert ("漢字🧬" if encoding == "utf-8" else "\\u6f22\\u5b57\\ud83e\\uddec") in screen.out


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
