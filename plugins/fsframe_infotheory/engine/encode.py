"""Tables as packed codes, and the partners that features are counted with."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.kernels.bit_counts import LANES
from fsframe.kernels.threads import in_threads
from fsframe.method.run import Run
from fsframe.table.dataset import Dataset
from fsframe_infotheory.engine.bins import Bins
from fsframe_infotheory.engine.byte_columns import RawColumns, TableBytes, cached_bytes, class_masks
from fsframe_infotheory.engine.discretise import Discretiser
from fsframe_infotheory.engine.entropy import Layout, Terms, level_rows, sum_clogc
from fsframe_infotheory.engine.packing import (
    PACKED_LEVELS,
    Chunk,
    Coded,
    as_bytes,
    block_of,
    codes_in,
    pack,
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
    kept between calls: see `fsframe_infotheory.engine.byte_columns`.
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
