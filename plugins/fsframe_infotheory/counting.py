"""Every feature counted with one partner, by the fastest of three ways to count."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsframe_infotheory.encode import Encoded
from fsframe_infotheory.entropy import sum_clogc
from fsframe_infotheory.grouped import dense_sums, grouped_sums, weighted_dense_sums
from fsframe_infotheory.packing import Chunk, codes_in
from fsframe_infotheory.partner import Partner
from fsframe_infotheory.planes import joint_sums
from fsframe_infotheory.popcount import LANES
from fsframe_infotheory.terms import Terms

__all__ = ["Counter"]

SMALL_WORK = 6e6
"""Word operations below which a second thread costs more than it saves (about 0.5 ms)."""

MOST_ROWS = 1024
"""Most products of bit rows, (L_j − 1)(L_s − 1), before counting sample by sample is faster."""

MOST_CELLS = 1 << 14
"""Most cells of a joint table, or eight per sample; beyond, samples are grouped."""


class Counter:
    """Counts all features of an encoded table with partners, on a fixed number of threads.

    Every thread writes the results of its own features, so their number changes no bit.
    """

    def __init__(self, encoded: Encoded, threads: int = 1) -> None:
        self.encoded = encoded
        self.threads = max(1, threads)
        self._pool: ThreadPoolExecutor | None = None

    def __enter__(self) -> Counter:
        if self.threads > 1:
            self._pool = ThreadPoolExecutor(self.threads - 1)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None

    def map(self, work: Callable[..., Any], units: Iterable[tuple[Any, ...]]) -> list[Any]:
        """`work` of each unit, the last one in this thread, results in order."""
        listed = list(units)
        if self._pool is None:
            return [work(*unit) for unit in listed]
        waiting = [self._pool.submit(work, *unit) for unit in listed[:-1]]
        last = [work(*unit) for unit in listed[-1:]]
        return [future.result() for future in waiting] + last

    def terms(self, partner: Partner, per_class: bool = True) -> Terms:
        """Terms of every feature with `partner`; those with Y need `per_class`."""
        encoded = self.encoded
        if encoded.weighted:
            return self._weighted(partner)
        js = np.empty(encoded.n_features)
        jsy = np.full(encoded.n_features, np.nan)
        for k in range(len(encoded.bounds)):
            self._whole(encoded.chunk(k), partner, per_class, js, jsy)
        return Terms(
            total=encoded.layout.total,
            j=encoded.sum_j,
            jy=encoded.sum_jy,
            s=partner.sum_s,
            sy=partner.sum_sy,
            y=encoded.layout.sum_y,
            js=js,
            jsy=jsy,
        )

    def _whole(
        self,
        chunk: Chunk,
        partner: Partner,
        per_class: bool,
        js: NDArray[np.float64],
        jsy: NDArray[np.float64],
    ) -> None:
        layout = self.encoded.layout
        if chunk.block_levels.size:
            most = int(chunk.block_levels.max())
            cells = most * partner.n_levels * layout.n_classes
            if (most - 1) * (partner.n_levels - 1) <= MOST_ROWS and cells <= 8 * MOST_CELLS:
                self._packed(chunk, partner, per_class, js, jsy)
            else:
                self._unpacked(chunk, partner, per_class, js, jsy)
        if chunk.listed.size:
            n_levels = self.encoded.n_levels[chunk.listed]
            sums = self._listed(chunk.codes, n_levels, partner, per_class)
            js[chunk.listed], jsy[chunk.listed] = sums

    def _packed(
        self,
        chunk: Chunk,
        partner: Partner,
        per_class: bool,
        js: NDArray[np.float64],
        jsy: NDArray[np.float64],
    ) -> None:
        layout = self.encoded.layout
        n_blocks = len(chunk.block_levels)
        lanes = np.empty((2, n_blocks * LANES))

        def work(start: int, stop: int) -> None:
            joint_sums(
                chunk.planes, chunk.offsets, chunk.block_levels, chunk.margins,
                chunk.margin_offsets, partner.rows, partner.margins, layout.words, layout.table,
                per_class, start, stop, lanes[0], lanes[1],
            )  # fmt: skip

        products = (chunk.block_levels - 1) * (partner.n_levels - 1) * layout.n_words * LANES
        self.map(work, self._shares(products + 40 * LANES))
        live = chunk.packed >= 0
        js[chunk.packed[live]] = lanes[0, live]
        if per_class:
            jsy[chunk.packed[live]] = lanes[1, live]

    def _shares(self, work: NDArray[np.int64]) -> list[tuple[int, int]]:
        """Bounds of about equal work, one per thread, or one in all where there is little."""
        done = np.cumsum(work)
        parts = self.threads if done[-1] >= SMALL_WORK else 1
        cuts = np.searchsorted(done, done[-1] * np.arange(1, parts) / parts, side="right")
        bounds = [0, *cuts.tolist(), len(work)]
        return [(a, b) for a, b in pairwise(bounds) if a < b]

    def _unpacked(
        self,
        chunk: Chunk,
        partner: Partner,
        per_class: bool,
        js: NDArray[np.float64],
        jsy: NDArray[np.float64],
    ) -> None:
        """Packed features with a partner of many levels: unpacked some at a time."""
        features = chunk.packed[chunk.packed >= 0]
        width = max(8, (1 << 20) // max(1, self.encoded.layout.n))
        for at in range(0, len(features), width):
            group = features[at : at + width]
            codes = np.stack([codes_in(chunk, int(j), self.encoded.layout) for j in group])
            n_levels = self.encoded.n_levels[group]
            sums = self._listed(codes.astype(np.uint8), n_levels, partner, per_class)
            js[group], jsy[group] = sums

    def _listed(
        self,
        codes: NDArray[Any],
        n_levels: NDArray[np.int64],
        partner: Partner,
        per_class: bool,
    ) -> NDArray[np.float64]:
        """Sums over (j, s) and (j, s, y) of features given as codes, as (2, m); whole counts."""
        layout = self.encoded.layout
        found = np.empty((2, len(codes)))
        group = layout.n_classes if per_class else 1
        n_cells = partner.n_levels * group
        shares = self._shares(np.full(len(codes), 10 * layout.n))
        if int(n_levels.max()) * n_cells <= max(MOST_CELLS, 8 * layout.n):
            cells = partner.codes * group + (partner.labels if per_class else 0)
            cells = cells.astype(np.uint16 if n_cells <= 1 << 16 else np.int32)

            def work(start: int, stop: int) -> None:
                dense_sums(
                    codes, n_levels, cells, n_cells, group, layout.table, start, stop, found[0],
                    found[1],
                )  # fmt: skip

            self.map(work, shares)
            return found
        none = np.full(len(codes), -1)
        sums = self._grouped(codes, n_levels, none, partner, np.ones(layout.n))
        return sums[6:]

    def _grouped(
        self,
        codes: NDArray[Any],
        n_levels: NDArray[np.int64],
        dropped: NDArray[np.int64],
        partner: Partner,
        weights: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        layout = self.encoded.layout
        sums = np.empty((8, len(codes)))
        order, starts = partner.grouped

        def work(start: int, stop: int) -> None:
            grouped_sums(
                codes, n_levels, dropped, order, starts, partner.labels,
                layout.n_classes, weights, layout.whole_table, start, stop, sums,
            )  # fmt: skip

        self.map(work, self._shares(np.full(len(codes), 20 * self.encoded.layout.n)))
        return sums

    def _weighted_dense(self, partner: Partner, weights: NDArray[np.float64]) -> Terms:
        """Terms where all samples enter all counts, and tables are small."""
        encoded, layout = self.encoded, self.encoded.layout
        n_cells = partner.n_levels * layout.n_classes
        cells = (partner.codes * layout.n_classes + partner.labels).astype(np.int32)
        masses = np.bincount(cells, weights=weights, minlength=n_cells)
        found = np.empty((2, encoded.n_features))
        for k in range(len(encoded.bounds)):
            chunk = encoded.chunk(k)
            n_levels = encoded.n_levels[chunk.listed]
            sums = np.empty((2, len(chunk.listed)))
            codes = chunk.codes

            def work(
                start: int,
                stop: int,
                codes: NDArray[Any] = codes,
                n_levels: NDArray[np.int64] = n_levels,
                sums: NDArray[np.float64] = sums,
            ) -> None:
                weighted_dense_sums(
                    codes, n_levels, cells, n_cells, layout.n_classes, weights, start, stop,
                    sums[0], sums[1],
                )  # fmt: skip

            self.map(work, self._shares(np.full(len(codes), 10 * layout.n)))
            found[:, chunk.listed] = sums
        return Terms(
            total=layout.total,
            j=encoded.sum_j,
            jy=encoded.sum_jy,
            s=sum_clogc(masses.reshape(partner.n_levels, -1).sum(axis=1)),
            sy=sum_clogc(masses),
            y=layout.sum_y,
            js=found[0],
            jsy=found[1],
        )

    def _weighted(self, partner: Partner) -> Terms:
        encoded = self.encoded
        layout = encoded.layout
        weights = np.ones(layout.n) if layout.weights is None else layout.weights
        cells = partner.n_levels * layout.n_classes
        whole = (encoded.dropped < 0).all() and partner.present is None
        if whole and int(encoded.n_levels.max()) * cells <= max(MOST_CELLS, 8 * layout.n):
            return self._weighted_dense(partner, weights)
        sums = np.empty((8, encoded.n_features))
        for k in range(len(encoded.bounds)):
            chunk = encoded.chunk(k)
            columns = chunk.listed
            sums[:, columns] = self._grouped(
                chunk.codes, encoded.n_levels[columns], encoded.dropped[columns], partner, weights
            )
        # No sample has both values: nothing is known of the pair, and all its terms are zero.
        sums[0, sums[0] == 0] = 1.0
        total, j, jy, s, sy, y, js, jsy = sums
        return Terms(total=total, j=j, jy=jy, s=s, sy=sy, y=y, js=js, jsy=jsy)
