"""The page on stability metrics: its examples run, and its tables say what the classes say."""

from __future__ import annotations

import doctest
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
    assert outcome.attempted > 10 and outcome.failed == 0


def test_the_table_of_metrics_says_what_the_classes_declare() -> None:
    listed = rows("Properties of each metric")
    assert sorted(row[0].strip("`") for row in listed) == sorted(OFFERED)
    for name, sizes, chance, similarity, undefined in listed:
        metric = metrics[name.strip("`")]
        allowed = "any" if metric.unequal_sizes else "equal"
        assert sizes == ("rankings" if metric.input == "ranks" else allowed), name
        assert chance == ("yes" if metric.chance_corrected else "no"), name
        assert similarity == ("yes" if metric.needs_similarity else "no"), name
        assert undefined == metric.undefined_when, name


def test_the_table_of_parameters_has_every_parameter_with_its_default() -> None:
    told: dict[str, set[tuple[str, str]]] = {name: set() for name in OFFERED}
    for who, parameter, default, _ in rows("Parameters"):
        named = {name for name in OFFERED if f"`{name}`" in who}
        if "pairwise" in who:
            named |= {name for name in OFFERED if "impute" in metrics[name]().values()}
        for name in named:
            told[name].add((parameter.strip("`"), default))
    for name in OFFERED:
        declared = {
            (p.name, p.format(p.default).removesuffix(".0")) for p in metrics[name].parameters()
        }
        assert declared == told[name], name
