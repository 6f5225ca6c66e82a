"""What features are counted with: one selected feature, or several as one joint code."""

from __future__ import annotations

from functools import cached_property

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe_infotheory.encode import Encoded
from fsframe_infotheory.entropy import sum_clogc
from fsframe_infotheory.layout import Layout
from fsframe_infotheory.planes import level_rows

__all__ = ["Partner", "joint", "partner_of"]


@attrs.frozen(kw_only=True, eq=False)
class Partner:
    """Levels of one feature, or of a combination, in the order of the counted samples.

    Parameters
    ----------
    layout : Layout
        Which samples count.
    codes : (n,) int64
        Levels 0 … n_levels − 1.
    n_levels : int
    present : (n,) bool, or None
        Samples that are counted; None for all.
    """

    layout: Layout
    codes: NDArray[np.int64]
    n_levels: int
    present: NDArray[np.bool_] | None = None

    @cached_property
    def labels(self) -> NDArray[np.int64]:
        """Class of each sample."""
        return np.repeat(np.arange(self.layout.n_classes), np.diff(self.layout.starts))

    @cached_property
    def margins(self) -> NDArray[np.int64]:
        """Samples of each level in each class, as (n_levels, n_classes); whole counts."""
        cells = self.codes * self.layout.n_classes + self.labels
        counts = np.bincount(cells, minlength=self.n_levels * self.layout.n_classes)
        return counts.reshape(self.n_levels, self.layout.n_classes)

    @cached_property
    def rows(self) -> NDArray[np.uint64]:
        """Bit rows of all levels but the last, as (n_levels − 1, n_words)."""
        rows = np.zeros((self.n_levels - 1, self.layout.n_words), np.uint64)
        level_rows(self.codes, self.layout.starts, self.layout.words, rows)
        return rows

    @cached_property
    def sum_s(self) -> float:
        """Σ c·log₂c over levels, for whole counts."""
        return sum_clogc(self.margins.sum(axis=1))

    @cached_property
    def sum_sy(self) -> float:
        """Σ c·log₂c over levels and classes, for whole counts."""
        return sum_clogc(self.margins)

    @cached_property
    def grouped(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Samples by level, then class, absent ones left out; and where each level begins."""
        codes = self.codes
        order = np.argsort(codes, kind="stable")
        if self.present is not None:
            order = order[self.present[order]]
        sizes = np.bincount(codes[order], minlength=self.n_levels)
        return order, np.concatenate([[0], np.cumsum(sizes)])


def partner_of(encoded: Encoded, feature: int) -> Partner:
    """One feature as a partner."""
    codes = encoded.codes_of(feature)
    missing = int(encoded.dropped[feature])
    return Partner(
        layout=encoded.layout,
        codes=codes,
        n_levels=int(encoded.n_levels[feature]),
        present=None if missing < 0 else codes != missing,
    )


def joint(a: Partner, b: Partner) -> Partner:
    """Two partners as one, with a level for each combination that occurs.

    Notes
    -----
    Levels are numbered anew, so that any number of partners can be joined: at most one level per
    sample. A sample that one of them leaves out is left out.
    """
    cells = a.codes * b.n_levels + b.codes
    found, codes = np.unique(cells, return_inverse=True)
    present = a.present
    if b.present is not None:
        present = b.present if present is None else present & b.present
    return Partner(
        layout=a.layout, codes=codes.astype(np.int64), n_levels=len(found), present=present
    )
