"""Counts of many bootstraps in one pass: every sample adds a row of draws to its level's counts."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsframe.compiled import njit

__all__ = ["draws_by_class", "relevance_sums"]


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
