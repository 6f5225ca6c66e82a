"""What the ``conformance`` module of a plugin declares (`fsframe.testing.declarations`)."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from fsframe.errors import PluginError
from fsframe.registry.registry import Offer


def declared_exceptions(offer: Offer) -> dict[str, str]:
    """Reasons for the exceptions that are declared for a method, by check."""
    exceptions = declared(offer, "EXCEPTIONS")
    return {**exceptions.get("*", {}), **exceptions.get(offer.entry.name, {})}


def declared(offer: Offer, name: str) -> Mapping[str, Any]:
    """The mapping `name` of the ``conformance`` module nearest to the method's; {} without one.

    Raises
    ------
    PluginError
        If it is no mapping.
    """
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
    mapping = getattr(import_module(path), name, {})
    if not isinstance(mapping, Mapping):
        raise PluginError(f"{path}.{name} must be a mapping from method names")
    return mapping
