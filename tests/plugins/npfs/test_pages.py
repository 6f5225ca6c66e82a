"""The pages of this plugin's methods: every method has its place, every example runs."""

from __future__ import annotations

import doctest
import re

import pytest

import fsframe
from fsframe.chains.chain import Chain
from tests.method_pages import PAGES, page_of, section_of

NAMES = ["npfs", "ensemble", "cpss", "ipss", "knockoffs"]


@pytest.mark.parametrize("name", NAMES)
def test_a_method_has_its_place_and_a_source(name: str) -> None:
    assert page_of(name).stem == ("npfs" if name in ("npfs", "ensemble") else "error-control")
    assert "Source:" in section_of(name) or "## References" in page_of(name).read_text("utf-8")


@pytest.mark.parametrize("page", ["npfs", "error-control"])
def test_what_a_page_sets_are_parameters_of_its_methods(page: str) -> None:
    here = [name for name in NAMES if page_of(name).stem == page]
    known = {p.name for name in here for p in fsframe.selectors[name].parameters()}
    text = (PAGES / f"{page}.md").read_text(encoding="utf-8")
    said = set(re.findall(r"`(\w+)=[^`:,]+`", text))
    assert said and said <= known


@pytest.mark.parametrize("page", ["npfs", "error-control"])
def test_examples_on_the_page_run(page: str) -> None:
    found = doctest.testfile(str(PAGES / f"{page}.md"), module_relative=False, encoding="utf-8")
    assert found.attempted and not found.failed


@pytest.mark.parametrize("name", NAMES)
def test_commands_on_the_page_are_chains(name: str) -> None:
    lines = section_of(name).splitlines()
    commands = [line.split() for line in lines if line.startswith("    fsframe chain ")]
    assert commands
    for command in commands:
        stages = command[2 : command.index("on")]
        assert len(Chain.parse(" ".join(stages)).stages) == len(stages)
