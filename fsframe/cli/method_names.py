"""Names of methods as an argument of commands."""

from __future__ import annotations

from collections.abc import Iterable

import click
from click.shell_completion import CompletionItem

from fsframe.registry import (
    Offer,
    Registry,
    classifiers,
    measures,
    regressors,
    selectors,
    stability_metrics,
)

__all__ = ["METHODS", "MethodName", "OfferedName", "completions", "listed"]

METHODS: dict[str, Registry] = {
    "Selectors": selectors,
    "Classifiers": classifiers,
    "Regressors": regressors,
    "Stability metrics": stability_metrics,
    "Measures": measures,
}


def listed() -> list[Offer]:
    """Everything on offer, each once: the registry of classifiers has regressors too."""
    return [
        offer
        for registry in METHODS.values()
        for offer in registry.offers()
        if offer.entry.kind == registry.kind
    ]


def completions(offers: Iterable[Offer], incomplete: str) -> list[CompletionItem]:
    """Those of the offers whose names begin so, for the shell."""
    return [
        CompletionItem(offer.name, help=offer.entry.summary)
        for offer in offers
        if offer.name.startswith(incomplete)
    ]


class MethodName(click.ParamType):
    """The name of a method, stability metric or measure; the shell completes it."""

    name = "method"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        return completions(listed(), incomplete)


class OfferedName(click.ParamType):
    """The name of something else that plugins offer, such as a format; the shell completes it."""

    def __init__(self, name: str, registry: Registry) -> None:
        self.name = name
        self._registry = registry

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The name as it was given, once it is known that somebody offers it."""
        self._registry.offer(value)
        return value

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        return completions(self._registry.offers(), incomplete)
