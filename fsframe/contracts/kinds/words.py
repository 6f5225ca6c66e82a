"""Kinds of words and texts."""

from __future__ import annotations

from typing import Any

import attrs

from fsframe.contracts.grammar import format_stages, parse_stages
from fsframe.errors import RequestError
from fsframe.suggest import did_you_mean

__all__ = ["ChoiceKind", "FlagKind", "StagesKind", "TextKind"]


@attrs.frozen
class FlagKind:
    def convert(self, value: Any) -> bool:
        # numpy.bool_ says `bool` by name only; it is not a subclass.
        if isinstance(value, bool) or type(value).__name__ in ("bool", "bool_"):
            return bool(value)
        raise ValueError("must be true or false")

    def parse(self, text: str) -> bool:
        word = text.strip().lower()
        if word in ("true", "yes", "on", "1"):
            return True
        if word in ("false", "no", "off", "0"):
            return False
        raise ValueError("must be true or false")

    def describe(self) -> str:
        return "true or false"

    def choices(self) -> tuple[str, ...]:
        return ("true", "false")


@attrs.frozen
class ChoiceKind:
    words: tuple[str, ...]

    def convert(self, value: Any) -> str:
        if isinstance(value, str) and value in self.words:
            return str(value)
        hint = did_you_mean(value, self.words) if isinstance(value, str) else ""
        raise ValueError(f"must be {self.describe()}{hint}")

    def parse(self, text: str) -> str:
        return self.convert(text)

    def describe(self) -> str:
        return " or ".join(self.words)

    def choices(self) -> tuple[str, ...]:
        return self.words


@attrs.frozen
class TextKind:
    what: str = "text"

    def convert(self, value: Any) -> str:
        if not isinstance(value, str):
            raise ValueError(f"must be {self.what}")
        return str(value)

    def parse(self, text: str) -> str:
        return text

    def describe(self) -> str:
        return self.what

    def choices(self) -> tuple[str, ...]:
        return ()


@attrs.frozen
class StagesKind:
    """Text of a chain; what it names is looked up when the chain is resolved."""

    def convert(self, value: Any) -> str:
        try:
            return format_stages(parse_stages(value if isinstance(value, str) else str(value)))
        except RequestError as error:
            raise ValueError(f"must be {self.describe()}: {error}") from None

    def parse(self, text: str) -> str:
        return self.convert(text)

    def describe(self) -> str:
        return "a selector or a chain, such as jmi or (mim:top=50 jmi)"

    def choices(self) -> tuple[str, ...]:
        return ()
