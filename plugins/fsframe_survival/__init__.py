"""Survival data: Cox's score test of each feature, and the proportional hazards model.

This module declares what the plugin offers, and imports nothing numerical.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from fsframe.registry.entries import ProposalEntry, RegressorEntry, SelectorEntry, entries_in
from fsframe.registry.hookspecs import hookimpl

_DECLARED = Path(__file__).with_name("entries.toml")


@hookimpl
def fsframe_selectors() -> Iterator[SelectorEntry]:
    """Selectors for survival times."""
    return entries_in(_DECLARED, SelectorEntry)


@hookimpl
def fsframe_regressors() -> Iterator[RegressorEntry]:
    """Models that predict risks."""
    return entries_in(_DECLARED, RegressorEntry)


@hookimpl
def fsframe_proposals() -> Iterator[ProposalEntry]:
    """Proposals for times until an event."""
    return entries_in(_DECLARED, ProposalEntry)
