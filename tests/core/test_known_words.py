"""Words of the field that are no names of methods, and the stages that they mean."""

from __future__ import annotations

import pytest

from fsframe.chains.chain import Chain
from fsframe.errors import RequestError
from fsframe.registry import classifiers, engines, measures, nulls, regressors, selectors, writers
from fsframe.registry.registry import find_offer

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


def test_kinds_that_no_list_holds_name_their_choices():
    with pytest.raises(RequestError, match=rf"no writer 'json'; there are {', '.join(writers)}$"):
        find_offer("json", writers)
    if not engines:
        with pytest.raises(RequestError, match=r"no engine 'zzzz'; none is installed$"):
            find_offer("zzzz", engines)


@pytest.mark.parametrize("registry", [nulls, writers])
def test_a_name_of_another_kind_is_told_its_kind(registry):
    name, entry = next(iter(registry)), registry.offers()[0].entry
    with pytest.raises(RequestError, match=rf"'{name}'. It is the {registry.kind} of .*") as caught:
        find_offer(name, *REGISTRIES)
    assert entry.summary in str(caught.value)
