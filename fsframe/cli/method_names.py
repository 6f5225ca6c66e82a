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

METHODS: dict[str, Registry] = {
    "Selectors": selectors,
    "Classifiers": classifiers,
    "Regressors": regressors,
    "Stability metrics": stability_metrics,
    "Measures": measures,
}


def listed() -> list[Offer]:
    """All methods, each once: the registry of classifiers also has regressors."""
    return [
        offer
        for registry in METHODS.values()
        for offer in registry.offers()
        if offer.entry.kind == registry.kind
    ]


def completions(offers: Iterable[Offer], incomplete: str) -> list[CompletionItem]:
    """Shell completions of an incomplete name."""
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
    """The name of another plugin object, such as a format; the shell completes it."""

    def __init__(self, name: str, registry: Registry) -> None:
        self.name = name
        self._registry = registry

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The name unchanged; an error if there is no such object."""
        self._registry.offer(value)
        return value

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        return completions(self._registry.offers(), incomplete)
