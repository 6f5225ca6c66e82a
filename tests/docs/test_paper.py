"""The article: its citations resolve, its figures are those measured, its form is the journals'."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType

import pytest

from tests.scripts import ROOT, script

PAPER = (ROOT / "paper" / "paper.md").read_text(encoding="utf-8")
BIBLIOGRAPHY = (ROOT / "paper" / "paper.bib").read_text(encoding="utf-8")
SECTIONS = (
    "Summary",
    "Statement of need",
    "State of the field",
    "Software design",
    "Research impact statement",
    "AI usage disclosure",
    "Acknowledgements",
    "References",
)


@pytest.fixture(scope="module")
def figures() -> ModuleType:
    return script("paper/figures.py")


def entries() -> dict[str, str]:
    """The entries of the bibliography by key."""
    parts = re.split(r"^@\w+\{", BIBLIOGRAPHY, flags=re.MULTILINE)[1:]
    return {part.partition(",")[0]: part for part in parts}


def test_every_citation_is_in_the_bibliography_and_every_entry_is_cited() -> None:
    cited = set(re.findall(r"@([a-z]+\d{4})", PAPER.partition("\n---\n")[2]))
    assert cited == set(entries()) and len(cited) > 10


def test_every_entry_is_complete_and_leads_to_the_work() -> None:
    for key, entry in entries().items():
        for field in ("author", "title", "journal", "year"):
            assert re.search(rf"\b{field} = \{{.+?\}}", entry), (key, field)
        assert re.search(r"\bdoi = \{10\.\d{4,9}/\S+?\}|\burl = \{https://\S+?\}", entry), key
        # Venues are written in full.
        assert "Proc. " not in entry and "J. " not in re.findall(r"journal = \{(.+?)\}", entry)[0]


def test_the_figures_are_those_of_the_files(figures: ModuleType) -> None:
    assert figures.paper() == PAPER, "run python paper/figures.py"
    for name in re.findall(r"`(benchmarks/[\w/]+(?:\.\w+)?)`", PAPER):
        assert (ROOT / name).exists(), name


def test_another_figure_changes_the_article(
    figures: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = figures.boruta()
    path = tmp_path / "boruta" / "results" / "overlap.txt"
    path.parent.mkdir(parents=True)
    path.write_text("  BorutaPy, default  1+1  processor time × 3.21\n", encoding="utf-8")
    monkeypatch.setattr(figures, "RESULTS", tmp_path)
    assert "3.21" in figures.boruta() and "3.21" not in before


def test_it_has_the_sections_and_the_length_that_are_asked_for() -> None:
    body = PAPER.partition("\n---\n")[2]
    found = re.findall(r"^# (.+)$", body, flags=re.MULTILINE)
    assert [section for section in found if section in SECTIONS] == list(SECTIONS)
    assert 750 <= len(body.split()) <= 1750
    for field in ("title", "tags", "authors", "affiliations", "date", "bibliography"):
        assert re.search(rf"^{field}:", PAPER, flags=re.MULTILINE), field
