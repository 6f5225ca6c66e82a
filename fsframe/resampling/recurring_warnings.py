"""Merge the warnings of many resamples: each is reported once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

__all__ = ["Recurring"]

_NUMBER = re.compile(r"\d[\d.]*(e[+-]?\d+)?")


class Recurring:
    """Counts of warnings; those that differ only in numbers count as one.

    Examples
    --------
    >>> notes = Recurring()
    >>> for step in ("1.4e-05", "0.002"):
    ...     notes.add([f"the last step was {step}", "few rows"])
    >>> list(notes.lines(3, "resamples"))
    ['in 2 of 3 resamples, the first: the last step was 1.4e-05', 'in 2 of 3 resamples: few rows']
    """

    def __init__(self) -> None:
        self._times: dict[str, int] = {}
        self._first: dict[str, str] = {}
        self._vary: set[str] = set()

    def add(self, warnings: Iterable[str]) -> None:
        """Count the warnings of one resample."""
        told = set()
        for text in warnings:
            kind = _NUMBER.sub("#", text)
            if self._first.setdefault(kind, text) != text:
                self._vary.add(kind)
            told.add(kind)
        for kind in sorted(told):
            self._times[kind] = self._times.get(kind, 0) + 1

    def lines(self, total: int, resamples: str) -> Iterator[str]:
        """One line for each kind of warning, in the order of first occurrence."""
        for kind, text in self._first.items():
            varies = ", the first" if kind in self._vary else ""
            yield f"in {self._times[kind]} of {total} {resamples}{varies}: {text}"
