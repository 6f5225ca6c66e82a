"""What pages quote of plain.py is what stands there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs" / "methods").glob("*.md"))
QUOTED = {
    page: re.findall(r"`(plugins/\w+/plain\.py)`[^\n]*\n\n```py\n(.*?)```", text, re.DOTALL)
    for page in PAGES
    if "/plain.py`" in (text := page.read_text(encoding="utf-8"))
}


@pytest.mark.parametrize("page", QUOTED, ids=lambda page: page.stem)
def test_quoted_functions_are_those_of_the_module(page: Path) -> None:
    assert QUOTED[page], "the page names plain.py and quotes nothing of it"
    for module, code in QUOTED[page]:
        text = (ROOT / module).read_text(encoding="utf-8")
        for node in ast.parse(code).body:
            assert isinstance(node, ast.FunctionDef)
            quoted = ast.get_source_segment(code, node)
            assert quoted is not None and quoted in text, f"{page.name}: {node.name} has changed"


def test_the_families_are_quoted() -> None:
    quoted = {module.split("/")[1] for found in QUOTED.values() for module, _ in found}
    families = {path.parent.name for path in (ROOT / "plugins").glob("*/plain.py")}
    assert quoted == families
