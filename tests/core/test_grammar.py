"""The text of a chain, and the names in it: the core names no bundled method."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import fsframe
from fsframe.chains.chain import Chain
from fsframe.errors import RequestError
from fsframe.grammar import (
    StageText,
    format_list,
    format_stages,
    parse_list,
    parse_stage,
    parse_stages,
    quote,
)
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


@pytest.mark.parametrize(
    ("text", "stages"),
    [
        ("immigrate", [("immigrate", {})]),
        ("  im4e:top=200\timmigrate\n", [("im4e", {"top": "200"}), ("immigrate", {})]),
        ("npfs:n=100,alpha=0.05", [("npfs", {"n": "100", "alpha": "0.05"})]),
        ("margin/immigrate:max-iter=5", [("margin/immigrate", {"max_iter": "5"})]),
        ("a-package.margin/immigrate", [("a-package.margin/immigrate", {})]),
        ("keep:names=[größe,'a b',\"c,d\"]", [("keep", {"names": "[größe,'a b',\"c,d\"]"})]),
        ("s:k={a,b c}", [("s", {"k": "{a,b c}"})]),
        ("s:k=a=b", [("s", {"k": "a=b"})]),
        ("s:k=''", [("s", {"k": ""})]),
        ("(mim:top=5 jmi)", [("mim", {"top": "5"}), ("jmi", {})]),
        ("s:k=", [("s", {"k": ""})]),
        ("s:k='it''s'", [("s", {"k": "it's"})]),
        ('s:k="say ""hi"""', [("s", {"k": 'say "hi"'})]),
        (
            "npfs:base=(mim:top=5 npfs:base=(jmi relief:k=3),n=7),n=50 relieff",
            [
                ("npfs", {"base": "mim:top=5 npfs:base=(jmi relief:k=3),n=7", "n": "50"}),
                ("relieff", {}),
            ],
        ),
    ],
)
def test_chains_are_read_stage_by_stage(
    text: str, stages: list[tuple[str, dict[str, str]]]
) -> None:
    result = parse_stages(text)
    assert [(stage.name, stage.params) for stage in result] == stages
    assert parse_stages(format_stages(result)) == result


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "the chain is empty"),
        ("parkinsons.csv", "if it is the table, put `on` before it: on parkinsons.csv"),
        ("in/genes.csv.gz", "put `on` before it: on in/genes.csv.gz"),
        ("5fold", "is not a name"),
        ("im migrate:", "nothing follows the colon"),
        ("mim:5", "is not of the form key=value"),
        ("mim:top=5,", "is not of the form key=value"),
        ("mim:=5", "is not of the form key=value"),
        ("mim:max-iter=1,max_iter=2", "'max_iter' is given twice"),
        ("npfs:base=(mim", "ends before its closing ')'"),
        ("npfs:base=mim)", "unexpected ')' at position 14"),
        ("s:k=[a)", "unexpected ')' at position 7"),
        ("s:k='a", 'ends before its closing "\'"'),
        ("a/b/c", "is not a name"),
        ("mim -> npfs", "only blanks separate stages"),
        ("mim, npfs", "only blanks separate stages"),
        ("mim|npfs", "write mim npfs"),
        ("npfs(mim, jmi)", "write mim jmi npfs"),
        ("mim[top=5]", "write mim:top=5"),
        ("jmi()", "write jmi"),
        ("npfs,n=50", "write npfs:n=50"),
        ("mim top=5", "a parameter follows its stage and a colon: name:top=5"),
        ("mim --top 5", "write it as a parameter of its stage: name:top=value"),
        ("mim:top:5", "write mim:top=5"),
        ("mim:top = 5", "write mim:top=value, without blanks"),
        ("mim:top=5, npfs", "separate parameters by commas and stages by blanks"),
        ("s:k=" + "[" * 21, "nested deeper than 20 at position 25"),
    ],
)
def test_text_outside_the_grammar_is_refused_and_the_place_is_shown(
    text: str, complaint: str
) -> None:
    with pytest.raises(RequestError) as caught:
        parse_stages(text)
    assert complaint in str(caught.value)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("im4e npfs:n=9", r"2 stages in one pair of quotes.*: im4e npfs:…"),
        ("im4e 5fold", "is not a name"),
        ("5fold", "is not a name; a stage is written name or name:key=value,…$"),
        # What the shell may have left of a value with its key.
        ("s:5", "'5' is not of the form key=value; quote the stage"),
        ("s:a.b", r"'a.b' is not of the form key=value; quote"),
        ("s:a+b", r"'a\+b' is not of the form key=value$"),
    ],
)
def test_text_that_is_not_one_stage_is_refused(text: str, complaint: str) -> None:
    with pytest.raises(RequestError, match=complaint):
        parse_stage(text)


@given(st.text(max_size=30))
@example('it\'s "both"')
@example("[a] b]")
@example("[a]'b]")
@example("(a)(b)")
@example("mim:top=5 jmi")
@example("[a],[b]")
def test_any_value_survives_a_stage(value: str) -> None:
    stage = StageText("s", {"k": value, "l": "1"})
    # Blanks around an unquoted group are layout; every other character is kept.
    assert parse_stages(format_stages([stage, stage])) == (stage, stage)


@given(st.lists(st.text(max_size=10)))
@example(["a,b", "", " ", "'", '"', "]", "[", "脳 β"])
def test_any_list_of_texts_survives(items: list[str]) -> None:
    text = format_list(items)
    assert parse_list(text) == items
    assert parse_list(parse_stage(f"s:k={quote(text)}").params["k"]) == items


names = st.from_regex(r"[a-z][a-z0-9]{0,5}(-[a-z0-9]{1,4})?", fullmatch=True)
keys = st.from_regex(r"[a-z][a-z_]{0,6}", fullmatch=True)


def _stages(values: st.SearchStrategy[str]) -> st.SearchStrategy[list[StageText]]:
    params = st.dictionaries(keys, values, max_size=3)
    return st.lists(st.builds(StageText, names, params), min_size=1, max_size=3)


nested = st.recursive(
    st.text(max_size=8), lambda inner: _stages(inner).map(format_stages), max_leaves=6
)


@given(_stages(nested))
def test_text_of_a_chain_reads_back_however_deep_it_nests(stages: list[StageText]) -> None:
    text = format_stages(stages)
    assert parse_stages(text) == tuple(stages)
    assert format_stages(parse_stages(text)) == text


@given(st.text(alphabet="ab:=,()[]{}'\" /-\n", max_size=25))
def test_arbitrary_text_is_read_or_refused_never_worse(text: str) -> None:
    try:
        stages = parse_stages(text)
    except RequestError:
        return
    assert parse_stages(format_stages(stages)) == stages


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("[]", []),
        ("", []),
        ("['a,b']", ["a,b"]),
        ("[[]]", ["[]"]),
        ("[a],[b]", ["[a]", "[b]"]),
        ("()", ["()"]),
    ],
)
def test_a_list_may_be_empty_or_hold_lists(text, items):
    assert parse_list(text) == items


# Entries declare uses and words of the field


CORE = Path(fsframe.__file__).parent

EXCEPTIONS = {
    # The default of a constructor that users see.
    "sklearn/generated.py": {"immigrate", "immigrate margin", "rrelieff knn:k=5"},
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
    result = set()
    registry: Registry
    for registry in (selectors, classifiers, stability_metrics, measures):
        for offer in registry.offers():
            if offer.plugin.source.bundled and not offer.entry.target.startswith("fsframe."):
                result.add(offer.name)
    return result


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
