"""Features or pairs selected in each resample of one labelling, and how often."""

from __future__ import annotations

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.contracts.selection import Selection
from fsframe.resampling.recurring_warnings import Recurring
from fsframe_npfs.engine.selected_items import Marker, tally

__all__ = ["Marks"]


@attrs.define(eq=False)
class Marks:
    """The marks of the resamples of one labelling, in order.

    Parameters
    ----------
    marker : Marker
        Says what one resample marked.
    marks : list of (k_l,) int64
        Sorted codes.
    notes : Recurring
        Warnings of the base.
    """

    marker: Marker
    marks: list[NDArray[np.int64]] = attrs.field(factory=list)
    notes: Recurring = attrs.field(factory=Recurring)

    def add(self, found: Selection, counts: NDArray[np.int64] | None) -> None:
        """Keep what the base found in one resample."""
        self.marks.append(self.marker.marks(found, counts))
        self.notes.add(found.warnings)

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
