"""Bootstraps of several labellings, drawn in the process that uses them."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.contracts.dataset import Dataset
from fsframe.contracts.run import Run
from fsframe_npfs.engine.relabelled import PERMUTATION, constant_runs, permuted
from fsframe_npfs.engine.resample_counts import BootstrapSampler

__all__ = ["BASE", "DRAWS", "BootstrapDraws", "class_codes"]

# First keys of random streams; `fsframe_npfs.engine.relabelled` defines a third.
DRAWS, BASE = 0, 2


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
        As in `fsframe_npfs.engine.resample_counts.bootstrap_counts`.
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
