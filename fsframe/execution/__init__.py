"""Executors: where the resamples of a run are computed; results do not depend on it.

See docs/executors.md for users. Names are imported when first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsframe.lazy_imports import lazy_attributes

if TYPE_CHECKING:
    from fsframe.execution.engine import Engine, as_engine, open_engine

__all__ = ["Engine", "as_engine", "open_engine"]

if not TYPE_CHECKING:
    __getattr__ = lazy_attributes(
        __name__, {"Engine": ".engine", "as_engine": ".engine", "open_engine": ".engine"}
    )
