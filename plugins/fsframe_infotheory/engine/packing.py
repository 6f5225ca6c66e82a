"""Columns packed as bit rows (few levels) or integers, and sums of their counts.

Joint counts of features with many levels, of weighted samples, and with missing values left out are
counted in a dense table if it is small relative to the samples, or in a pass through samples sorted
by the partner's level, which needs no table and takes any number of levels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.kernels.bit_counts import LANES
from fsframe.kernels.compiled import njit
from fsframe_infotheory.engine.bins import (
    LONGEST_TABLE,
    Bins,
    ByteLevels,
    Lookup,
    RawColumns,
    as_flat,
    write_codes,
)
from fsframe_infotheory.engine.entropy import Blocks, Bytes, Layout, pack_blocks, unpack_feature

PACKED_LEVELS = 16
"""Most levels of a feature that is kept as bit rows; measured crossover with dense tables."""

MOST_BYTES = 254
"""Most levels of a feature whose codes fit into bytes, with one for missing values."""


@attrs.frozen(kw_only=True, eq=False)
class Chunk:
    """Codes of some adjacent columns.

    Parameters
    ----------
    packed : (n_lanes,) int64
        Column of each lane of the bit rows; −1 where a block has fewer than 8 features.
    blocks : Blocks
        Bit rows and counts.
    listed : (m,) int64
        Columns kept as integers.
    codes : (m, n_samples) uint8, uint16 or uint32
        Their levels, samples sorted by class.
    """

    packed: NDArray[np.int64]
    blocks: Blocks
    listed: NDArray[np.int64]
    codes: NDArray[Any]

    @property
    def nbytes(self) -> int:
        """Memory in bytes."""
        return self.blocks.planes.nbytes + self.blocks.margins.nbytes + self.codes.nbytes


def codes_in(chunk: Chunk, feature: int, layout: Layout) -> NDArray[np.int64]:
    """Levels of one feature of a chunk, samples sorted by class."""
    out = np.empty(layout.n, np.int64)
    lane = np.flatnonzero(chunk.packed == feature)
    if lane.size == 0:
        out[:] = chunk.codes[int(np.flatnonzero(chunk.listed == feature)[0])]
        return out
    block, within = divmod(int(lane[0]), LANES)
    planes = block_of(chunk.blocks, block, layout)[0]
    unpack_feature(planes, within, len(planes) + 1, layout.starts, layout.words, out)
    return out


def block_of(
    blocks: Blocks, block: int, layout: Layout
) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Bit rows (levels − 1, n_words, 8) and counts (levels, n_classes, 8) of one block."""
    levels = int(blocks.levels[block])
    start, size = blocks.offsets[block], (levels - 1) * layout.n_words * LANES
    planes = blocks.planes[start : start + size].reshape(levels - 1, layout.n_words, LANES)
    start, size = blocks.margin_offsets[block], levels * layout.n_classes * LANES
    margins = blocks.margins[start : start + size].reshape(levels, layout.n_classes, LANES)
    return planes, margins


@attrs.frozen(kw_only=True, eq=False)
class Coded:
    """The columns of a chunk as bytes, if levels are few enough, and the levels of the bytes.

    Parameters
    ----------
    columns : Bytes
        Rows in the order of the table; undefined for columns of more than 254 levels.
    sums : (2, m) float64
        Σ c·log₂c over levels, and over levels and classes.
    """

    columns: Bytes
    sums: NDArray[np.float64]

    @classmethod
    def joined(cls, parts: Sequence[Coded], raw: NDArray[np.uint8]) -> Coded:
        """Adjacent groups of columns as one; they may be views of the array `raw`."""
        if len(parts) == 1:
            return parts[0]
        groups = [part.columns for part in parts]
        sizes = np.concatenate([np.diff(group.starts) for group in groups])
        shared = all(np.may_share_memory(group.raw, raw) for group in groups)
        columns = Bytes(
            raw if shared else np.concatenate([group.raw for group in groups]),
            np.concatenate([[0], np.cumsum(sizes)]),
            np.concatenate([group.levels for group in groups]),
        )
        return cls(columns=columns, sums=np.concatenate([part.sums for part in parts], axis=1))


