"""Executors: where the resamples of a run are computed; results do not depend on it.

See docs/executors.md for users. Names are imported when first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsframe.lazy_imports import lazy_attributes

if TYPE_CHECKING:
    from fsframe.execution.engine import Engine as Engine
    from fsframe.execution.engine import as_engine as as_engine
    from fsframe.execution.engine import open_engine as open_engine
else:
    __all__ = ["Engine", "as_engine", "open_engine"]
    __getattr__ = lazy_attributes(__name__, dict.fromkeys(__all__, ".engine"))
