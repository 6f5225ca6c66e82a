"""Features or pairs selected in the resamples of one labelling, and their counts."""

from __future__ import annotations

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.contracts.selection import Selection
from fsframe.resampling.recurring_warnings import Recurring
from fsframe_npfs.engine.candidates import Candidates, count_codes

__all__ = ["SelectionCounts"]


@attrs.define(eq=False)
class SelectionCounts:
    """What each resample of one labelling selected, in order.

    Parameters
    ----------
    candidates : Candidates
        The features or pairs that can be selected.
    selected : list of (k_l,) int64
        Sorted codes per resample.
    warnings : Recurring
        Warnings of the base.
    """

    candidates: Candidates
    selected: list[NDArray[np.int64]] = attrs.field(factory=list)
    warnings: Recurring = attrs.field(factory=Recurring)

    def add(self, found: Selection, counts: NDArray[np.int64] | None) -> None:
        """Record the result of the base on one resample."""
        self.selected.append(self.candidates.selected(found, counts))
        self.warnings.add(found.warnings)

    @property
    def kept(self) -> NDArray[np.int64]:
        """k_l: number of features or pairs selected per resample."""
        return np.array([codes.size for codes in self.selected], dtype=np.int64)

    def count_codes(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Codes selected at least once, and their counts."""
        return count_codes(self.selected)

    def counts_of(self, codes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Number of resamples that selected each of these codes."""
        found, z = self.count_codes()
        if not found.size:
            return np.zeros(codes.shape, dtype=np.int64)
        place = np.minimum(np.searchsorted(found, codes), found.size - 1)
        return np.where(found[place] == codes, z[place], 0)

    def matrix(self, codes: NDArray[np.int64]) -> NDArray[np.bool_]:
        """The bootstrap matrix Z, (n, len(codes)): whether resample l selected code i."""
        Z = np.zeros((len(self.selected), codes.size), dtype=bool)
        for row, selected in zip(Z, self.selected, strict=True):
            row[np.searchsorted(codes, selected)] = True
        return Z
