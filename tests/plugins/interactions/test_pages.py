"""The page tells the truth about the parameters, and its command runs."""

from __future__ import annotations

import re
from pathlib import Path

from click.testing import CliRunner

import fsframe
from fsframe.cli import cli

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "methods" / "interactions.md").read_text()


def test_page_names_every_parameter_with_its_default():
    for parameter in fsframe.selectors["interactions"].parameters():
        row = re.search(rf"\| `{parameter.name}` \| ([^|]*) \|", PAGE)
        assert row, parameter.name
        if parameter.name != "top":
            assert row[1].strip() == parameter.format(parameter.default), parameter.name


def test_command_on_the_page_runs_and_says_what_the_weights_are(tmp_path, monkeypatch):
    command = re.search(r"^    fsframe (chain .*)$", PAGE, re.M)[1]
    monkeypatch.chdir(ROOT)
    words = [*command.split(), "--out", str(tmp_path / "run.h5"), "--quiet"]
    done = CliRunner().invoke(cli, words)
    assert done.exit_code == 0, done.output
    assert "Pairs by −log₁₀ p of interaction, the 10 largest of " in done.output
