"""Bootstraps of one labelling: their counts per row, and what each of them marked."""

from __future__ import annotations

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.dataset import Dataset
from fsframe.run import Run
from fsframe.selection import Selection
from fsframe_npfs.marks import Marker, tally
from fsframe_npfs.resamples import bootstrap_counts

__all__ = ["BASE", "DRAWS", "Bootstraps", "class_codes"]

# First keys of the random streams of this plugin; `fsframe_npfs.relabelled` has another.
DRAWS, BASE = 0, 2


def class_codes(data: Dataset) -> NDArray[np.int64] | None:
    """The class codes, or None where the target is a number."""
    return None if data.task == "regression" else data.y


@attrs.define(eq=False)
class Bootstraps:
    """Bootstraps of one labelling, drawn on demand; what is drawn does not depend on when.

    Parameters
    ----------
    data : Dataset
        The table, its label true or permuted; its counts, if any, are rows to draw from.
    marker : Marker
        Says what one resample marked.
    run : Run
        Random streams.
    labelling : int
        0 for the true label, 1, 2, … for the permutations: keeps their streams apart.
    fraction, stratify
        As in `bootstrap_counts`.
    """

    data: Dataset
    marker: Marker
    run: Run
    labelling: int
    fraction: float
    stratify: bool
    marks: list[NDArray[np.int64]] = attrs.field(factory=list)
    notes: dict[str, int] = attrs.field(factory=dict)

    def counts(self, first: int, stop: int) -> NDArray[np.int64]:
        """Bootstraps `first` … `stop` − 1 as counts per row.

        Bootstrap b draws its rows from stream (DRAWS, labelling, b), so the first bootstraps of a
        longer run are those of a shorter one.
        """
        return np.stack(
            [
                bootstrap_counts(
                    self.data.n_samples,
                    self.run.generator(DRAWS, self.labelling, b),
                    y=class_codes(self.data),
                    fraction=self.fraction,
                    stratify=self.stratify,
                    times=self.data.counts,
                )
                for b in range(first, stop)
            ]
        )

    def add(self, found: Selection, counts: NDArray[np.int64]) -> None:
        """Keep what the base found in one resample."""
        self.marks.append(self.marker.marks(found, counts))
        for note in found.warnings:
            self.notes[note] = self.notes.get(note, 0) + 1

    @property
    def kept(self) -> NDArray[np.int64]:
        """k_l: how many features or pairs each resample marked."""
        return np.array([m.size for m in self.marks], dtype=np.int64)

    def tally(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Codes marked at least once, and how often."""
        return tally(self.marks)

    def counts_of(self, codes: NDArray[np.int64]) -> NDArray[np.int64]:
        """How often each of these codes was marked."""
        marked, z = self.tally()
        if not marked.size:
            return np.zeros(codes.shape, dtype=np.int64)
        place = np.minimum(np.searchsorted(marked, codes), marked.size - 1)
        return np.where(marked[place] == codes, z[place], 0)

    def matrix(self, codes: NDArray[np.int64]) -> NDArray[np.bool_]:
        """The bootstrap matrix Z, (n, len(codes)): whether resample l marked code i."""
        Z = np.zeros((len(self.marks), codes.size), dtype=bool)
        for row, marks in zip(Z, self.marks, strict=True):
            row[np.searchsorted(codes, marks)] = True
        return Z
