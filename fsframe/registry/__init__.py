"""Hooks and entries of plugins, and the registries that look up names.

Listing and help import no numerical code; a class is imported when its name is looked up.
"""

from __future__ import annotations

from fsframe.registry import registering, registry
from fsframe.registry.registering import *  # noqa: F403
from fsframe.registry.registry import *  # noqa: F403

__all__ = registering.__all__ + registry.__all__
