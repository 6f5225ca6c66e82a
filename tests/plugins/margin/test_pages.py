"""What docs/methods says of the margin methods: sources, figures, and commands that run."""

from __future__ import annotations

import importlib.util
import re

import pytest

import fsframe
from fsframe.chains.chain import Chain
from tests.method_pages import PAGES, ROOT, page_of, section_of

SELECTORS = (
    "immigrate", "im4e", "bim", "simba", "gflip", "irelief", "lfe", "logo", "mbiw", "simba-mbiw",
)  # fmt: skip
CLASSIFIERS = ("margin", "weighted-knn", "bim-vote")
EVERY = SELECTORS + CLASSIFIERS
FAMILY = [PAGES / "immigrate.md", PAGES / "margin-methods.md"]


def test_every_method_of_the_plugin_has_its_place_here():
    from fsframe_margin import plugin

    offered = [e.name for e in (*plugin.fsframe_selectors(), *plugin.fsframe_classifiers())]
    assert sorted(offered) == sorted(EVERY)
    assert {page_of(name) for name in EVERY} == set(FAMILY)


@pytest.mark.parametrize("page", FAMILY, ids=lambda page: page.stem)
def test_what_a_page_sets_are_parameters_of_its_methods(page):
    here = [name for name in EVERY if page_of(name) == page]
    known = {
        parameter.name
        for name in here
        for parameter in (fsframe.selectors if name in SELECTORS else fsframe.classifiers)[
            name
        ].parameters()
    }
    said = re.findall(r"`(?:[\w-]+:)?(\w+)=[^`]+`", page.read_text(encoding="utf-8"))
    assert said and set(said) <= known


@pytest.mark.parametrize("name", EVERY)
def test_a_section_has_a_source(name):
    page = page_of(name).read_text(encoding="utf-8")
    assert "Source:" in section_of(name) or "## References" in page


@pytest.mark.parametrize("page", FAMILY, ids=lambda page: page.stem)
def test_figures_of_the_page_exist(page):
    figures = re.findall(r"!\[[^]]+\]\(([^)]+)\)", page.read_text(encoding="utf-8"))
    assert figures
    for figure in figures:
        assert (PAGES / figure).is_file()


CHAINS = [
    text
    for page in FAMILY
    for text in re.findall(
        r"^    fsframe chain (.+) on examples/parkinsons\.csv$",
        page.read_text(encoding="utf-8"),
        re.MULTILINE,
    )
]


def test_the_pages_show_a_command_for_every_method():
    called = {stage.partition(":")[0] for text in CHAINS for stage in text.split()}
    assert set(EVERY) <= called


@pytest.mark.parametrize("text", CHAINS)
def test_commands_of_the_pages_run_on_some_rows_of_the_shipped_table(text):
    data = fsframe.read(ROOT / "examples" / "parkinsons.csv").take_rows(range(0, 195, 4))
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
