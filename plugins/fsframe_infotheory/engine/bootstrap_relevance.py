"""Relevance in many bootstraps of one table at once, bins learned inside each."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsframe.kernels.threads import in_threads
from fsframe.method.run import Run
from fsframe.table.dataset import Dataset
from fsframe_infotheory.engine.bootstrap_counts import (
    draw_rows,
    equal_width_sums,
    packed_sums,
    relevance_sums,
)
from fsframe_infotheory.engine.discretise import Discretiser
from fsframe_infotheory.engine.edges import equal_width_edges
from fsframe_infotheory.engine.encode import encode
from fsframe_infotheory.engine.entropy import clogc_table, sum_clogc
from fsframe_infotheory.engine.packing import PACKED_LEVELS

__all__ = ["bootstrap_edges", "bootstrap_relevance"]

END = 64
"""Rows at each end of a sorted column that are searched for the drawn extremes."""

FEW = 1 << 14
"""Draws, rows times bootstraps, up to which columns are counted in one pass over a block."""

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
        # As many bootstraps at a time as their counts stay in the cache.
        width = max(1, BOOTSTRAP_BYTES // (8 * n_planes * layout.n_words))
        for first in range(0, len(counts), width):
            part = slice(first, min(first + width, len(counts)))
            sums = np.empty((2, part.stop - first, len(chunk.packed)))
            packed_sums(
                chunk.planes, chunk.offsets, chunk.block_levels, layout.words,
                rows[first * n_planes : part.stop * n_planes], n_planes, sizes[part], table,
                sums[0], sums[1],
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
    """Which columns have bins of equal width in every bootstrap, and their edges.

    `block` is (m, n), `counts` (n_bootstraps, n). Columns with gaps, with whole numbers only in a
    bootstrap, or constant in one, are left to `bootstrap_edges`. Returns (m,) and, for these
    columns, (k, n_bootstraps, n_bins − 1).
    """
    totals = counts.sum(axis=1)
    many = ~np.isnan(block).any(axis=1)
    if discretiser.rule not in ("auto", "equal-width") or not (totals == totals[0]).all():
        return np.zeros(len(block), dtype=bool), np.empty((0, len(counts), 0))
    broken = block != np.floor(block)
    low, high = np.empty((2, len(block), len(counts)))
    for b, live in enumerate(counts > 0):
        part = block[:, live]
        low[:, b], high[:, b] = part.min(axis=1), part.max(axis=1)
        many &= broken[:, live].any(axis=1)
    many &= (low < high).all(axis=1)
    n_bins = discretiser.n_bins(int(totals[0]))
    edges = equal_width_edges(low[many].ravel(), high[many].ravel(), n_bins)
    edges = edges.reshape(-1, len(counts), n_bins - 1)
    distinct = (edges[:, :, 1:] > edges[:, :, :-1]).all(axis=(1, 2))
    many[many] = distinct
    return many, np.ascontiguousarray(edges[distinct])


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
    found = []
    for drawn in counts:
        live = drawn > 0
        as_levels, bounds = discretiser.learn_values(
            values[live], y[live], drawn[live], categorical
        )
        found.append(bounds[1:] if as_levels else bounds)
    return np.concatenate(found), np.cumsum([0, *(len(bounds) for bounds in found)])


def _equal_width(
    values: NDArray[np.float64], counts: NDArray[np.int64], discretiser: Discretiser
) -> NDArray[np.float64] | None:
    """Edges of each bootstrap, (n_bootstraps, n_bins − 1); None where this is not enough."""
    ascending = np.argsort(values)[: np.count_nonzero(~np.isnan(values))]
    broken = np.flatnonzero((values != np.floor(values)) & ~np.isnan(values))
    totals = counts.sum(axis=1)
    if ascending.size < 2 or broken.size == 0 or not (totals == totals[0]).all():
        return None
    # A bootstrap that draws whole numbers only may keep them as levels.
    if not (counts[:, broken[:END]] > 0).any(axis=1).all():
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
