"""Margin-based methods: IMMIGRATE, IM4E, BIM, Simba, G-flip, I-RELIEF, LFE, LOGO, SimbaMBIW.

This module declares what the plugin offers, and imports nothing numerical.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from fsframe.registry.entries import ClassifierEntry, SelectorEntry, entries_in
from fsframe.registry.hookspecs import hookimpl

_DECLARED = Path(__file__).with_name("entries.toml")


@hookimpl
def fsframe_selectors() -> Iterator[SelectorEntry]:
    return entries_in(_DECLARED, SelectorEntry)


@hookimpl
def fsframe_classifiers() -> Iterator[ClassifierEntry]:
    return entries_in(_DECLARED, ClassifierEntry)
