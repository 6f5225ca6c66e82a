"""Where docs/methods explains a method: a page of its own, or a section of its family's."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[1]
PAGES = ROOT / "docs" / "methods"


def _site() -> ModuleType:
    spec = importlib.util.spec_from_file_location("making_site", ROOT / "docs" / "make_site.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SITE = _site()


def page_of(name: str) -> Path:
    """The page that explains a method."""
    place = SITE.place_of(name)
    assert place, f"no page in docs/methods has a heading with `{name}`"
    return PAGES / str(place).partition("#")[0]


def section_of(name: str) -> str:
    """What is said about a method alone: its page, or its section."""
    section: str = SITE.with_part(page_of(name).read_text(encoding="utf-8"), name)[1]
    return section
