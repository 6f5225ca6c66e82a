"""Every method of the family has a page that names all its parameters."""

from __future__ import annotations

from pathlib import Path

import pytest

import fsframe

DOCS = Path(__file__).parents[3] / "docs" / "methods"
NAMES = [offer.name for offer in fsframe.selectors.offers() if offer.entry.family == "relief"]


def test_the_family_has_all_its_members():
    assert set(NAMES) == {
        "relief",
        "relieff",
        "rrelieff",
        "surf",
        "surfstar",
        "multisurf",
        "multisurfstar",
        "swrfstar",
        "relieved-f",
        "iterative-relief",
        "vls",
        "turf",
    }


@pytest.mark.parametrize("name", NAMES)
def test_the_page_of_a_method_names_its_parameters_and_its_paper(name):
    page = (DOCS / f"{name}.md").read_text(encoding="utf-8")
    shared = (DOCS / "relief-family.md").read_text(encoding="utf-8")
    for parameter in fsframe.selectors[name].parameters():
        assert f"`{parameter.name}`" in page + shared, parameter.name
    for heading in ("## Mathematics", "## Departures", "## Cost", "## References"):
        assert heading in page
    assert f"fsframe chain {name}" in page or f"fsframe methods {name}" in page or name == "turf"


def test_the_family_page_links_every_method():
    shared = (DOCS / "relief-family.md").read_text(encoding="utf-8")
    for name in NAMES:
        assert f"({name}.md)" in shared
