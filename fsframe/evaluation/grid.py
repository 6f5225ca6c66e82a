"""Chains with sets of parameter values: ``immigrate:sigma={4,2,1}`` stands for three chains."""

from __future__ import annotations

import json
from itertools import product

import attrs

from fsframe.chain import Chain
from fsframe.errors import FsframeError, RequestError
from fsframe.grammar import StageText, format_stages, parse_list, parse_stages

__all__ = ["ChainGrid"]

_MOST = 1000


@attrs.frozen
class ChainGrid:
    """The chains that a text with sets stands for, in the order in which the sets are written.

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
            Naming every value that is refused, or that there are too many combinations.
        PluginError
            As `Chain.parse`.

        Examples
        --------
        >>> [str(chain) for chain in ChainGrid.parse("mim:top={1,2} npfs:n={5,9}").chains]
        ['mim:top=1 npfs:n=5', 'mim:top=1 npfs:n=9', 'mim:top=2 npfs:n=5', 'mim:top=2 npfs:n=9']
        """
        stages = parse_stages(text)
        variants = _variants(stages)
        if len(variants) > _MOST:
            raise RequestError(
                f"the sets in `{text}` make {len(variants)} combinations, more than {_MOST}; "
                "leave some values out"
            )
        chains: list[Chain] = []
        problems: dict[str, None] = {}
        failure: FsframeError | None = None
        for variant in variants:
            try:
                chains.append(Chain.from_texts(variant))
            except FsframeError as error:
                failure = error
                problems.update(dict.fromkeys(str(error).split("\n")))
        if failure is not None:
            raise type(failure)("\n".join(problems))
        return cls(format_stages(stages), tuple(chains))

    def __len__(self) -> int:
        return len(self.chains)


def _variants(stages: tuple[StageText, ...]) -> list[tuple[StageText, ...]]:
    per_stage = []
    for stage in stages:
        values = [_values(stage.name, key, value) for key, value in stage.params.items()]
        per_stage.append(
            [
                StageText(stage.name, dict(zip(stage.params, combination, strict=True)))
                for combination in product(*values)
            ]
        )
    return [tuple(combination) for combination in product(*per_stage)]


def _values(stage: str, key: str, value: str) -> list[str]:
    """The values of one parameter: of a set, of a chain with sets inside, or itself."""
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
        # Not a chain: a list or a text with a brace in it, which the parameter's kind judges.
        return [value]
    return [format_stages(variant) for variant in _variants(inner)]


def _is_json(value: str) -> bool:
    """Whether this is a JSON object, such as an estimator's options: one value, not a set."""
    try:
        return isinstance(json.loads(value), dict)
    except ValueError:
        return False
