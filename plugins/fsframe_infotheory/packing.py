"""From raw columns to packed codes: bytes where values are few, bit rows, sums of counts."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.dataset import Dataset
from fsframe_infotheory.bins import LONGEST_TABLE, MISSING_BYTE, Bins, SeenBytes
from fsframe_infotheory.columns import (
    as_flat,
    gather_bytes,
    mark_bytes,
    write_bytes,
    write_codes,
)
from fsframe_infotheory.grouped import grouped_sums, level_sums
from fsframe_infotheory.layout import Layout
from fsframe_infotheory.planes import margin_sums, pack_blocks, unpack_feature
from fsframe_infotheory.popcount import LANES

__all__ = ["Chunk", "RawColumns", "block_of", "chunk_sums", "codes_in", "pack"]

PACKED_LEVELS = 16
"""Most levels of a feature that is kept as bit rows; measured crossover with counting by table."""


@attrs.frozen(kw_only=True, eq=False)
class Chunk:
    """Codes of some neighbouring columns.

    Parameters
    ----------
    packed : (n_lanes,) int64
        Column behind each lane of the bit rows; −1 where a block has fewer than 8 features.
    planes, offsets, block_levels, margins, margin_offsets
        Bit rows and counts, as `fsframe_infotheory.planes.joint_sums` takes them.
    listed : (m,) int64
        Columns kept as integers.
    codes : (m, n_samples) uint16 or uint32
        Their levels, samples sorted by class.
    """

    packed: NDArray[np.int64]
    planes: NDArray[np.uint64]
    offsets: NDArray[np.int64]
    block_levels: NDArray[np.int64]
    margins: NDArray[np.int64]
    margin_offsets: NDArray[np.int64]
    listed: NDArray[np.int64]
    codes: NDArray[Any]

    @property
    def nbytes(self) -> int:
        """Memory held."""
        return self.planes.nbytes + self.margins.nbytes + self.codes.nbytes


def codes_in(chunk: Chunk, feature: int, layout: Layout) -> NDArray[np.int64]:
    """Levels of one feature of a chunk, samples sorted by class."""
    out = np.empty(layout.n, np.int64)
    lane = np.flatnonzero(chunk.packed == feature)
    if lane.size == 0:
        out[:] = chunk.codes[int(np.flatnonzero(chunk.listed == feature)[0])]
        return out
    block, within = divmod(int(lane[0]), LANES)
    planes = block_of(chunk, block, layout)[0]
    unpack_feature(planes, within, len(planes) + 1, layout.starts, layout.words, out)
    return out


def block_of(
    chunk: Chunk, block: int, layout: Layout
) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Bit rows (levels − 1, n_words, 8) and counts (levels, n_classes, 8) of one block."""
    levels = int(chunk.block_levels[block])
    start, size = chunk.offsets[block], (levels - 1) * layout.n_words * LANES
    planes = chunk.planes[start : start + size].reshape(levels - 1, layout.n_words, LANES)
    start, size = chunk.margin_offsets[block], levels * layout.n_classes * LANES
    margins = chunk.margins[start : start + size].reshape(levels, layout.n_classes, LANES)
    return planes, margins


