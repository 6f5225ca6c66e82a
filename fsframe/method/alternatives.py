"""Alternatives named in error messages: methods for a task, or for missing values."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from fsframe.errors import PluginError
from fsframe.registry import Offer, Registry, classifiers, selectors

__all__ = ["selectors_for", "ways_with_missing"]


def _bundled(registry: Registry) -> Iterator[tuple[Offer, type[Any]]]:
    """The bundled methods; those of other plugins are not imported for a message."""
    for offer in registry.offers():
        if offer.plugin.source.distribution == "fsframe":
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
