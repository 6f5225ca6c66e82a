"""Executors: where the resamples of a run are computed; the result is the same everywhere.

docs/executors.md says what a user sees. Names are imported when first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fsframe.execution.engine import Engine
    from fsframe.execution.engine_choice import as_engine, open_engine

__all__ = ["Engine", "as_engine", "open_engine"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = "engine" if name == "Engine" else "engine_choice"
    return getattr(importlib.import_module(f"{__name__}.{home}"), name)
