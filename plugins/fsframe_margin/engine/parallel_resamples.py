"""Resamples of one table side by side, one thread each."""

from __future__ import annotations

from collections.abc import Callable

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.contracts.dataset import Dataset
from fsframe.contracts.run import Run
from fsframe.contracts.selection import Selection
from fsframe.contracts.side_by_side import drawn_rows, in_threads
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
    """What `select` returns for every row of `counts`, (n_resamples, n_samples).

    Resample b works with ``run.child(b)``, in one thread, on its live rows only; instance weights
    that it returns are spread to all rows again. The compiled loops release the interpreter, so
    `run.threads` resamples run at a time; what each returns does not depend on it.
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
    # held here too: lifting and setting the limit between resamples, while others are at work,
    # made a fit take forty times as long
    with one_blas_thread:
        return in_threads(workers, one, range(len(counts)))


def workers_within(run: Run, n_samples: int, n_features: int) -> int:
    """How many fits may run at a time: `run.threads`, and no more than the memory bound allows.

    A fit holds up to three N × N arrays (none above 4096 rows), a few copies of the table, and
    eight A × A arrays where W is held whole.
    Only the number at a time is bounded here, never what one does, so results stay the same.
    """
    rows = min(n_samples, STORED_ROWS)
    each = 24 * rows * rows + 32 * n_samples * n_features
    each += min(64 * n_features * n_features, run.memory // 2)
    return int(max(1, min(run.threads, run.memory // max(1, each))))
