"""Joint counts of every feature with one partner, by the fastest of three methods."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import pairwise
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.kernels.bit_counts import LANES
from fsframe_infotheory.engine.encode import Encoded, Partner
from fsframe_infotheory.engine.entropy import Terms, joint_sums, sum_clogc
from fsframe_infotheory.engine.packing import (
    Chunk,
    codes_in,
    dense_sums,
    grouped_sums,
    weighted_dense_sums,
)

SMALL_WORK = 6e6
"""Word operations below which a second thread costs more than it saves (about 0.5 ms)."""

MOST_ROWS = 1024
"""Most products of bit rows, (L_j − 1)(L_s − 1); above, counting sample by sample is faster."""

MOST_CELLS = 1 << 14
"""Most cells of a joint table, or eight per sample; above, samples are grouped."""


@attrs.frozen(kw_only=True, eq=False)
class _Job:
    """Some features to be counted with a partner.

    ``work(start, stop)`` counts features start … stop−1, or blocks of eight of them, at a cost of
    ``costs[start : stop]``; then column k of `found` holds the sums over (j, s) and (j, s, y) of
    feature ``features[k]``, or all eight of `grouped_sums`; −1 is none.
    """

    work: Callable[[int, int], None]
    costs: NDArray[np.int64]
    found: NDArray[np.float64]
    features: NDArray[np.int64]


class Counter:
    """Counts all features of an encoded table with partners, on a fixed number of threads.

    Every thread writes the results of its own features, so results do not depend on their number.
    """

    def __init__(self, encoded: Encoded, threads: int = 1) -> None:
        self.encoded = encoded
        self.threads = max(1, threads)
        self._pool: ThreadPoolExecutor | None = None

    def __enter__(self) -> Counter:
        if self.threads > 1:
            self._pool = ThreadPoolExecutor(self.threads - 1)
        return self

    def __exit__(self, *error: object) -> None:
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None

    def map(self, work: Callable[..., Any], units: Iterable[tuple[Any, ...]]) -> list[Any]:
        """Apply `work` to each unit, the last one in this thread; return the results in order."""
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
        sums = np.full((2, encoded.n_features), np.nan)
        jobs: list[_Job] = []
        for k, stored in enumerate(encoded.chunks):
            jobs += self._jobs(encoded.chunk(k), partner, per_class, sums)
            if stored is None or k == len(encoded.chunks) - 1:
                # Chunks in memory are counted together; others right away, and then dropped.
                self._run_jobs(jobs, sums)
                jobs = []
        return encoded.terms(partner.sum_s, partner.sum_sy, *sums)

    def _run_jobs(self, jobs: list[_Job], sums: NDArray[np.float64]) -> None:
        """Run all jobs in shares of about equal cost, one per thread; small work in one."""
        if not jobs:
            return
        costs = np.concatenate([job.costs for job in jobs])
        borders = np.cumsum([0, *(len(job.costs) for job in jobs)])

        def work(start: int, stop: int) -> None:
            for job, first, last in zip(jobs, borders[:-1], borders[1:], strict=True):
                low, high = max(start, first), min(stop, last)
                if low < high:
                    job.work(int(low - first), int(high - first))

        self.map(work, self._shares(costs))
        for job in jobs:
            live = job.features >= 0
            sums[:, job.features[live]] = job.found[:, live]

    def _jobs(
        self, chunk: Chunk, partner: Partner, per_class: bool, sums: NDArray[np.float64]
    ) -> list[_Job]:
        """The jobs of one chunk; partners of many levels are counted here, group by group."""
        layout = self.encoded.layout
        jobs = []
        if chunk.blocks.levels.size:
            most = int(chunk.blocks.levels.max())
            cells = most * partner.n_levels * layout.n_classes
            if (most - 1) * (partner.n_levels - 1) <= MOST_ROWS and cells <= 8 * MOST_CELLS:
                jobs.append(self._packed(chunk, partner, per_class))
            else:
                for job in self._unpacked(chunk, partner, per_class):
                    self._run_jobs([job], sums)
        if chunk.listed.size:
            jobs.append(self._listed(chunk.codes, chunk.listed, partner, per_class))
        return jobs

    def _packed(self, chunk: Chunk, partner: Partner, per_class: bool) -> _Job:
        layout = self.encoded.layout
        lanes = np.empty((2, len(chunk.packed)))
        words, margins = partner.in_groups(per_class)

        def work(start: int, stop: int) -> None:
            joint_sums(
                chunk.blocks, partner.rows, margins, words, layout.n_classes, layout.table, start,
                stop, lanes[0], lanes[1],
            )  # fmt: skip

        products = (chunk.blocks.levels - 1) * (partner.n_levels - 1) * layout.n_words * LANES
        return _Job(work=work, costs=products + 40 * LANES, found=lanes, features=chunk.packed)

    def _shares(self, work: NDArray[np.int64]) -> list[tuple[int, int]]:
        """Bounds of shares of about equal work, one per thread; small work in one."""
        done = np.cumsum(work)
        parts = self.threads if done[-1] >= SMALL_WORK else 1
        cuts = np.searchsorted(done, done[-1] * np.arange(1, parts) / parts, side="right")
        bounds = [0, *cuts.tolist(), len(work)]
        return [(a, b) for a, b in pairwise(bounds) if a < b]

    def _unpacked(self, chunk: Chunk, partner: Partner, per_class: bool) -> Iterator[_Job]:
        """Packed features with a partner of many levels, unpacked group by group."""
        features = chunk.packed[chunk.packed >= 0]
        width = max(8, (1 << 20) // max(1, self.encoded.layout.n))
        for at in range(0, len(features), width):
            group = features[at : at + width]
            codes = np.stack([codes_in(chunk, int(j), self.encoded.layout) for j in group])
            yield self._listed(codes.astype(np.uint8), group, partner, per_class)

    def _listed(
        self,
        codes: NDArray[Any],
        features: NDArray[np.int64],
        partner: Partner,
        per_class: bool,
    ) -> _Job:
        """Job for the sums over (j, s) and (j, s, y) of features given as codes; whole counts."""
        layout = self.encoded.layout
        n_levels = self.encoded.n_levels[features]
        group = layout.n_classes if per_class else 1
        n_cells = partner.n_levels * group
        if int(n_levels.max()) * n_cells > max(MOST_CELLS, 8 * layout.n):
            none = np.full(len(codes), -1)
            job = self._grouped(codes, features, none, partner)
            return attrs.evolve(job, found=job.found[6:])
        cells = partner.codes * group + (partner.labels if per_class else 0)
        cells = cells.astype(np.uint16 if n_cells <= 1 << 16 else np.int32)
        sums = np.empty((2, len(codes)))

        def work(start: int, stop: int) -> None:
            dense_sums(
                codes, n_levels, cells, n_cells, group, layout.table, start, stop, sums[0],
                sums[1],
            )  # fmt: skip

        costs = np.full(len(codes), 10 * layout.n)
        return _Job(work=work, costs=costs, found=sums, features=features)

    def _grouped(
        self,
        codes: NDArray[Any],
        features: NDArray[np.int64],
        dropped: NDArray[np.int64],
        partner: Partner,
    ) -> _Job:
        """Job for all eight sums of `grouped_sums`."""
        layout = self.encoded.layout
        n_levels = self.encoded.n_levels[features]
        sums = np.empty((8, len(codes)))
        order, starts = partner.grouped
        samples = layout.weighted

        def work(start: int, stop: int) -> None:
            grouped_sums(codes, n_levels, dropped, order, starts, samples, start, stop, sums)

        costs = np.full(len(codes), 20 * layout.n)
        return _Job(work=work, costs=costs, found=sums, features=features)

    def _weighted_dense(self, partner: Partner) -> Terms:
        """Weighted terms from dense tables, if no sample is left out and tables are small."""
        encoded, layout = self.encoded, self.encoded.layout
        weights = layout.masses
        n_cells = partner.n_levels * layout.n_classes
        cells = (partner.codes * layout.n_classes + partner.labels).astype(np.int32)
        masses = np.bincount(cells, weights=weights, minlength=n_cells)
        joint_sums = np.empty((2, encoded.n_features))
        for k in range(len(encoded.bounds)):
            chunk = encoded.chunk(k)
            n_levels = encoded.n_levels[chunk.listed]
            sums = np.empty((2, len(chunk.listed)))
            work = partial(
                weighted_dense_sums, chunk.codes, n_levels, cells, n_cells, layout.n_classes,
                weights, sums[0], sums[1],
            )  # fmt: skip
            self.map(work, self._shares(np.full(len(n_levels), 10 * layout.n)))
            joint_sums[:, chunk.listed] = sums
        by_level = masses.reshape(partner.n_levels, -1).sum(axis=1)
        return encoded.terms(sum_clogc(by_level), sum_clogc(masses), *joint_sums)

    def _weighted(self, partner: Partner) -> Terms:
        encoded = self.encoded
        layout = encoded.layout
        cells = partner.n_levels * layout.n_classes
        whole = (encoded.dropped < 0).all() and partner.present is None
        if whole and int(encoded.n_levels.max()) * cells <= max(MOST_CELLS, 8 * layout.n):
            return self._weighted_dense(partner)
        sums = np.empty((8, encoded.n_features))
        for k in range(len(encoded.bounds)):
            chunk = encoded.chunk(k)
            dropped = encoded.dropped[chunk.listed]
            job = self._grouped(chunk.codes, chunk.listed, dropped, partner)
            self._run_jobs([job], sums)
        # No sample has both values: all terms of the pair are zero.
        sums[0, sums[0] == 0] = 1.0
        total, j, jy, s, sy, y, js, jsy = sums
        return Terms(total=total, j=j, jy=jy, s=s, sy=sy, y=y, js=js, jsy=jsy)