@attrs.frozen(kw_only=True, eq=False)
class RawColumns:
    """Some neighbouring columns as they are, and as bytes where they fit.

    `source[:, first + k]` is column k; `raw` is (m, n_words · 64) or empty, `block` the columns
    read from a file.
    """

    start: int
    source: NDArray[Any]
    first: int
    block: NDArray[Any] | None
    raw: NDArray[np.uint8]
    seen: SeenBytes | None

    @classmethod
    def read(
        cls, data: Dataset, bound: tuple[int, int], layout: Layout, as_bytes: bool
    ) -> RawColumns:
        start, stop = bound
        block = None if data.in_memory else data.columns(start, stop)
        source, first = (data.matrix, start) if block is None else (block, 0)
        if not as_bytes:
            raw = np.empty((0, 0), np.uint8)
            return cls(start=start, source=source, first=first, block=block, raw=raw, seen=None)
        m = stop - start
        raw = np.empty((m, layout.n_words * 64), np.uint8)
        ends = 64 * layout.words[:-1] + np.diff(layout.starts)
        for end, stop_class in zip(ends, 64 * layout.words[1:], strict=True):
            # Padding after each class holds 255, which is no level's byte.
            raw[:, end:stop_class] = 255
        usable = np.ones(m, dtype=bool)
        base = _bases(source[:64, first : first + m])
        usable &= ~np.isnan(base)
        marks = np.zeros((m, 256), np.uint8)
        flat, by_row, by_column = as_flat(source)
        if flat.dtype == np.uint8 and by_row == 1:
            # Unsigned indices spare a test for counting from the end: 0.3 ns per byte, not 0.5.
            order = layout.order.astype(np.uint32)
            gather_bytes(flat, by_column, first, order, layout.starts, layout.words, usable, raw)
        else:
            write_bytes(
                flat, by_row, by_column, first, layout.order, layout.places, base, usable, raw
            )
        mark_bytes(raw, marks)
        seen = SeenBytes(base=base, marks=marks, usable=usable)
        return cls(start=start, source=source, first=first, block=block, raw=raw, seen=seen)


