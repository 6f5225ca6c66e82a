"""Columns of a table as bytes, where values are few enough, and the counts of those bytes."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.table.dataset import Dataset
from fsframe_infotheory.engine.bins import ByteLevels
from fsframe_infotheory.engine.byte_cache import TableBytes, fill
from fsframe_infotheory.engine.level_counts import class_masks, tally
from fsframe_infotheory.engine.sample_layout import Layout

__all__ = ["Masks", "RawColumns", "Tally", "tally_rows"]


@attrs.frozen(kw_only=True, eq=False)
class Masks:
    """The rows of a table that count, by class; see `level_counts.class_masks`."""

    bits: NDArray[np.uint64]
    sizes: NDArray[np.int64]

    @classmethod
    def of(cls, layout: Layout, n_rows: int) -> Masks:
        """The masks of a layout with whole counts."""
        return cls(bits=class_masks(layout, n_rows), sizes=np.diff(layout.starts))


@attrs.frozen(kw_only=True, eq=False)
class Tally:
    """Results of `tally`: bytes that occur in each column, whether one is "missing", and sums."""

    starts: NDArray[np.int64]
    values: NDArray[np.uint8]
    missing: NDArray[np.bool_]
    top: NDArray[np.int64]
    sums: NDArray[np.float64]


def tally_rows(
    raw: NDArray[np.uint8], rows: NDArray[np.intp], layout: Layout, masks: Masks
) -> Tally:
    """`tally` of some rows of `raw`."""
    n_levels, holes, top = np.empty((3, rows.size), np.int64)
    values = np.empty(256 * rows.size, np.uint8)
    sums = np.empty((2, rows.size))
    tally(
        raw, rows, masks.bits, masks.sizes, layout.table, n_levels, holes, top, values, sums[0],
        sums[1],
    )  # fmt: skip
    starts = np.concatenate([[0], np.cumsum(n_levels)])
    return Tally(
        starts=starts,
        values=values[: starts[-1]],
        missing=holes > 0,
        top=top,
        sums=sums,
    )


@attrs.frozen(kw_only=True, eq=False)
class RawColumns:
    """Some adjacent columns as stored, and as bytes where they fit.

    Parameters
    ----------
    start : int
        The first column.
    source, first
        ``source[:, first + k]`` is column k.
    raw : (m, n_samples) uint8
        Bytes, read-only; empty if they were not requested.
    seen : ByteLevels or None
        Values that occur in the columns that fit into bytes.
    sums : (2, m) float64
        Σ c·log₂c over bytes, and over bytes and classes, of those columns.
    """

    start: int
    source: NDArray[Any]
    first: int
    raw: NDArray[np.uint8]
    seen: ByteLevels | None
    sums: NDArray[np.float64]

    @classmethod
    def read(
        cls,
        data: Dataset,
        bound: tuple[int, int],
        layout: Layout,
        masks: Masks | None,
        table: TableBytes | None = None,
    ) -> RawColumns:
        """Columns of a table; without `masks` (counts are not whole) no bytes are made."""
        start, stop = bound
        block, first = (data.matrix, start) if data.in_memory else (None, 0)
        if block is None and table is not None and table.block is not None:
            block, first = table.block, start
        if block is None:
            block = data.columns(start, stop)
        nothing = np.empty((2, 0))
        if masks is None:
            return cls(
                start=start, source=block, first=first, sums=nothing,
                raw=np.empty((0, 0), np.uint8), seen=None,
            )  # fmt: skip
        m = stop - start
        if table is None:
            raw, base, usable = fill(block, first, m)
        else:
            raw, base, usable = table.of(bound, block, first)
        rows = np.flatnonzero(usable)
        found = tally_rows(raw, rows, layout, masks)
        # In a table of bytes 254 and 255 are values; here they are reserved.
        fits = found.top <= 253 if block.dtype == np.uint8 else found.top <= 254
        starts, missing, sums = found.starts, found.missing, found.sums
        if rows.size == m:
            usable = fits
        else:
            usable = usable.copy()
            usable[rows] = fits
            starts, missing, sums = np.zeros(m + 1, np.int64), np.zeros(m, bool), np.zeros((2, m))
            starts[1 + rows] = np.diff(found.starts)
            np.cumsum(starts, out=starts)
            missing[rows], sums[:, rows] = found.missing, found.sums
        seen = ByteLevels(
            base=base, usable=usable, starts=starts, values=found.values, missing=missing
        )
        return cls(
            start=start, source=block, first=first, sums=sums,
            raw=raw, seen=seen,
        )  # fmt: skip
