"""The text of a chain: hand cases, damage, and the law that text reads back."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

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
    found = parse_stages(text)
    assert [(stage.name, stage.params) for stage in found] == stages
    assert parse_stages(format_stages(found)) == found


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
