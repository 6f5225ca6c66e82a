"""The expected duration of a test, reported while it can still be stopped."""

from __future__ import annotations

import time

import attrs

from fsframe.remarks import remark

__all__ = ["BRIEF", "LONG", "DurationForecast", "duration_text"]

LONG = 600.0
"""Remaining seconds from which a forecast is printed."""

BRIEF = 5.0
"""Remaining seconds below which nothing is printed about `settle`."""

_MIN_ELAPSED = 5.0  # seconds of work before a forecast


@attrs.define
class DurationForecast:
    """Warn once, on stderr, that a test will take long.

    Parameters
    ----------
    total : int
        Total number of fits of the base.
    """

    total: int
    _first: tuple[float, int] | None = attrs.field(default=None, init=False)
    _printed: bool = attrs.field(default=False, init=False)

    def update(self, done: int, before: int = 0) -> None:
        """Record `done` fits, in addition to `before` that were complete at the start."""
        now = time.monotonic()
        if done < 1:
            return
        if self._first is None:
            # The first fit compiles kernels and encodes columns: time is measured from its end.
            self._first = (now, done)
        seconds, fits = now - self._first[0], done - self._first[1]
        if self._printed or fits < 1 or seconds < _MIN_ELAPSED:
            return
        self._printed = True
        left = seconds / fits * (self.total - before - done)
        if left >= LONG:
            remark(
                f"npfs: {self.total} fits of the base, about {duration_text(left)} to go; screen "
                "first, within each resample (`mim:top=100` before the base), or use more workers"
            )


def duration_text(seconds: float) -> str:
    """A duration in seconds or minutes.

    >>> duration_text(12.3), duration_text(300.0)
    ('12 s', '5 min')
    """
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
