"""Parameters: one declaration read by constructor, command line, store and help."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fsframe
from fsframe.errors import RequestError
from fsframe.params import (
    Kind,
    Parameterised,
    choice,
    count_or_fraction,
    either,
    flag,
    format_value,
    integer,
    listing,
    optional,
    param,
    real,
    stages,
    text,
)

finite = st.floats(allow_nan=False, allow_infinity=False)
words = st.text(max_size=12)

# Kinds with values they take, for the law that text reads back as the same value.
KINDS: dict[str, tuple[Kind, st.SearchStrategy[Any]]] = {
    "real": (real(), finite),
    "positive": (real(above=0), st.floats(min_value=5e-324, max_value=1e308)),
    "integer": (integer(), st.integers(-(10**40), 10**40)),
    "flag": (flag(), st.booleans()),
    "choice": (choice("a", "b-c", "none"), st.sampled_from(["a", "b-c", "none"])),
    "text": (text(), words),
    "optional": (optional(real()), st.none() | finite),
    "either": (either(real(above=0), choice("cv")), st.just("cv") | st.floats(1e-9, 1e9)),
    "count or fraction": (
        count_or_fraction(),
        st.integers(1, 10**12) | st.floats(min_value=1e-300, max_value=1.0, exclude_min=True),
    ),
    "texts": (listing(text()), st.lists(words).map(tuple)),
    "numbers": (listing(real()), st.lists(finite).map(tuple)),
    "lists of texts": (listing(listing(text())), st.lists(st.lists(words).map(tuple)).map(tuple)),
    "optional texts": (listing(optional(text())), st.lists(st.none() | words).map(tuple)),
}


@pytest.mark.parametrize("name", KINDS)
@given(data=st.data())
def test_text_of_a_value_reads_back_as_the_value(name: str, data: st.DataObject) -> None:
    kind, values = KINDS[name]
    value = kind.convert(data.draw(values))
    for back in (kind.parse(format_value(value)), kind.convert(value)):
        assert back == value and type(back) is type(value)


@pytest.mark.parametrize(
    ("read", "given", "expected"),
    [
        (integer().convert, 3.0, 3),
        (integer().convert, np.int32(7), 7),
        (integer().convert, np.float64(7), 7),
        (integer().convert, 2**60 + 1, 2**60 + 1),
        (integer().convert, 10**400, 10**400),
        (real().convert, 3, 3.0),
        (real().convert, Fraction(1, 4), 0.25),
        (real().convert, np.float32(0.5), 0.5),
        (real(0, 1).convert, 1, 1.0),
        (flag().convert, np.True_, True),
        (text().convert, np.str_("a"), "a"),
        (optional(integer()).convert, None, None),
        (optional(integer()).convert, "none", None),
        (listing(integer()).convert, np.array([1, 2]), (1, 2)),
        (listing(integer()).convert, iter([1, 2]), (1, 2)),
        (count_or_fraction().convert, 1, 1),
        (count_or_fraction().convert, 1.0, 1.0),
        (count_or_fraction().convert, 5.0, 5),
        (stages().convert, "  mim:top=5    jmi ", "mim:top=5 jmi"),
        (real().parse, " 1e-3 ", 0.001),
        (integer().parse, "+4", 4),
        (integer().parse, "1e3", 1000),
        (integer().parse, str(2**60 + 1), 2**60 + 1),
        (flag().parse, "Yes", True),
        (flag().parse, "off", False),
        (optional(real()).parse, "None", None),
        (count_or_fraction().parse, "25%", 0.25),
        (count_or_fraction().parse, "100%", 1.0),
        (count_or_fraction().parse, "3", 3),
        (listing(text()).parse, "[a, b]", ("a", "b")),
        (listing(text()).parse, "[' a']", (" a",)),
        (listing(listing(integer())).parse, "[[1,2],[]]", ((1, 2), ())),
        (listing(text()).parse, "[größe,βγ,脳]", ("größe", "βγ", "脳")),
    ],
)
def test_values_without_loss_are_taken_and_text_is_read_as_people_write_it(read, given, expected):
    data = read(given)
    assert data == expected and type(data) is type(expected)


@pytest.mark.parametrize(
    ("read", "given"),
    [
        (integer().convert, 3.9),
        (integer().convert, True),
        (integer().convert, "3"),
        (integer().convert, math.inf),
        (integer(1).convert, 0),
        (integer(most=5).convert, 6),
        (integer().convert, 1 + 0j),
        (real().convert, math.nan),
        (real().convert, math.inf),
        (real().convert, False),
        (real().convert, 10**400),
        (real(above=0).convert, 0),
        (real(below=1).convert, 1.0),
        (real().convert, None),
        (flag().convert, 1),
        (flag().convert, "true"),
        (choice("a").convert, "A"),
        (text().convert, 5),
        (listing(integer()).convert, "12"),
        (listing(integer()).convert, 12),
        (listing(integer()).convert, [1, 2.5]),
        (listing(integer(), least=2).convert, [1]),
        (count_or_fraction().convert, 0),
        (count_or_fraction().convert, 1.5),
        (count_or_fraction().convert, -0.5),
        (count_or_fraction().convert, math.nan),
        (count_or_fraction().convert, True),
        (stages().convert, "not a:chain"),
        (either(integer(), flag()).convert, "x"),
        (real().parse, "one"),
        (real().parse, "nan"),
        (real().parse, "1e999"),
        (real().parse, ""),
        (integer().parse, "3.9"),
        (integer().parse, "--3"),
        (integer().parse, "²"),
        (integer().parse, "inf"),
        (flag().parse, "maybe"),
        (choice("a", "b").parse, "c"),
        (count_or_fraction().parse, "0%"),
        (count_or_fraction().parse, "150%"),
        (count_or_fraction().parse, "1.5"),
        (listing(integer()).parse, "[1,x]"),
        (listing(text()).parse, "['a"),
        (listing(text()).parse, "[a"),
    ],
)
def test_lossy_or_foreign_values_and_unreadable_text_are_refused_with_the_rule(read, given):
    with pytest.raises(ValueError, match="must be"):
        read(given)


def test_rules_are_said_in_plain_numbers_with_suggestions() -> None:
    assert integer(1, 1_000_000).describe() == "a whole number ≥ 1 and ≤ 1000000"
    assert real(above=0, below=0.5).describe() == "a number > 0 and < 0.5"
    with pytest.raises(ValueError, match="Did you mean `permutation`"):
        choice("permutation", "shards").convert("permutaton")


@attrs.frozen(kw_only=True)
class Common(Parameterised):
    top: int | None = param(None, optional(integer(1)), help="How many.")


@attrs.frozen(kw_only=True)
class TestedMethod(Common):
    __test__ = False
    sigma: float = param(1.0, real(above=0), help="Width.", symbol="σ", source="eq. 1")
    low: int = param(0, integer(0))
    high: int = param(10, integer(0))
    names: tuple[str, ...] = param((), listing(text()))
    share: int | float = param(1.0, count_or_fraction())

    def check_parameters(self) -> Iterator[str]:
        if self.low > self.high:
            yield f"low={self.low} is above high={self.high}"


@attrs.frozen(kw_only=True)
class NeedsOne(Parameterised):
    k_max: int = param(kind=integer(1))


@pytest.mark.parametrize(
    ("make", "parts"),
    [
        (
            lambda: TestedMethod(sigma=-1, low=2.5, top=0),
            ["tested-method: ", "sigma must be a number > 0, not -1", "low must be", "not 2.5",
             "top must be"],
        ),
        (
            lambda: TestedMethod.from_texts({"sigm": "1", "low": "x", "high": "-3"}),
            ["no parameter 'sigm'. Did you mean `sigma`?",
             "low must be a whole number ≥ 0, not 'x'",
             "high must be a whole number ≥ 0, not '-3'"],
        ),
        (
            lambda: TestedMethod.from_texts({"qqqq": "1", "xxxx": "2"}),
            ["no parameter 'qqqq'; no parameter 'xxxx'; it has sigma"],
        ),
        # Where each value is sound.
        (lambda: TestedMethod(low=5, high=1), ["low=5 is above high=1"]),
    ],
    ids=["values", "names and texts", "several names", "a rule across parameters"],
)  # fmt: skip
def test_all_that_is_refused_is_reported_at_once(make: Any, parts: list[str]) -> None:
    with pytest.raises(RequestError) as caught:
        make()
    message = str(caught.value)
    assert all(part in message for part in parts), message
    assert message.count("it has") <= 1


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("n_features_to_select", ". Did you mean `top`?"),
        ("random_state", ": --seed applies to the whole run"),
        ("seed", ": --seed applies to the whole run"),
        ("n_jobs", ": --workers applies to the whole run"),
    ],
)
def test_a_word_of_another_package_is_answered_with_ours(word: str, hint: str) -> None:
    with pytest.raises(RequestError, match=re.escape(f"no parameter {word!r}{hint}") + "$"):
        TestedMethod.from_texts({word: "1"})


def test_a_required_parameter_is_asked_for_once_and_hyphens_do_not_matter() -> None:
    assert NeedsOne.from_texts({"k-max": "3"}) == NeedsOne(k_max=3)
    with pytest.raises(RequestError, match="k_max is required") as caught:
        NeedsOne.from_texts({})
    assert str(caught.value).count("k_max") == 1
    with pytest.raises(RequestError) as refused:
        NeedsOne.from_texts({"k-max": "0"})
    assert "required" not in str(refused.value)


def test_own_parameters_are_listed_before_the_common_ones() -> None:
    names = [p.name for p in TestedMethod.parameters()]
    assert names == ["sigma", "low", "high", "names", "share", "top"]


def test_only_what_differs_from_the_default_is_a_change() -> None:
    assert TestedMethod().changed() == {} == TestedMethod(sigma=1, names=[]).changed()
    assert TestedMethod(sigma=2, names=["a"]).changed() == {"sigma": 2.0, "names": ("a",)}
    # A count of one differs from a fraction of one.
    changed = TestedMethod(share=1).changed()
    assert changed == {"share": 1} and type(changed["share"]) is int


def test_a_default_outside_its_own_kind_is_refused_where_it_is_declared() -> None:
    with pytest.raises(ValueError, match=r"'sigma' of .*Wrong: the default 0 must be a number > 0"):

        @attrs.frozen(kw_only=True)
        class Wrong(Parameterised):
            sigma: float = param(0, real(above=0))


@given(st.floats(1e-9, 1e9), st.lists(words).map(tuple), st.none() | st.integers(1, 99))
def test_an_object_is_rebuilt_from_its_changed_parameters_as_text(
    sigma: float, names: tuple[str, ...], top: int | None
) -> None:
    method = TestedMethod(sigma=sigma, names=names, top=top)
    texts = {name: format_value(value) for name, value in method.changed().items()}
    assert TestedMethod.from_texts(texts) == method


def test_programs_give_percentages_and_options_as_they_are_written() -> None:
    assert fsframe.selectors["mim"](top="10%").top == 0.1
    given = fsframe.selectors["importance"](options={"max_depth": 3})
    assert given == fsframe.selectors["importance"](options='{"max_depth": 3}')
    with pytest.raises(
        RequestError, match=r"options must be a JSON object: .*not JSON serializable"
    ):
        fsframe.selectors["boruta"](options={"max_depth": object()})
    with pytest.raises(RequestError, match="top must be a count"):
        fsframe.selectors["mim"](top="200%")
