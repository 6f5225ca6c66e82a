"""The pages of this plugin's methods: every parameter is there, every example runs."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

import fsframe
from fsframe.chains.chain import Chain

PAGES = Path(__file__).parents[3] / "docs" / "methods"


@pytest.mark.parametrize("name", ["npfs", "ensemble", "cpss", "ipss", "knockoffs"])
def test_page_names_every_parameter(name: str) -> None:
    text = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    for parameter in fsframe.selectors[name].parameters():
        assert f"`{parameter.name}`" in text, parameter.name


@pytest.mark.parametrize("name", ["npfs", "cpss", "ipss"])
def test_examples_on_the_page_run(name: str) -> None:
    found = doctest.testfile(str(PAGES / f"{name}.md"), module_relative=False, encoding="utf-8")
    assert found.attempted and not found.failed


@pytest.mark.parametrize("name", ["npfs", "ensemble", "cpss", "ipss", "knockoffs"])
def test_commands_on_the_page_are_chains(name: str) -> None:
    text = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    commands = [line.split() for line in text.splitlines() if line.startswith("    fsframe chain ")]
    assert commands
    for command in commands:
        stages = command[2 : command.index("on")]
        assert len(Chain.parse(" ".join(stages)).stages) == len(stages)
