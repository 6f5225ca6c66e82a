"""The core names no bundled method: entries declare uses and words of the field."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import fsframe
from fsframe.chains.chain import Chain
from fsframe.errors import RequestError
from fsframe.registry import (
    classifiers,
    measures,
    nulls,
    regressors,
    selectors,
    stability_metrics,
    writers,
)
from fsframe.registry.registry import Registry, find_offer

CORE = Path(fsframe.__file__).parent

EXCEPTIONS = {
    # The default of a constructor that users see.
    "sklearn/chain_estimators.py": {"immigrate", "immigrate margin", "rrelieff knn:k=5"},
    # Examples in usage lines and messages.
    "cli/commands/chains.py": {"immigrate", "immigrate margin", "immigrate:top=5 "},
    # A base for any stage that resamples: it takes classes and numbers.
    "testing/selectors.py": {"mim:top=2"},
    # The chains that an engine on trial has to compute, and the package of that name.
    "testing/services.py": {
        *("mim", "mim:top=2 npfs:n=8,null=published,alpha=0.3", "relief"),
        "sklearn",
    },
    # `--classifier` also takes the name of a class of scikit-learn.
    "ask/options.py": {"sklearn:estimator="},
    # The module of that name.
    "sklearn/messages.py": {"sklearn"},
    # The statistic.
    "method/answer.py": {"correlation"},
}


def _of_plugins() -> set[str]:
    """Names of bundled methods whose code is not in `fsframe` itself."""
    found = set()
    registry: Registry
    for registry in (selectors, classifiers, stability_metrics, measures):
        for offer in registry.offers():
            if offer.plugin.source.bundled and not offer.entry.target.startswith("fsframe."):
                found.add(offer.name)
    return found


def _strings(path: Path) -> Iterator[str]:
    """Texts in the code of a module, without docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    alone = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in alone:
            yield node.value


def _is_chain(text: str, names: set[str]) -> bool:
    """Whether a text consists of names of methods, each perhaps with parameters."""
    words = text.replace("base=", " ").replace(":", " :").split()
    stages = [word for word in words if not word.startswith(":")]
    return bool(stages) and all(word in names for word in stages)


def test_no_text_of_the_core_is_a_bundled_method_or_a_chain_of_them() -> None:
    names = _of_plugins()
    assert {"immigrate", "weighted-knn", "nogueira", "mim"} <= names
    assert _is_chain("weighted-knn", names) and _is_chain("mim:top=5 immigrate", names)
    assert not _is_chain("a filter such as mim", names) and not _is_chain("", names)
    found: dict[str, set[str]] = {}
    for path in sorted(CORE.rglob("*.py")):
        own = {text for text in _strings(path) if _is_chain(text, names)}
        if own:
            found[str(path.relative_to(CORE))] = own
    # Instead of a further exception, declare a property of the entry or the method.
    assert found == EXCEPTIONS


def test_refusals_name_methods_that_have_the_property() -> None:
    values = np.arange(24.0).reshape(8, 3) % 3
    data = fsframe.Dataset.from_arrays(values, np.arange(8) % 2, categorical=[0])
    (problem,) = Chain.parse("lasso").role_problems(data)
    listed = problem.rpartition("(")[2].rstrip(")…").split(", ")
    named = [name for name in listed if name]
    assert len(named) == 6
    assert all(selectors[name].takes_nominal for name in named)


REGISTRIES = (selectors, regressors, classifiers)


KNOWN = sorted(
    {
        (word, stage)
        for registry in REGISTRIES
        for offer in registry.offers()
        for word, stage in offer.entry.known_as.items()
    }
)


@pytest.mark.parametrize(("word", "stage"), KNOWN)
def test_a_word_of_the_field_is_answered_with_a_stage_that_can_be_used(word, stage):
    assert not any(registry.matching(word) for registry in REGISTRIES)
    with pytest.raises(RequestError, match=rf"no .* '{word}'\. Use .*`{stage}`"):
        find_offer(word, *REGISTRIES)
    # A stage that resamples others needs one.
    Chain.parse(f"lasso {stage}" if stage in ("cpss", "knockoffs") else stage)


def test_other_words_for_a_measure_are_answered_with_its_name():
    known = [(o.name, *pair) for o in measures.offers() for pair in o.entry.known_as.items()]
    assert ("matthews", "mcc", "matthews") in known
    for own, word, name in known:
        assert name == own and not measures.matching(word)
        with pytest.raises(RequestError, match=rf"no measure '{word}'\. Use `{name}`"):
            find_offer(word, measures)


def test_capitals_and_hyphens_do_not_matter_and_kinds_are_told_where_several_are_meant():
    for word in ("RandomForest", "random_forest", "Random-Forest"):
        with pytest.raises(RequestError) as caught:
            find_offer(word, *REGISTRIES)
        assert str(caught.value).endswith(
            "Use `importance` (a selector) or `sklearn:estimator=RandomForestClassifier` "
            "(a classifier)"
        )
    with pytest.raises(RequestError, match=r"`fsframe methods` lists all$"):
        find_offer("zzzz", *REGISTRIES)
    with pytest.raises(RequestError, match=rf"no writer 'json'; there are {', '.join(writers)}$"):
        find_offer("json", writers)


@pytest.mark.parametrize("registry", [nulls, writers])
def test_a_name_of_another_kind_is_told_its_kind(registry):
    name, entry = next(iter(registry)), registry.offers()[0].entry
    with pytest.raises(RequestError, match=rf"'{name}'. It is the {registry.kind} of .*") as caught:
        find_offer(name, *REGISTRIES)
    assert entry.summary in str(caught.value)
