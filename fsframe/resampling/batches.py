"""Number of resamples per task: enough to be worth sending, few enough for an even load."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence

__all__ = ["Batches"]

_AIM_SECONDS = 0.5
_GROWTH = 32
# The second size may take as long as this, should a call cost nothing by itself.
_TRIAL_SECONDS = 1.5
_TRIAL = 16
# Two times differ by chance too: a resample is taken to cost at least this part of the mean.
_NOISE = 64


class Batches:
    """The sizes of the next batches, from the seconds that the last ones took.

    Parameters
    ----------
    pace : dict
        Seconds per resample, by what is resampled; what is learned stays in it.
    what : str
        What is resampled here.
    borders : sequence of int, ascending
        Resamples at which a batch had better begin, since the method starts anew there.
    most : int
        Resamples in one batch at most.

    Notes
    -----
    Time moves the borders of batches, never a result. A size grows at most 32-fold at a time,
    since the first resamples may be untypical. A method with a fast way through many has a cost per
    call as well as one per resample: a straight line through all that was seen, by least squares.
    What counts is the second. Judged by the mean, a call that costs half a second whatever it holds
    would never get more than one resample.

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
        """How many of the `left` resamples the next batch takes, one of `workers` at work.

        It takes at least so many seconds, as far as there are as many.
        """
        seconds = self._pace.get(self._what)
        if seconds is None:
            return 1
        size = min(_AIM_SECONDS / seconds, _GROWTH * self._largest)
        if self._largest == 1:
            # Only a second size tells the cost of a call from that of a resample.
            size = max(min(size, _TRIAL), 2, min(_TRIAL, _TRIAL_SECONDS / seconds))
        if workers > 1:
            # Towards the end batches become smaller, so that no worker waits long for the last; not
            # so small that what a call costs whatever it holds becomes more than a quarter.
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
        """Where the batch that begins at `start` ends, `end` at most.

        It ends at a border where one lies between half and twice the size that it would have.

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
        """Whether it is clear how long a resample takes, so that tasks can be made in store."""
        return self._what in self._pace and self._largest > 1

    def record(self, resamples: int, seconds: float) -> None:
        """Learn that so many resamples took so long."""
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
