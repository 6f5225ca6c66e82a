"""What a kind is."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

__all__ = ["Kind"]


@runtime_checkable
class Kind(Protocol):
    """Which values a parameter takes.

    `convert` turns a Python value into the stored one, `parse` does the same from text (both raise
    ValueError with the rule that was broken), `describe` says the rule in a few words, and
    `choices` lists words worth offering in shell completion.
    """

    def convert(self, value: Any) -> Any: ...
    def parse(self, text: str) -> Any: ...
    def describe(self) -> str: ...
    def choices(self) -> tuple[str, ...]: ...
