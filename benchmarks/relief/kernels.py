"""The compiled loops against the best array formulation known to us, on one thread.

    python benchmarks/relief/kernels.py

Ratios are processor seconds of the arrays / of the compiled loop, the least of several runs
each, in turns. A compiled loop is kept where this is 3 or more at such sizes.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from fsframe_relief import distance_kernels, mask_kernels, neighbour_kernels, score_kernels
from fsframe_relief.columns import prepare_columns


def least(work: Callable[[], Any], other: Callable[[], Any], turns: int = 5) -> tuple[float, float]:
    """Least processor seconds of two pieces of work that take turns."""
    best = [np.inf, np.inf]
    for _ in range(turns + 1):
        for k, piece in enumerate((work, other)):
            start = time.process_time()
            piece()
            best[k] = min(best[k], time.process_time() - start)
    return best[0], best[1]


def report(name: str, loop: Callable[[], Any], arrays: Callable[[], Any]) -> None:
    """One line of the table."""
    a, b = least(loop, arrays)
    print(f"| {name} | {a * 1e3:.2f} | {b * 1e3:.2f} | {b / a:.1f} |", flush=True)


def main() -> None:
    rng = np.random.default_rng(0)
    print("| what, N × A | loop ms | arrays ms | ratio |")
    print("|---|---|---|---|")

    n, p = 1000, 500
    Z = rng.random((n, p))
    rows = np.arange(n)
    out = np.zeros((n, n))
    report(
        "continuous distances, 1000 × 500 (arrays: cdist)",
        lambda: distance_kernels.plain_distances(Z, rows, 0, out),
        lambda: cdist(Z, Z, "cityblock"),
    )

    D = out / out.mean()
    y = np.sort(rng.integers(0, 2, n))
    bounds = np.searchsorted(y, [0, 1, 2])
    ones, half = np.ones(n), np.full(2, 0.5)
    index = np.zeros((n, n), dtype=np.int32)
    weight, length = np.zeros((n, n)), np.zeros(n, dtype=np.int64)
    C = np.where(rng.random((n, n)) < 0.3, rng.normal(size=(n, n)), 0.0)
    score_kernels.row_lists(C, index, weight, length)
    scores = np.zeros(p)

    def score_arrays() -> np.ndarray:
        # weights of all pairs times |differences|, feature by feature in one row block at a time
        total = np.zeros(p)
        for i in range(0, 50):
            total += C[i] @ np.abs(Z - Z[i])
        return total

    report(
        "continuous scores, 50 targets × 1000 × 500 (arrays: abs and product)",
        lambda: score_kernels.plain_scores(
            Z, rows[:50], index[:50], weight[:50], length[:50], scores
        ),
        score_arrays,
    )

    def nearest_loop() -> None:
        E = D.copy()
        E[rows, rows] = np.nan
        neighbour_kernels.nearest_weights(
            E, y, bounds, ones, 10, 0, 20.0, False, False, True, half, ones
        )

    def nearest_arrays() -> np.ndarray:
        E = D.copy()
        E[rows, rows] = np.inf
        W = np.zeros_like(E)
        for c in (0, 1):
            part = E[:, bounds[c] : bounds[c + 1]]
            edge = np.partition(part, 9, axis=1)[:, 9:10]
            low, tied = part < edge, part == edge
            share = (10 - low.sum(axis=1)) / tied.sum(axis=1)
            W[:, bounds[c] : bounds[c + 1]] = low + tied * share[:, None]
        return W

    report("k nearest with shared ties, 1000 × 1000 distances", nearest_loop, nearest_arrays)

    near, far = np.full(n, 0.95), np.full(n, 1.05)
    counts = rng.integers(1, 4, n).astype(float)

    def radius_arrays() -> np.ndarray:
        E = D.copy()
        E[rows, rows] = np.nan
        W = np.zeros_like(E)
        own = np.where((y == np.arange(2)[:, None]), -1.0, 1.0)
        for found, side in ((near[:, None] > E, 1.0), (far[:, None] < E, -1.0)):
            part = found * counts
            for c in (0, 1):
                of_class = part[:, bounds[c] : bounds[c + 1]]
                size = of_class.sum(axis=1)
                worth = np.divide(side * own[c], size, out=np.zeros(n), where=size > 0)
                W[:, bounds[c] : bounds[c + 1]] += of_class * worth[:, None]
        return W

    report(
        "near and far by bounds, 1000 × 1000 distances",
        lambda: neighbour_kernels.radius_weights(
            D.copy(), rows, y, bounds, counts, near, far, True, True, half, ones
        ),
        radius_arrays,
    )

    n, p = 1000, 2000
    G = rng.integers(0, 3, (n, p)).astype(float)
    rows, ones = np.arange(n), np.ones(n)
    y = np.sort(rng.integers(0, 2, n))
    columns = prepare_columns(G, np.ones(p, bool))
    hot = np.concatenate([v == G for v in range(3)], axis=1).astype(np.float32)
    out, empty = np.zeros((n, n)), np.empty((0, 0))
    report(
        "genotype distances, 1000 × 2000 (arrays: one-hot single-precision product)",
        lambda: distance_kernels.mismatch_distances(
            columns.planes, columns.known, columns.segments, rows, 0, out, empty
        ),
        lambda: p - hot @ hot.T,
    )
    C = np.where(rng.random((n, n)) < 0.3, np.where(y[:, None] == y, -1.0, 1.0) / n, 0.0)
    words = -(-n // 64)
    start = 3 * np.arange(p)
    levels, known = np.zeros((3 * p, words), dtype=np.uint64), np.zeros((0, words), dtype=np.uint64)
    mask_kernels.level_masks(columns.codes, 255, start, levels, p, known)
    scores = np.zeros(p)

    def product_scores() -> np.ndarray:
        # two signs, exact counts in single precision, own level picked out
        total = np.zeros(p)
        for sign in (-1.0, 1.0):
            equal = ((C * sign > 0).astype(np.float32) @ hot).reshape(n, 3, p)
            total += (
                sign * np.take_along_axis(equal, columns.codes[:, None, :].astype(int), 1).sum()
            )
        return total

    report(
        "genotype scores by masks, 1000 × 2000 (arrays: one-hot products)",
        lambda: score_kernels.count_scores(
            columns.codes, 255, levels, start, known, p, rows, C, y, 2, scores
        ),
        product_scores,
    )
    level_of = columns.codes

    def masks() -> None:
        for v in range(3):
            np.packbits(level_of == v, axis=0, bitorder="little").T.copy()

    report(
        "instances by genotype, 1000 × 2000 (arrays: packbits)",
        lambda: mask_kernels.level_masks(level_of, 255, start, levels, p, known),
        masks,
    )


if __name__ == "__main__":
    main()
