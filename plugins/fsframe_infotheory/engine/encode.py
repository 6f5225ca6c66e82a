"""Tables as packed codes, the partners that features are counted with, and joint counts of every
feature with one partner, by the fastest of three methods.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, partial
from itertools import pairwise
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.kernels import in_threads
from fsframe.kernels.bit_counts import LANES
from fsframe.method.run import Run
from fsframe.table.dataset import Dataset
from fsframe_infotheory.engine.bins import Bins, RawColumns, TableBytes, cached_bytes, class_masks
from fsframe_infotheory.engine.discretise import Discretiser
from fsframe_infotheory.engine.entropy import Layout, Terms, joint_sums, level_rows, sum_clogc
from fsframe_infotheory.engine.packing import (
    PACKED_LEVELS,
    Chunk,
    Coded,
    as_bytes,
    block_of,
    codes_in,
    dense_sums,
    grouped_sums,
    pack,
    weighted_dense_sums,
    weighted_sums,
)

CHUNK_BYTES = 1 << 25
LEAST_CHUNK_BYTES = 1 << 18
"""Most and least bytes, as float64, of a group of columns that is encoded at once."""


@attrs.frozen(kw_only=True, eq=False, slots=False)
class Sums:
    """Sums of c·log₂c of each feature with the class.

    Parameters
    ----------
    n_levels : (n_features,) int64
        Levels of each feature, the one for missing values included.
    class_sizes : (n_classes,) float64
        Weight of each class.
    totals, sum_y, sum_j, sum_jy : (n_features,) float64
        Weight of the samples counted with each feature, and Σ c·log₂c over class, feature, both.
    """

    n_levels: NDArray[np.int64]
    class_sizes: NDArray[np.float64]
    totals: NDArray[np.float64]
    sum_y: NDArray[np.float64]
    sum_j: NDArray[np.float64]
    sum_jy: NDArray[np.float64]

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return len(self.n_levels)

    def terms(
        self, s: float, sy: float, js: NDArray[np.float64], jsy: NDArray[np.float64]
    ) -> Terms:
        """Terms with a partner of sums `s` and `sy`, if the same samples count for all features."""
        return Terms(
            total=float(self.totals[0]), j=self.sum_j, jy=self.sum_jy, s=s, sy=sy,
            y=float(self.sum_y[0]), js=js, jsy=jsy,
        )  # fmt: skip

    @cached_property
    def relevance(self) -> NDArray[np.float64]:
        """I(X_j; Y) in bits of every feature, as (n_features,); never below zero.

        Notes
        -----
        I = log₂n + (Σ_jy − Σ_j − Σ_y) / n, with Σ the sums of c·log₂c.
        """
        safe = np.maximum(self.totals, 1e-300)
        bits = np.log2(safe) + (self.sum_jy - self.sum_j - self.sum_y) / safe
        bits = np.where(self.totals > 0, np.maximum(bits, 0.0), 0.0)
        bits.setflags(write=False)
        return bits


@attrs.frozen(kw_only=True, eq=False)
class Encoded(Sums):
    """A table ready for counting.

    Parameters
    ----------
    layout : Layout
        Which samples count.
    weighted : bool
        Whether counts need not be whole, or samples are left out pairwise: all columns are then
        listed, none packed.
    dropped : (n_features,) int64
        Level that stands for "missing" where such samples are left out pairwise; else −1.
    bounds : sequence of (start, stop)
        Columns of each chunk.
    chunks : list of Chunk or None
        Those in memory; the others are encoded again when needed.
    lanes : list of (n_lanes,) int64
        Column of each lane of each chunk, in memory or not.
    rebuild : callable
        ``rebuild(k)`` encodes chunk k again.
    coded : Coded or None
        All columns as bytes, from which features can be packed one by one; only on request, if
        none has more than 16 levels and counts are whole.
    """

    layout: Layout
    weighted: bool
    dropped: NDArray[np.int64]
    bounds: list[tuple[int, int]]
    chunks: list[Chunk | None]
    lanes: list[NDArray[np.int64]]
    rebuild: Callable[[int], Chunk]
    coded: Coded | None = None

    def chunk(self, k: int) -> Chunk:
        """Chunk k, encoded again if it is not in memory."""
        chunk = self.chunks[k]
        return self.rebuild(k) if chunk is None else chunk

    @cached_property
    def _places(self) -> NDArray[np.int64]:
        """Chunk and lane of each feature, as (n_features, 2); lane −1 for listed ones."""
        places = np.full((self.n_features, 2), -1)
        for k, (start, stop) in enumerate(self.bounds):
            places[start:stop, 0] = k
            packed = self.lanes[k]
            live = np.flatnonzero(packed >= 0)
            places[packed[live], 1] = live
        return places

    def place(self, feature: int) -> tuple[int, int]:
        """Chunk of a feature, and its lane there; lane −1 if it is listed."""
        k, lane = self._places[feature]
        return int(k), int(lane)

    def codes_of(self, feature: int) -> NDArray[np.int64]:
        """Levels of one feature, samples sorted by class, as (n,)."""
        return codes_in(self.chunk(self.place(feature)[0]), feature, self.layout)

    def partner(self, feature: int) -> Partner:
        """One feature as a partner; bit rows and counts of a packed one are reused."""
        layout, missing = self.layout, int(self.dropped[feature])
        n_levels = int(self.n_levels[feature])
        if missing >= 0:
            codes = self.codes_of(feature)
            return Partner(layout, n_levels, codes, codes != missing)
        k, lane = self.place(feature)
        chunk = self.chunk(k)
        partner = Partner(layout, n_levels, lambda: codes_in(chunk, feature, layout))
        if lane >= 0:
            planes, margins = block_of(chunk.blocks, lane // LANES, layout)
            partner.rows = np.ascontiguousarray(planes[: n_levels - 1, :, lane % LANES])
            partner.margins = np.ascontiguousarray(margins[:n_levels, :, lane % LANES])
            partner.sum_s = float(self.sum_j[feature])
            partner.sum_sy = float(self.sum_jy[feature])
        return partner


def encode(
    data: Dataset,
    discretiser: Discretiser,
    *,
    counts: NDArray[np.int64] | None = None,
    weights: NDArray[np.float64] | None = None,
    pairwise: bool = False,
    keep: str = "codes",
    run: Run | None = None,
) -> tuple[Encoded, Bins]:
    """A table as packed codes, and the bins that were learned on it.

    Parameters
    ----------
    data : Dataset
        Rows with count zero have been taken out.
    discretiser : Discretiser
        Its bins are learned on the rows of `data`.
    counts : (n_samples,) int64, optional
        Bootstrap counts: how often each row counts.
    weights : (n_samples,) float64, optional
        Importance of rows; counts are multiplied by it.
    pairwise : bool
        Whether samples with a missing value are left out of each count that it enters; otherwise
        "missing" is a level.
    keep : {"codes", "bytes", "sums"}
        What stays in memory: codes for counting with partners; bytes to pack from, if possible,
        else codes; or only the sums.
    run : Run, optional
        Threads and the bound on memory, of which codes take at most half.

    Returns
    -------
    Encoded, Bins

    Notes
    -----
    L − 1 bits per sample and feature up to 16 levels, one to four bytes above; chunks of columns
    that would go beyond the bound are encoded again on every pass. Bytes of a table in memory are
    kept between calls: see `fsframe_infotheory.engine.bins`.
    """
    run = run or Run()
    y, n_classes = discretiser.codes_of_target(data)
    layout = Layout.of(y, n_classes, counts, weights)
    masks = None
    table = None
    if layout.weights is None and not pairwise:
        masks = class_masks(layout, data.n_samples)
        table = cached_bytes(data, run)
        if table is None and keep == "bytes":
            table = TableBytes.once(data, run.memory // 4)
    if keep == "bytes" and table is None:
        keep = "codes"
    # Each thread needs a block, its rows by class, and the scratch of learning bins.
    block = min(CHUNK_BYTES, max(LEAST_CHUNK_BYTES, run.memory // (8 * run.threads)))
    bounds = list(data.column_blocks(block))
    encoder = _Encoder(data, discretiser, layout, masks, table, pairwise)
    pieces = encoder.pieces(bounds, keep, run)
    bins = Bins.joined([piece.bins for piece in pieces])
    coded = None
    if keep == "bytes" and table is not None:
        if int(bins.n_levels.max()) > PACKED_LEVELS:
            pieces = encoder.pieces(bounds, "codes", run)
        else:
            coded = Coded.joined([piece.coded for piece in pieces if piece.coded], table.raw)

    def rebuild(k: int) -> Chunk:
        columns, bins = encoder.read(bounds[k]), pieces[k].bins
        coded = None if masks is None else as_bytes(columns, bins, layout, masks)
        return pack(columns, bins, layout, coded)

    totals, sum_y, sum_j, sum_jy = np.concatenate([piece.sums for piece in pieces], axis=1)
    encoded = Encoded(
        layout=layout,
        weighted=masks is None,
        n_levels=bins.n_levels,
        class_sizes=layout.class_sizes,
        dropped=np.where(bins.missing & pairwise, bins.n_values, -1),
        bounds=bounds,
        chunks=[piece.chunk for piece in pieces],
        lanes=[piece.lanes for piece in pieces],
        rebuild=rebuild,
        totals=totals,
        sum_y=sum_y,
        sum_j=sum_j,
        sum_jy=sum_jy,
        coded=coded,
    )
    return encoded, bins


@attrs.frozen(kw_only=True, eq=False)
class _Piece:
    """Results of one group of columns; codes only if they stay in memory."""

    bins: Bins
    sums: NDArray[np.float64]
    chunk: Chunk | None = None
    coded: Coded | None = None
    lanes: NDArray[np.int64] = attrs.field(factory=lambda: np.empty(0, np.int64))


@attrs.frozen(eq=False)
class _Encoder:
    """Encodes groups of adjacent columns of a table; the attributes are those of `encode`."""

    data: Dataset
    discretiser: Discretiser
    layout: Layout
    masks: NDArray[np.uint64] | None
    table: TableBytes | None
    pairwise: bool

    def read(self, bound: tuple[int, int]) -> RawColumns:
        """A group of columns as read."""
        return RawColumns.read(self.data, bound, self.layout, self.masks, self.table)

    def piece(self, bound: tuple[int, int], keep: str) -> _Piece:
        """The results of a group of columns."""
        columns, layout = self.read(bound), self.layout
        bins = self.discretiser.learn_columns(
            self.data, *bound, columns.source, columns.first, columns.seen
        )
        if self.masks is None:
            chunk = pack(columns, bins, layout, None)
            sums = weighted_sums(chunk, bins, layout, self.pairwise)
            return _Piece(bins=bins, sums=sums, chunk=chunk if keep == "codes" else None)
        coded = as_bytes(columns, bins, layout, self.masks)
        sums = np.empty((4, bins.n_features))
        sums[0], sums[1], sums[2:] = layout.total, layout.sum_y, coded.sums
        if keep == "bytes":
            return _Piece(bins=bins, sums=sums, coded=coded)
        if keep == "sums":
            return _Piece(bins=bins, sums=sums)
        chunk = pack(columns, bins, layout, coded)
        return _Piece(bins=bins, sums=sums, chunk=chunk, lanes=chunk.packed)

    def pieces(self, bounds: list[tuple[int, int]], keep: str, run: Run) -> list[_Piece]:
        """The results of all groups, one per thread at a time."""
        pieces: list[_Piece] = []
        room = run.memory // 2
        # Counting bytes is limited by memory, and a second thread slows it down: measured 1.3 to
        # 1.8 times as long.
        tallied = keep != "codes" and self.data.matrix.dtype == np.uint8
        step = 1 if tallied else max(1, run.threads)
        work = partial(self.piece, keep=keep)
        for first in range(0, len(bounds), step):
            for piece in in_threads(step, work, bounds[first : first + step]):
                room -= 0 if piece.chunk is None else piece.chunk.nbytes
                if piece.chunk is not None and room < 0:
                    room += piece.chunk.nbytes
                    piece = attrs.evolve(piece, chunk=None)
                pieces.append(piece)
        return pieces


class Partner:
    """Levels of one feature, or of a combination, in the order of the counted samples.

    Parameters
    ----------
    layout : Layout
        Which samples count.
    n_levels : int
    codes : (n,) int64, or a callable that returns them
        Levels 0 … n_levels − 1; counting from bit rows does not use them.
    present : (n,) bool, optional
        Samples that are counted; all by default.

    Attributes
    ----------
    margins : (n_levels, n_classes) int64
        Samples of each level in each class; whole counts.
    rows : (n_levels − 1, n_words) uint64
        Bit rows of all levels but the last.
    sum_s, sum_sy : float
        Σ c·log₂c over levels, and over levels and classes; whole counts.
    """

    def __init__(
        self,
        layout: Layout,
        n_levels: int,
        codes: NDArray[np.int64] | Callable[[], NDArray[np.int64]],
        present: NDArray[np.bool_] | None = None,
    ) -> None:
        self.layout = layout
        self.n_levels = n_levels
        self.present = present
        self._codes = codes

    @cached_property
    def codes(self) -> NDArray[np.int64]:
        """Level of each sample."""
        return self._codes() if callable(self._codes) else self._codes

    @cached_property
    def labels(self) -> NDArray[np.int64]:
        """Class of each sample."""
        return self.layout.labels

    @cached_property
    def margins(self) -> NDArray[np.int64]:
        cells = self.codes * self.layout.n_classes + self.labels
        counts = np.bincount(cells, minlength=self.n_levels * self.layout.n_classes)
        return counts.reshape(self.n_levels, self.layout.n_classes)

    def in_groups(self, per_class: bool) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """First words and margins of the classes, or of all classes as one group."""
        if per_class:
            return self.layout.words, self.margins
        return self.layout.words[[0, -1]], self.margins.sum(axis=1, keepdims=True)

    @cached_property
    def rows(self) -> NDArray[np.uint64]:
        rows = np.zeros((self.n_levels - 1, self.layout.n_words), np.uint64)
        level_rows(self.codes, self.layout.starts, self.layout.words, rows)
        return rows

    @cached_property
    def sum_s(self) -> float:
        return sum_clogc(self.margins.sum(axis=1))

    @cached_property
    def sum_sy(self) -> float:
        return sum_clogc(self.margins)

    @cached_property
    def grouped(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Samples by level, then class, absent ones left out; and where each level begins."""
        codes = self.codes
        order = np.argsort(codes, kind="stable")
        if self.present is not None:
            order = order[self.present[order]]
        sizes = np.bincount(codes[order], minlength=self.n_levels)
        return order, np.concatenate([[0], np.cumsum(sizes)])

    def joined(self, other: Partner) -> Partner:
        """The joint variable of two partners, with a level for each combination that occurs.

        Notes
        -----
        Levels are renumbered, so that any number of partners can be joined: at most one level per
        sample. A sample that either leaves out is left out.
        """
        cells = self.codes * other.n_levels + other.codes
        levels, codes = np.unique(cells, return_inverse=True)
        present = self.present
        if other.present is not None:
            present = other.present if present is None else present & other.present
        return Partner(self.layout, len(levels), codes.astype(np.int64), present)


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
        complete = (encoded.dropped < 0).all() and partner.present is None
        if complete and int(encoded.n_levels.max()) * cells <= max(MOST_CELLS, 8 * layout.n):
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
