"""Methods that another plugin offered in earlier releases: old names and files still serve."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import attrs
import pytest

import fsframe
from fsframe import Chain, Run
from fsframe.chains.audit import audit_run
from fsframe.registry import classifiers, selectors
from fsframe.storage.unit_files import Manifest, software

TABLE = Path(__file__).parents[3] / "examples" / "parkinsons.csv"
CHAIN = "impute variance chi2:top=3 knn"
FORMER = {
    "impute": "tables",
    "variance": "sklearn",
    "correlation": "sklearn",
    "chi2": "infotheory",
    "anova-f": "infotheory",
    "knn": "classify",
}


@pytest.mark.parametrize(("name", "provider"), FORMER.items())
def test_the_former_provider_still_names_the_method(name, provider):
    registry = classifiers if name == "knn" else selectors
    assert registry[f"{provider}/{name}"] is registry[f"filters/{name}"] is registry[name]
    assert f"margin/{name}" not in registry


def test_a_chain_of_former_names_gives_the_same_result():
    data = fsframe.read(TABLE)
    old = Chain.parse("tables/impute sklearn/variance infotheory/chi2:top=3").run(data)
    new = Chain.parse("impute variance chi2:top=3").run(data)
    assert list(old.selected) == list(new.selected)
    assert [stage.provider for stage in old.stages] == ["filters"] * 3


CHAIN_METHODS = ("impute", "variance", "chi2", "knn")


def earlier(asked: Manifest) -> Manifest:
    """The manifest as a release wrote it before the methods moved."""
    versions = {
        name: version for name, version in asked.software.items() if name != "plugin filters"
    }
    plugins = {f"plugin {FORMER[name]}": fsframe.__version__ for name in CHAIN_METHODS}
    return attrs.evolve(asked, software=versions | plugins)


def test_an_unfinished_run_of_an_earlier_release_is_continued():
    asked = Manifest.of(Chain.parse(CHAIN), fsframe.read(TABLE), 0)
    assert "plugin filters" in asked.software
    assert earlier(asked).differences(asked) == []
    other = attrs.evolve(earlier(asked), software=software("mim") | {"plugin classify": "0.0"})
    assert any("plugin classify 0.0" in reason for reason in other.differences(asked))


def test_a_finished_run_of_an_earlier_release_answers_the_same_request():
    asked = Manifest.of(Chain.parse(CHAIN), fsframe.read(TABLE), 0)
    before = earlier(asked)
    identified = {
        "chain": before.chain,
        "memory": before.memory,
        "providers": {name: FORMER[name] for name in CHAIN_METHODS},
        "seed": 0,
        "software": dict(before.software),
        "table": before.sha256,
    }
    digest = hashlib.sha256(json.dumps(identified, sort_keys=True).encode()).hexdigest()
    assert asked.former_identity == digest != asked.identity


def test_an_audit_accepts_the_former_provider_and_no_other():
    data = fsframe.read(TABLE)
    record = Chain.parse("variance chi2:top=3").run(data)
    for provider, same in (("infotheory", True), ("margin", False)):
        stage = attrs.evolve(record.stages[1], provider=provider)
        older = attrs.evolve(record, stages=(record.stages[0], stage))
        assert [found.difference == 0 for found in audit_run(older, data, Run())] == [True, same]
