"""Information-theoretic filters: mutual information and the greedy criteria built on it.

This module declares what the plugin offers, and imports nothing numerical.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from fsframe.registry.entries import ProposalEntry, SelectorEntry, entries_in
from fsframe.registry.hookspecs import hookimpl

_DECLARED = Path(__file__).with_name("entries.toml")


@hookimpl
def fsframe_selectors() -> Iterator[SelectorEntry]:
    return entries_in(_DECLARED, SelectorEntry)


@hookimpl
def fsframe_proposals() -> Iterator[ProposalEntry]:
    """Proposals for tables in parts, which few methods accept."""
    return entries_in(_DECLARED, ProposalEntry)
