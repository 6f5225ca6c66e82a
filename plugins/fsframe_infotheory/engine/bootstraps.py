"""Relevance in many bootstraps of one table at once, with bins learned inside each."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsframe.kernels import in_threads
from fsframe.kernels.bit_counts import LANES, at, count_rows, shifted
from fsframe.kernels.compiled import njit
from fsframe.method.run import Run
from fsframe.table.dataset import Dataset
from fsframe_infotheory.engine.discretise import Discretiser, equal_width_edges
from fsframe_infotheory.engine.encode import encode
from fsframe_infotheory.engine.entropy import clogc_table, sum_clogc
from fsframe_infotheory.engine.packing import PACKED_LEVELS


@njit()
def draw_rows(counts, order, starts, words, n_planes):
    """Bit rows of bootstrap counts, samples sorted by class, every class from a new word.

    Parameters
    ----------
    counts : (n_bootstraps, n_samples) integers, below 2 ** n_planes
    order : (n_samples,) int64
        Row of the table for each sample.
    starts, words : (n_classes + 1,) int64
        First sample and first word of each class.
    n_planes : int

    Returns
    -------
    rows : (n_bootstraps · n_planes, n_words) uint64
        Row ``b · n_planes + i`` holds bit i of the counts of bootstrap b.
    sizes : (n_bootstraps, n_classes) int64
        Samples drawn of each class.
    """
    n_words = words[words.size - 1]
    rows = np.zeros((counts.shape[0] * n_planes, n_words), np.uint64)
    sizes = np.zeros((counts.shape[0], starts.size - 1), np.int64)
    for b in range(counts.shape[0]):
        drawn = counts[b]
        for c in range(starts.size - 1):
            for i in range(starts[c], starts[c + 1]):
                count = np.int64(drawn[order[i]])
                sizes[b, c] += count
                place = i - starts[c]
                word = words[c] + place // 64
                bit = np.uint64(place % 64)
                for plane in range(n_planes):
                    rows[b * n_planes + plane, word] |= np.uint64((count >> plane) & 1) << bit
    return rows, sizes


@njit()
def packed_sums(blocks, words, rows, n_planes, sizes, table, sums_j, sums_jy):
    """Write Σ c·log₂c over levels, and over levels and classes, of packed features per bootstrap.

    Parameters
    ----------
    blocks, words
        As in `fsframe_infotheory.engine.entropy.joint_sums`; every sample once.
    rows : (n_bootstraps · n_planes, n_words) uint64
        From `draw_rows`.
    sizes : (n_bootstraps, n_classes) int64
        Samples drawn of each class.
    table : float64
        c·log₂c.
    sums_j, sums_jy : (n_bootstraps, n_blocks · 8) float64
        Results.

    Notes
    -----
    The count of a level in a bootstrap is Σ_i 2ⁱ popcount(level & plane i): (L − 1)·B·n_planes·n/64
    words per feature, exact, so equal to counting each bootstrap alone.
    """
    n_words = words[words.size - 1]
    n_classes = words.size - 1
    n_bootstraps = sizes.shape[0]
    n_rows = rows.shape[0]
    most = 1
    for levels in blocks.levels:
        most = max(most, levels)
    cells = np.empty((most, n_classes, n_rows * LANES), np.uint64)
    left = np.empty((n_classes, LANES), np.int64)
    for block in range(blocks.levels.size):
        levels = blocks.levels[block]
        mine = at(blocks.planes, blocks.offsets[block])
        for a in range(levels - 1):
            for c in range(n_classes):
                lanes = shifted(mine, (a * n_words + words[c]) * LANES)
                length = words[c + 1] - words[c]
                count_rows(lanes, rows, n_rows, n_words, words[c], length, at(cells[a, c], 0))
        for b in range(n_bootstraps):
            j = sums_j[b, block * LANES : (block + 1) * LANES]
            jy = sums_jy[b, block * LANES : (block + 1) * LANES]
            j[:] = 0.0
            jy[:] = 0.0
            for c in range(n_classes):
                left[c] = sizes[b, c]
            for a in range(levels):
                for lane in range(LANES):
                    total = np.int64(0)
                    for c in range(n_classes):
                        size = left[c, lane]
                        if a < levels - 1:
                            size = np.int64(0)
                            for plane in range(n_planes):
                                place = (b * n_planes + plane) * LANES + lane
                                size += np.int64(cells[a, c, place]) << plane
                            left[c, lane] -= size
                        jy[lane] += table[np.uintp(size)]
                        total += size
                    j[lane] += table[np.uintp(total)]


@njit()
def relevance_sums(
    codes, n_levels, fine_edges, edges, edge_starts, draws, starts, table, fine, sums_j, sums_jy
):
    """Write Σ c·log₂c over the bins of one feature, and over bins and classes, per bootstrap.

    Parameters
    ----------
    codes : (n,) unsigned integers
        Fine levels, samples sorted by class; level ``len(fine_edges) + 1`` is "missing".
    n_levels : int
        ``len(fine_edges) + 2``.
    fine_edges : (m,) float64
        All edges that any bootstrap uses, ascending.
    edges, edge_starts : float64, (n_bootstraps + 1,) int64
        Bootstrap b's own edges are ``edges[edge_starts[b] : edge_starts[b + 1]]``.
    draws : (n, n_bootstraps) integers
    starts : (n_classes + 1,) int64
    table : float64
        c·log₂c.
    fine : (n_levels, n_classes, n_bootstraps), dtype of `draws`
        Scratch.
    sums_j, sums_jy : (n_bootstraps,) float64
        Results.

    Notes
    -----
    n·B additions, 32 of them in one register; exact, so equal to counting each bootstrap alone.
    """
    n_bootstraps = draws.shape[1]
    n_classes = starts.size - 1
    fine[:n_levels] = 0
    for c in range(n_classes):
        for i in range(starts[c], starts[c + 1]):
            into = fine[codes[i], c]
            drawn = draws[i]
            for b in range(n_bootstraps):
                into[b] += drawn[b]
    bin_counts = np.zeros(n_classes, np.int64)
    for b in range(n_bootstraps):
        k = edge_starts[b]
        j = 0.0
        jy = 0.0
        bin_counts[:] = 0
        for level in range(n_levels + 1):
            # The last bin of values ends before the level of missing ones, which is the last.
            closed = level >= n_levels - 1
            if not closed and level > 0:
                while k < edge_starts[b + 1] and edges[k] <= fine_edges[level - 1]:
                    closed = True
                    k += 1
            if closed:
                total = np.int64(0)
                for c in range(n_classes):
                    jy += table[bin_counts[c]]
                    total += bin_counts[c]
                    bin_counts[c] = 0
                j += table[total]
            if level < n_levels:
                for c in range(n_classes):
                    bin_counts[c] += np.int64(fine[level, c, b])
        sums_j[b] = j
        sums_jy[b] = jy


@njit()
def equal_width_sums(block, edges, draws, starts, table, sums_j, sums_jy):
    """As `relevance_sums`, for many columns at once if there are few samples and bootstraps.

    Parameters
    ----------
    block : (m, n) float64
        Columns without gaps, samples sorted by class.
    edges : (m, n_bootstraps, n_edges) float64, ascending
        Each bootstrap's own edges of each column.
    draws : (n, n_bootstraps) integers
    starts : (n_classes + 1,) int64
    table : float64
        c·log₂c.
    sums_j, sums_jy : (n_bootstraps, m) float64
        Results.

    Notes
    -----
    m·n·B·n_edges comparisons. Bins and classes are added in the order of `relevance_sums`, which
    gives equal bits.
    """
    m, n_bootstraps, n_edges = edges.shape
    n_classes = starts.size - 1
    counts = np.zeros((n_edges + 1, n_classes), np.int64)
    for k in range(m):
        for b in range(n_bootstraps):
            counts[:] = 0
            of_bootstrap = edges[k, b]
            for c in range(n_classes):
                for i in range(starts[c], starts[c + 1]):
                    drawn = np.int64(draws[i, b])
                    if drawn == 0:
                        continue
                    value = block[k, i]
                    level = 0
                    for e in range(n_edges):
                        level += of_bootstrap[e] <= value
                    counts[level, c] += drawn
            j = 0.0
            jy = 0.0
            for level in range(n_edges + 1):
                total = np.int64(0)
                for c in range(n_classes):
                    jy += table[counts[level, c]]
                    total += counts[level, c]
                j += table[total]
            sums_j[b, k] = j
            sums_jy[b, k] = jy


END = 64
"""Rows at each end of a sorted column that are searched for the drawn extremes."""

FEW = 1 << 14
"""Number of draws (rows times bootstraps) up to which a block is counted in one pass."""

BOOTSTRAP_BYTES = 1 << 17
"""Bytes of bit rows of bootstrap counts that are processed at a time."""


def bootstrap_relevance(
    data: Dataset, counts: NDArray[np.integer[Any]], discretiser: Discretiser, run: Run
) -> NDArray[np.float64]:
    """I(X_j; Y) of every column in every bootstrap, bins learned inside each bootstrap.

    `data` is the whole table, with classes; `counts` (n_bootstraps, n_samples) say how often each
    bootstrap draws each row. Returns (n_bootstraps, n_features) bits, none below 0.
    """
    encoded, bins = encode(data, discretiser, run=run)
    layout = encoded.layout
    n_planes = max(1, int(counts.max()).bit_length())
    rows, sizes = draw_rows(counts, layout.order, layout.starts, layout.words, n_planes)
    totals = sizes.sum(axis=1)
    table = clogc_table(int(totals.max()))
    sum_y = np.array([sum_clogc(drawn) for drawn in sizes])
    bits = np.empty((len(counts), data.n_features))

    def put(
        part: slice, columns: Any, sums_j: NDArray[np.float64], sums_jy: NDArray[np.float64]
    ) -> None:
        n = totals[part, None]
        relevance = np.log2(n) + (sums_jy - sums_j - sum_y[part, None]) / n
        bits[part, columns] = np.maximum(relevance, 0.0)

    def count_packed(k: int) -> None:
        chunk = encoded.chunk(k)
        # Bins of other columns differ from bootstrap to bootstrap.
        live = np.flatnonzero((chunk.packed >= 0) & bins.as_levels[chunk.packed])
        # As many bootstraps at a time as have counts that fit into the cache.
        width = max(1, BOOTSTRAP_BYTES // (8 * n_planes * layout.n_words))
        for first in range(0, len(counts), width):
            part = slice(first, min(first + width, len(counts)))
            sums = np.empty((2, part.stop - first, len(chunk.packed)))
            packed_sums(
                chunk.blocks, layout.words, rows[first * n_planes : part.stop * n_planes],
                n_planes, sizes[part], table, sums[0], sums[1],
            )  # fmt: skip
            put(part, chunk.packed[live], sums[0][:, live], sums[1][:, live])

    packed = bins.as_levels & (bins.n_levels <= PACKED_LEVELS)
    if packed.any():
        in_threads(run.threads, count_packed, range(len(encoded.bounds)))
    if packed.all():
        return bits

    order, starts = layout.order, layout.starts
    # Short integers where no count can exceed them: 32 of them fit into one register.
    kind = np.uint16 if totals.max() < 1 << 16 else np.int64
    draws = np.ascontiguousarray(counts.T[order], dtype=kind)
    y, drawn = data.y[order], counts[:, order].astype(np.int64, copy=False)

    def count_listed(bound: tuple[int, int]) -> None:
        start, stop = bound
        block = None
        if not bins.as_levels[start:stop].all():
            block = np.asarray(data.columns(start, stop), dtype=np.float64)[order].T
        listed = start + np.flatnonzero(~packed[start:stop])
        if block is not None and draws.size <= FEW:
            plain = listed[~bins.as_levels[listed] & ~data.categorical[listed]]
            together = np.ascontiguousarray(block[plain - start])
            many, edges = equal_width_of_many(together, drawn, discretiser)
            if many.any():
                sums = np.empty((2, len(counts), np.count_nonzero(many)))
                equal_width_sums(together[many], edges, draws, starts, table, sums[0], sums[1])
                put(slice(None), plain[many], sums[0], sums[1])
                listed = np.setdiff1d(listed, plain[many])
        for j in listed.tolist():
            if block is None or bins.as_levels[j]:
                # The same levels in every bootstrap: those not drawn have counts of zero, which
                # change nothing.
                codes, fine_edges = encoded.codes_of(j), bins.of(j)[1:]
                edges = np.tile(fine_edges, len(counts))
                edge_starts = np.arange(len(counts) + 1) * fine_edges.size
            else:
                values = np.ascontiguousarray(block[j - start])
                edges, edge_starts = bootstrap_edges(
                    values, y, bool(data.categorical[j]), drawn, discretiser
                )
                fine_edges = np.unique(edges)
                codes = np.searchsorted(fine_edges, values, side="right")
                codes[np.isnan(values)] = fine_edges.size + 1
            n_levels = fine_edges.size + 2
            kind = np.uint16 if n_levels <= 1 << 16 else np.uint32
            fine = np.empty((n_levels, data.n_classes, len(counts)), draws.dtype)
            sums_j, sums_jy = np.empty(len(counts)), np.empty(len(counts))
            relevance_sums(
                codes.astype(kind), n_levels, fine_edges, edges, edge_starts, draws, starts, table,
                fine, sums_j, sums_jy,
            )  # fmt: skip
            put(slice(None), [j], sums_j[:, None], sums_jy[:, None])

    in_threads(run.threads, count_listed, encoded.bounds)
    return bits


def equal_width_of_many(
    block: NDArray[np.float64], counts: NDArray[np.int64], discretiser: Discretiser
) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Mask of the columns with bins of equal width in every bootstrap, and their edges.

    `block` is (m, n), `counts` (n_bootstraps, n). Columns with gaps, constant in a bootstrap, or
    with few whole numbers only in one, are left to `bootstrap_edges`. Returns (m,) and, for these
    columns, (k, n_bootstraps, n_bins − 1).
    """
    totals = counts.sum(axis=1)
    many: NDArray[np.bool_] = np.logical_not(np.isnan(block).any(axis=1))
    if discretiser.rule not in ("auto", "equal-width") or not (totals == totals[0]).all():
        return np.zeros(len(block), dtype=bool), np.empty((0, len(counts), 0))
    broken = block != np.floor(block)
    one_of_each = one_of_each_value(block)
    low, high = np.empty((2, len(block), len(counts)))
    for b, live in enumerate(counts > 0):
        part = block[:, live]
        low[:, b], high[:, b] = part.min(axis=1), part.max(axis=1)
        levels = np.count_nonzero(one_of_each[:, live], axis=1)
        many &= broken[:, live].any(axis=1) | (levels > discretiser.max_levels)
    many &= (low < high).all(axis=1)
    n_bins = discretiser.n_bins(int(totals[0]))
    edges = equal_width_edges(low[many].ravel(), high[many].ravel(), n_bins)
    edges = edges.reshape(-1, len(counts), n_bins - 1)
    distinct = (edges[:, :, 1:] > edges[:, :, :-1]).all(axis=(1, 2))
    many[many] = distinct
    return many, np.ascontiguousarray(edges[distinct])


