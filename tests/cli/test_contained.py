"""`fsframe --contained`: a command in a child process with limits, for files from strangers."""

from __future__ import annotations

import signal
from pathlib import Path

import click
import pytest

import fsframe as package
import fsframe.cli as command_line
from fsframe.cli import main
from fsframe.errors import StoreError
from tests import same_process
from tests.command_line import fsframe

TABLE = str(Path(__file__).parents[2] / "examples" / "parkinsons.csv")


@pytest.fixture
def run_file(tmp_path: Path) -> Path:
    data = package.read(TABLE)
    package.Chain.parse("mim:top=3").run(data).save(tmp_path / "run.h5")
    return tmp_path / "run.h5"


def test_a_contained_command_prints_and_ends_as_without(run_file: Path) -> None:
    for words in (["show", str(run_file)], ["verify", "none.h5"]):
        assert fsframe("--contained", *words) == same_process.fsframe(*words), words
    # This process may hold commands that other tests have registered.
    assert fsframe("--contained") == fsframe()


def test_damage_is_told_as_without(run_file: Path) -> None:
    run_file.write_bytes(run_file.read_bytes()[:3000])
    done = fsframe("--contained", "show", str(run_file))
    assert done.code == 5
    assert "is cut short" in done.err


def test_its_processor_time_is_limited(capfd: pytest.CaptureFixture[str]) -> None:
    words = ["chain", "immigrate", "npfs:n=100000,null=published", "on", TABLE, "--no-out"]
    handler = signal.getsignal(signal.SIGTERM)
    with pytest.raises(StoreError, match=r"ended by SIGXCPU after 1 s of processor time"):
        command_line.run_contained(words, seconds=1)
    assert signal.getsignal(signal.SIGTERM) == handler


def test_its_memory_is_limited(capfd: pytest.CaptureFixture[str]) -> None:
    assert command_line.run_contained(["inspect", TABLE], memory=500_000_000) == 1
    assert "not enough memory" in capfd.readouterr().err


def test_a_crash_of_a_library_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command_line, "_CHILD", "import os, signal; os.kill(os.getpid(), 11)")
    with pytest.raises(SystemExit) as ended:
        main(["--contained", "show", "run.h5"])
    assert ended.value.code == 5
    assert "ended by SIGSEGV; do not trust" in capsys.readouterr().err


def test_completion_starts_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fsframe.cli.run_contained", lambda _: 1 / 0)
    from fsframe.cli import cli

    words = ["--contained", "sho"]
    with click.Context(cli, resilient_parsing=True) as context:
        cli.parse_args(context, words)
