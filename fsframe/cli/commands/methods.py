"""List the available methods, or explain one."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import click

from fsframe.cli.options import METHODS, MethodName, listed
from fsframe.cli.stages import stage_help
from fsframe.cli.terminal import json_option, say_json, say_lines
from fsframe.registry import Offer, Registry, classifiers, find_offer, selectors
from fsframe.text import table_lines


@click.command()
@click.argument("name", required=False, type=MethodName())
@json_option
def methods(name: str | None, as_json: bool) -> None:
    """List the available methods, or explain one with its parameters.

    \b
    Example:
      fsframe methods
      fsframe methods immigrate
    """
    if name is not None:
        offer, registry = _find(name)
        if as_json:
            say_json(_explained(offer, registry))
        else:
            say_lines(_explain(offer, registry))
    elif as_json:
        say_json({"methods": [_object(offer) for offer in listed()]})
    else:
        say_lines(_listing())


def _object(offer: Offer) -> dict[str, Any]:
    entry = offer.entry
    return {
        "name": offer.name,
        "kind": entry.kind,
        "family": getattr(entry, "family", None),
        "summary": entry.summary,
        "gives": sorted(getattr(entry, "gives", ())),
        "reference": entry.reference,
        "requires": list(entry.requires),
        "aliases": list(entry.aliases),
        "deprecated": None if entry.deprecated is None else entry.deprecated.words(offer.name),
        "provider": offer.provider,
        "version": offer.version,
    }


def _listing() -> Iterator[str]:
    for title, registry in METHODS.items():
        families: dict[str, list[Offer]] = {}
        for offer in (offer for offer in listed() if offer.entry.kind == registry.kind):
            families.setdefault(getattr(offer.entry, "family", ""), []).append(offer)
        for family, offers in sorted(families.items()):
            yield f"{title}: {family}" if family else title
            rows = [[o.name, o.entry.summary, f"{o.provider} {o.version}"] for o in offers]
            yield from (f"  {line}" for line in list(table_lines(["", "", ""], rows))[1:])
            yield ""
    yield "`fsframe methods NAME` explains one; `fsframe plugins` says where they come from."


def _find(name: str) -> tuple[Offer, Registry]:
    in_chains = (selectors, classifiers)
    if any(registry.matching(name) for registry in in_chains):
        registry, offer = find_offer(name, *in_chains)
    else:
        registry, offer = find_offer(name, *METHODS.values())
    return offer, registry


def _explained(offer: Offer, registry: Registry) -> dict[str, Any]:
    method = registry[offer.name]
    parameters = [
        {
            "name": p.name,
            "help": p.help,
            "values": p.kind.describe(),
            "default": None if p.required else p.default,
            "symbol": p.symbol,
            "source": p.source,
        }
        for p in method.parameters()
    ]
    return {**_object(offer), "parameters": parameters, "doc": inspect.getdoc(method) or ""}


def _headed(title: str, texts: list[str]) -> Iterator[str]:
    """One line a text, the first one after a title."""
    return (f"{'' if place else title:<10} {text}" for place, text in enumerate(texts))


def _explain(offer: Offer, registry: Registry) -> list[str]:
    entry = offer.entry
    method = registry[offer.name]
    lines = [f"{offer.name}: {entry.summary}", ""]
    lines.append(f"kind       {entry.kind}")
    if entry.reference:
        lines += _headed("source", entry.reference.split("; "))
    lines.append(f"plugin     {offer.provider} {offer.version} ({entry.target})")
    if entry.aliases:
        lines.append(f"also       {', '.join(entry.aliases)}")
    if entry.deprecated is not None:
        lines.append(f"note       {entry.deprecated.words(offer.name)}")
    gives = sorted(getattr(entry, "gives", ()))
    if gives:
        lines.append(f"gives      {', '.join(gives)}")
    for label, attribute, yes, no in (
        ("missing", "takes_missing", "missing values are accepted", "missing values are refused"),
        ("counts", "takes_counts", "bootstraps as counts of rows", "bootstraps as copies of rows"),
    ):
        if hasattr(method, attribute):
            lines.append(f"{label:<10} {yes if getattr(method, attribute) else no}")
    if hasattr(method, "tasks"):
        lines.append(f"tasks      {', '.join(sorted(method.tasks))}")
    parameters = method.parameters()
    lines += ["", "Parameters:" if parameters else "No parameters."]
    for parameter in parameters:
        lines.append(f"  {parameter.name}")
        lines.append(f"      {stage_help(parameter)}")
    # Indented, so that a plugin's text cannot imitate our lines.
    doc = (inspect.getdoc(method) or "").split("\n")
    lines += ["", *(f"  {line}".rstrip(" ") for line in doc)]
    return lines
