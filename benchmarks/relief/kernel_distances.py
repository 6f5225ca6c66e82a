"""Loops that compute distances, and the same with array operations."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from fsframe_relief.engine import distance_kernels as loops
from fsframe_relief.engine import neighbour_kernels, score_kernels
from fsframe_relief.engine.columns import Special, prepare_columns
from fsframe_relief.engine.feature_scores import Masks


def cases():  # type: ignore[no-untyped-def]
    yield from continuous()
    yield from gaps()
    yield from genotypes()
    yield from probabilities()


def continuous():  # type: ignore[no-untyped-def]
    rng = np.random.default_rng(0)
    for n, p in ((1000, 1000), (2000, 96)):
        Z, rows, out = rng.random((n, p)), np.arange(n), np.zeros((n, n))

        def work(Z=Z, rows=rows, out=out) -> Any:
            out[:] = 0.0
            for i in range(0, len(rows), 64):
                loops.plain_distances(Z, rows[i : i + 64], 0, out[i : i + 64])
            return out

        yield "plain_distances", f"{n} × {p} (cdist)", work, lambda Z=Z: cdist(Z, Z, "cityblock")

    n, p = 2000, 96
    Z, rows = rng.random((n, p)), np.arange(n)
    b, m = 64, 30
    index = rng.integers(0, n, (b, m)).astype(np.int32)
    starts = np.tile(np.array([0, m]), (b, 1))
    found = np.empty((b, m))

    def listed() -> Any:
        neighbour_kernels.listed_distances(Z, rows[:b], index, starts, found)
        return found

    yield (
        "listed_distances",
        f"64 targets × 30 of {n} × {p} (gather and sum)",
        listed,
        lambda: np.abs(Z[index] - Z[:b, None]).sum(axis=2),
    )


def gaps():  # type: ignore[no-untyped-def]
    n, p = 500, 200
    rng = np.random.default_rng(1)
    Z = rng.random((n, p))
    Z[rng.random((n, p)) < 0.1] = np.nan
    rows = np.arange(n)
    special = Special(np.arange(p), Z, p, np.ones(p), 0.0, 1.0)

    def loop() -> Any:
        out, shared = np.zeros((n, n)), np.zeros((n, n))
        loops.special_distances(special, rows, 0, out, shared)
        return out

    def arrays() -> Any:
        known = (~np.isnan(Z)).astype(float)
        known @ known.T
        filled = np.where(known > 0, Z, 0.0)
        out = np.empty((n, n))
        for i in range(n):
            d = np.abs(filled - filled[i])
            d *= known
            out[i] = d @ known[i]
        return out

    yield "special_distances", f"{n} × {p}, 10 % gaps (a product a target)", loop, arrays


def genotypes():  # type: ignore[no-untyped-def]
    n, p = 1000, 2000
    G = np.random.default_rng(2).integers(0, 3, (n, p)).astype(float)
    columns = prepare_columns(G, np.ones(p, bool))
    rows, empty = np.arange(n), np.empty((0, 0))
    hot = np.concatenate([v == G for v in range(3)], axis=1).astype(np.float32)

    def loop() -> Any:
        out = np.zeros((n, n))
        loops.mismatch_distances(columns.levelled, rows, 0, out, empty)
        return out

    yield (
        "mismatch_distances",
        f"{n} × {p} genotypes (one-hot single-precision product)",
        loop,
        lambda: p - hot @ hot.T,
    )
    words = -(-n // 64)
    start = 3 * np.arange(p)
    none = np.zeros((0, words), dtype=np.uint64)

    def masks() -> Any:
        levels = np.zeros((3 * p, words), dtype=np.uint64)
        score_kernels.level_masks(columns.levelled, Masks(levels, start, none))
        return levels.reshape(p, 3, words)

    def packed() -> Any:
        found = np.zeros((p, 3, words * 8), dtype=np.uint8)
        for v in range(3):
            bits = np.packbits(columns.levelled.codes == v, axis=0, bitorder="little")
            found[:, v, : len(bits)] = bits.T
        return found.view(np.uint64)

    yield "level_masks", f"{n} × {p} genotypes (packbits)", masks, packed


def probabilities():  # type: ignore[no-untyped-def]
    n, p = 400, 200
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n, p))
    X[:, p // 2 :] = rng.integers(0, 3, (n, p // 2))
    X[rng.random((n, p)) < 0.1] = np.nan
    found = prepare_columns(X, np.arange(p) >= p // 2, classes=np.sort(rng.integers(0, 2, n)))
    c = found.probability
    rows = np.arange(n)

    def loop() -> Any:
        out = np.zeros((n, n))
        loops.probability_distances(c, rows, 0, out)
        return out

    table = np.empty(c.first_state[-1])
    real = c.values[:, : c.n_real]

    def arrays() -> Any:
        out = np.empty((n, n))
        for i in range(n):
            # the table of one target is made by the loop here too
            loops.fill_differences(i, c, table)
            d = np.abs(real - real[i])
            d = np.where(np.isnan(d), table[c.state[:, : c.n_real]], d)
            out[i] = d.sum(axis=1) + table[c.state[:, c.n_real :]].sum(axis=1)
        return out

    yield "probability_distances", f"{n} × {p}, 10 % gaps (table lookups a target)", loop, arrays
