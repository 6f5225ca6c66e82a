"""A base that sees permuted labels: resamples of several labellings as one piece of work."""

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

__all__ = ["LABELS", "PERMUTATION", "Relabelled", "permuted", "runs_of"]

LABELS = 1
"""First key of the random streams that deal labels out anew."""

PERMUTATION = "permutation"
"""The null that deals labels out where nobody says otherwise."""


def permuted(data: Dataset, run: Run, labelling: int, null: str = PERMUTATION) -> Dataset:
    """The same table with its labels as a null deals them out; labelling 0 is the true one."""
    if labelling == 0:
        return data
    dealt = nulls[null]().labels(data, run.generator(LABELS, labelling))
    return data.with_labels(dealt)


def runs_of(labellings: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Begin and end of each stretch of one labelling.

    >>> list(runs_of(np.array([0, 0, 3])))
    [(0, 2), (2, 3)]
    """
    borders = (np.flatnonzero(np.diff(labellings)) + 1).tolist()
    yield from zip([0, *borders], [*borders, len(labellings)], strict=True)


@attrs.frozen(kw_only=True, eq=False, slots=False)
class Relabelled:
    """`base` on resamples of which each has a labelling of its own.

    One call over all labellings keeps every worker busy, and the table travels once; the labels
    are dealt out where they are needed.

    Parameters
    ----------
    base : str, or what has `select_many`
        A chain as text, or what stands for it on the way to another process.
    labels : Run
        Whose streams deal the labels out.
    labellings : (n_parts,) int
        The labelling of each resample.
    first : int
        Number of the first of these resamples among the parts of the run.
    null : str
        The name of what deals the labels out.
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
        """`base` with labels from the streams of `run`; sent on only if `run` has an executor."""
        return cls(
            base=base if run.executor is None else portable(base),
            labels=Run(entropy=run.entropy, key=run.key),
            labellings=labellings,
            first=first,
            null=null,
        )

    def __str__(self) -> str:
        """What a checkpoint knows the work by, with the resamples themselves."""
        runs = [
            f"{self.labellings[begin]}x{end - begin}" for begin, end in runs_of(self.labellings)
        ]
        dealt = "" if self.null == PERMUTATION else f" by {self.null}"
        return f"{self.base} under labellings {','.join(runs)} of {self.labels.key}{dealt}"

    @property
    def kind(self) -> str:
        """What its pace is remembered by: that of the base."""
        return f"{self.base} under labellings"

    @property
    def borders(self) -> list[int]:
        """Where a labelling begins: a base with a way through many resamples starts anew there."""
        return [begin for begin, _ in runs_of(self.labellings)]

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
        """One Selection per row of `counts`, those of one labelling together."""
        assert run is not None
        start = run.first - self.first
        mine = self.labellings[start : start + len(counts)]
        found: list[Selection] = []
        for begin, end in runs_of(mine):
            table = permuted(data, self.labels, int(mine[begin]), self.null)
            found += self._base.select_many(table, counts[begin:end], upstream, run.batch(begin))
        return found
