"""Evaluation: cross-validation with all learning inside the fold, stability, comparison.

This module makes the core a plugin of its own, which offers protocols, measures, a log of runs and
report sections.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from fsframe.registry.entries import (
    MeasureEntry,
    ObserverEntry,
    ReportSectionEntry,
    SelectorEntry,
    entries_in,
)
from fsframe.registry.hookspecs import hookimpl

_DECLARED = Path(__file__).with_name("entries.toml")


@hookimpl
def fsframe_selectors() -> Iterator[SelectorEntry]:
    """The protocols as wrapping stages."""
    return entries_in(_DECLARED, SelectorEntry)


@hookimpl
def fsframe_measures() -> Iterator[MeasureEntry]:
    """Measures of predicted classes, of scores and probabilities, and of numbers."""
    return entries_in(_DECLARED, MeasureEntry)


@hookimpl
def fsframe_events() -> Iterator[ObserverEntry]:
    """The observer that logs runs."""
    return entries_in(_DECLARED, ObserverEntry)


@hookimpl
def fsframe_report_sections() -> Iterator[ReportSectionEntry]:
    """Sections of the report."""
    return entries_in(_DECLARED, ReportSectionEntry)
