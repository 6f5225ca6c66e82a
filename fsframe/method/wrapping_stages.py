"""Resampling a chain: its interface, whether it is on the left, and the rows of a resample."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeGuard

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.method.run import Run
from fsframe.method.selection import Selection
from fsframe.table.dataset import Dataset

__all__ = ["Base", "WrapsLeft", "drawn_rows", "one_by_one", "wraps_left"]


class Base(Protocol):
    """The chain that a wrapping stage resamples: the one on its left, or that of `base`."""

    def select(
        self, data: Dataset, upstream: Selection | None = None, run: Run | None = None
    ) -> Selection: ...

    def select_many(
        self,
        data: Dataset,
        counts: NDArray[np.integer[Any]],
        upstream: Selection | None = None,
        run: Run | None = None,
    ) -> list[Selection]:
        """`select` on each resample, a row of `counts`, unless there is a faster way."""
        return one_by_one(self.select, data, counts, upstream, run)


class WrapsLeft(Protocol):
    """A stage that resamples everything on its left."""

    def works_in_parts(self, data: Dataset) -> bool: ...

    def select_wrapped(
        self, base: Base, data: Dataset, upstream: Selection | None, run: Run
    ) -> Selection: ...


def wraps_left(method: object) -> TypeGuard[WrapsLeft]:
    """Whether a method resamples the chain on its left: a wrapping stage without `base`."""
    return bool(getattr(method, "wrapping", False)) and getattr(method, "base", None) is None


def one_by_one(
    select: Callable[[Dataset, Selection | None, Run], Selection],
    data: Dataset,
    counts: NDArray[np.integer[Any]],
    upstream: Selection | None,
    run: Run | None,
) -> list[Selection]:
    """The result of `select` on each resample of `data`: the reference for all faster ways.

    `counts`, (n_resamples, n_samples), says how often each resample draws each row; resample b
    draws from ``run.child(b)``.
    """
    context = Run() if run is None else run
    return [
        select(data.with_counts(row), upstream, context.child(b)) for b, row in enumerate(counts)
    ]


def drawn_rows(
    data: Dataset, counts: NDArray[np.integer[Any]], upstream: Selection | None
) -> tuple[NDArray[np.intp], Dataset, Selection | None]:
    """The rows that a resample has drawn, their table, and the upstream selection for them.

    `counts`, (n_samples,), become the counts of the table; the instance weights of `upstream` are
    restricted to the drawn rows.
    """
    rows = np.flatnonzero(counts)
    if upstream is not None and upstream.instance_weights is not None:
        upstream = attrs.evolve(upstream, instance_weights=upstream.instance_weights[rows])
    local = data.with_counts(counts)
    return rows, (local if rows.size == data.n_samples else local.take_rows(rows)), upstream
