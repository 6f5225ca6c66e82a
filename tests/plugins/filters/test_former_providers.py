"""Methods that another plugin offered in earlier releases: old names and files still serve."""

from __future__ import annotations

from pathlib import Path

import attrs
import pytest

import fsframe
from fsframe import Chain, Run
from fsframe.chains.audit import audit_run
from fsframe.registry import classifiers, selectors

TABLE = Path(__file__).parents[3] / "examples" / "parkinsons.csv"
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


def test_an_audit_accepts_the_former_provider_and_no_other():
    data = fsframe.read(TABLE)
    record = Chain.parse("variance chi2:top=3").run(data)
    for provider, same in (("infotheory", True), ("margin", False)):
        stage = attrs.evolve(record.stages[1], provider=provider)
        older = attrs.evolve(record, stages=(record.stages[0], stage))
        assert [found.difference == 0 for found in audit_run(older, data, Run())] == [True, same]
