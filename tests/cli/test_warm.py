"""Warming: which families have kernels, that all are kept, and what is said where they are not."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from fsframe.cli import cli
from fsframe.cli.commands import machine as warming
from fsframe.cli.commands.machine import (
    CompilationResult,
    compile_families,
    compiled_families,
    warm_family,
)
from fsframe.errors import RequestError
from fsframe.kernels.compiled import KEPT
from fsframe.registry import selectors


def test_every_package_with_kernels_declares_what_compiles():
    offers = [o for o in selectors.offers() if o.plugin.source.bundled]
    packages = {o.entry.target.partition(".")[0] for o in offers} - {"fsframe"}
    declared = {o.entry.target.partition(".")[0] for o in offers if o.entry.compiles}
    for package in packages:
        folder = Path(importlib.import_module(package).__file__).parent
        texts = (path.read_text("utf-8") for path in folder.rglob("*.py"))
        has = any("fsframe.kernels.compiled" in text for text in texts)
        assert has == (package in declared), package


def test_families_with_kernels_are_known_by_their_entries():
    found = compiled_families()
    assert {"margin", "relief", "information theory", "interactions"} <= set(found)
    assert [offer.name for offer in found["scikit-learn"]] == ["elastic-net", "lasso"]
    assert "protocol" not in found
    assert "immigrate" in [offer.name for offer in found["margin"]]


def test_a_family_is_run_and_compiles_nothing_the_second_time(monkeypatch):
    few = list(warming._tables())[:1]
    monkeypatch.setattr(warming, "_tables", lambda: few)
    first = warm_family("interactions")
    assert not first.failed and "" not in first.kernels
    kept = KEPT.copy()
    told = []
    assert compile_families(["inter"], tell=told.append) == told
    assert told[0].family == "interactions" and told[0].kernels == {} and kept == KEPT


def test_no_such_family_lists_those_that_there_are():
    with pytest.raises(RequestError, match=r"no family 'imigrate'.*margin"):
        compile_families(["imigrate"])


def test_the_command_says_where_kernels_are_and_ends_with_5_where_they_cannot_be_kept(monkeypatch):
    done = [
        CompilationResult(family="margin", seconds=2.0, kernels={"/cache": 3, "": 1}, failed=())
    ]

    def warmed(families, engine, tell):
        tell(done[0])
        return done

    monkeypatch.setattr(warming, "compile_families", warmed)
    said = CliRunner().invoke(cli, ["warm", "margin", "--workers", "1"])
    assert "margin: 4 kernels compiled, 2.0 s" in said.stdout and "3 in /cache" in said.stdout
    assert said.exception is not None and getattr(said.exception, "exit_code", 0) == 5
    done[0] = CompilationResult(family="margin", seconds=2.0, kernels={"/cache": 3})
    found = CliRunner().invoke(cli, ["warm", "margin", "--workers", "1", "--json"])
    assert found.exit_code == 0
    assert json.loads(found.stdout)["folders"] == {"/cache": 3}
