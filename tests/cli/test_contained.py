"""`fsframe --contained`: a command in a child process with limits, for files from strangers."""

from __future__ import annotations

import importlib
import json
import signal
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import fsframe as package
import fsframe.cli as command_line
from fsframe.cli import cli, main
from fsframe.cli.commands import offers as warming
from fsframe.cli.commands.offers import (
    CompilationResult,
    compiled_families,
    warm_family,
)
from fsframe.errors import StoreError
from fsframe.kernels.compiled import KEPT
from fsframe.registry import selectors
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
    done = fsframe("--contained", "show", str(run_file), code=5)
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


# Warming: which families have kernels, that all are kept, and what is said where they are not


def test_every_package_with_kernels_declares_what_compiles():
    offers = [o for o in selectors.offers() if o.plugin.source.bundled]
    packages = {o.entry.target.partition(".")[0] for o in offers} - {"fsframe"}
    declared = {o.entry.target.partition(".")[0] for o in offers if o.entry.compiles}
    for name in packages:
        folder = Path(importlib.import_module(name).__file__).parent
        texts = (path.read_text("utf-8") for path in folder.rglob("*.py"))
        has = any("fsframe.kernels.compiled" in text for text in texts)
        assert has == (name in declared), name


def test_families_with_kernels_are_known_by_their_entries():
    result = compiled_families()
    assert {"margin", "relief", "information theory", "interactions"} <= set(result)
    assert [offer.name for offer in result["scikit-learn"]] == ["elastic-net", "lasso"]
    assert "protocol" not in result
    assert "immigrate" in [offer.name for offer in result["margin"]]


def test_a_family_is_run_and_compiles_nothing_the_second_time(monkeypatch):
    few = list(warming._tables())[:1]
    monkeypatch.setattr(warming, "_tables", lambda: few)
    first = warm_family("interactions")
    assert not first.failed and "" not in first.kernels
    kept = KEPT.copy()
    again = warm_family("interactions")
    assert again.family == "interactions" and again.kernels == {} and kept == KEPT


def test_the_command_says_where_kernels_are_and_ends_with_5_where_they_cannot_be_kept(monkeypatch):
    done = [
        CompilationResult(family="margin", seconds=2.0, kernels={"/cache": 3, "": 1}, failed=())
    ]
    monkeypatch.setattr(warming, "compiled_families", lambda: {"margin": []})
    monkeypatch.setattr(warming, "warm_family", lambda family: done[0])
    said = CliRunner().invoke(cli, ["warm"])
    assert "margin: 4 kernels compiled, 2.0 s" in said.stdout and "3 in /cache" in said.stdout
    assert said.exception is not None and getattr(said.exception, "exit_code", 0) == 5
    done[0] = CompilationResult(family="margin", seconds=2.0, kernels={"/cache": 3})
    result = CliRunner().invoke(cli, ["warm", "--json"])
    assert result.exit_code == 0
    assert json.loads(result.stdout)["folders"] == {"/cache": 3}
