"""What each test says of a feature, relevant or needed, and that every screen says it."""

from __future__ import annotations

import attrs
import numpy as np
import pytest

from fsframe import Chain, Dataset
from fsframe.errors import RequestError
from fsframe.method.statement import ADDING, INTERACTING, NEEDED, RELEVANT, RELEVANT_PAIR, Statement
from fsframe.registry import selectors
from fsframe.show.display import result_lines, result_object
from fsframe.show.methods_text import methods_paragraph
from fsframe.show.page import report_page
from fsframe.storage import RunRecord

LEVELS = {"alpha", "level", "false_selections", "correction"}
"""Parameters that only methods with p-values or an error rate have."""

SETTINGS = {"permutations": 99, "stop": "significant"}
"""What makes tests of methods that test by request only."""


def settings_of(name: str) -> dict[str, object]:
    """Of `SETTINGS`, those of a method; permutations of one with a bound are a choice of it."""
    names = {field.name for field in attrs.fields(selectors[name])}
    left_out = {"permutations"} if "bound" in names else set()
    return {key: value for key, value in SETTINGS.items() if key in names - left_out}


def with_levels() -> list[str]:
    """Every installed method that can control an error rate."""
    return [
        offer.name
        for offer in selectors.offers()
        if LEVELS & {field.name for field in attrs.fields(selectors[offer.name])}
    ]


def test_methods_that_can_control_an_error_rate_are_known() -> None:
    assert {"npfs", "cpss", "ipss", "knockoffs", "anova-f", "chi2", "boruta", "interactions",
            "interactions-split", "cox-score", "relieff", "mrmr"} <= set(with_levels())  # fmt: skip


FEW = {"trees": 5, "max_runs": 3}
"""Little work, where a method has such a parameter; `permutations` are those of `SETTINGS`."""


def flat(record: RunRecord) -> str:
    """The screen of a run, in one line."""
    return " ".join(" ".join(result_lines(record, None)).split())


def stated(text: str) -> list[tuple[str, Statement]]:
    return list(Chain.parse(text).statements())


@pytest.mark.parametrize("name", with_levels())
def test_every_method_that_controls_an_error_rate_states_what_it_tests(name: str) -> None:
    method = selectors[name]
    names = {field.name for field in attrs.fields(method)}
    draw = np.random.default_rng(0)
    X, task = draw.normal(size=(60, 4)), sorted(method.tasks)[0]
    y = np.arange(60) % 2 if task == "classification" else draw.exponential(size=60)
    data = Dataset.from_arrays(
        X, y, task=None if task == "survival" else task,
        event=np.ones(60) if task == "survival" else None,
    )  # fmt: skip
    wrapped = "correlation:threshold=1,top=2 " if getattr(method, "wrapping", False) else ""
    few = {key: value for key, value in FEW.items() if key in names}
    few |= {"n": 5, "permutations": 19, "alpha": 0.2} if name == "npfs" else {}
    given = [f"{key}={value}" for key, value in (settings_of(name) | few).items()]
    text = f"{wrapped}{name}{':' if given else ''}{','.join(given)}"
    try:
        record = Chain.parse(text).run(data)
    except RequestError as error:  # Of a family with permutations, but without them itself.
        assert "permutations are not supported" in str(error) and method().statement() is None
        assert result_object(Chain.parse(name).run(data), None)["statements"] == []
        return
    found = result_object(record, None)["statements"]
    said = Chain.parse(record.chain).stages[-1].method.statement()
    assert said is not None and said.kind in ("marginal", "conditional")
    stated_of = [(one["stage"], one["kind"], one["word"]) for one in found]
    assert stated_of == [(name, said.kind, said.word)]
    assert all(one["sentence"] in flat(record) for one in found)


@pytest.mark.parametrize(
    ("chain", "expected"),
    [
        ("anova-f:alpha=0.05", [("anova-f", RELEVANT)]),
        ("mim:top=20 immigrate npfs", [("npfs", RELEVANT)]),
        ("immigrate npfs:of=pairs", [("npfs", RELEVANT_PAIR)]),
        ("lasso:top=4 cpss", [("cpss", NEEDED)]),
        ("mim:top=4 cpss", [("cpss", RELEVANT)]),
        ("cpss:base=(anova-f elastic-net:top=4)", [("cpss", NEEDED)]),
        ("lasso:top=9 ipss", [("ipss", NEEDED)]),
        ("relieff ipss", [("ipss", RELEVANT)]),
        ("importance ipss", [("ipss", RELEVANT)]),  # Copies share the importance of a cause.
        ("correlation:threshold=1 knockoffs", [("knockoffs", NEEDED)]),
        ("boruta interactions", [("boruta", RELEVANT), ("interactions", INTERACTING)]),
        ("relieff:permutations=99", [("relieff", RELEVANT)]),
        ("relieff", []),
        ("jmi:stop=significant", [("jmi", ADDING)]),
        ("jmi lasso", []),
        ("anova-f ensemble", []),
    ],
)
def test_what_is_stated_depends_on_the_test_and_on_what_it_resamples(
    chain: str, expected: list[tuple[str, Statement]]
) -> None:
    assert stated(chain) == expected


@pytest.mark.parametrize(
    ("chain", "adjust", "sentence"),
    [
        (
            "lasso:top=2 cpss:pairs=5",
            None,
            "cpss tests whether a feature is needed (conditional): whether it carries information "
            "about the label beyond all other features.",
        ),
        (
            "anova-f",
            "age",
            "anova-f tests whether a feature is relevant (marginal): whether it carries "
            "information about the label, even if other features carry the same, given age.",
        ),
        ("mim:top=2", None, ""),
    ],
)
def test_screen_report_and_methods_text_say_it(
    chain: str, adjust: str | None, sentence: str
) -> None:
    X, y = np.random.default_rng(0).normal(size=(60, 4)), np.arange(60) % 2
    data = Dataset.from_arrays(X, y, ["a", "b", "c", "age"])
    record = Chain.parse(chain).run(data.with_roles(adjust=adjust) if adjust else data)
    screen = flat(record)
    shown = result_object(record, None)["statements"]
    assert [one["sentence"] for one in shown] == [sentence] * bool(sentence)
    for text in (screen, report_page(record), methods_paragraph(record)):
        assert (sentence in text) if sentence else " tests whether " not in text


@pytest.mark.parametrize(("chain", "tests"), [("anova-f", False), ("anova-f:alpha=0.5", True)])
def test_a_ranking_of_rows_that_belong_together_tests_nothing(chain: str, tests: bool) -> None:
    draw = np.random.default_rng(0)
    people = np.repeat(np.arange(15), 4)
    data = Dataset.from_arrays(draw.normal(size=(60, 4)), people % 2, groups=people)
    record = Chain.parse(chain).run(data)
    assert ("tests whether" in flat(record)) == tests
    assert bool(result_object(record, None)["statements"]) == tests
    assert ("p_values" in record.stages[0].selection.tables) == tests  # type: ignore[union-attr]
