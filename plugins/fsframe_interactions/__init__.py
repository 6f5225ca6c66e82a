"""Tests of pairs of columns for statistical interaction with the class.

This module declares what the plugin offers, and imports nothing numerical.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from fsframe.registry.entries import SelectorEntry, entries_in
from fsframe.registry.hookspecs import hookimpl

_DECLARED = Path(__file__).with_name("entries.toml")


@hookimpl
def fsframe_selectors() -> Iterator[SelectorEntry]:
    return entries_in(_DECLARED, SelectorEntry)
