"""Number of resamples per task: enough to be worth sending, few enough for an even load."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence

__all__ = ["Batches"]

_AIM_SECONDS = 0.5
_GROWTH = 32
# The second batch may take this long if a call has no fixed cost.
_TRIAL_SECONDS = 1.5
_TRIAL = 16
# Times vary by chance: the cost of a resample is assumed to be at least this part of the mean.
_NOISE = 64


class Batches:
    """Sizes of the next batches, from the seconds that earlier ones took.

    Parameters
    ----------
    pace : dict
        Seconds per resample, by what is resampled; updated here.
    what : str
        What is resampled here.
    borders : sequence of int, ascending
        Resamples at which a batch should begin, since the method restarts there.
    most : int
        Maximum number of resamples in a batch.

    Notes
    -----
    Time changes the sizes of batches, never a result. A size grows at most 32-fold at a time, since
    the first resamples may be untypical. A method with a fast algorithm for many resamples has a
    cost per call and one per resample: a straight line through all measurements, by least squares.
    The second decides. With the mean instead, a call with a fixed cost of half a second would never
    get more than one resample.

    Examples
    --------
    >>> batches = Batches({}, "mim")
    >>> batches.size(100)
    1
    >>> batches.record(1, 0.01); batches.size(100)
    16
    >>> batches.record(16, 0.16); batches.size(100), batches.size(100, workers=2)
    (50, 25)
    >>> slow_start = Batches({}, "mim of a wide table")
    >>> slow_start.record(1, 0.61); slow_start.size(500)
    2
    >>> slow_start.record(2, 0.615); slow_start.size(500)
    64
    """

    def __init__(
        self,
        pace: dict[str, float],
        what: str,
        borders: Sequence[int] = (),
        most: int = 1 << 30,
    ) -> None:
        self._pace, self._what = pace, what
        self._borders, self._most = borders, max(1, most)
        self._largest = 1 if what not in pace else 1 << 30
        self._per_call = 0.0
        # How many batches were seen; sums over them of size, seconds, size², size·seconds.
        self._seen = 0
        self._sums = [0.0, 0.0, 0.0, 0.0]

    def size(self, left: int, workers: int = 1, least_seconds: float = 0.0) -> int:
        """Number of the `left` resamples in the next batch, for one of `workers`.

        The batch takes at least `least_seconds`, if enough resamples are left.
        """
        seconds = self._pace.get(self._what)
        if seconds is None:
            return 1
        size = min(_AIM_SECONDS / seconds, _GROWTH * self._largest)
        if self._largest == 1:
            # Only a second size separates the cost of a call from that of a resample.
            size = max(min(size, _TRIAL), 2, min(_TRIAL, _TRIAL_SECONDS / seconds))
        if workers > 1:
            # Towards the end batches become smaller, so that no worker waits long for the last; but
            # the fixed cost of a call must not exceed a quarter.
            share, dear = left / workers, min(4 * self._per_call, _AIM_SECONDS) / seconds
            size = min(size, max(share / 2, min(share, dear), least_seconds / seconds))
        return max(1, min(left, self._most, math.floor(size)))

    def stop(
        self,
        start: int,
        end: int,
        workers: int = 1,
        left: int | None = None,
        least_seconds: float = 0.0,
    ) -> int:
        """The end of the batch that begins at `start`, at most `end`.

        It ends at a border if one lies between half and twice its size.

        >>> Batches({"mim": 0.01}, "mim", borders=[40, 80, 120]).stop(0, 200)
        40
        """
        left = end - start if left is None else left
        size = min(end - start, self.size(left, workers, least_seconds))
        place = bisect_left(self._borders, start + size)
        near = [
            border
            for border in self._borders[max(0, place - 1) : place + 1]
            if size <= 2 * (border - start) < 4 * size and border <= min(end, start + self._most)
        ]
        return min(near, key=lambda border: abs(border - start - size), default=start + size)

    @property
    def known(self) -> bool:
        """Whether the time of a resample is known, so that tasks can be submitted in advance."""
        return self._what in self._pace and self._largest > 1

    def record(self, resamples: int, seconds: float) -> None:
        """Record the time of a batch."""
        seconds = max(seconds, 1e-9)
        new = (resamples, seconds, resamples**2, resamples * seconds)
        self._seen += 1
        self._sums = [a + b for a, b in zip(self._sums, new, strict=True)]
        x, y, xx, xy = self._sums
        mean = seconds / resamples if resamples > self._largest else y / x
        spread = xx - x * x / self._seen
        slope = (xy - x * y / self._seen) / spread if spread > 0 else mean
        each = min(mean, max(slope, mean / _NOISE))
        self._per_call = max(0.0, (y - each * x) / self._seen)
        self._pace[self._what] = each
        self._largest = max(self._largest, resamples)
