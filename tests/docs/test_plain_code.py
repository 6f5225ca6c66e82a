"""The pages of methods name the functions of plain.py that stand for their formulas."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs" / "methods").glob("*.md"))
NAMED = {
    page: re.findall(
        r"((?:`\w+`(?:, | and )?)+)\s(?:of|in)\s`(plugins/\w+/plain\.py)`",
        text,
    )
    for page in PAGES
    if "/plain.py`" in (text := page.read_text(encoding="utf-8"))
}


@pytest.mark.parametrize("page", NAMED, ids=lambda page: page.stem)
def test_named_functions_are_those_of_the_module(page: Path) -> None:
    assert NAMED[page], "the page names plain.py and none of its functions"
    for names, module in NAMED[page]:
        code = ast.parse((ROOT / module).read_text(encoding="utf-8"))
        functions = {node.name for node in code.body if isinstance(node, ast.FunctionDef)}
        assert set(re.findall(r"`(\w+)`", names)) <= functions


def test_the_families_are_named() -> None:
    named = {module.split("/")[1] for found in NAMED.values() for _, module in found}
    families = {path.parent.name for path in (ROOT / "plugins").glob("*/plain.py")}
    assert named == families
