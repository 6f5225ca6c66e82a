"""Resamples of one table in parallel, one thread each."""

from __future__ import annotations

from collections.abc import Callable

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.kernels.threads import in_threads
from fsframe.method.run import Run
from fsframe.method.selection import Selection
from fsframe.method.wrapping_stages import drawn_rows
from fsframe.table.dataset import Dataset
from fsframe_margin.engine.blas import one_blas_thread
from fsframe_margin.engine.margins import STORED_ROWS

__all__ = ["select_each", "workers_within"]


def select_each(
    select: Callable[[Dataset, Selection | None, Run], Selection],
    data: Dataset,
    counts: NDArray[np.int64],
    upstream: Selection | None,
    run: Run,
) -> list[Selection]:
    """The results of `select` for every row of `counts`, (n_resamples, n_samples).

    Resample b uses ``run.child(b)`` and one thread, on its drawn rows only; the instance weights
    that it returns are mapped back to all rows. The compiled loops release the interpreter, so
    `run.threads` resamples run at a time; results do not depend on that number.
    """

    def one(b: int) -> Selection:
        rows, local, own = drawn_rows(data, counts[b], upstream)
        surroundings = attrs.evolve(run.child(b).quiet(), threads=1)
        found = select(local, own, surroundings)
        if found.instance_weights is None or rows.size == data.n_samples:
            return found
        spread = np.zeros(data.n_samples)
        spread[rows] = found.instance_weights
        return attrs.evolve(found, instance_weights=spread)

    workers = workers_within(run, data.n_samples, data.n_features)
    # Also set here: changing the limit between resamples while others are running made a fit take
    # forty times as long.
    with one_blas_thread:
        return in_threads(workers, one, range(len(counts)))


def workers_within(run: Run, n_samples: int, n_features: int) -> int:
    """How many fits may run at a time: `run.threads`, or fewer if the memory bound requires it.

    A fit holds up to three N × N arrays (none above 4096 rows), a few copies of the table, and
    eight A × A arrays if W is stored as a matrix. Only the number of concurrent fits is bounded
    here, so that results do not depend on it.
    """
    rows = min(n_samples, STORED_ROWS)
    each = 24 * rows * rows + 32 * n_samples * n_features
    each += min(64 * n_features * n_features, run.memory // 2)
    return int(max(1, min(run.threads, run.memory // max(1, each))))