def as_bytes(columns: RawColumns, bins: Bins, layout: Layout, masks: NDArray[np.uint64]) -> Coded:
    """Some columns as bytes by their bins, counted once; whole counts only."""
    n_levels, seen = bins.n_levels, columns.seen
    assert seen is not None
    as_read = bins.as_levels & seen.usable
    raw, sums = columns.raw, seen.sums.copy()
    recoded = ~as_read & (n_levels <= MOST_BYTES)
    coded = np.flatnonzero(recoded)
    if coded.size:
        # A copy: the bytes may be cached for other calls, or be the table itself.
        raw = raw.copy()
        write_levels(columns, coded, bins, np.arange(raw.shape[1]), coded, raw)
        raw.setflags(write=False)
        tallied = ByteLevels.of(raw, seen.base, recoded, layout, masks)
        sums[:, coded] = tallied.sums[:, coded]
    wide = np.flatnonzero(~as_read & (n_levels > MOST_BYTES))
    if wide.size:
        codes = np.empty((wide.size, layout.n), np.uint32)
        write_levels(columns, wide, bins, layout.order, np.arange(wide.size), codes)
        wide_sums = np.empty((2, wide.size))
        level_sums(codes, n_levels[wide], layout.starts, layout.table, *wide_sums)
        sums[:, wide] = wide_sums
    if as_read.all():
        return Coded(columns=Bytes(raw, seen.starts, seen.values), sums=sums)
    starts = np.concatenate([[0], np.cumsum(n_levels)])
    owner = np.repeat(np.arange(len(n_levels)), n_levels)
    levels = np.arange(starts[-1]) - starts[owner]
    levels[as_read[owner]] = seen.values[np.repeat(as_read, np.diff(seen.starts))]
    return Coded(columns=Bytes(raw, starts, (levels & 255).astype(np.uint8)), sums=sums)


def empty_blocks(
    levels: NDArray[np.int64],
    lanes: NDArray[np.int64],
    layout: Layout,
    room: Callable[[Any, int], NDArray[Any]] = lambda kind, size: np.zeros(size, kind),
) -> Blocks:
    """Blocks for features of given `levels`; `room` makes the arrays of bit rows, then of counts.

    `levels` is (n_features,), `lanes` (n_blocks · 8,) features or −1.
    """
    n_levels = np.where(lanes >= 0, levels[lanes], 1).reshape(-1, LANES)
    most = n_levels.max(axis=1) if len(n_levels) else np.empty(0, np.int64)
    offsets = np.concatenate([[0], np.cumsum((most - 1) * (layout.n_words * LANES))])
    margin_offsets = np.concatenate([[0], np.cumsum(most * (layout.n_classes * LANES))])
    planes = room(np.uint64, int(offsets[-1]))
    margins = room(np.int64, int(margin_offsets[-1]))
    return Blocks(planes, offsets[:-1], most, margins, margin_offsets[:-1])


