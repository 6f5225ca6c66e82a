"""Plots of runs as matplotlib figures; never pyplot.

Every function takes finished runs and optionally an `Axes` to draw on, and returns the figure. What
each kind needs is listed by `fsframe.plots.kinds.KINDS`; a run that lacks it is refused.
"""

from __future__ import annotations

from fsframe.lazy_imports import lazy_attributes
from fsframe.plots.kinds import KINDS

_TARGETS = (kind.target.partition(":") for kind in KINDS.values())
_HOMES = {function: f".{module}" for module, _, function in _TARGETS} | {"figure_bytes": ".canvas"}

__all__ = sorted(_HOMES)

__getattr__ = lazy_attributes(__name__, _HOMES)
