"""What is installed: hooks and entries of plugins, and the registries that look names up.

Listing and help need nothing numerical; a class is imported when its name is asked for.
"""

from __future__ import annotations

from fsframe.registry.registry import (
    Offer,
    Registry,
    classifiers,
    commands,
    default_manager,
    find_offer,
    preferring,
    readers,
    selectors,
    stability_metrics,
)

__all__ = [
    "Offer",
    "Registry",
    "classifiers",
    "commands",
    "default_manager",
    "find_offer",
    "preferring",
    "readers",
    "selectors",
    "stability_metrics",
]
