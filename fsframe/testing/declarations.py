"""Conformance classes for the offers of plugins, with what a plugin declares about them.

A plugin may have a module ``conformance`` in the package of its methods, or in one above::

    EXCEPTIONS = {"variance": {"scale_changes_nothing": "the variance depends on the unit"}}
    TRIED_AS = {"my-ensemble": "my-ensemble:base=mim,n=10"}
    TRIED_AFTER = {"my-classifier": "immigrate"}
    WRITES = {"my-format": write}
    ENDINGS = {"my-format": ".mine"}
    ARGUMENTS = {"my-command": arguments}

Exceptions under ``"*"`` apply to all methods of the package.
`TRIED_AS` is the stage to test if the defaults do not suffice. A wrapping stage without a base is
tested with `fsframe.testing.selectors.BASE`.
`TRIED_AFTER` is the stage that a classifier or regressor needs on its left.
`WRITES` has, for a reader, a function ``write(path, columns)`` that makes a file to read
(`ReaderConformance.write`), and `ENDINGS` the ending of these files, if it is not the first one of
the entry.
`ARGUMENTS` has, for a command, a function that writes what it needs into a folder and returns the
arguments of a call (`CommandConformance.arguments`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fsframe.errors import RequestError
from fsframe.grammar import parse_stages
from fsframe.registry import (
    Offer,
    Registry,
    classifiers,
    commands,
    engines,
    find_offer,
    measures,
    nulls,
    observers,
    plots,
    proposals,
    readers,
    report_sections,
    selectors,
    stability_metrics,
    writers,
)
from fsframe.registry.manager import declared, declared_exceptions
from fsframe.testing.conformance import Conformance
from fsframe.testing.measures import MeasureConformance, StabilityMetricConformance
from fsframe.testing.predictors import ClassifierConformance, RegressorConformance
from fsframe.testing.selectors import BASE, SelectorConformance, WrappingConformance
from fsframe.testing.services import (
    CommandConformance,
    EngineConformance,
    ReaderConformance,
    opening,
    written_with,
)

_SUITES: Mapping[str, type[Conformance]] = {
    "selector": SelectorConformance,
    "classifier": ClassifierConformance,
    "regressor": RegressorConformance,
    "stability metric": StabilityMetricConformance,
    "measure": MeasureConformance,
    "reader": ReaderConformance,
    "engine": EngineConformance,
    "command": CommandConformance,
}
_WITHOUT_PARAMETERS = (readers, engines, commands)
_WITHOUT_SUITES = (writers, observers, report_sections, nulls, plots, proposals)


def suite_for(text: str) -> type[Conformance]:
    """The conformance class for a method such as ``relieff`` or ``relieff:k=5``, a measure, a
    reader, an engine or a command.

    Raises
    ------
    RequestError, PluginError
        If no plugin offers it, its plugin is broken, its parameters are invalid, or something is
        missing to test it with.
    """
    stages = parse_stages(text)
    if len(stages) != 1:
        raise RequestError(f"one method is checked at a time, not the chain {text!r}")
    (stage,) = stages
    in_chains = (selectors, classifiers)
    among = in_chains if any(r.matching(stage.name) for r in in_chains) else None
    others = (*in_chains, stability_metrics, measures, *_WITHOUT_PARAMETERS)
    if among is None and not any(r.matching(stage.name) for r in others):
        _refuse_untested(stage.name)
    registry, offer = find_offer(stage.name, *(among or others))
    name = offer.entry.name
    body: dict[str, Any] = {
        "name": name,
        "exceptions": declared_exceptions(offer.entry),
        "__doc__": f"The checks for {name}.",
    }
    suite = _SUITES[offer.entry.kind]
    if registry in _WITHOUT_PARAMETERS:
        if stage.params:
            raise RequestError(f"the {offer.entry.kind} {name} has no parameters")
        body.update(_of_part(registry, offer))
    else:
        cls = registry[offer.name]
        params = {**parse_stages(_tried_as(offer, offer.name))[0].params, **stage.params}
        if getattr(cls, "wrapping", False):
            suite = WrappingConformance
            # Invalid parameters are reported before any check is tested.
            if getattr(cls.from_texts(params), "base", "") is None:
                params["base"] = BASE
            body["advice"] = _advice(offer, params)
        cls.from_texts(params)
        body["make"] = staticmethod(lambda: cls.from_texts(params))
    if registry is classifiers:
        body["after"] = declared(offer.entry, "TRIED_AFTER").get(name, "")
    if offer.entry.kind == "selector":
        body["gives"] = offer.entry.gives  # type: ignore[attr-defined]
    title = "".join(part.capitalize() for part in name.split("-"))
    return type(f"Test{title}", (suite,), body)


def _refuse_untested(name: str) -> None:
    """Raise RequestError if a part of a kind without a suite has this name."""
    for registry in _WITHOUT_SUITES:
        for offer in registry.matching(name)[:1]:
            raise RequestError(
                f"the {registry.kind} {offer.entry.name} has no conformance suite: the tests of "
                f"its plugin {offer.provider} check it (pytest), such as those of "
                "`fsframe new-plugin`"
            )


def _of_part(registry: Registry, offer: Offer) -> dict[str, Any]:
    """Members of the conformance class for a reader, an engine or a command."""
    name, offered = offer.entry.name, registry[offer.name]
    if registry is readers:
        write = written_with(declared(offer.entry, "WRITES"), name)
        # Formats that are recognised by their content may have no ending.
        endings = [*getattr(offer.entry, "endings", ()), f".{name}"]
        ending = declared(offer.entry, "ENDINGS").get(name, endings[0])
        return {"make": staticmethod(offered), "write": staticmethod(write), "ending": ending}
    if registry is engines:
        return {"make": staticmethod(opening(offered))}
    arguments = declared(offer.entry, "ARGUMENTS").get(name)
    body: dict[str, Any] = {"make": staticmethod(lambda: offered), "target": offer.entry.target}
    return body if arguments is None else {**body, "arguments": staticmethod(arguments)}


def _advice(offer: Offer, params: Mapping[str, str]) -> str:
    """Advice for failed checks of a stage: its own base instead of the one it was checked with."""
    tried = _tried_as(offer, f"{offer.name}:base={BASE}")
    if parse_stages(tried)[0].params.get("base") == params["base"]:
        return ""
    return (
        "with a base that keeps all columns, a stage that counts what is kept cannot tell them "
        f"apart: fsframe check '{tried}'"
    )


def _tried_as(offer: Offer, otherwise: str) -> str:
    text: str = declared(offer.entry, "TRIED_AS").get(offer.entry.name, otherwise)
    return text
