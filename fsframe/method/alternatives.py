"""Alternatives named in error messages: methods for a task, or for missing values."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from fsframe.errors import PluginError
from fsframe.registry import Offer, Registry, classifiers, selectors
from fsframe.showing import some_of
from fsframe.table.dataset import Dataset

__all__ = [
    "nominal_problems",
    "selectors_for",
    "selectors_that",
    "ways_with_missing",
    "weights_in_parts",
]

_NAMED = 6


def _bundled_offers(registry: Registry) -> Iterator[Offer]:
    """Bundled methods only; those of other plugins are not imported for a message."""
    return (offer for offer in registry.offers() if offer.plugin.source.bundled)


def _bundled(registry: Registry) -> Iterator[tuple[Offer, type[Any]]]:
    """The bundled methods with their classes."""
    for offer in _bundled_offers(registry):
        with contextlib.suppress(PluginError):
            yield offer, registry[offer.name]


def selectors_for(task: str) -> str:
    """The selectors for a task, as the end of a message."""
    named = [
        o.name
        for o, m in _bundled(selectors)
        if task in m.tasks and not m.wrapping and m.univariate
    ]
    return f". {', '.join(named)} and others do (`fsframe methods`)" if named else ""


def selectors_that(does: Callable[[Any], bool], *, wrapping: bool = False) -> str:
    """The first bundled selectors with a property, as a list for a message.

    Those that ``fsframe inspect`` proposes come first.

    Parameters
    ----------
    does : callable
        Whether a selector with its default parameters has the property.
    wrapping : bool
        Stages that resample others, instead of selectors that do not.
    """
    named: list[str] = []
    for offer in sorted(_bundled_offers(selectors), key=_place):
        if len(named) > _NAMED:
            # Others are not imported for a message.
            break
        if offer.entry.wraps != wrapping:  # type: ignore[attr-defined]
            continue
        with contextlib.suppress(PluginError):
            method = selectors[offer.name]
            if not any(p.required for p in method.parameters()) and does(method()):
                named.append(offer.name)
    return ", ".join(named[:_NAMED]) + (", …" if len(named) > _NAMED else "")


def _place(offer: Offer) -> tuple[float, str]:
    return getattr(offer.entry, "proposed", 0) or math.inf, offer.name


def nominal_problems(name: str, takes_nominal: bool, data: Dataset) -> Iterator[str]:
    """Why the method `name` refuses the nominal columns of `data`, if it does.

    Yields
    ------
    str
        One sentence with the columns, and what to do.
    """
    places = () if takes_nominal else np.flatnonzero(data.categorical)
    if len(places):
        named = some_of([repr(data.feature_names[place]) for place in places])
        hold = "holds" if len(places) == 1 else "hold"
        others = selectors_that(lambda method: bool(method.takes_nominal))
        yield (
            f"{name} needs numeric columns, and {named} {hold} categories: encode them as "
            "indicator columns (--encode onehot, encode='onehot'), leave them out (--drop), or "
            f"use a method that accepts them ({others})"
        )


def weights_in_parts(name: str, weights: str) -> str:
    """Why the method `name` does not support row weights of a table in parts, and what to do."""
    others = selectors_that(lambda method: bool(method.takes_weighted_parts))
    return (
        f"{name} does not support row weights ({weights!r}) of a table in parts; methods that sum "
        f"over rows do ({others}). Leave the weights out (--drop "
        f"{weights}), or read the table into memory, as fsframe.read(polars.read_parquet(…))"
    )


def _classifiers_with_missing(task: str) -> Iterator[str]:
    """The bundled classifiers and regressors that accept missing values."""
    for offer, method in _bundled(classifiers):
        # One with required parameters depends on them.
        if any(parameter.required for parameter in method.parameters()):
            continue
        if method().missing_taken() and task in method().predicts():
            yield offer.name


def ways_with_missing(name: str, task: str, *, classifier: bool = False) -> str:
    """What to do if a selector or a classifier does not accept missing values, for a message."""
    fill, take = [], list(_classifiers_with_missing(task)) if classifier else []
    for offer, method in _bundled(selectors):
        if "fill" in getattr(offer.entry, "gives", ()):
            fill.append(offer.name)
        elif classifier or method.wrapping:
            continue
        elif method.takes_missing and task in method.tasks:
            take.append(offer.name)
    ways = [f"fill them in every resample by a stage before it (`{f} {name}`)" for f in fill[:1]]
    ways += [f"drop them, or use a method that accepts them: {', '.join(take)}"] if take else []
    return "; ".join(ways) or "drop or fill them"
