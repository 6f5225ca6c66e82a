"""Survival labels: times until an event, some of which are censored.

A table stores one float64 per row, so that resamples, folds and permutations keep time and event
together: the time, negated if it is censored. Zero is signed too.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fsframe.errors import DataError

LABELS = {
    "classification": "classes",
    "regression": "a numeric target",
    "survival": "times until an event",
}
"""What the label of a table is called, by its task."""


def signed_times(
    time: ArrayLike, event: ArrayLike, label: str = "time", flag: str = "event"
) -> NDArray[np.float64]:
    """Times and events as one signed number per row, as a table stores them.

    Parameters
    ----------
    time : (n,) numbers ≥ 0, finite
    event : (n,) 0 or 1, or truth values
        Whether the event was observed at that time; otherwise the time is censored.
    label, flag : str
        Their names in messages.

    Returns
    -------
    (n,) float64
        Negative if censored.

    Raises
    ------
    DataError
        If a time is negative or not finite, an event is neither 0 nor 1, or no event is observed.

    >>> signed_times([2, 5, 0], [1, 0, 0]).tolist()
    [2.0, -5.0, -0.0]
    """
    try:
        times = np.asarray(time, dtype=np.float64)
        seen = np.asarray(event, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError(
            f"the label {label!r} and the events {flag!r} must be numbers: times, and 1 if the "
            "event was observed, 0 if the time is censored"
        ) from None
    if times.shape != seen.shape:
        raise DataError(f"{len(seen)} events {flag!r} for {len(times)} times {label!r}")
    wrong = np.flatnonzero(~(np.isfinite(times) & (times >= 0)))
    if wrong.size:
        row = int(wrong[0])
        raise DataError(f"times {label!r} must be numbers ≥ 0; row {row + 1} has {times[row]:g}")
    odd = np.flatnonzero((seen != 0) & (seen != 1))
    if odd.size:
        row = int(odd[0])
        raise DataError(
            f"events {flag!r} must be 1 (observed) or 0 (censored); row {row + 1} has {seen[row]:g}"
        )
    if not seen.any():
        raise DataError(f"no event is observed in {flag!r}: every time is censored")
    return np.copysign(times, np.where(seen == 1, 1.0, -1.0))


def times_and_events(y: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Times and events from signed numbers.

    >>> [part.tolist() for part in times_and_events(np.array([2.0, -5.0, -0.0]))]
    [[2.0, 5.0, 0.0], [True, False, False]]
    """
    return np.abs(y), ~np.signbit(y)
