"""Kinds of numbers; conversion refuses loss and what is not finite."""

from __future__ import annotations

import math
import numbers
from typing import Any

import attrs

__all__ = ["CountOrFractionKind", "IntegerKind", "RealKind"]


@attrs.frozen
class RealKind:
    least: float | None = None
    most: float | None = None
    above: float | None = None
    below: float | None = None

    def convert(self, value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, numbers.Real):
            raise ValueError(f"must be {self.describe()}")
        try:
            number = float(value)
        except OverflowError:
            raise ValueError(f"must be {self.describe()}") from None
        if not math.isfinite(number) or not _within(number, self):
            raise ValueError(f"must be {self.describe()}")
        return number

    def parse(self, text: str) -> float:
        try:
            return self.convert(float(text))
        except ValueError:
            raise ValueError(f"must be {self.describe()}") from None

    def describe(self) -> str:
        return "a number" + _range(self)

    def choices(self) -> tuple[str, ...]:
        return ()


@attrs.frozen
class IntegerKind:
    least: int | None = None
    most: int | None = None
    above: int | None = None
    below: int | None = None

    def convert(self, value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, numbers.Real):
            raise ValueError(f"must be {self.describe()}")
        number: Any = value
        # Only what is not whole already is asked whether it is finite: 10**400 has no float.
        whole = isinstance(value, numbers.Integral) or (
            math.isfinite(number) and int(number) == number
        )
        if not whole or not _within(int(number), self):
            raise ValueError(f"must be {self.describe()}")
        return int(number)

    def parse(self, text: str) -> int:
        try:
            # Through int first: 2**60 + 1 must not pass through a double.
            return self.convert(int(text) if text.strip().lstrip("+-").isdigit() else float(text))
        except ValueError:
            raise ValueError(f"must be {self.describe()}") from None

    def describe(self) -> str:
        return "a whole number" + _range(self)

    def choices(self) -> tuple[str, ...]:
        return ()


@attrs.frozen
class CountOrFractionKind:
    def convert(self, value: Any) -> int | float:
        if isinstance(value, bool) or not isinstance(value, numbers.Real):
            raise ValueError(f"must be {self.describe()}")
        number: Any = value
        if isinstance(value, numbers.Integral):
            if number >= 1:
                return int(number)
        elif 0 < number <= 1:
            return float(number)
        elif math.isfinite(number) and number > 1 and int(number) == number:
            return int(number)
        raise ValueError(f"must be {self.describe()}")

    def parse(self, text: str) -> int | float:
        body = text.strip()
        try:
            if body.endswith("%"):
                return self.convert(float(body[:-1]) / 100)
            return self.convert(int(body) if body.lstrip("+").isdigit() else float(body))
        except ValueError:
            raise ValueError(f"must be {self.describe()}") from None

    def describe(self) -> str:
        return "a count ≥ 1 or a fraction in (0, 1], such as 10, 0.1 or 10%"

    def choices(self) -> tuple[str, ...]:
        return ()


def _within(number: float, bounds: Any) -> bool:
    return (
        (bounds.least is None or number >= bounds.least)
        and (bounds.most is None or number <= bounds.most)
        and (bounds.above is None or number > bounds.above)
        and (bounds.below is None or number < bounds.below)
    )


def _range(bounds: Any) -> str:
    parts = [
        f"{sign} {bound:g}" if isinstance(bound, float) else f"{sign} {bound}"
        for sign, bound in (
            ("≥", bounds.least),
            (">", bounds.above),
            ("≤", bounds.most),
            ("<", bounds.below),
        )
        if bound is not None
    ]
    return " " + " and ".join(parts) if parts else ""
