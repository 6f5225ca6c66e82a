"""The expected duration of a test, reported while it can still be stopped."""

from __future__ import annotations

import time

import attrs

from fsframe.contracts.remarks import remark

__all__ = ["BRIEF", "LONG", "Outlook", "outlook_text", "span_text"]

LONG = 600.0
"""Seconds from which a test is called long."""

BRIEF = 5.0
"""Seconds below which what `settle` may still take is not told."""

_ENOUGH = 5.0  # seconds of work behind a forecast, whatever they made


@attrs.define
class Outlook:
    """Says once, on stderr, that a test will take long.

    Parameters
    ----------
    total : int
        Fits of the base in all.
    """

    total: int
    _first: tuple[float, int] | None = attrs.field(default=None, init=False)
    _said: bool = attrs.field(default=False, init=False)

    def look(self, done: int, before: int = 0) -> None:
        """`done` fits are finished since this began, and `before` were so already."""
        now = time.monotonic()
        if done < 1:
            return
        if self._first is None:
            # Kernels are compiled and columns encoded for the first: time runs from its end.
            self._first = (now, done)
        seconds, fits = now - self._first[0], done - self._first[1]
        if self._said or fits < 1 or seconds < _ENOUGH:
            return
        self._said = True
        left = seconds / fits * (self.total - before - done)
        if left >= LONG:
            remark(outlook_text(self.total, left))


def outlook_text(total: int, seconds: float) -> str:
    """What is said of a long test.

    >>> outlook_text(1090, 1500.0)[:60]
    'npfs: 1090 fits of the base, about 25 min to go; screen firs'
    """
    return (
        f"npfs: {total} fits of the base, about {span_text(seconds)} to go; screen first, inside "
        "the resample (`mim:top=100` before the base), or take more workers"
    )


def span_text(seconds: float) -> str:
    """A forecast, in seconds or minutes.

    >>> span_text(12.3), span_text(300.0)
    ('12 s', '5 min')
    """
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
