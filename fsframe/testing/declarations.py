"""A conformance class for a registered method, with what its plugin declares about it.

A plugin may have a module ``conformance`` in the package of its methods, or in one above::

    EXCEPTIONS = {"variance": {"scale_changes_nothing": "the variance depends on the unit"}}
    TRIED_AS = {"my-ensemble": "my-ensemble:base=mim,n=10"}
    TRIED_AFTER = {"my-classifier": "immigrate"}

Exceptions under ``"*"`` are those of all methods of the package.
`TRIED_AS` is the stage to test if the defaults do not suffice: a wrapping stage needs a base.
`TRIED_AFTER` is the stage that a classifier or regressor needs on its left.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from fsframe.errors import PluginError, RequestError
from fsframe.grammar import StageText, parse_stages
from fsframe.registry import Offer, classifiers, find_offer, selectors, stability_metrics
from fsframe.testing.conformance import Conformance
from fsframe.testing.metrics import StabilityMetricConformance
from fsframe.testing.predictors import ClassifierConformance, RegressorConformance
from fsframe.testing.selectors import SelectorConformance

_SUITES: Mapping[str, type[Conformance]] = {
    "selector": SelectorConformance,
    "classifier": ClassifierConformance,
    "regressor": RegressorConformance,
    "stability metric": StabilityMetricConformance,
}


def suite_for(text: str) -> type[Conformance]:
    """The conformance class for a method such as ``relieff`` or ``relieff:k=5``.

    Raises
    ------
    RequestError, PluginError
        If no plugin offers it, its plugin is broken, or its parameters are invalid.
    """
    stages = parse_stages(text)
    if len(stages) != 1:
        raise RequestError(f"one method is checked at a time, not the chain {text!r}")
    (stage,) = stages
    in_chains = (selectors, classifiers)
    among = in_chains if any(r.matching(stage.name) for r in in_chains) else None
    registry, offer = find_offer(stage.name, *(among or (*in_chains, stability_metrics)))
    cls = registry[offer.name]
    name = offer.entry.name
    params = {**_tried_as(offer).params, **stage.params}
    # Invalid parameters are reported before any check is tested.
    if getattr(cls.from_texts(params), "base", "") is None:
        raise RequestError(f"{name} resamples another method: give it, as in {name}:base=mim")
    body: dict[str, Any] = {
        "make": staticmethod(lambda: cls.from_texts(params)),
        "name": name,
        "offer": offer,
        "exceptions": declared_exceptions(offer),
        "__doc__": f"The checks for {name}.",
    }
    if registry is classifiers:
        body["after"] = declared(offer, "TRIED_AFTER").get(name, "")
    if offer.entry.kind == "selector":
        body["gives"] = offer.entry.gives  # type: ignore[attr-defined]
    base = _SUITES[offer.entry.kind]
    title = "".join(part.capitalize() for part in name.split("-"))
    return type(f"Test{title}", (base,), body)


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
