"""Partners that features are counted with: one selected feature, or several as one joint code."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fsframe.kernels.bit_counts import LANES
from fsframe_infotheory.engine.encode import Encoded
from fsframe_infotheory.engine.entropy import sum_clogc
from fsframe_infotheory.engine.layout import Layout, level_rows
from fsframe_infotheory.engine.packing import block_of, codes_in

__all__ = ["Partner", "joint", "partner_of"]


class Partner:
    """Levels of one feature, or of a combination, in the order of the counted samples.

    Parameters
    ----------
    layout : Layout
        Which samples count.
    n_levels : int
    codes : (n,) int64, or a callable that returns them
        Levels 0 … n_levels − 1; counting from bit rows does not use them.
    present : (n,) bool, optional
        Samples that are counted; all by default.

    Attributes
    ----------
    margins : (n_levels, n_classes) int64
        Samples of each level in each class; whole counts.
    rows : (n_levels − 1, n_words) uint64
        Bit rows of all levels but the last.
    sum_s, sum_sy : float
        Σ c·log₂c over levels, and over levels and classes; whole counts.
    """

    def __init__(
        self,
        layout: Layout,
        n_levels: int,
        codes: NDArray[np.int64] | Callable[[], NDArray[np.int64]],
        present: NDArray[np.bool_] | None = None,
    ) -> None:
        self.layout = layout
        self.n_levels = n_levels
        self.present = present
        self._codes = codes

    @cached_property
    def codes(self) -> NDArray[np.int64]:
        """Level of each sample."""
        return self._codes() if callable(self._codes) else self._codes

    @cached_property
    def labels(self) -> NDArray[np.int64]:
        """Class of each sample."""
        return np.repeat(np.arange(self.layout.n_classes), np.diff(self.layout.starts))

    @cached_property
    def margins(self) -> NDArray[np.int64]:
        cells = self.codes * self.layout.n_classes + self.labels
        counts = np.bincount(cells, minlength=self.n_levels * self.layout.n_classes)
        return counts.reshape(self.n_levels, self.layout.n_classes)

    @cached_property
    def rows(self) -> NDArray[np.uint64]:
        rows = np.zeros((self.n_levels - 1, self.layout.n_words), np.uint64)
        level_rows(self.codes, self.layout.starts, self.layout.words, rows)
        return rows

    @cached_property
    def sum_s(self) -> float:
        return sum_clogc(self.margins.sum(axis=1))

    @cached_property
    def sum_sy(self) -> float:
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
    """One feature as a partner; bit rows and counts of a packed one are reused."""
    layout, missing = encoded.layout, int(encoded.dropped[feature])
    n_levels = int(encoded.n_levels[feature])
    if missing >= 0:
        codes = encoded.codes_of(feature)
        return Partner(layout, n_levels, codes, codes != missing)
    k, lane = encoded.place(feature)
    chunk = encoded.chunk(k)
    partner = Partner(layout, n_levels, lambda: codes_in(chunk, feature, layout))
    if lane >= 0:
        planes, margins = block_of(chunk, lane // LANES, layout)
        partner.rows = np.ascontiguousarray(planes[: n_levels - 1, :, lane % LANES])
        partner.margins = np.ascontiguousarray(margins[:n_levels, :, lane % LANES])
        partner.sum_s = float(encoded.sum_j[feature])
        partner.sum_sy = float(encoded.sum_jy[feature])
    return partner


def joint(a: Partner, b: Partner) -> Partner:
    """The joint variable of two partners, with a level for each combination that occurs.

    Notes
    -----
    Levels are renumbered, so that any number of partners can be joined: at most one level per
    sample. A sample that either leaves out is left out.
    """
    cells = a.codes * b.n_levels + b.codes
    found, codes = np.unique(cells, return_inverse=True)
    present = a.present
    if b.present is not None:
        present = b.present if present is None else present & b.present
    return Partner(a.layout, len(found), codes.astype(np.int64), present)
