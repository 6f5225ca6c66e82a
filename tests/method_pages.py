"""Where docs/methods explains a method: a page of its own, or a section of its family's."""

from __future__ import annotations

from pathlib import Path

from tests.scripts import ROOT, script

PAGES = ROOT / "docs" / "methods"


SITE = script("docs/make_site.py")


def page_of(name: str) -> Path:
    """The page that explains a method."""
    place = SITE.place_of(name)
    assert place, f"no page in docs/methods has a heading with `{name}`"
    return PAGES / str(place).partition("#")[0]


def section_of(name: str) -> str:
    """What is said about a method alone: its page, or its section."""
    section: str = SITE.with_part(page_of(name).read_text(encoding="utf-8"), name)[1]
    return section
