"""Tests and aggregates over resamples of another selector: NPFS and ensembles.

This module declares what the plugin offers, and imports nothing numerical.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from fsframe.registry.entries import NullEntry, ProposalEntry, SelectorEntry, entries_in
from fsframe.registry.hookspecs import hookimpl

_DECLARED = Path(__file__).with_name("entries.toml")


@hookimpl
def fsframe_selectors() -> Iterator[SelectorEntry]:
    return entries_in(_DECLARED, SelectorEntry)


@hookimpl
def fsframe_nulls() -> Iterator[NullEntry]:
    return entries_in(_DECLARED, NullEntry)


@hookimpl
def fsframe_proposals() -> Iterator[ProposalEntry]:
    """Chains for rows with a time, for groups with different labels, for features that matter only
    together, and for tables without any other proposal."""
    return entries_in(_DECLARED, ProposalEntry)
