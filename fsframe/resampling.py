"""Running a selector on many resamples of one table: the machinery under every wrapping stage."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsframe.dataset import Dataset
from fsframe.run import Run
from fsframe.selection import Selection
from fsframe.selector import Base

__all__ = ["select_resamples"]

_BATCH_SECONDS = 0.5


def select_resamples(
    base: Base,
    data: Dataset,
    counts: NDArray[np.integer[Any]],
    run: Run,
    *,
    upstream: Selection | None = None,
    label: str = "resamples",
) -> Iterator[Selection]:
    """What `base` keeps on each resample of `data`, in order.

    Parameters
    ----------
    base : Base
        A chain or a selector.
    data : Dataset
        The table that the counts refer to.
    counts : (n_resamples, n_samples) int
        How often each resample draws each row.
    run : Run
        Resample b draws from part b of `run`, however the work is cut into batches.
    upstream : Selection, optional
        What the stage on the left of `base` kept.
    label : str
        What progress calls the resamples.

    Yields
    ------
    Selection
        One for each row of `counts`.

    Notes
    -----
    Batches grow until one takes about half a second, so that progress moves and a method with a
    fast way through many resamples can use it. The result does not depend on the batches.
    """
    total, start, size = len(counts), 0, 1
    run.progress(0, total, label)
    while start < total:
        stop = min(start + size, total)
        began = time.perf_counter()
        found = base.select_many(data, counts[start:stop], upstream, run.batch(start).quiet())
        seconds = time.perf_counter() - began
        yield from found
        start = stop
        run.progress(start, total, label)
        # Timing moves only the batch borders, never a result.
        size = max(1, min(4 * size, int(size * _BATCH_SECONDS / max(seconds, 1e-6))))
