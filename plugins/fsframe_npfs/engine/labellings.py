"""Resamples of several labellings: the bootstraps of each, and the base run on all in one call."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from hashlib import blake2b
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.chains.chain import Chain
from fsframe.method.run import Run
from fsframe.method.selection import Selection
from fsframe.registry import nulls
from fsframe.resampling.work import portable
from fsframe.resampling.wrapping import Base
from fsframe.table.dataset import Dataset
from fsframe_npfs.engine.resample_counts import BootstrapSampler

__all__ = ["BASE", "DRAWS", "BootstrapDraws", "Relabelled", "class_codes", "permuted"]

DRAWS, LABELS, BASE = range(3)
"""First keys of random streams: of bootstraps, of permuted labels, and of the base."""

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


def class_codes(data: Dataset) -> NDArray[np.int64] | None:
    """Class codes, or None where the target is numeric."""
    return data.y if data.task == "classification" else None


@attrs.frozen(kw_only=True, eq=False)
class BootstrapDraws:
    """Bootstraps as counts per row, each with its own labelling; a `resamples.Draws`.

    Bootstrap b of a labelling draws its rows from stream (DRAWS, labelling, b), so the first
    bootstraps of a longer run equal those of a shorter one, in whichever process they are drawn.

    Parameters
    ----------
    streams : Run
        The source of random streams; only its seed and key are used.
    labellings, numbers : (m,) int
        Labelling of each resample (0 for the true label), and its number b within it.
    fraction, stratify, times
        As in `fsframe_npfs.engine.resample_counts.BootstrapSampler`.
    null : str
        Name of the null that permutes the labels.
    """

    streams: Run
    labellings: NDArray[np.int64]
    numbers: NDArray[np.int64]
    fraction: float
    stratify: bool
    times: NDArray[np.int64] | None = None
    null: str = PERMUTATION

    @classmethod
    def of(
        cls,
        run: Run,
        labellings: range,
        numbers: range,
        fraction: float,
        stratify: bool,
        times: NDArray[np.int64] | None,
        null: str = PERMUTATION,
    ) -> BootstrapDraws:
        """Bootstraps `numbers` of each of `labellings`, labelling by labelling."""
        return cls(
            streams=Run(entropy=run.entropy, key=run.key),
            labellings=np.repeat(labellings, len(numbers)),
            numbers=np.tile(numbers, len(labellings)),
            fraction=fraction,
            stratify=stratify,
            times=times,
            null=null,
        )

    def concatenate(self, others: BootstrapDraws) -> BootstrapDraws:
        """These bootstraps, followed by `others`."""
        return attrs.evolve(
            self,
            labellings=np.concatenate((self.labellings, others.labellings)),
            numbers=np.concatenate((self.numbers, others.numbers)),
        )

    def __len__(self) -> int:
        return len(self.labellings)

    def __str__(self) -> str:
        """The key of these counts in a checkpoint."""
        times = "" if self.times is None else blake2b(self.times.tobytes()).hexdigest()[:16]
        null = "" if self.null == PERMUTATION else f" by {self.null}"
        parts = [
            f"{int(self.labellings[begin])}:{int(self.numbers[begin])}x{end - begin}"
            for begin, end in constant_runs(self.labellings)
        ]
        return (
            f"bootstraps {','.join(parts)} of {self.streams.entropy} {self.streams.key} "
            f"fraction={self.fraction!r} stratify={self.stratify} {times}{null}"
        )

    def rows(self, data: Dataset, start: int, stop: int) -> NDArray[np.integer[Any]]:
        """Bootstraps `start` … `stop` − 1 as counts per row, (stop − start, n_samples).

        uint16 as long as no count can exceed its range: a thousand bootstraps of many rows do not
        fit in the cache, and moving them then costs more than drawing them.
        """
        drawn_from = data.n_samples if self.times is None else int(self.times.sum())
        # A class may be drawn two rows more often than its share.
        short = data.together is None and drawn_from + 2 * data.n_classes < 1 << 16
        counts = np.empty((stop - start, data.n_samples), dtype=np.uint16 if short else np.int64)
        for begin, end in constant_runs(self.labellings[start:stop]):
            labelling = int(self.labellings[start + begin])
            codes = class_codes(permuted(data, self.streams, labelling, self.null))
            sampler = BootstrapSampler(
                data.n_samples, codes, self.fraction, self.stratify, self.times, data.together
            )
            for place in range(begin, end):
                number = int(self.numbers[start + place])
                counts[place] = sampler.draw(self.streams.generator(DRAWS, labelling, number))
        return counts

    def one_by_one(self, data: Dataset) -> Iterator[NDArray[np.integer[Any]]]:
        """All bootstraps in order, 32 at a time in memory."""
        for start in range(0, len(self), 32):
            yield from self.rows(data, start, min(len(self), start + 32))


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
