"""Filters of single columns that need no estimator: tests, thresholds, gaps; nearest neighbours.

This module declares what the plugin offers, and imports nothing numerical.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from fsframe.registry.entries import ClassifierEntry, ProposalEntry, SelectorEntry, entries_in
from fsframe.registry.hookspecs import hookimpl

_DECLARED = Path(__file__).with_name("entries.toml")


@hookimpl
def fsframe_selectors() -> Iterator[SelectorEntry]:
    """Filters that look at one column at a time, or at columns without the label."""
    return entries_in(_DECLARED, SelectorEntry)


@hookimpl
def fsframe_classifiers() -> Iterator[ClassifierEntry]:
    """A classifier without feature weights."""
    return entries_in(_DECLARED, ClassifierEntry)


@hookimpl
def fsframe_proposals() -> Iterator[ProposalEntry]:
    """Proposals for most tables: tests of one column at a time."""
    return entries_in(_DECLARED, ProposalEntry)
