"""Counts of many bootstraps in one pass: from bit rows, or by adding a row of draws per sample."""

from __future__ import annotations

import numpy as np

from fsframe.kernels.bit_counts import LANES, at, count_rows, shifted
from fsframe.kernels.compiled import njit

__all__ = ["draw_rows", "equal_width_sums", "packed_sums", "relevance_sums"]


@njit()
def draw_rows(counts, order, starts, words, n_planes):
    """Bit rows of bootstrap counts, samples sorted by class, every class from a new word.

    Parameters
    ----------
    counts : (n_bootstraps, n_samples) integers, below 2 ** n_planes
    order : (n_samples,) int64
        Row behind each sample.
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
def packed_sums(
    planes, offsets, block_levels, words, rows, n_planes, sizes, table, sums_j, sums_jy
):
    """Write Σ c·log₂c over levels, and over levels and classes, of packed features per bootstrap.

    Parameters
    ----------
    planes, offsets, block_levels, words
        As in `fsframe_infotheory.engine.joint_counts.joint_sums`; every sample once.
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
    for levels in block_levels:
        most = max(most, levels)
    cells = np.empty((most, n_classes, n_rows * LANES), np.uint64)
    left = np.empty((n_classes, LANES), np.int64)
    for block in range(block_levels.size):
        levels = block_levels[block]
        mine = at(planes, offsets[block])
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
    """As `relevance_sums` for many columns at once, where samples and bootstraps are few.

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
            own = edges[k, b]
            for c in range(n_classes):
                for i in range(starts[c], starts[c + 1]):
                    drawn = np.int64(draws[i, b])
                    if drawn == 0:
                        continue
                    value = block[k, i]
                    level = 0
                    for e in range(n_edges):
                        level += own[e] <= value
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
