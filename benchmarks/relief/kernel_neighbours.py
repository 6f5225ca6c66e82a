"""Loops that choose neighbours and list pairs, and the same with array operations."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from fsframe_relief.engine import neighbour_kernels as loops
from fsframe_relief.engine import score_kernels
from fsframe_relief.engine.feature_scores import Lists
from fsframe_relief.engine.neighbours import ForKernels, NearestForKernels

N = 1000


def setting() -> tuple[Any, ...]:
    rng = np.random.default_rng(0)
    Z = rng.random((N, 50))
    D = cdist(Z, Z, "cityblock")
    D /= D.mean()
    y = np.sort(rng.integers(0, 2, N))
    return rng, D, y, np.searchsorted(y, [0, 1, 2]), np.arange(N), np.ones(N), np.full(2, 0.5)


def cases():  # type: ignore[no-untyped-def]
    rng, D, y, bounds, rows, ones, half = setting()
    np.fill_diagonal(D, np.nan)
    to = ForKernels(y, bounds, ones, ones, half, True)
    rule = NearestForKernels(10, 10, 0, 20.0, False, False)
    size = f"{N} × {N} distances"

    def nearest() -> Any:
        E = D.copy()
        none, each = np.empty((0, 0), np.int32), np.tile(bounds, (N, 1))
        loops.nearest_weights(E, none, each, rows, to, rule)
        return E

    sign = np.where(y[:, None] == y, -1.0, 1.0)

    def partitioned() -> Any:
        E = np.where(np.isnan(D), np.inf, D)
        W = np.zeros_like(E)
        for c in (0, 1):
            part = E[:, bounds[c] : bounds[c + 1]]
            edge = np.partition(part, 9, axis=1)[:, 9:10]
            low, tied = part < edge, part == edge
            share = (10 - low.sum(axis=1)) / tied.sum(axis=1)
            W[:, bounds[c] : bounds[c + 1]] = (low + tied * share[:, None]) / 10
        return W * sign

    yield "nearest_weights", f"{size}, k = 10 (partition)", nearest, partitioned

    counts = rng.integers(1, 4, N).astype(float)

    def moments() -> Any:
        return loops.row_moments(D, rows, counts)[3]

    def means() -> Any:
        known = ~np.isnan(D)
        filled = np.where(known, D, 0.0)
        weight = known @ counts
        mean = filled @ counts / weight
        spread = ((filled - mean[:, None]) ** 2 * known) @ counts
        np.sqrt(spread / weight)
        return spread / weight

    yield "row_moments", f"{size} (products with the counts)", lambda: moments() ** 2, means

    near, far = np.full(N, 0.95), np.full(N, 1.05)

    def radius() -> Any:
        E = D.copy()
        loops.radius_weights(E, rows, to._replace(counts=counts), near, far, True)
        return E

    def grouped(w: np.ndarray) -> np.ndarray:
        """Signed weights of hits or misses, scaled by class."""
        for c in (0, 1):
            part = w[:, bounds[c] : bounds[c + 1]]
            total = part.sum(axis=1, keepdims=True)
            part *= np.divide(1.0, total, out=np.zeros_like(total), where=total > 0)
        return w * sign

    def bounded() -> Any:
        with np.errstate(invalid="ignore"):
            return grouped((D < 0.95) * counts) - grouped((D > 1.05) * counts)

    yield "radius_weights", f"{size}, star (comparisons)", radius, bounded

    yield from lists(rng)
    yield from permutations(rng)


def lists(rng):  # type: ignore[no-untyped-def]
    n = 2000
    C = np.where(rng.random((n, n)) < 0.3, rng.normal(size=(n, n)), 0.0)
    lists = Lists(np.empty((64, n), np.int32), np.empty((64, n)), np.zeros(64, dtype=np.int64))
    _, weight, length = lists

    def flat() -> Any:
        return np.concatenate([weight[r, : length[r]] for r in range(64)])

    def folded() -> Any:
        score_kernels.folded_lists(C, 0, 64, lists)
        return flat()

    def triangle() -> Any:
        fold = C[:64] + C[:, :64].T
        fold[np.tri(64, n, dtype=bool)] = 0.0
        return fold[np.nonzero(fold)]

    yield "folded_lists", f"64 × {n} weights, 30 % set (nonzero)", folded, triangle

    def rows_of() -> Any:
        score_kernels.row_lists(C[:64], lists)
        return flat()

    def set_ones() -> Any:
        part = C[:64]
        return part[np.nonzero(part)]

    yield "row_lists", f"64 × {n} weights, 30 % set (nonzero)", rows_of, set_ones

    m = 40
    few = np.where(rng.random((64, m)) < 0.6, 0.1, 0.0)
    names = rng.integers(0, n, (64, m)).astype(np.int32)
    starts = np.tile(np.array([0, m]), (64, 1))

    def kept() -> Any:
        loops.keep_weighted(Lists(names.copy(), few.copy(), length), starts)
        return np.arange(m) < length[:, None]

    def moved() -> Any:
        order = np.argsort(few == 0.0, axis=1, kind="stable")
        np.take_along_axis(few, order, axis=1)
        np.take_along_axis(names, order, axis=1)
        return np.arange(m) < np.count_nonzero(few, axis=1)[:, None]

    yield "keep_weighted", f"64 × {m} weights, 60 % set (stable order)", kept, moved


def permutations(rng):  # type: ignore[no-untyped-def]
    n, pairs, labellings = 100, 2048, 128
    A = rng.normal(size=(n, n))
    first, second = np.sort(rng.integers(0, n, (2, pairs)), axis=0)
    labels = rng.integers(0, 2, (labellings, n))
    near, far = rng.random((2, labellings, n, 2))
    K = np.empty((labellings, pairs))

    def loop() -> Any:
        score_kernels.pair_weights(A, first, second, labels, near, far, K)
        return K

    t = np.arange(labellings)[:, None]

    def arrays() -> Any:
        total = np.zeros((labellings, pairs))
        for i, j in ((first, second), (second, first)):
            a = A[i, j]
            side = np.where(a > 0, near[t, i, labels[:, j]], far[t, i, labels[:, j]])
            total += a * side
        return total

    yield "pair_weights", f"{labellings} labellings × {pairs} pairs (lookups)", loop, arrays
