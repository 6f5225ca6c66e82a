"""Joint counts of tables in parts: counts are additive over rows, so parts are counted separately.

Callers, such as greedy selection, see tables in memory and in parts alike: sums of c·log₂c of every
feature, a feature as a `partner`, and a counter (`counter_of`) of all features with a partner. A
table in memory is counted and summed at once (`Counter`), one in parts shard by shard, here or by
workers, and summed at the end.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from itertools import pairwise
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.errors import RequestError
from fsframe.kernels.threads import in_threads
from fsframe.method.run import Run
from fsframe.resampling.dispatch import over_parts
from fsframe.table.dataset import Dataset
from fsframe_infotheory.engine.bins import Bins
from fsframe_infotheory.engine.discretise import Discretiser
from fsframe_infotheory.engine.encode import MOST_CELLS, MOST_ROWS, Counter, Encoded, Partner, Sums
from fsframe_infotheory.engine.entropy import Terms, clogc_table, joint_cells, sum_clogc
from fsframe_infotheory.engine.neighbours import Estimator
from fsframe_infotheory.engine.packing import Chunk, cell_sums, codes_in, dense_cells
from fsframe_infotheory.engine.shards import ShardFormat, Shards, shards_of
from fsframe_infotheory.engine.sparse_table import EncodedSparse, SparseCounter

MOST_LEVELS = 1 << 16
"""Largest number of levels of several features as one partner."""


@attrs.frozen(kw_only=True, eq=False)
class EncodedParts(Sums):
    """A table in parts, ready for counting.

    Parameters
    ----------
    shards : Shards
    """

    shards: Shards

    def tables(self) -> Any:
        """Yield columns (m,) and counts (n_levels, n_classes, m) of some features at a time."""
        starts = np.concatenate([[0], np.cumsum(self.n_levels)]) * self.shards.form.n_classes
        for column, (first, last) in enumerate(pairwise(starts.tolist())):
            counts = self.shards.counts[first:last].reshape(-1, self.shards.form.n_classes, 1)
            yield np.array([column]), counts.astype(np.float64)

    def partner(self, feature: int) -> PartsPartner:
        """One feature as a partner."""
        return PartsPartner(
            features=(feature,),
            n_levels=int(self.n_levels[feature]),
            sum_s=float(self.sum_j[feature]),
            sum_sy=float(self.sum_jy[feature]),
        )


@attrs.frozen(kw_only=True, eq=False)
class PartsPartner:
    """One feature, or several jointly, as a partner in every part.

    Parameters
    ----------
    features : tuple of int
    n_levels : int
        The product of their numbers of levels.
    sum_s, sum_sy : float, optional
        Σ c·log₂c over levels, and over levels and classes; known for single features only.
    """

    features: tuple[int, ...]
    n_levels: int
    sum_s: float | None = None
    sum_sy: float | None = None

    def joined(self, other: PartsPartner) -> PartsPartner:
        """The joint variable of two partners."""
        levels = self.n_levels * other.n_levels
        if levels > MOST_LEVELS:
            raise RequestError(
                f"several features as one have {levels} levels together, more than the "
                f"{MOST_LEVELS} that are counted over parts; take fewer bins (bins=), or load the "
                "table"
            )
        return PartsPartner(features=(*self.features, *other.features), n_levels=levels)


def encode_parts(data: Dataset, discretiser: Discretiser, run: Run) -> tuple[EncodedParts, Bins]:
    """A table in parts as shards in its cache folder, and the bins learned on all rows."""
    shards = shards_of(data, discretiser, run)
    n_classes, n_levels = shards.form.n_classes, shards.bins.n_levels
    sizes = shards.sizes.sum(axis=0)
    m, n = len(n_levels), int(sizes.sum())
    starts = np.concatenate([[0], np.cumsum(n_levels)])
    counts = shards.counts.reshape(-1, n_classes)
    table = clogc_table(n)
    sum_j, sum_jy = np.zeros(m), np.zeros(m)
    of_level, of_cell = table[counts.sum(axis=1)], table[counts]
    for j, (first, last) in enumerate(pairwise(starts.tolist())):
        # In the order in which a table in memory adds them.
        if last > first:
            sum_j[j] = np.add.accumulate(of_level[first:last])[-1]
            sum_jy[j] = np.add.accumulate(of_cell[first:last].ravel())[-1]
    encoded = EncodedParts(
        n_levels=n_levels,
        class_sizes=sizes.astype(np.float64),
        totals=np.full(m, float(n)),
        sum_y=np.full(m, sum_clogc(sizes)),
        sum_j=sum_j,
        sum_jy=sum_jy,
        shards=shards,
    )
    return encoded, shards.bins


AnyEncoded = Encoded | EncodedParts | EncodedSparse


def counter_of(encoded: AnyEncoded | Estimator, run: Run) -> AbstractContextManager[Any]:
    """The counter of an encoded table, as a context manager; an estimator is its own counter.

    Its ``terms(partner)`` accepts partners of the same table.
    """
    if isinstance(encoded, Estimator):
        return nullcontext(encoded)
    if isinstance(encoded, EncodedSparse):
        return nullcontext(SparseCounter(encoded, run))
    if isinstance(encoded, EncodedParts):
        return nullcontext(PartsCounter(encoded, run))
    return Counter(encoded, run.threads)


class PartsCounter:
    """Counts all features of a table in parts with partners: `Counter` for many parts.

    Counts are integers, so that results do not depend on the borders of parts, on the workers, or
    on the order of the parts.
    """

    def __init__(self, encoded: EncodedParts, run: Run) -> None:
        self.encoded = encoded
        self.run = run

    def terms(self, partner: PartsPartner, per_class: bool = True) -> Terms:
        """Terms of every feature with `partner`; those with Y need `per_class`."""
        encoded = self.encoded
        form = encoded.shards.form
        groups = form.n_classes if per_class else 1
        n = int(encoded.class_sizes.sum())
        table = clogc_table(n)
        sums = np.empty((2, encoded.n_features))
        s, sy = partner.sum_s, partner.sum_sy
        for first, last in self._spans(partner.n_levels * groups):
            start, stop = form.bounds[first][0], form.bounds[last - 1][1]
            cells = self._counted(partner, groups, (first, last))
            levels = form.n_levels[start:stop]
            starts = cell_starts(levels, partner.n_levels * groups)
            into = sums[:, start:stop]

            def add(
                some: slice,
                cells: NDArray[np.int64] = cells,
                starts: NDArray[np.int64] = starts,
                levels: NDArray[np.int64] = levels,
                into: NDArray[np.float64] = into,
            ) -> None:
                cell_sums(
                    cells, starts[some], levels[some], partner.n_levels, groups, table,
                    into[0, some], into[1, some],
                )  # fmt: skip

            threads = max(1, min(self.run.threads, len(levels)))
            cuts = np.linspace(0, len(levels), threads + 1).astype(int).tolist()
            in_threads(threads, add, [slice(*bound) for bound in pairwise(cuts)])
            if s is None:
                first_cells = cells[: starts[1]].reshape(-1, partner.n_levels, groups).sum(axis=0)
                s, sy = sum_clogc(first_cells.sum(axis=1)), sum_clogc(first_cells)
        assert s is not None and sy is not None
        return encoded.terms(s, sy, *sums)

    def _spans(self, width: int) -> list[tuple[int, int]]:
        """Groups of columns whose joint counts fit into memory together."""
        form = self.encoded.shards.form
        most = max(1, self.run.memory // 8 // (8 * width * (self.run.threads + 1)))
        spans: list[tuple[int, int]] = []
        begin, total = 0, 0
        for k, (start, stop) in enumerate(form.bounds):
            size = int(form.n_levels[start:stop].sum())
            if k > begin and total + size > most:
                spans.append((begin, k))
                begin, total = k, 0
            total += size
        return [*spans, (begin, len(form.bounds))]

    def _counted(
        self, partner: PartsPartner, groups: int, span: tuple[int, int]
    ) -> NDArray[np.int64]:
        """Joint counts of some groups of columns, summed over all parts."""
        shards = self.encoded.shards
        request = CountRequest(form=shards.form, partner=partner, groups=groups, span=span)
        units = [(k, tuple(sizes)) for k, sizes in enumerate(shards.sizes.tolist())]
        total: NDArray[np.int64] | None = None
        for part_counts in over_parts(self.run, count_units, request, units, self.run.threads):
            total = (
                part_counts.astype(np.int64)
                if total is None
                else np.add(total, part_counts, out=total)
            )
        assert total is not None
        return total


@attrs.frozen(kw_only=True, eq=False)
class CountRequest:
    """A request to count in each part.

    Parameters
    ----------
    form : ShardFormat
    partner : PartsPartner
    groups : int
        The number of classes, or 1 for counts without classes.
    span : (int, int)
        Groups of columns to count.
    """

    form: ShardFormat
    partner: PartsPartner
    groups: int
    span: tuple[int, int]


def cell_starts(n_levels: NDArray[np.int64], width: int) -> NDArray[np.int64]:
    """Offsets of the joint counts of each feature, and the total size."""
    return np.concatenate([[0], np.cumsum(n_levels)]) * width


def count_units(
    request: CountRequest, units: list[tuple[int, tuple[int, ...]]], threads: int
) -> NDArray[np.int64] | NDArray[np.uint32]:
    """Joint counts of some parts, given as (number, class sizes).

    They are 32-bit integers if they fit: workers send them, and half the bytes take half the time.
    """
    form = request.form
    start, stop = form.bounds[request.span[0]][0], form.bounds[request.span[1] - 1][1]
    starts = cell_starts(form.n_levels[start:stop], request.partner.n_levels * request.groups)

    def count(share: list[tuple[int, tuple[int, ...]]]) -> NDArray[np.int64]:
        cells = np.zeros(starts[-1], np.int64)
        for k, sizes in share:
            _count(request, form.open(k, sizes), start, starts, cells)
        return cells

    shares = [units[k::threads] for k in range(min(threads, len(units)))]
    counts = in_threads(len(shares), count, shares)
    for other in counts[1:]:
        counts[0] += other
    short = sum(sum(sizes) for _, sizes in units) < 1 << 32
    return counts[0].astype(np.uint32) if short else counts[0]


def _count(
    request: CountRequest,
    shard: Encoded,
    start: int,
    starts: NDArray[np.int64],
    cells: NDArray[np.int64],
) -> None:
    """Add the joint counts of one part."""
    layout, n_levels = shard.layout, request.partner.n_levels
    partner = shard.partner(request.partner.features[0])
    for feature in request.partner.features[1:]:
        other = shard.partner(feature)
        partner = Partner(
            layout, partner.n_levels * other.n_levels,
            partner.codes * other.n_levels + other.codes,
        )  # fmt: skip
    by_class = request.groups == layout.n_classes
    words, margins = partner.in_groups(by_class)
    n_cells = n_levels * request.groups
    cells_of = None
    for chunk in shard.chunks[request.span[0] : request.span[1]]:
        assert chunk is not None
        codes, listed = chunk.codes, chunk.listed
        if chunk.blocks.levels.size:
            most = int(chunk.blocks.levels.max())
            size = most * n_levels * layout.n_classes
            if (most - 1) * (n_levels - 1) <= MOST_ROWS and size <= 8 * MOST_CELLS:
                places = np.where(chunk.packed >= 0, chunk.packed - start, -1)
                joint_cells(
                    chunk.blocks, partner.rows, margins, words, layout.n_classes, places,
                    shard.n_levels[start:], starts, cells,
                )  # fmt: skip
            else:
                codes, listed = _unpacked(chunk, shard)
        if listed.size:
            if cells_of is None:
                cells_of = partner.codes * request.groups + (partner.labels if by_class else 0)
                kind = np.uint16 if n_cells <= 1 << 16 else np.int32
                cells_of = cells_of.astype(kind)
            dense_cells(codes, listed - start, cells_of, n_cells, starts, cells)


def _unpacked(chunk: Chunk, shard: Encoded) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """All features of a chunk as codes, for a partner of many levels."""
    packed = chunk.packed[chunk.packed >= 0]
    codes = [codes_in(chunk, int(j), shard.layout).astype(chunk.codes.dtype) for j in packed]
    listed = np.concatenate([packed, chunk.listed])
    return np.concatenate([np.array(codes, dtype=chunk.codes.dtype), chunk.codes]), listed
