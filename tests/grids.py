"""Grids of tests: what every run goes through, and what only ``pytest -m slow`` does."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Sequence
from typing import Any

import pytest
from hypothesis import settings

MOST_EXAMPLES = 60
"""How many examples of a property are tried with ``pytest -m slow``, unless it says otherwise."""
FEW_EXAMPLES, LEAST_EXAMPLES = 20, 10
"""How many are tried in every run, and how many at least of a property that says otherwise."""


def examples(most: int, least: int = LEAST_EXAMPLES) -> settings:
    """So many examples of a property with ``pytest -m slow``; in every run fewer, in proportion."""
    share = most * settings().max_examples // MOST_EXAMPLES
    return settings(max_examples=max(share, min(most, least)))


def slow(*values: Any) -> Any:
    """Parameters of a test that is marked slow."""
    return pytest.param(*values, marks=pytest.mark.slow)


def shortened(values: Sequence[Any], kept: Collection[Any]) -> list[Any]:
    """These parameters, tuples where a test has several; those not kept are marked slow."""
    unknown = [value for value in kept if value not in values]
    assert not unknown, f"kept, but not among the values: {unknown}"
    return [
        value if value in kept else slow(*(value if isinstance(value, tuple) else (value,)))
        for value in values
    ]


def diagonal(*axes: Sequence[Any], width: int = 1) -> list[Any]:
    """Every combination of these values, as parameters; those off a diagonal are marked slow.

    Of the last axis, the diagonal meets `width` values for each value of the longest one; every
    value of each axis is on it.
    """
    longest = max(map(len, axes))
    *others, last = (len(axis) for axis in axes)
    kept = {
        (*(step % length for length in others), (step + more) % last)
        for step in range(longest)
        for more in range(width)
    }

    def parameters(places: tuple[int, ...]) -> Any:
        values = tuple(axis[place] for axis, place in zip(axes, places, strict=True))
        return values if places in kept else slow(*values)

    return [parameters(places) for places in itertools.product(*map(range, map(len, axes)))]
