"""Many bootstraps of one table: together, one by one, and compared with the counting alone.

    python benchmarks/infotheory/bootstraps.py [--parts mim,npfs,greedy,weights]

Processor milliseconds on one thread, the least of three. "One by one" is `select` on each
bootstrap, "together" is `select_many`. The counting of `mim` alone, from a table that is already
packed:

* bit rows: population counts of every level's bit row with bit rows of the counts, and entropies;
  this is what `mim` does with columns of at most 16 levels;
* row by row: every sample adds its row of draws to its level's counts, and entropies; this is what
  it does with other columns;
* product: one float32 product per class of the one-hot columns with the matrix of draws, exact
  below 2²⁴, and entropies; BLAS on one thread.

"npfs" is a whole run of NPFS over MIM, including drawing, ranking and the test.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

import fsframe
from fsframe.chains.chain import Chain
from fsframe.method.run import Run
from fsframe.table.dataset import Dataset
from fsframe_infotheory.engine import bins
from fsframe_infotheory.engine.bootstraps import draw_rows, packed_sums, relevance_sums
from fsframe_infotheory.engine.discretise import Discretiser
from fsframe_infotheory.engine.encode import encode
from fsframe_infotheory.engine.entropy import Layout, clogc_table

RUN = Run(threads=1)


def milliseconds(work: Callable[[], Any], repeats: int = 3) -> float:
    """Least processor milliseconds."""
    least = np.inf
    for _ in range(repeats):
        started = time.process_time()
        work()
        least = min(least, time.process_time() - started)
    return float(least) * 1e3


def table(n: int, p: int, levels: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Random levels and two classes."""
    rng = np.random.default_rng(0)
    return rng.integers(0, levels, (n, p)), rng.integers(0, 2, n)


def drawn(n: int, bootstraps: int) -> NDArray[np.int64]:
    """Bootstraps as counts per row."""
    rng = np.random.default_rng(1)
    return np.stack([np.bincount(rng.integers(0, n, n), minlength=n) for _ in range(bootstraps)])


def bit_rows(data: Dataset, counts: NDArray[np.int64]) -> Callable[[], None]:
    """A function that does only the counting of `mim`."""
    encoded, _ = encode(data, Discretiser(), run=RUN)
    layout = encoded.layout
    n_planes = int(counts.max()).bit_length()
    places = (layout.order, layout.starts, layout.words, n_planes)
    rows, sizes = draw_rows(counts, *places)
    entropies = clogc_table(int(counts.sum(axis=1).max()))

    def work() -> None:
        for k in range(len(encoded.bounds)):
            chunk = encoded.chunk(k)
            sums = np.empty((2, len(counts), len(chunk.packed)))
            for b in range(0, len(counts), 64):
                part = slice(b, b + 64)
                packed_sums(
                    chunk.blocks, layout.words, rows[b * n_planes : (b + 64) * n_planes],
                    n_planes, sizes[part], entropies, sums[0, part], sums[1, part],
                )  # fmt: skip

    work()
    return work


def row_by_row(
    X: NDArray[np.int64], y: NDArray[np.int64], counts: NDArray[np.int64]
) -> Callable[[], None]:
    """Every sample adds its draws to its level's counts."""
    levels = int(X.max()) + 1
    layout = Layout.of(y, 2)
    order, starts = layout.order, layout.starts
    draws = np.ascontiguousarray(counts.T[order], dtype=np.uint16)
    codes = np.ascontiguousarray(X[order].T.astype(np.uint16))
    edges = np.arange(1.0, levels)
    tiled, edge_starts = np.tile(edges, len(counts)), np.arange(len(counts) + 1) * edges.size
    entropies = clogc_table(len(y))
    fine = np.empty((levels + 1, 2, len(counts)), draws.dtype)
    sums = np.empty((2, len(counts)))

    def work() -> None:
        for column in codes:
            relevance_sums(
                column, levels + 1, edges, tiled, edge_starts, draws, starts, entropies, fine, *sums
            )

    work()
    return work


