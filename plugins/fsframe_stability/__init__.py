"""Stability: similarity of the feature sets, or the rankings, of repeated runs.

This module declares what the plugin offers, and imports nothing numerical.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from fsframe.registry.entries import StabilityMetricEntry, entries_in
from fsframe.registry.hookspecs import hookimpl

_DECLARED = Path(__file__).with_name("entries.toml")


@hookimpl
def fsframe_stability_metrics() -> Iterator[StabilityMetricEntry]:
    """All metrics of this package."""
    return entries_in(_DECLARED, StabilityMetricEntry)
