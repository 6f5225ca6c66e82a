"""A conformance class for what a plugin offers, with what the plugin declares about it.

A plugin may have a module ``conformance`` in the package of its methods, or in one above::

    EXCEPTIONS = {"variance": {"scale_changes_nothing": "the variance depends on the unit"}}
    TRIED_AS = {"my-ensemble": "my-ensemble:base=mim,n=10"}
    TRIED_AFTER = {"my-classifier": "immigrate"}
    WRITES = {"my-format": write}
    ENDINGS = {"my-format": ".mine"}
    ARGUMENTS = {"my-command": arguments}

Exceptions under ``"*"`` are those of all methods of the package.
`TRIED_AS` is the stage to test if the defaults do not suffice. A wrapping stage without a base is
tested with `fsframe.testing.wrapping.BASE`.
`TRIED_AFTER` is the stage that a classifier or regressor needs on its left.
`WRITES` has, for a reader, a function ``write(path, columns)`` that makes a file to read
(`ReaderConformance.write`), and `ENDINGS` the ending of such files, if it is not the first one of
the entry.
`ARGUMENTS` has, for a command, a function that writes what it needs into a folder and returns the
arguments of a call (`CommandConformance.arguments`).
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from fsframe.errors import PluginError, RequestError
from fsframe.grammar import StageText, parse_stages
from fsframe.registry import (
    Offer,
    Registry,
    classifiers,
    commands,
    engines,
    find_offer,
    measures,
    readers,
    selectors,
    stability_metrics,
)
from fsframe.testing.commands import CommandConformance
from fsframe.testing.conformance import Conformance
from fsframe.testing.engines import EngineConformance, opening
from fsframe.testing.measures import MeasureConformance
from fsframe.testing.metrics import StabilityMetricConformance
from fsframe.testing.predictors import ClassifierConformance, RegressorConformance
from fsframe.testing.readers import ReaderConformance, written_with
from fsframe.testing.selectors import SelectorConformance
from fsframe.testing.wrapping import BASE, WrappingConformance

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
    registry, offer = find_offer(stage.name, *(among or others))
    name = offer.entry.name
    body: dict[str, Any] = {
        "name": name,
        "offer": offer,
        "exceptions": declared_exceptions(offer),
        "__doc__": f"The checks for {name}.",
    }
    suite = _SUITES[offer.entry.kind]
    if registry in _WITHOUT_PARAMETERS:
        if stage.params:
            raise RequestError(f"the {offer.entry.kind} {name} has no parameters")
        body.update(_of_part(registry, offer))
    else:
        cls = registry[offer.name]
        params = {**_tried_as(offer).params, **stage.params}
        if getattr(cls, "wrapping", False):
            suite = WrappingConformance
            # Invalid parameters are reported before any check is tested.
            if getattr(cls.from_texts(params), "base", "") is None:
                params["base"] = BASE
            body["advice"] = _advice(offer, params)
        cls.from_texts(params)
        body["make"] = staticmethod(lambda: cls.from_texts(params))
    if registry is classifiers:
        body["after"] = declared(offer, "TRIED_AFTER").get(name, "")
    if offer.entry.kind == "selector":
        body["gives"] = offer.entry.gives  # type: ignore[attr-defined]
    title = "".join(part.capitalize() for part in name.split("-"))
    return type(f"Test{title}", (suite,), body)


def _of_part(registry: Registry, offer: Offer) -> dict[str, Any]:
    """What the checks of a reader, an engine or a command need."""
    name, found = offer.entry.name, registry[offer.name]
    if registry is readers:
        write = written_with(declared(offer, "WRITES"), name)
        # Formats that are recognised by their content may have no ending.
        endings = [*getattr(offer.entry, "endings", ()), f".{name}"]
        ending = declared(offer, "ENDINGS").get(name, endings[0])
        return {"make": staticmethod(found), "write": staticmethod(write), "ending": ending}
    if registry is engines:
        return {"make": staticmethod(opening(found))}
    arguments = declared(offer, "ARGUMENTS").get(name)
    body: dict[str, Any] = {"make": staticmethod(lambda: found), "target": offer.entry.target}
    return body if arguments is None else {**body, "arguments": staticmethod(arguments)}


def _advice(offer: Offer, params: Mapping[str, str]) -> str:
    """What to do if the checks of a stage fail with the base that was asked for."""
    tried = declared(offer, "TRIED_AS").get(offer.entry.name)
    if tried is None:
        tried = f"{offer.name}:base={BASE}"
    if parse_stages(tried)[0].params.get("base") == params["base"]:
        return ""
    return (
        "with a base that keeps all columns, a stage that counts what is kept cannot tell them "
        f"apart: fsframe check '{tried}'"
    )


def declared_exceptions(offer: Offer) -> dict[str, str]:
    """Reasons for the exceptions that are declared for a method, by check."""
    found = declared(offer, "EXCEPTIONS")
    return {**found.get("*", {}), **found.get(offer.entry.name, {})}


def declared(offer: Offer, what: str) -> Mapping[str, Any]:
    """The mapping `what` of the ``conformance`` module nearest to the method's; {} without one."""
    package = offer.entry.target.partition(":")[0]
    while package:
        path = f"{package}.conformance"
        try:
            present = find_spec(path) is not None
        except ModuleNotFoundError:
            # The method's own module is not a package.
            present = False
        if present:
            break
        package = package.rpartition(".")[0]
    else:
        return {}
    found = getattr(import_module(path), what, {})
    if not isinstance(found, Mapping):
        raise PluginError(f"{path}.{what} must be a mapping from method names")
    return found


def _tried_as(offer: Offer) -> StageText:
    text = declared(offer, "TRIED_AS").get(offer.entry.name)
    return StageText(offer.name) if text is None else parse_stages(text)[0]
