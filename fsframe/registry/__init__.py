"""What is installed: hooks and entries of plugins, and the registries that look names up.

Listing and help need nothing numerical; a class is imported when its name is asked for.
"""

from __future__ import annotations

from fsframe.registry.registering import class_here, register, unreachable_classes
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
    "class_here",
    "classifiers",
    "commands",
    "default_manager",
    "engines",
    "find_offer",
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
