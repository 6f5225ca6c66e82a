"""The Relief family: features scored by how near instances of each class differ in them.

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
    """Chains for narrow tables, on which they keep their promises (docs/ledger.md)."""
    return entries_in(_DECLARED, ProposalEntry)