def one_of_each_value(block: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Mask, (m, n), of one place of each value of every row of `block`, (m, n) without NaN.

    A draw of more than L of these places of a row has more than L values. O(m n log n).

    >>> one_of_each_value(np.array([[2.0, 5.0, 2.0, 0.0]])).tolist()
    [[True, True, False, True]]
    """
    order = np.argsort(block, axis=1, kind="stable")
    ascending = np.take_along_axis(block, order, axis=1)
    mask = np.empty(block.shape, dtype=bool)
    np.put_along_axis(mask, order, np.diff(ascending, axis=1, prepend=-np.inf) > 0, axis=1)
    return mask


def bootstrap_edges(
    values: NDArray[np.float64],
    y: NDArray[np.int64],
    categorical: bool,
    counts: NDArray[np.int64],
    discretiser: Discretiser,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Edges that each bootstrap would learn for one column, and the start of each one's edges.

    `values` are NaN where missing; `counts` are (n_bootstraps, n).

    Notes
    -----
    Bins of equal width need the drawn extremes only, which are near the ends of the sorted column
    in almost every bootstrap; every other rule is learned on each bootstrap's rows.
    """
    if discretiser.rule in ("auto", "equal-width") and not categorical:
        edges = _equal_width(values, counts, discretiser)
        if edges is not None:
            return edges.ravel(), np.arange(len(counts) + 1) * edges.shape[1]
    learned = []
    for drawn in counts:
        live = drawn > 0
        as_levels, bounds = discretiser.learn_values(
            values[live], y[live], drawn[live], categorical
        )
        learned.append(bounds[1:] if as_levels else bounds)
    return np.concatenate(learned), np.cumsum([0, *(len(bounds) for bounds in learned)])


def _equal_width(
    values: NDArray[np.float64], counts: NDArray[np.int64], discretiser: Discretiser
) -> NDArray[np.float64] | None:
    """Edges of each bootstrap, (n_bootstraps, n_bins − 1); None if the ends do not tell."""
    ascending = np.argsort(values)[: np.count_nonzero(~np.isnan(values))]
    broken = np.flatnonzero((values != np.floor(values)) & ~np.isnan(values))
    totals = counts.sum(axis=1)
    if ascending.size < 2 or not (totals == totals[0]).all():
        return None
    # A bootstrap that draws few whole numbers only keeps them as levels.
    if not (counts[:, broken[:END]] > 0).any(axis=1).all():
        one_of_each = ascending[np.diff(values[ascending], prepend=-np.inf) > 0]
        levels = np.count_nonzero(counts[:, one_of_each], axis=1)
        if not (levels > discretiser.max_levels).all():
            return None
    low_rows, high_rows = ascending[:END], ascending[::-1][:END]
    low_drawn, high_drawn = counts[:, low_rows] > 0, counts[:, high_rows] > 0
    if not (low_drawn.any(axis=1) & high_drawn.any(axis=1)).all():
        return None
    low = values[low_rows[low_drawn.argmax(axis=1)]]
    high = values[high_rows[high_drawn.argmax(axis=1)]]
    if not (low < high).all():
        return None
    edges = equal_width_edges(low, high, discretiser.n_bins(int(totals[0])))
    return edges if (edges[:, 1:] > edges[:, :-1]).all() else None