def product(
    X: NDArray[np.int64], y: NDArray[np.int64], counts: NDArray[np.int64]
) -> Callable[[], None]:
    """One-hot columns times the matrix of draws, class by class."""
    (n, p), levels = X.shape, int(X.max()) + 1
    weights = [counts[:, y == c].T.astype(np.float32) for c in (0, 1)]
    entropies = clogc_table(n)

    def work() -> None:
        width = max(1, (1 << 24) // (n * levels))
        for start in range(0, p, width):
            block = X[:, start : start + width, None] == np.arange(levels)
            flat = block.reshape(n, -1)
            found = [flat[y == c].astype(np.float32).T @ weight for c, weight in enumerate(weights)]
            whole = np.stack(found).astype(np.int64)
            entropies[whole].sum()
            entropies[whole.sum(axis=0)].sum()

    return work


def one_by_one(method: Any, data: Dataset, counts: NDArray[np.int64]) -> float:
    """Milliseconds of ten bootstraps, scaled to all."""
    some = counts[:10]
    took = milliseconds(lambda: [method.select(data.with_counts(row), run=RUN) for row in some])
    return took * len(counts) / len(some)


def compare_mim(n: int, p: int, levels: int, bootstraps: int = 100) -> None:
    X, y = table(n, p, levels)
    counts, data = drawn(n, bootstraps), Dataset.from_arrays(X.astype(float), y)
    mim = fsframe.selectors["mim"]()
    mim.select_many(data, counts[:2], run=RUN)
    with threadpool_limits(1):
        print(
            f"mim {n} × {p}, {levels} levels, {bootstraps} bootstraps: one by one "
            f"{one_by_one(mim, data, counts):.1f} ms, together "
            f"{milliseconds(lambda: mim.select_many(data, counts, run=RUN)):.1f}; bare: bit rows "
            f"{milliseconds(bit_rows(data, counts)):.1f}, row by row "
            f"{milliseconds(row_by_row(X, y, counts)):.1f}, product "
            f"{milliseconds(product(X, y, counts)):.1f}",
            flush=True,
        )


def compare_npfs(n: int = 5000, p: int = 1000, levels: int = 5, bootstraps: int = 500) -> None:
    X, y = table(n, p, levels)
    counts, data = drawn(n, bootstraps), Dataset.from_arrays(X.astype(float), y)
    chain = Chain.parse(f"mim:top=50 npfs:n={bootstraps},null=published")

    def run() -> None:
        bins.forget()
        chain.run(data, threads=1)

    run()
    whole = milliseconds(run)
    rows = milliseconds(bit_rows(data, counts))
    singly = milliseconds(row_by_row(X, y, counts))
    print(
        f"npfs over mim {n} × {p}, {levels} levels, {bootstraps} bootstraps: {whole:.0f} ms; bare: "
        f"bit rows {rows:.0f} ({whole / rows:.2f} ×), row by row {singly:.0f} "
        f"({whole / singly:.2f} ×)",
        flush=True,
    )


def compare_greedy(n: int = 5000, p: int = 1000, bootstraps: int = 20) -> None:
    X, y = table(n, p, 5)
    counts, data = drawn(n, bootstraps), Dataset.from_arrays(X.astype(float), y)
    for name in ("mrmr", "jmi", "disr", "cmim"):
        method = fsframe.selectors[name](top=10)
        method.select_many(data, counts[:2], run=RUN)
        together = milliseconds(lambda method=method: method.select_many(data, counts, run=RUN))
        alone = one_by_one(method, data, counts)
        print(
            f"{name}:top=10 {n} × {p}, {bootstraps} bootstraps: one by one {alone:.0f} ms, "
            f"together {together:.0f} ({alone / together:.1f} ×)",
            flush=True,
        )


def compare_weights(n: int = 5000, p: int = 500) -> None:
    """Time with instance weights: counts become sums of weights, so every sample is visited."""
    X, y = table(n, p, 5)
    data = Dataset.from_arrays(X.astype(float), y)
    weights = np.random.default_rng(2).random(n)
    upstream = fsframe.Selection(
        selected=np.arange(p), scores=np.zeros(p), instance_weights=weights
    )
    for name in ("mim", "mrmr", "jmi"):
        method = fsframe.selectors[name](top=20)
        method.select(data, upstream, run=RUN)
        plain = milliseconds(lambda method=method: method.select(data, run=RUN))
        weighted = milliseconds(lambda method=method: method.select(data, upstream, run=RUN))
        print(
            f"{name}:top=20 {n} × {p}: counts {plain:.1f} ms, weights {weighted:.1f} "
            f"({weighted / plain:.1f} ×)",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parts", default="mim,npfs,greedy,weights")
    parts = parser.parse_args().parts.split(",")
    if "mim" in parts:
        few = ((62, 2000, 5), (500, 1000, 5), (5000, 1000, 5), (2000, 1000, 16))
        for n, p, levels in (*few, (72, 2000, 1000)):
            compare_mim(n, p, levels)
    if "npfs" in parts:
        compare_npfs()
    if "greedy" in parts:
        compare_greedy()
    if "weights" in parts:
        compare_weights()


if __name__ == "__main__":
    main()
