"""The page on stability metrics: its examples run, and its tables say what the classes say."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import fsframe

PAGE = Path(__file__).parents[3] / "docs" / "methods" / "stability.md"
metrics = fsframe.stability_metrics
OFFERED = [
    name for name in metrics if metrics.offer(name).entry.target.startswith("fsframe_stability.")
]


def rows(heading: str) -> list[list[str]]:
    """The cells of the first table under a heading, without its head."""
    text = PAGE.read_text(encoding="utf-8").split(f"\n## {heading}\n")[1]
    lines = text[text.index("\n|") :].strip().split("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_the_examples_of_the_page_print_what_it_shows() -> None:
    outcome = doctest.testfile(str(PAGE), module_relative=False, encoding="utf-8")
    assert outcome.attempted > 8 and outcome.failed == 0


def test_the_table_of_metrics_says_what_the_classes_declare() -> None:
    listed = rows("Properties of each metric")
    assert sorted(row[0].strip("`") for row in listed) == sorted(OFFERED)
    for name, sizes, chance, undefined in listed:
        metric = metrics[name.strip("`")]
        allowed = "any" if metric.unequal_sizes else "equal"
        assert sizes == ("rankings" if metric.input == "ranks" else allowed), name
        assert chance == ("yes" if metric.chance_corrected else "no"), name
        assert undefined == metric.undefined_when, name


def test_the_page_names_the_metrics_that_need_similarities() -> None:
    said = re.search(
        r"\*\*Similar features\.\*\* (.*?) need `similarity`", PAGE.read_text("utf-8"), re.S
    )
    assert said
    need = {name for name in OFFERED if metrics[name].needs_similarity}
    assert set(re.findall(r"`([\w-]+)`", said[1])) == need


def test_parameters_that_the_page_names_are_those_of_a_metric() -> None:
    parameters = {p.name for name in OFFERED for p in metrics[name].parameters()}
    said = set(re.findall(r"`(\w+)=\w+`", PAGE.read_text(encoding="utf-8")))
    assert said and said <= parameters
