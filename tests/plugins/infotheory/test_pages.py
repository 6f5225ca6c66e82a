"""Every method has a page that tells the truth about its parameters, and whose commands run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

import fsframe
from fsframe.cli import cli
from fsframe_infotheory.plugin import fsframe_selectors

ROOT = Path(__file__).parents[3]
PAGES = ROOT / "docs" / "methods"
ENTRIES = list(fsframe_selectors())
SHARED = (PAGES / "information-theory.md").read_text()


@pytest.mark.parametrize("name", [entry.name for entry in ENTRIES])
def test_page_names_every_parameter_with_its_default(name):
    page = (PAGES / f"{name}.md").read_text()
    for parameter in fsframe.selectors[name].parameters():
        text = page if f"`{parameter.name}`" in page else SHARED
        assert f"`{parameter.name}`" in text, parameter.name
        row = re.search(rf"\| `{parameter.name}` \| ([^|]*) \|", page)
        if row:
            shown = parameter.format(parameter.default).removesuffix(".0")
            assert row[1].strip() == shown, parameter.name
    assert f"({name}.md)" in SHARED


@pytest.mark.parametrize("name", [entry.name for entry in ENTRIES])
def test_command_on_the_page_runs(name, tmp_path, monkeypatch):
    page = (PAGES / f"{name}.md").read_text()
    command = re.search(r"^    fsframe (chain .*)$", page, re.M)[1]
    monkeypatch.chdir(ROOT)
    words = [*command.split(), "--out", str(tmp_path / "run.h5"), "--json", "--quiet"]
    done = CliRunner().invoke(cli, words)
    assert done.exit_code == 0, done.output


def test_code_of_the_page_on_criteria_runs():
    page = (PAGES / "adding-a-criterion.md").read_text()
    names: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", page, re.S):
        exec(block, names)
    assert "MaxRedundancy" in names and "fsframe_selectors" in names
