"""Kinds made of other kinds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import attrs

from fsframe.contracts.grammar import parse_list
from fsframe.contracts.kinds.protocol import Kind
from fsframe.errors import RequestError

__all__ = ["EitherKind", "ListingKind", "OptionalKind"]


@attrs.frozen
class OptionalKind:
    kind: Kind

    def convert(self, value: Any) -> Any:
        # The word says the same from a program as from the command line.
        if value is None or (isinstance(value, str) and _is_none(value)):
            return None
        return self.kind.convert(value)

    def parse(self, text: str) -> Any:
        return None if _is_none(text) else self.kind.parse(text)

    def describe(self) -> str:
        return self.kind.describe() + ", or none"

    def choices(self) -> tuple[str, ...]:
        return self.kind.choices()


def _is_none(text: str) -> bool:
    return text.strip().lower() == "none"


@attrs.frozen
class EitherKind:
    kinds: tuple[Kind, ...]

    def _first(self, method: str, value: Any) -> Any:
        for kind in self.kinds:
            try:
                return getattr(kind, method)(value)
            except ValueError:
                continue
        raise ValueError(f"must be {self.describe()}")

    def convert(self, value: Any) -> Any:
        return self._first("convert", value)

    def parse(self, text: str) -> Any:
        return self._first("parse", text)

    def describe(self) -> str:
        return " or ".join(kind.describe() for kind in self.kinds)

    def choices(self) -> tuple[str, ...]:
        return tuple(word for kind in self.kinds for word in kind.choices())


@attrs.frozen
class ListingKind:
    kind: Kind
    least: int = 0

    def convert(self, value: Any) -> tuple[Any, ...]:
        if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
            raise ValueError(f"must be {self.describe()}")
        items = tuple(self.kind.convert(item) for item in value)
        return self._enough(items)

    def parse(self, text: str) -> tuple[Any, ...]:
        try:
            items = parse_list(text)
        except RequestError as error:
            raise ValueError(f"must be {self.describe()}: {error}") from None
        return self._enough(tuple(self.kind.parse(item) for item in items))

    def _enough(self, items: tuple[Any, ...]) -> tuple[Any, ...]:
        if len(items) < self.least:
            raise ValueError(f"must be {self.describe()}")
        return items

    def describe(self) -> str:
        most = f" (at least {self.least})" if self.least else ""
        return f"a list [a,b,…] of {self.kind.describe()}{most}"

    def choices(self) -> tuple[str, ...]:
        return ()
