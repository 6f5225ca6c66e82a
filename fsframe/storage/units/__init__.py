"""Checkpoints: finished units of a run kept beside the run file, so that a killed run goes on.

docs/resume.md says what a user sees. Names are imported when first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fsframe.storage.units.checkpoint import Checkpoint, units_folder
    from fsframe.storage.units.manifest import Manifest
    from fsframe.storage.units.unit_files import Unit

__all__ = ["Checkpoint", "Manifest", "Unit", "units_folder"]

_HOMES = {
    "Checkpoint": "checkpoint",
    "Manifest": "manifest",
    "Unit": "unit_files",
    "units_folder": "checkpoint",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
