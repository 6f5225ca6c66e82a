"""One round of scoring on some of the columns, stored for resuming interrupted runs."""

from __future__ import annotations

import hashlib
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.contracts.dataset import Dataset
from fsframe.contracts.run import Run
from fsframe.contracts.selection import Selection
from fsframe.resampling.resamples import select_resamples
from fsframe.resampling.wrapping import Base

__all__ = ["scored_round"]


def scored_round(
    base: Base,
    data: Dataset,
    columns: NDArray[np.intp],
    upstream: Selection | None,
    run: Run,
    number: int,
) -> Selection:
    """The scores of `base` on some columns of `data`, in the numbers of `data`, and its warnings.

    Parameters
    ----------
    base : Base
        The scoring selector.
    data : Dataset
        The whole table, with its counts.
    columns : (n_columns,) int, ascending
        The columns that `base` sees.
    upstream : Selection, optional
        Selection of the stage on the left of `base`; restricted to `columns`.
    run : Run
        The round draws from ``run.child(number)``. With `run.checkpoint` it is kept when it is
        finished, and not computed again.
    number : int
        Of the round.

    Notes
    -----
    A round is one task, computed in this process with `run.threads` threads; a base that resamples
    submits its own resamples to `run.executor`, and stores those instead of the round.
    """
    scoring = _Round(base, columns)
    if _resamples(base):
        return scoring.select(data, upstream, run.child(number))
    counts = np.ones(data.n_samples, np.int64) if data.counts is None else data.counts
    here = attrs.evolve(run.batch(number), executor=None, listener=None)
    (found,) = select_resamples(
        scoring, data.with_counts(None), counts[None, :], here, upstream=upstream, parts=("scores",)
    )
    return found


def _resamples(base: Any) -> bool:
    """Whether a stage of `base` is a wrapping one."""
    return any(stage.method.wrapping for stage in getattr(base, "selecting", ()))


@attrs.frozen(eq=False)
class _Round:
    """`base` on some columns, with the interface of `select_resamples`."""

    base: Base
    columns: NDArray[np.intp]

    def __str__(self) -> str:
        digest = hashlib.sha256(self.columns.astype("<i8").tobytes()).hexdigest()
        return f"{self.base} on columns {digest}"

    def select(
        self, data: Dataset, upstream: Selection | None = None, run: Run | None = None
    ) -> Selection:
        """The selection of `base` on its columns of `data`, in the numbers of `data`."""
        arriving = None
        if upstream is not None:
            every = np.arange(len(self.columns))
            arriving = attrs.evolve(upstream.restrict(self.columns), selected=every)
        found = self.base.select(data.take_columns(self.columns), arriving, run)
        return found.lift(self.columns, data.n_features)

    def select_many(
        self,
        data: Dataset,
        counts: NDArray[np.integer[Any]],
        upstream: Selection | None = None,
        run: Run | None = None,
    ) -> list[Selection]:
        """`select` with each row of `counts`."""
        surroundings = Run() if run is None else run
        return [
            # no counts if all are one, for methods that would copy rows
            self.select(
                data.with_counts(None if (row == 1).all() else row), upstream, surroundings.child(b)
            )
            for b, row in enumerate(counts)
        ]
