"""All bootstraps of `mim` together: interleaved counting beside a product of one-hot columns.

    python benchmarks/infotheory/bootstraps.py

Processor seconds for 100 bootstraps. "one by one" is `select` on each; "together" is `select_many`
as it stands; "counting" and "product" are the two ways to get the counts alone, from codes at hand:
every sample adds its row of draws to its level's counts, or one float32 product per class of the
one-hot columns with the matrix of draws (exact below 2²⁴; BLAS on one thread).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import fsframe
from fsframe.dataset import Dataset
from fsframe.run import Run
from fsframe_infotheory.bootstrap import draws_by_class, relevance_sums
from fsframe_infotheory.entropy import clogc_table


def seconds(work: Callable[[], Any]) -> float:
    """Least processor seconds of three."""
    least = np.inf
    for _ in range(3):
        started = time.process_time()
        work()
        least = min(least, time.process_time() - started)
    return float(least)


def compare(n: int, p: int, levels: int, bootstraps: int) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, levels, (n, p)), rng.integers(0, 2, n)
    counts = np.stack([np.bincount(rng.integers(0, n, n), minlength=n) for _ in range(bootstraps)])
    data = Dataset.from_arrays(X.astype(float), y)
    mim, run = fsframe.selectors["mim"](), Run(threads=1)
    draws, order, starts = draws_by_class(counts, y, 2)
    codes = np.ascontiguousarray(X[order].T.astype(np.uint16))
    edges = np.arange(1.0, levels)
    edge_starts = np.arange(bootstraps + 1) * edges.size
    tiled = np.tile(edges, bootstraps)
    table = clogc_table(n)
    fine = np.empty((levels + 1, 2, bootstraps), draws.dtype)
    sums = np.empty((2, bootstraps))

    def counting() -> None:
        for column in codes:
            relevance_sums(
                column, levels + 1, edges, tiled, edge_starts, draws, starts, table, fine, *sums
            )

    weights = [counts[:, y == c].T.astype(np.float32) for c in (0, 1)]

    def product() -> None:
        width = max(1, (1 << 24) // (n * levels))
        for start in range(0, p, width):
            block = X[:, start : start + width, None] == np.arange(levels)
            flat = block.reshape(n, -1)
            found = [
                flat[y == c].astype(np.float32).T @ weight for c, weight in enumerate(weights)
            ]
            whole = np.stack(found).astype(np.int64)
            table[whole].sum()
            table[whole.sum(axis=0)].sum()

    one = seconds(lambda: [mim.select(data.with_counts(row), run=run) for row in counts[:10]])
    together = seconds(lambda: mim.select_many(data, counts, run=run))
    with threadpool_limits(1):
        print(
            f"{n} × {p}, {levels} levels, {bootstraps} bootstraps: one by one "
            f"{one * bootstraps / 10:.3f} s, together {together:.3f} s; counts alone: counting "
            f"{seconds(counting):.3f} s, product {seconds(product):.3f} s",
            flush=True,
        )


if __name__ == "__main__":
    for n, p, levels in ((62, 2000, 5), (500, 1000, 5), (5000, 1000, 5), (2000, 1000, 16)):
        compare(n, p, levels, 100)
