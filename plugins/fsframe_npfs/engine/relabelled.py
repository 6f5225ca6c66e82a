"""A base run with permuted labels: resamples of several labellings in one call."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.chains.chain import Chain
from fsframe.contracts.dataset import Dataset
from fsframe.contracts.run import Run
from fsframe.contracts.selection import Selection
from fsframe.registry import nulls
from fsframe.resampling.work import portable
from fsframe.resampling.wrapping import Base

__all__ = ["LABELS", "PERMUTATION", "Relabelled", "constant_runs", "permuted"]

LABELS = 1
"""First key of the random streams that permute labels."""

PERMUTATION = "permutation"
"""The default null."""


def permuted(data: Dataset, run: Run, labelling: int, null: str = PERMUTATION) -> Dataset:
    """The table with labels permuted by a null; labelling 0 is the true one."""
    if labelling == 0:
        return data
    return data.with_labels(nulls[null]().labels(data, run.generator(LABELS, labelling)))


def constant_runs(labellings: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Begin and end of each run of equal labellings.

    >>> list(constant_runs(np.array([0, 0, 3])))
    [(0, 2), (2, 3)]
    """
    borders = (np.flatnonzero(np.diff(labellings)) + 1).tolist()
    yield from zip([0, *borders], [*borders, len(labellings)], strict=True)


@attrs.frozen(kw_only=True, eq=False, slots=False)
class Relabelled:
    """`base` on resamples, each with its own labelling.

    One call over all labellings keeps every worker busy and sends the table once; labels are
    permuted in the process that uses them.

    Parameters
    ----------
    base : str, or an object with `select_many`
        A chain as text, or its representation for another process.
    labels : Run
        The source of the random streams that permute labels.
    labellings : (n_parts,) int
        The labelling of each resample.
    first : int
        Number of the first of these resamples among the units of the run.
    null : str
        Name of the null that permutes the labels.
    """

    base: Any
    labels: Run
    labellings: NDArray[np.int64]
    first: int
    null: str = PERMUTATION

    @classmethod
    def of(
        cls, base: Base, run: Run, labellings: NDArray[np.int64], first: int, null: str
    ) -> Relabelled:
        """`base` with labels from the streams of `run`; portable if `run` has an executor."""
        return cls(
            base=base if run.executor is None else portable(base),
            labels=Run(entropy=run.entropy, key=run.key),
            labellings=labellings,
            first=first,
            null=null,
        )

    def __str__(self) -> str:
        """The key of this work in a checkpoint, together with the resamples."""
        runs = [f"{self.labellings[a]}x{b - a}" for a, b in constant_runs(self.labellings)]
        null = "" if self.null == PERMUTATION else f" by {self.null}"
        return f"{self.base} under labellings {','.join(runs)} of {self.labels.key}{null}"

    @property
    def kind(self) -> str:
        """The key under which its speed is recorded: that of the base."""
        return f"{self.base} under labellings"

    @property
    def borders(self) -> list[int]:
        """First resamples of the labellings, where a base with its own `select_many` restarts."""
        return [begin for begin, _ in constant_runs(self.labellings)]

    @cached_property
    def _base(self) -> Any:
        return Chain.parse(self.base) if isinstance(self.base, str) else self.base

    def select_many(
        self,
        data: Dataset,
        counts: NDArray[np.integer[Any]],
        upstream: Selection | None = None,
        run: Run | None = None,
    ) -> list[Selection]:
        """One Selection per row of `counts`, labelling by labelling."""
        assert run is not None
        start = run.first - self.first
        mine = self.labellings[start : start + len(counts)]
        found: list[Selection] = []
        for begin, end in constant_runs(mine):
            table = permuted(data, self.labels, int(mine[begin]), self.null)
            found += self._base.select_many(table, counts[begin:end], upstream, run.batch(begin))
        return found
