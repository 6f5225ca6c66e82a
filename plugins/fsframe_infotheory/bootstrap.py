"""Counts of many bootstraps in one pass: every sample adds a row of draws to its level's counts."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsframe.compiled import njit
from fsframe_infotheory.discretise import Discretiser
from fsframe_infotheory.edges import equal_width_edges

__all__ = ["draws_by_class", "edges_of_each", "relevance_sums"]

END = 64
"""Rows at each end of a sorted column among which the drawn extremes are looked for."""


def draws_by_class(
    counts: NDArray[np.int64], y: NDArray[np.int64], n_classes: int
) -> tuple[NDArray[Any], NDArray[np.int64], NDArray[np.int64]]:
    """Bootstrap counts with samples sorted by class, as short integers.

    Parameters
    ----------
    counts : (n_bootstraps, n_samples) int64
    y : (n_samples,) int64
        Class codes.

    Returns
    -------
    draws : (n_samples, n_bootstraps) uint16, or int64 where a class is drawn more than 65,535 times
    order : (n_samples,) int64
        Row behind each sample.
    starts : (n_classes + 1,) int64
        First sample of each class.
    """
    order = np.argsort(y, kind="stable").astype(np.int64)
    starts = np.concatenate([[0], np.cumsum(np.bincount(y, minlength=n_classes))])
    largest = counts.sum(axis=1).max(initial=0)
    kind = np.uint16 if largest < 1 << 16 else np.int64
    return np.ascontiguousarray(counts.T[order], dtype=kind), order, starts.astype(np.int64)


@njit()
def relevance_sums(  # type: ignore[no-untyped-def]
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
        for level in range(n_levels):
            missing = level == n_levels - 1
            closed = missing
            if not missing and level > 0:
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
            for c in range(n_classes):
                bin_counts[c] += np.int64(fine[level, c, b])
        total = np.int64(0)
        for c in range(n_classes):
            jy += table[bin_counts[c]]
            total += bin_counts[c]
        j += table[total]
        sums_j[b] = j
        sums_jy[b] = jy


def edges_of_each(
    values: NDArray[np.float64],
    y: NDArray[np.int64],
    categorical: bool,
    counts: NDArray[np.int64],
    discretiser: Discretiser,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Edges that each bootstrap would learn for one column, and where each one's begin.

    Parameters
    ----------
    values : (n,) float64
        NaN is a missing value.
    y : (n,) int64
    categorical : bool
    counts : (n_bootstraps, n) int64
    discretiser : Discretiser

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
    """Edges of each bootstrap as (n_bootstraps, n_bins − 1); None where one needs a closer look."""
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
