"""Every method has a section that tells the truth, and commands on its page run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

import fsframe
from fsframe.cli import cli
from fsframe_infotheory.plugin import fsframe_selectors
from tests.method_pages import PAGES, ROOT, page_of, section_of

NAMES = [entry.name for entry in fsframe_selectors()]
PAGE = PAGES / "information-theory.md"


@pytest.mark.parametrize("name", NAMES)
def test_a_method_has_its_formula_and_its_source_on_the_page_of_the_family(name: str) -> None:
    assert page_of(name) == PAGE
    section = section_of(name)
    assert "Source:" in section
    assert re.search(r"J\(X\) =|SU\(X, Y\)|χ² =|F = ", section)


@pytest.mark.parametrize("name", NAMES)
def test_the_parameters_that_a_section_sets_are_those_of_its_method(name: str) -> None:
    parameters = {parameter.name for parameter in fsframe.selectors[name].parameters()}
    said = set(re.findall(r"`(\w+)=[\w-]+`", section_of(name)))
    assert said <= parameters


def test_the_page_says_which_methods_have_estimators() -> None:
    said = re.search(r"^`estimator=knn` \(([^)]*)\)", PAGE.read_text(encoding="utf-8"), re.M)
    assert said
    have = {n for n in NAMES if "estimator" in {p.name for p in fsframe.selectors[n].parameters()}}
    assert set(re.findall(r"`([\w-]+)`", said[1])) == have


def run(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    words = [*command.split(), "--out", str(tmp_path / "run.h5"), "--json", "--quiet"]
    done = CliRunner().invoke(cli, words)
    assert done.exit_code == 0, done.output


@pytest.mark.parametrize("name", NAMES)
def test_a_method_is_called_as_the_page_says(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(f"chain {name}:top=10 on examples/parkinsons.csv", tmp_path, monkeypatch)


COMMANDS = re.findall(r"^    fsframe (chain .*)$", PAGE.read_text(encoding="utf-8"), re.M)


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_on_the_page_run(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(command, tmp_path, monkeypatch)


def test_code_of_the_page_on_criteria_runs() -> None:
    page = (PAGES / "adding-a-criterion.md").read_text(encoding="utf-8")
    names: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", page, re.S):
        exec(block, names)
    assert "MaxRedundancy" in names and "selection" in names
