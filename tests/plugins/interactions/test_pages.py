"""The page tells the truth about the parameters, and its command runs."""

from __future__ import annotations

import re

import pytest
from click.testing import CliRunner

import fsframe
from fsframe.cli import cli
from tests.method_pages import PAGES, ROOT, page_of

NAMES = ["interactions", "interactions-split"]
PAGE = (PAGES / "interactions.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", NAMES)
def test_both_methods_are_explained_here(name: str) -> None:
    assert page_of(name) == PAGES / "interactions.md"


def test_what_the_page_sets_are_parameters() -> None:
    known = {p.name for name in NAMES for p in fsframe.selectors[name].parameters()}
    said = set(re.findall(r"`(\w+)=[^`:,]+`", PAGE))
    assert said and said <= known


def test_defaults_that_the_page_names() -> None:
    said = re.findall(r"\(`(\w+)`, (\d+)\)", PAGE) + re.findall(r"`(\w+)` \((\d+)\)", PAGE)
    defaults = {p.name: p.format(p.default) for p in fsframe.selectors["interactions"].parameters()}
    assert dict(said) == {name: defaults[name] for name in ("bins", "max_levels")}


def test_command_on_the_page_runs_and_says_what_the_weights_are(tmp_path, monkeypatch):
    command = re.search(r"^    fsframe (chain .*)$", PAGE, re.M)[1]
    monkeypatch.chdir(ROOT)
    words = [*command.split(), "--out", str(tmp_path / "run.h5"), "--quiet"]
    done = CliRunner().invoke(cli, words)
    assert done.exit_code == 0, done.output
    assert "Pairs by −log₁₀ p of interaction, the 10 largest of " in done.output
