"""What docs/methods says of each method: its place, source, parameters, examples and commands."""

from __future__ import annotations

import importlib.util
import re

import pytest
from click.testing import CliRunner

import fsframe
from fsframe.cli import cli
from fsframe.params import format_value
from tests.method_pages import PAGES, ROOT, page_of, section_of

PAGES_OF = {
    "fsframe_relief": {"relief-family"},
    "fsframe_infotheory": {"information-theory"},
    "fsframe_margin": {"immigrate", "margin-methods"},
    "fsframe_npfs": {"npfs", "error-control"},
    "fsframe_interactions": {"interactions"},
}
"""The pages of a plugin, and no other."""

METHODS = {
    offer.name: registry[offer.name]
    for registry in (fsframe.selectors, fsframe.classifiers)
    for offer in registry.offers()
    if offer.entry.target.partition(".")[0] in PAGES_OF
}
PLACES = {name: page_of(name).stem for name in METHODS}
BY_SECTION = ("relief-family", "information-theory")
"""Pages with a source, and with parameters of no other method, in every section."""
MARGIN = [name for name in METHODS if PLACES[name] in PAGES_OF["fsframe_margin"]]
INFORMATION = [name for name in METHODS if PLACES[name] == "information-theory"]


def text_of(page: str) -> str:
    return (PAGES / f"{page}.md").read_text(encoding="utf-8")


def parameters_of(*names: str) -> dict[str, str]:
    """Names of parameters, with their defaults as pages write them."""
    return {p.name: format_value(p.default) for name in names for p in METHODS[name].parameters()}


@pytest.mark.parametrize("name", METHODS)
def test_a_method_has_its_place_and_its_source(name):
    assert PLACES[name] in PAGES_OF[METHODS[name].__module__.partition(".")[0]]
    listed = PLACES[name] not in BY_SECTION and "## References" in text_of(PLACES[name])
    assert "Source:" in section_of(name) or listed
    if name in INFORMATION:
        assert re.search(r"J\(X\) =|SU\(X, Y\)|χ² =|F = ", section_of(name))


@pytest.mark.parametrize("name", METHODS)
def test_what_a_section_sets_are_parameters_of_its_method(name):
    if PLACES[name] in BY_SECTION:
        said = set(re.findall(r"`(\w+)=[\w-]+`", section_of(name)))
        assert said <= set(parameters_of(name))


@pytest.mark.parametrize(
    "page", ["immigrate", "margin-methods", "npfs", "error-control", "interactions"]
)
def test_what_a_page_sets_are_parameters_of_its_methods(page):
    known = parameters_of(*(name for name in METHODS if PLACES[name] == page))
    margin = page in PAGES_OF["fsframe_margin"]
    form = r"`(?:[\w-]+:)?(\w+)=[^`]+`" if margin else r"`(\w+)=[^`:,]+`"
    said = set(re.findall(form, text_of(page)))
    assert said and said <= set(known)


def test_defaults_that_pages_name():
    said = re.search(r"the k \((\d+)\) nearest", section_of("rrelieff"))
    assert said and said[1] == parameters_of("rrelieff")["k"]
    page, defaults = text_of("interactions"), parameters_of("interactions")
    named = re.findall(r"\(`(\w+)`, (\d+)\)", page) + re.findall(r"`(\w+)` \((\d+)\)", page)
    assert dict(named) == {name: defaults[name] for name in ("bins", "max_levels")}


def test_the_page_says_which_methods_have_estimators():
    said = re.search(r"^`estimator=knn` \(([^)]*)\)", text_of("information-theory"), re.M)
    assert said
    have = {name for name in INFORMATION if "estimator" in parameters_of(name)}
    assert set(re.findall(r"`([\w-]+)`", said[1])) == have


def test_code_of_the_page_on_criteria_runs():
    names: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", text_of("adding-a-criterion"), re.S):
        exec(block, names)
    assert "MaxRedundancy" in names and "selection" in names


# Metrics of stability

metrics = fsframe.stability_metrics
OFFERED = [
    name for name in metrics if metrics.offer(name).entry.target.startswith("fsframe_stability.")
]


def rows(heading: str) -> list[list[str]]:
    """The cells of the first table under a heading, without its head."""
    text = text_of("stability").split(f"\n## {heading}\n")[1]
    lines = text[text.index("\n|") :].strip().split("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_the_table_of_metrics_says_what_the_classes_declare():
    listed = rows("Properties of each metric")
    assert sorted(row[0].strip("`") for row in listed) == sorted(OFFERED)
    for name, sizes, chance, undefined in listed:
        metric = metrics[name.strip("`")]
        allowed = "any" if metric.unequal_sizes else "equal"
        assert sizes == ("rankings" if metric.input == "ranks" else allowed), name
        assert chance == ("yes" if metric.chance_corrected else "no"), name
        assert undefined == metric.undefined_when, name


def test_the_page_names_the_metrics_that_need_similarities():
    said = re.search(
        r"\*\*Similar features\.\*\* (.*?) need `similarity`", text_of("stability"), re.S
    )
    assert said
    need = {name for name in OFFERED if metrics[name].needs_similarity}
    assert set(re.findall(r"`([\w-]+)`", said[1])) == need


def test_parameters_that_the_page_names_are_those_of_a_metric():
    parameters = {p.name for name in OFFERED for p in metrics[name].parameters()}
    said = set(re.findall(r"`(\w+)=\w+`", text_of("stability")))
    assert said and said <= parameters


# Commands


def commands(page: str, after: str = "") -> list[str]:
    return re.findall(rf"^    fsframe chain (.*){after}$", text_of(page), re.M)


@pytest.mark.parametrize("command", commands("information-theory") + commands("interactions")[:1])
def test_a_command_on_a_page_runs(command, tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    words = ["chain", *command.split(), "--out", str(tmp_path / "run.h5"), "--quiet"]
    done = CliRunner().invoke(cli, words)
    assert done.exit_code == 0, done.output
    if command.startswith("interactions"):
        assert "Pairs by −log₁₀ p of interaction, the 10 largest of " in done.output


ON_PARKINSONS = [
    text
    for page in sorted(PAGES_OF["fsframe_margin"])
    for text in commands(page, r" on examples/parkinsons\.csv")
]


def test_the_pages_show_a_command_for_every_margin_method():
    assert len(MARGIN) == 13
    called = {stage.partition(":")[0] for text in ON_PARKINSONS for stage in text.split()}
    assert set(MARGIN) <= called


def test_the_noise_experiment_shows_what_its_page_says():
    place = ROOT / "examples" / "interaction_noise.py"
    spec = importlib.util.spec_from_file_location("interaction_noise", place)
    assert spec is not None and spec.loader is not None
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    result = example.experiment(6)
    ours, theirs = result["immigrate"], result["lfe"]
    assert ours.mean(axis=1).min() > 0.8 * ours[0].mean()
    assert theirs.mean(axis=1).min() < 0.75 * theirs[0].mean()
    assert theirs[1:].std(axis=1).mean() > 2 * ours[1:].std(axis=1).mean()
