"""Runs the base over resamples, true label or permuted, and keeps what each resample marked."""

from __future__ import annotations

from collections.abc import Callable

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.dataset import Dataset
from fsframe.resampling import select_resamples
from fsframe.run import Run
from fsframe.selection import Selection
from fsframe.selector import Base
from fsframe_npfs.marks import Marker, tally
from fsframe_npfs.resamples import bootstrap_counts

__all__ = ["Bootstraps", "class_codes", "permuted"]

# First key of every random stream of this plugin: draws, label permutations, the base's own.
DRAWS, LABELS, BASE = 0, 1, 2


def class_codes(data: Dataset) -> NDArray[np.int64] | None:
    """The class codes, or None where the target is a number."""
    return None if data.task == "regression" else data.y


def permuted(data: Dataset, generator: np.random.Generator) -> Dataset:
    """The same table with its labels dealt out anew, as if they had nothing to do with it."""
    return data.with_labels(data.y[generator.permutation(data.n_samples)])


@attrs.define(eq=False)
class Bootstraps:
    """Bootstraps of one labelling, drawn on demand; what is drawn does not depend on when.

    Parameters
    ----------
    base : Base
        What is resampled.
    data : Dataset
        The table, its label true or permuted; its counts, if any, are rows to draw from.
    upstream : Selection or None
        What the base starts from.
    marker : Marker
        Says what one resample marked.
    run : Run
        Random streams and progress.
    labelling : int
        0 for the true label, 1, 2, … for the permutations: keeps their streams apart.
    fraction, stratify
        As in `bootstrap_counts`.
    report : callable
        Called now and then, when some are finished.
    """

    base: Base
    data: Dataset
    upstream: Selection | None
    marker: Marker
    run: Run
    labelling: int
    fraction: float
    stratify: bool
    report: Callable[[], None]
    marks: list[NDArray[np.int64]] = attrs.field(factory=list)
    notes: dict[str, int] = attrs.field(factory=dict)

    def extend(self, n: int) -> None:
        """Draw until there are n bootstraps.

        Bootstrap b draws its rows from stream (DRAWS, labelling, b), so the first bootstraps of a
        longer run are those of a shorter one.
        """
        drawn = len(self.marks)
        if drawn >= n:
            return
        counts = np.stack([self._draw(b) for b in range(drawn, n)])
        self.take(counts, drawn)

    def take(self, counts: NDArray[np.int64], first: int = 0) -> None:
        """Run the base on these resamples, and keep what each marked."""
        surroundings = self.run.child(BASE, self.labelling).batch(first)
        found = select_resamples(
            self.base,
            self.data.with_counts(None),
            counts,
            attrs.evolve(surroundings, listener=lambda _: self.report()),
            upstream=self.upstream,
            parts=self.marker.parts,
        )
        for row, selection in zip(counts, found, strict=True):
            self.marks.append(self.marker.marks(selection, row))
            for note in selection.warnings:
                self.notes[note] = self.notes.get(note, 0) + 1

    def _draw(self, b: int) -> NDArray[np.int64]:
        return bootstrap_counts(
            self.data.n_samples,
            self.run.generator(DRAWS, self.labelling, b),
            y=class_codes(self.data),
            fraction=self.fraction,
            stratify=self.stratify,
            times=self.data.counts,
        )

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
