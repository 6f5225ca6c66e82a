"""The pages of docs/methods name every parameter and show commands that run."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

import fsframe
from fsframe.chains.chain import Chain
from fsframe.params import format_value

ROOT = Path(__file__).resolve().parents[3]
PAGES = ROOT / "docs" / "methods"
SELECTORS = (
    "immigrate", "im4e", "bim", "simba", "gflip", "irelief", "lfe", "logo", "mbiw", "simba-mbiw",
)  # fmt: skip
CLASSIFIERS = ("margin", "weighted-knn", "bim-vote")
EVERY = SELECTORS + CLASSIFIERS


def test_every_method_of_the_plugin_has_its_place_here():
    from fsframe_margin import plugin

    offered = [e.name for e in (*plugin.fsframe_selectors(), *plugin.fsframe_classifiers())]
    assert sorted(offered) == sorted(EVERY)


@pytest.mark.parametrize("name", EVERY)
def test_page_lists_every_parameter_with_its_default(name):
    page = (PAGES / f"{name}.md").read_text()
    registry = fsframe.selectors if name in SELECTORS else fsframe.classifiers
    for parameter in registry[name].parameters():
        row = re.search(rf"^\| `{parameter.name}`[^|]*\| ([^|]*) \|", page, re.MULTILINE)
        assert row, f"{name}.md does not list {parameter.name}"
        assert row[1] == format_value(parameter.default), parameter.name


@pytest.mark.parametrize("name", EVERY)
def test_page_has_mathematics_departures_cost_references_and_a_figure_that_exists(name):
    page = (PAGES / f"{name}.md").read_text()
    for heading in ("Mathematics", "Parameters", "Departures", "Cost", "References"):
        assert f"## {heading}" in page
    figures = re.findall(r"!\[[^]]+\]\(([^)]+)\)", page)
    assert figures
    for figure in figures:
        assert (PAGES / figure).is_file()
    for link in re.findall(r"\]\(([a-z0-9-]+\.md)\)", page):
        assert (PAGES / link).is_file()


@pytest.mark.parametrize("name", EVERY)
def test_commands_of_the_page_run_on_some_rows_of_the_shipped_table(name):
    data = fsframe.read(ROOT / "examples" / "parkinsons.csv").take_rows(range(0, 195, 4))
    page = (PAGES / f"{name}.md").read_text()
    chains = re.findall(r"^    fsframe chain (.+) on examples/parkinsons\.csv$", page, re.MULTILINE)
    assert chains
    for text in chains:
        # the length of a run is not what is tested
        text = text.replace("npfs", "npfs:n=3").replace("bim", "bim:rounds=3")
        text = text.replace("bim:rounds=3-vote", "bim-vote:rounds=3").replace("sigma=cv", "sigma=1")
        chain = Chain.parse(text)
        if chain.classifier is None:
            assert chain.select(data).selected.size
        else:
            assert chain.fit(data).predict(data.X).shape == (49,)


def test_the_noise_experiment_shows_what_its_page_says():
    spec = importlib.util.spec_from_file_location(
        "interaction_noise", ROOT / "examples" / "interaction_noise.py"
    )
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    found = example.experiment(6)
    ours, theirs = found["immigrate"], found["lfe"]
    assert ours.mean(axis=1).min() > 0.8 * ours[0].mean()
    assert theirs.mean(axis=1).min() < 0.75 * theirs[0].mean()
    assert theirs[1:].std(axis=1).mean() > 2 * ours[1:].std(axis=1).mean()
