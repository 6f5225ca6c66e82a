"""The page of the family has a section for every method, and says what its parameters are."""

from __future__ import annotations

import re

import pytest

import fsframe
from tests.method_pages import PAGES, page_of, section_of

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
def test_a_method_has_a_section_with_its_source(name: str) -> None:
    assert page_of(name) == PAGES / "relief-family.md"
    assert "Source:" in section_of(name)


@pytest.mark.parametrize("name", NAMES)
def test_what_a_section_sets_are_parameters_of_a_method(name: str) -> None:
    parameters = {parameter.name for parameter in fsframe.selectors[name].parameters()}
    said = set(re.findall(r"`(\w+)=[\w-]+`", section_of(name)))
    assert said <= parameters


def test_the_number_of_neighbours_that_a_section_names_is_the_default() -> None:
    said = re.search(r"the k \((\d+)\) nearest", section_of("rrelieff"))
    (k,) = [p for p in fsframe.selectors["rrelieff"].parameters() if p.name == "k"]
    assert said and said[1] == k.format(k.default)