def lanes_of(
    levels: NDArray[np.int64], most: int = PACKED_LEVELS
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Features of at most `most` levels by lane (−1 for empty lanes), and the others."""
    narrow, wide = np.flatnonzero(levels <= most), np.flatnonzero(levels > most)
    narrow = narrow[np.argsort(levels[narrow], kind="stable")]
    lanes = np.full(-(-len(narrow) // LANES) * LANES, -1, np.int64)
    lanes[: len(narrow)] = narrow
    return lanes, wide


def code_type(levels: NDArray[np.int64]) -> Any:
    """The integer type for levels of listed features."""
    most = levels.max(initial=0)
    return np.uint8 if most <= 1 << 8 else np.uint16 if most <= 1 << 16 else np.uint32


def pack(columns: RawColumns, bins: Bins, layout: Layout, coded: Coded | None) -> Chunk:
    """Codes of some columns; packed by number of levels, so that blocks waste no rows.

    Without `coded` (counts are not whole) all are listed.
    """
    levels = bins.n_levels
    lanes, wide = lanes_of(levels, 0 if coded is None else PACKED_LEVELS)
    blocks = empty_blocks(levels, lanes, layout)
    if coded is not None and lanes.size:
        pack_blocks(coded.columns, lanes, layout.samples, blocks, 0, blocks.levels.size)
    codes = np.empty((len(wide), layout.n), code_type(levels[wide]))
    if wide.size:
        write_levels(columns, wide, bins, layout.order, np.arange(len(wide)), codes)
    return Chunk(
        packed=np.where(lanes >= 0, lanes + columns.start, -1),
        blocks=blocks,
        listed=wide + columns.start,
        codes=codes,
    )


def write_levels(
    group: RawColumns,
    columns: NDArray[np.intp],
    bins: Bins,
    order: NDArray[np.int64],
    into: NDArray[np.intp],
    codes: NDArray[Any],
) -> None:
    """Write the codes of some columns, samples in `order`, into rows `into` of `codes`."""
    if not len(columns):
        return
    sizes = np.diff(bins.offsets)[columns]
    owner = np.repeat(np.arange(len(columns)), sizes)
    position = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    thresholds = bins.thresholds[np.repeat(bins.offsets[columns], sizes) + position]
    kept, some = bins.as_levels[columns], sizes > 0
    low, high = np.zeros(len(columns)), np.zeros(len(columns))
    ends = np.cumsum(sizes)[some]
    low[some], high[some] = thresholds[ends - sizes[some]], thresholds[ends - 1]
    broken = np.bincount(owner, weights=thresholds != np.floor(thresholds), minlength=len(columns))
    looked_up = kept & some & (broken == 0) & (high - low < LONGEST_TABLE)
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
    lookup = Lookup(low, table_starts, table, cut_starts, thresholds[cuts], bins.n_values[columns])
    numbers = columns.astype(np.int64) + group.first
    write_codes(as_flat(group.source), numbers, order, lookup, into, codes)


def weighted_sums(chunk: Chunk, bins: Bins, layout: Layout, pairwise: bool) -> NDArray[np.float64]:
    """Total weight, Σ c·log₂c over y, j and (j, y) of a chunk's columns, as (4, n_columns)."""
    samples = layout.weighted
    if not pairwise:
        totals = np.empty((4, bins.n_features))
        totals[0], totals[1] = layout.total, layout.sum_y
        weighted_dense_sums(
            chunk.codes, bins.n_levels, samples.labels.astype(np.int32), layout.n_classes,
            layout.n_classes, samples.weights, totals[2], totals[3], 0, bins.n_features,
        )  # fmt: skip
        return totals
    sums = np.empty((8, bins.n_features))
    dropped, everything = np.where(bins.missing, bins.n_values, -1), np.array([0, layout.n])
    grouped_sums(
        chunk.codes, bins.n_levels, dropped, np.arange(layout.n), everything, samples, 0,
        bins.n_features, sums,
    )  # fmt: skip
    return sums[[0, 5, 1, 2]]


@njit()
def level_sums(codes, n_levels, starts, table, sums_j, sums_jy):
    """Write Σ c·log₂c over the levels, and over levels and classes, of features listed as codes.

    Whole counts only; parameters as in `dense_sums`.
    """
    n_classes = starts.size - 1
    most = 0
    for j in range(n_levels.size):
        most = max(most, n_levels[j])
    counts = np.zeros((most, n_classes), np.int64)
    for j in range(n_levels.size):
        for c in range(n_classes):
            for i in range(starts[c], starts[c + 1]):
                counts[codes[j, i], c] += 1
        sums_j[j], sums_jy[j] = class_terms(counts, n_levels[j], table)
        counts[: n_levels[j]] = 0


@njit()
def class_terms(counts, n_levels, table):
    """Σ table[count] over levels, and over levels and classes, of counts (levels, classes)."""
    of_j = 0.0
    of_jy = 0.0
    for level in range(n_levels):
        total = np.int64(0)
        for c in range(counts.shape[1]):
            of_jy += table[counts[level, c]]
            total += counts[level, c]
        of_j += table[total]
    return of_j, of_jy


@njit()
def sum_of(counts, size, table):
    """Σ table[count], in four interleaved sums, so that additions do not wait for each other."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    for k in range(0, size - size % 4, 4):
        at = np.uintp(k)
        a += table[np.uintp(counts[at])]
        b += table[np.uintp(counts[at + np.uintp(1)])]
        c += table[np.uintp(counts[at + np.uintp(2)])]
        d += table[np.uintp(counts[at + np.uintp(3)])]
    for k in range(size - size % 4, size):
        a += table[np.uintp(counts[np.uintp(k)])]
    return (a + b) + (c + d)


@njit()
def _pair_terms(counts, size, groups, table, both):
    """Σ table[count] over (feature, partner) and (feature, partner, class); `both` is scratch."""
    jsy = sum_of(counts, size, table)
    if groups == 1:
        return jsy, jsy
    for k in range(size // groups):
        total = np.int64(0)
        for c in range(groups):
            total += counts[k * groups + c]
        both[k] = total
    return sum_of(both, size // groups, table), jsy


@njit()
def dense_sums(codes, n_levels, cells, n_cells, group, table, start, stop, sums_js, sums_jsy):
    """Write Σ c·log₂c over (feature, partner) and (feature, partner, class) for whole counts.

    Parameters
    ----------
    codes : (m, n) unsigned integers
        Levels of the features, samples sorted by class.
    n_levels : (m,) int64
    cells : (n,) uint16 or int32
        Partner's level · `group` + class of each sample, below `n_cells`.
    n_cells, group : int
        `group` is the number of classes, or 1 for counts without classes.
    table : (n + 1,) float64
        c·log₂c.
    start, stop : int
        Features to count.
    sums_js, sums_jsy : (m,) float64
        Results; the second is undefined without classes.
    """
    most = np.int64(0)
    for j in range(start, stop):
        most = max(most, n_levels[j])
    counts = np.empty(most * n_cells, np.int32)
    both = np.empty(most * n_cells // group, np.int32)
    for j in range(start, stop):
        used = n_levels[j] * n_cells
        counts[:used] = 0
        _count_cells(codes[j], cells, n_cells, counts)
        sums_js[j], sums_jsy[j] = _pair_terms(counts, used, group, table, both)


@njit()
def _count_cells(row, cells, n_cells, counts):
    """Add the samples of one feature to its joint counts with a partner."""
    # Unsigned indices avoid the test for negative ones.
    width = np.uintp(n_cells)
    for i in range(cells.size):
        at = np.uintp(i)
        counts[np.uintp(row[at]) * width + np.uintp(cells[at])] += 1


@njit()
def dense_cells(codes, features, cells_of, n_cells, starts, cells):
    """Add joint counts with one partner to those of earlier parts, sample by sample.

    Parameters
    ----------
    codes : (m, n) unsigned integers
        Levels of the features.
    features : (m,) int64
        Index of each in `starts`.
    cells_of : (n,) uint16 or int32
        As `cells` in `dense_sums`, below `n_cells`.
    starts, cells
        As in `entropy.joint_cells`.
    """
    for k in range(features.size):
        _count_cells(codes[k], cells_of, n_cells, cells[starts[features[k]] :])


@njit()
def cell_sums(cells, starts, n_levels, partner_levels, groups, table, sums_js, sums_jsy):
    """Write Σ c·log₂c over (feature, partner) and (feature, partner, class) of whole counts.

    Parameters
    ----------
    cells, starts, n_levels
        As in `entropy.joint_cells`.
    partner_levels, groups : int
        `groups` is 1 for counts without classes.
    table : (n + 1,) float64
    sums_js, sums_jsy : (n_features,) float64
        Results; equal for one group.
    """
    for j in range(starts.size):
        size = n_levels[j] * partner_levels * groups
        feature_cells = cells[starts[j] : starts[j] + size]
        both = np.empty(size // groups if groups > 1 else 0, np.int64)
        sums_js[j], sums_jsy[j] = _pair_terms(feature_cells, size, groups, table, both)


@njit()
def weighted_dense_sums(
    codes, n_levels, cells, n_cells, group, weights, sums_js, sums_jsy, start, stop
):
    """`dense_sums` where samples have weights, (n,) float64; one table per feature."""
    most = np.int64(0)
    for j in range(start, stop):
        most = max(most, n_levels[j])
    masses = np.empty(most * n_cells)
    width = np.uintp(n_cells)
    for j in range(start, stop):
        row = codes[j]
        used = n_levels[j] * n_cells
        masses[:used] = 0.0
        for i in range(cells.size):
            at = np.uintp(i)
            masses[np.uintp(row[at]) * width + np.uintp(cells[at])] += weights[at]
        js = 0.0
        jsy = 0.0
        for k in range(0, used, group):
            both = 0.0
            for c in range(group):
                mass = masses[k + c]
                if mass > 0.0:
                    jsy += mass * np.log2(mass)
                    both += mass
            if both > 0.0:
                js += both * np.log2(both)
        sums_js[j] = js
        sums_jsy[j] = jsy


@njit()
def _clogc(c, table):
    if table.size > 1:
        return table[np.uintp(c)]
    # Cells without weight contribute nothing.
    return c * np.log2(c) if c > 1e-300 else 0.0


@njit()
def grouped_sums(codes, n_levels, dropped, order, group_starts, samples, start, stop, sums):
    """Write all sums Σ c·log₂c of (feature, partner, class), weighted, missing values left out.

    Parameters
    ----------
    codes : (m, n) unsigned integers
        Levels of the features.
    n_levels : (m,) int64
    dropped : (m,) int64
        Level that leaves a sample out of the counts with this feature; −1 for none.
    order : (n,) int64
        Samples sorted by the partner's level, then by class; those without the partner left out.
    group_starts : (n_groups + 1,) int64
        Where in `order` each level of the partner begins.
    samples : Weighted
    start, stop : int
        Features to count.
    sums : (8, m) float64
        Results: total weight, then Σ c·log₂c over j, jy, s, sy, y, js, jsy.

    Notes
    -----
    O(n + levels) per feature; every cell's weight is summed in the order of `order`.
    """
    labels, n_classes, weights, table = samples
    most = 0
    for j in range(start, stop):
        most = max(most, n_levels[j])
    of_j = np.zeros(most)
    of_jy = np.zeros(most * n_classes)
    of_js = np.zeros(most)
    of_jsy = np.zeros(most)
    of_y = np.zeros(n_classes)
    for j in range(start, stop):
        levels = n_levels[j]
        drop = dropped[j]
        of_j[:levels] = 0.0
        of_jy[: levels * n_classes] = 0.0
        of_y[:] = 0.0
        total = 0.0
        s = 0.0
        sy = 0.0
        js = 0.0
        jsy = 0.0
        for g in range(group_starts.size - 1):
            stop_group = group_starts[g + 1]
            in_group = 0.0
            i = group_starts[g]
            while i < stop_group:
                c = labels[order[i]]
                first = i
                in_class = 0.0
                while i < stop_group and labels[order[i]] == c:
                    a = np.int64(codes[j, order[i]])
                    if a != drop:
                        w = weights[order[i]]
                        of_jsy[a] += w
                        in_class += w
                    i += 1
                for k in range(first, i):
                    a = np.int64(codes[j, order[k]])
                    w = of_jsy[a]
                    if a != drop and w != 0.0:
                        jsy += _clogc(w, table)
                        of_js[a] += w
                        of_jy[a * n_classes + c] += w
                        of_jsy[a] = 0.0
                sy += _clogc(in_class, table)
                of_y[c] += in_class
                in_group += in_class
            for k in range(group_starts[g], stop_group):
                a = np.int64(codes[j, order[k]])
                w = of_js[a]
                if a != drop and w != 0.0:
                    js += _clogc(w, table)
                    of_j[a] += w
                    of_js[a] = 0.0
            s += _clogc(in_group, table)
            total += in_group
        of_feature = 0.0
        with_class = 0.0
        for level in range(levels):
            of_feature += _clogc(of_j[level], table)
            for c in range(n_classes):
                with_class += _clogc(of_jy[level * n_classes + c], table)
        of_class = 0.0
        for c in range(n_classes):
            of_class += _clogc(of_y[c], table)
        sums[0, j] = total
        sums[1, j] = of_feature
        sums[2, j] = with_class
        sums[3, j] = s
        sums[4, j] = sy
        sums[5, j] = of_class
        sums[6, j] = js
        sums[7, j] = jsy
