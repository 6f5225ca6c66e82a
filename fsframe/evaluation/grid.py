"""Chains with sets of parameter values: ``immigrate:sigma={4,2,1}`` stands for three chains."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise, product
from math import prod

import attrs

from fsframe.chains.chain import Chain
from fsframe.errors import FsframeError, GatheredErrors, RequestError
from fsframe.grammar import StageText, format_stages, parse_list, parse_stages
from fsframe.registry import classifiers, default_names, find_offer, selectors

_MOST = 1000
_MOST_CHARACTERS = 4_000_000


def default_classifier() -> str:
    """The name of the classifier for chains without one; empty if its plugin is not loaded."""
    return next(iter(default_names(classifiers)), "")


def ends_with_classifier(text: str) -> bool:
    """Whether a chain ends with a classifier or regressor; false if its plugin is not installed."""
    try:
        return find_offer(parse_stages(text)[-1].name, selectors, classifiers)[0] is classifiers
    except FsframeError:
        return False


@attrs.frozen
class ChainGrid:
    """The chains that a text with sets stands for, in the order of the sets.

    Parameters
    ----------
    text : str
        Canonical text, with the sets.
    chains : tuple of Chain
        Every combination, the last set varying fastest.
    """

    text: str
    chains: tuple[Chain, ...]

    @classmethod
    def parse(cls, text: str) -> ChainGrid:
        """The grid of a chain's text; a text without sets is a grid of one.

        Raises
        ------
        RequestError
            Listing every invalid value, or if there are too many combinations.
        PluginError
            As `Chain.parse`.

        Examples
        --------
        >>> [str(chain) for chain in ChainGrid.parse("mim:top={1,2} npfs:n={5,9}").chains]
        ['mim:top=1 npfs:n=5', 'mim:top=1 npfs:n=9', 'mim:top=2 npfs:n=5', 'mim:top=2 npfs:n=9']
        """
        stages = parse_stages(text)
        variants = _variants(stages, text)
        chains: list[Chain] = []
        errors = GatheredErrors()
        for variant in variants:
            with errors:
                chains.append(Chain.from_texts(variant))
        errors.end()
        return cls(format_stages(stages), tuple(chains))

    def __len__(self) -> int:
        return len(self.chains)


def grid_texts(text: str) -> list[str]:
    """The chains that `text` stands for, as text, in the order of `ChainGrid.parse`.

    Nothing is looked up or built: the chain may come from a file.

    Raises
    ------
    RequestError
        If the text does not follow the grammar, or stands for too many chains.

    Examples
    --------
    >>> grid_texts("mim:top={1,2} nobody:at=home")
    ['mim:top=1 nobody:at=home', 'mim:top=2 nobody:at=home']
    """
    return [format_stages(variant) for variant in _variants(parse_stages(text), text)]


def spelled_out(text: str) -> list[str]:
    """`text` with every set in braces expanded, as a shell does if it is not quoted.

    Parameters
    ----------
    text : str
        Such as ``{mim,jmi}:top={5,10}``. Sets nest; a pair of braces without a comma, and a JSON
        object, are left as they are.

    Raises
    ------
    RequestError
        If there are too many combinations.

    Examples
    --------
    >>> spelled_out("{mim,jmi}:top={5,10}")
    ['mim:top=5', 'mim:top=10', 'jmi:top=5', 'jmi:top=10']
    >>> spelled_out("sklearn:options={}"), spelled_out("knn")
    (['sklearn:options={}'], ['knn'])
    """
    texts = _spelled_out(text, 0)
    return list(dict.fromkeys(texts))


def _spelled_out(text: str, start: int) -> list[str]:
    for opening in range(start, len(text)):
        if text[opening] != "{":
            continue
        closing, commas = _closing(text, opening)
        if closing < 0 or not commas or _is_json(text[opening : closing + 1]):
            continue
        places = [opening, *commas, closing]
        members = [text[a + 1 : b] for a, b in pairwise(places)]
        texts: list[str] = []
        for member in members:
            expanded = text[:opening] + member.strip() + text[closing + 1 :]
            texts += _spelled_out(expanded, opening)
            if len(texts) > _MOST:
                raise RequestError(f"the sets in `{text[:200]}` make more than {_MOST} chains")
        return texts
    return [text]


def _closing(text: str, opening: int) -> tuple[int, list[int]]:
    """The place where the brace at `opening` closes, −1 if nowhere, and the commas at its level."""
    depth = 0
    commas: list[int] = []
    for place in range(opening, len(text)):
        character = text[place]
        if character in "{[(":
            depth += 1
        elif character in "}])":
            depth -= 1
            if not depth:
                return place, commas
        elif character == "," and depth == 1:
            commas.append(place)
    return -1, commas


def combined(selectors: Sequence[str], classifiers: Sequence[str]) -> list[str]:
    """Every chain of selectors with every classifier, sets in braces expanded.

    Parameters
    ----------
    selectors : sequence of str
        Chains without a classifier, such as ``"{mim,jmi}:top={5,10}"``.
    classifiers : sequence of str

    Raises
    ------
    RequestError
        If one of them is empty, or there are too many combinations.

    Examples
    --------
    >>> combined(["{mim,jmi}:top=5"], ["knn", "margin"])
    ['mim:top=5 knn', 'mim:top=5 margin', 'jmi:top=5 knn', 'jmi:top=5 margin']
    """
    left = [each for text in selectors for each in spelled_out(text)]
    right = [each for text in classifiers for each in spelled_out(text)]
    if not left or not right:
        raise RequestError(
            "a grid has selectors before the `x` and classifiers after it: "
            "{mim,jmi}:top={5,10} x knn margin"
        )
    if len(left) * len(right) > _MOST:
        raise RequestError(f"{len(left)} × {len(right)} chains are more than the {_MOST} allowed")
    return list(dict.fromkeys(f"{one} {other}" for one in left for other in right))


def _variants(stages: tuple[StageText, ...], text: str) -> list[tuple[StageText, ...]]:
    """Every combination, counted before any is made: five sets of sixty would make 8·10⁸."""
    values = [
        [_values(stage.name, key, value) for key, value in stage.params.items()] for stage in stages
    ]
    count = prod(len(members) for of_stage in values for members in of_stage)
    if count > _MOST or count * len(text) > _MOST_CHARACTERS:
        shown = text if len(text) <= 200 else f"{text[:200]}…"
        raise RequestError(
            f"the sets in `{shown}` make {count} combinations, more than "
            f"{min(_MOST, _MOST_CHARACTERS // max(1, len(text)))}; leave some values out"
        )
    per_stage = [
        [
            StageText(stage.name, dict(zip(stage.params, combination, strict=True)))
            for combination in product(*of_stage)
        ]
        for stage, of_stage in zip(stages, values, strict=True)
    ]
    return [tuple(combination) for combination in product(*per_stage)]


def _values(stage: str, key: str, value: str) -> list[str]:
    """The values that `value` stands for: a set's members, a nested chain's variants, or itself."""
    if value.startswith("{") and value.endswith("}"):
        if _is_json(value):
            return [value]
        members = [member.strip() for member in parse_list(value[1:-1])]
        if not members or "" in members:
            raise RequestError(f"{stage}: {key}={value} is not a set of values such as {{4,2,1}}")
        return list(dict.fromkeys(members))
    if "{" not in value:
        return [value]
    try:
        inner = parse_stages(value)
    except RequestError:
        # Not a chain: a list or a text that contains a brace, to be checked by the parameter.
        return [value]
    return [format_stages(variant) for variant in _variants(inner, value)]


def _is_json(value: str) -> bool:
    """Whether a value is a JSON object, such as an estimator's options, and not a set."""
    try:
        return isinstance(json.loads(value), dict)
    except ValueError:
        return False
