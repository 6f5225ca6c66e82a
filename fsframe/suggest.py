"""Suggestions for misspelled names."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = ["did_you_mean"]


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A sentence that offers the nearest known name, or nothing.

    >>> did_you_mean("imigrate", ["immigrate", "npfs"])
    '. Did you mean `immigrate`?'
    >>> did_you_mean("xyz", ["immigrate", "npfs"])
    ''
    """
    lowered = {name.lower(): name for name in known}
    near = difflib.get_close_matches(word.lower(), list(lowered), n=1, cutoff=0.6)
    return f". Did you mean `{lowered[near[0]]}`?" if near else ""
