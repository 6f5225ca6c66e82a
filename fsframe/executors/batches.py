"""How many resamples make a task: enough to be worth sending, few enough to share out evenly."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence

__all__ = ["Batches"]

_LEAST_SECONDS = 0.2
_AIM_SECONDS = 0.5
_GROWTH = 16
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
    Time moves the borders of batches, never a result. A size grows at most 16-fold at a time,
    since the first resamples may be untypical. A method with a fast way through many has a cost per
    call as well as one per resample; what counts is the second, from two batches of different
    size. Judged by the mean, a call that costs half a second whatever it holds would never get
    more than one resample.

    Examples
    --------
    >>> batches = Batches({}, "mim")
    >>> batches.size(100)
    1
    >>> batches.saw(1, 0.01); batches.size(100)
    16
    >>> batches.saw(16, 0.16); batches.size(100), batches.size(100, workers=2)
    (50, 25)
    >>> slow_start = Batches({}, "mim of a wide table")
    >>> slow_start.saw(1, 0.61); slow_start.size(500)
    2
    >>> slow_start.saw(2, 0.62); slow_start.size(500)
    32
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
        self._last: tuple[int, float] | None = None
        self._per_call = 0.0

    def size(self, left: int, workers: int = 1) -> int:
        """How many of the `left` resamples the next batch takes, one of `workers` at work."""
        seconds = self._pace.get(self._what)
        if seconds is None:
            return 1
        size = min(_AIM_SECONDS / seconds, _GROWTH * self._largest)
        if self._largest == 1:
            # Only a second size tells the cost of a call from that of a resample.
            size = max(size, 2)
        if workers > 1:
            # Towards the end batches become smaller, so that no worker waits long for the last.
            size = min(size, max(left / (2 * workers), _LEAST_SECONDS / seconds))
        return max(1, min(left, self._most, math.floor(size)))

    def stop(self, start: int, end: int, workers: int = 1, left: int | None = None) -> int:
        """Where the batch that begins at `start` ends, `end` at most.

        It ends at a border where one lies between half and twice the size that it would have.

        >>> Batches({"mim": 0.01}, "mim", borders=[40, 80, 120]).stop(0, 200)
        40
        """
        size = min(end - start, self.size(end - start if left is None else left, workers))
        place = bisect_left(self._borders, start + size)
        near = [
            border
            for border in self._borders[max(0, place - 1) : place + 1]
            if size <= 2 * (border - start) <= 4 * size and border <= min(end, start + self._most)
        ]
        return min(near, key=lambda border: abs(border - start - size), default=start + size)

    @property
    def known(self) -> bool:
        """Whether anything has been learned of how long a resample takes."""
        return self._what in self._pace

    def saw(self, resamples: int, seconds: float) -> None:
        """Learn that so many resamples took so long."""
        mean = max(seconds, 1e-9) / resamples
        if self._last is not None and resamples > self._last[0]:
            more, longer = resamples - self._last[0], seconds - self._last[1]
            each = min(mean, max(longer / more, mean / _NOISE))
            self._per_call = max(0.0, seconds - each * resamples)
        else:
            each = min(mean, max((seconds - self._per_call) / resamples, mean / _NOISE))
        self._pace[self._what] = each
        self._last = (resamples, seconds)
        self._largest = max(self._largest, resamples)
