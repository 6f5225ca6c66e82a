"""Hooks and entries of plugins, and the registries that look up names.

Listing and help import no numerical code; a class is imported when its name is looked up.
"""

from __future__ import annotations

from fsframe.registry.registering import local_class_version, register, unreachable_classes
from fsframe.registry.registry import (
    Offer,
    Registry,
    classifiers,
    commands,
    default_manager,
    engines,
    find_offer,
    measures,
    nulls,
    observers,
    preferring,
    readers,
    real_name,
    regressors,
    report_sections,
    selectors,
    stability_metrics,
    writers,
)

__all__ = [
    "Offer",
    "Registry",
    "classifiers",
    "commands",
    "default_manager",
    "engines",
    "find_offer",
    "local_class_version",
    "measures",
    "nulls",
    "observers",
    "preferring",
    "readers",
    "real_name",
    "register",
    "regressors",
    "report_sections",
    "selectors",
    "stability_metrics",
    "unreachable_classes",
    "writers",
]