def _bases(head: NDArray[Any]) -> NDArray[np.float64]:
    """What byte 0 shall stand for in each column: the range of its first values in the middle."""
    low = np.fmin.reduce(head, axis=0).astype(np.float64)
    if head.dtype == np.uint8:
        return np.zeros_like(low)
    span = np.fmax.reduce(head, axis=0) - low
    return np.where(span <= 253, np.floor(low - (253 - span) // 2), np.nan)


def pack(columns: RawColumns, bins: Bins, layout: Layout, whole_counts: bool) -> Chunk:
    """Codes of some columns; packed by number of levels, so that blocks waste no rows."""
    levels = bins.n_levels
    few = (levels <= PACKED_LEVELS) & whole_counts
    narrow = np.flatnonzero(few)
    narrow = narrow[np.argsort(levels[narrow], kind="stable")]
    wide = np.flatnonzero(~few)

    n_blocks = -(-len(narrow) // LANES)
    lanes = np.full(n_blocks * LANES, -1, np.int64)
    lanes[: len(narrow)] = narrow
    # Ascending levels, so that the last feature of a block has the most.
    block_levels = levels[narrow[np.minimum(np.arange(1, n_blocks + 1) * LANES, len(narrow)) - 1]]
    offsets = np.concatenate([[0], np.cumsum((block_levels - 1) * layout.n_words * LANES)])
    margin_offsets = np.concatenate([[0], np.cumsum(block_levels * layout.n_classes * LANES)])
    planes = np.zeros(int(offsets[-1]), np.uint64)
    margins = np.zeros(int(margin_offsets[-1]), np.int64)
    if len(narrow):
        coded = narrow[~_are_bytes(columns, bins)[narrow]]
        _write(columns, coded, bins, layout.order, layout.places, coded, columns.raw)
        pack_blocks(
            columns.raw, lanes, *_level_bytes(columns, bins), layout.words, block_levels, offsets,
            margin_offsets, planes, margins,
        )  # fmt: skip
    kind = np.uint16 if not wide.size or levels[wide].max() <= 1 << 16 else np.uint32
    codes = np.empty((len(wide), layout.n), kind)
    if wide.size:
        every = np.arange(layout.n)
        _write(columns, wide, bins, layout.order, every, np.arange(len(wide)), codes)
    return Chunk(
        packed=np.where(lanes >= 0, lanes + columns.start, -1),
        planes=planes,
        offsets=offsets[:-1],
        block_levels=block_levels,
        margins=margins,
        margin_offsets=margin_offsets[:-1],
        listed=wide + columns.start,
        codes=codes,
    )


def _are_bytes(columns: RawColumns, bins: Bins) -> NDArray[np.bool_]:
    """Columns whose bytes are their levels, as (m,)."""
    return bins.as_levels & columns.seen.usable


def _level_bytes(columns: RawColumns, bins: Bins) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Byte of each level of each column, one column after the other, and where each begins."""
    levels = bins.n_levels
    starts = np.concatenate([[0], np.cumsum(levels)])
    owner = np.repeat(np.arange(len(levels)), levels)
    position = np.arange(starts[-1]) - starts[owner]
    found = position.copy()
    own = _are_bytes(columns, bins)[owner]
    missing = own & (position == bins.n_values[owner])
    valued = own & ~missing
    values = bins.thresholds[bins.offsets[owner[valued]] + position[valued]]
    found[valued] = (values - columns.seen.base[owner[valued]]).astype(np.int64)
    found[missing] = MISSING_BYTE
    # Columns of many levels are not packed; their entries are not looked at.
    return starts, (found & 255).astype(np.uint8)


def _write(
    group: RawColumns,
    columns: NDArray[np.intp],
    bins: Bins,
    order: NDArray[np.int64],
    places: NDArray[np.int64],
    into: NDArray[np.intp],
    codes: NDArray[Any],
) -> None:
    """Codes of some columns into rows `into` of `codes`."""
    if not len(columns):
        return
    flat, by_row, by_column = as_flat(group.source)
    sizes = np.diff(bins.offsets)[columns]
    owner = np.repeat(np.arange(len(columns)), sizes)
    position = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    thresholds = bins.thresholds[np.repeat(bins.offsets[columns], sizes) + position]
    kept, some = bins.as_levels[columns], sizes > 0
    low, high = np.zeros(len(columns)), np.zeros(len(columns))
    ends = np.cumsum(sizes)[some]
    low[some], high[some] = thresholds[ends - sizes[some]], thresholds[ends - 1]
    broken = np.bincount(owner, weights=thresholds != np.floor(thresholds), minlength=len(columns))
    looked_up = kept & some & (broken == 0) & (high / 2 - low / 2 < LONGEST_TABLE / 2)
    lengths = np.zeros(len(columns), np.int64)
    lengths[looked_up] = (high - low)[looked_up].astype(np.int64) + 1
    table_starts = np.concatenate([[0], np.cumsum(lengths)])
    table = np.zeros(table_starts[-1], np.int64)
    entries = looked_up[owner]
    table[table_starts[owner[entries]] + (thresholds - low[owner])[entries].astype(np.int64)] = (
        position[entries]
    )
    # A level's code is the number of levels at or below it, less one.
    cuts = ~entries & ~(kept[owner] & (position == 0))
    cut_starts = np.concatenate(
        [[0], np.cumsum(np.bincount(owner, weights=cuts, minlength=len(columns)))]
    ).astype(np.int64)
    write_codes(
        flat,
        by_row,
        by_column,
        columns.astype(np.int64) + group.first,
        order,
        places,
        low,
        table_starts,
        table,
        cut_starts,
        thresholds[cuts],
        bins.n_values[columns],
        into,
        codes,
    )


def chunk_sums(
    chunk: Chunk, bins: Bins, bound: tuple[int, int], layout: Layout, pairwise: bool
) -> NDArray[np.float64]:
    """Total weight, Σ c·log₂c over y, j and (j, y) of a chunk's columns, as (4, n_columns)."""
    start, stop = bound
    found = np.empty((4, stop - start))
    found[0], found[1] = layout.total, layout.sum_y
    n_classes = layout.n_classes
    if layout.weights is not None or pairwise:
        sums = np.empty((8, stop - start))
        grouped_sums(
            chunk.codes,
            bins.n_levels,
            np.where(bins.missing & pairwise, bins.n_values, -1),
            np.arange(layout.n),
            np.array([0, layout.n]),
            np.repeat(np.arange(n_classes), np.diff(layout.starts)),
            n_classes,
            np.ones(layout.n) if layout.weights is None else layout.weights,
            layout.whole_table,
            0,
            stop - start,
            sums,
        )
        return sums[[0, 5, 1, 2]]
    lanes = np.empty((2, len(chunk.packed)))
    margin_sums(
        chunk.block_levels, chunk.margins, chunk.margin_offsets, n_classes, layout.table, *lanes
    )
    live = chunk.packed >= 0
    found[2:, chunk.packed[live] - start] = lanes[:, live]
    if chunk.listed.size:
        columns = chunk.listed - start
        sums = np.empty((2, columns.size))
        level_sums(chunk.codes, bins.n_levels[columns], layout.starts, layout.table, *sums)
        found[2:, columns] = sums
    return found
