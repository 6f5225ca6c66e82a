"""Joint counts of tables in parts: counts are additive over rows, so parts are counted separately,
from packed codes that are stored in the cache folder of the table.

Callers, such as greedy selection, see tables in memory and in parts alike: sums of c·log₂c of every
feature, a feature as a `partner`, and a counter (`counter_of`) of all features with a partner. A
table in memory is counted and summed at once (`Counter`), one in parts shard by shard, here or by
workers, and summed at the end.

A shard is a file with some of the rows in the form that `encode` gives a table in memory: bit rows
of features of few levels, integers for the others, rows sorted by class. Levels are those of the
whole table.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache, partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.errors import DataError, RequestError
from fsframe.kernels import in_order, in_threads, read_ahead
from fsframe.kernels.bit_counts import LANES
from fsframe.method.run import Run
from fsframe.resampling.dispatch import equal_parts, over_parts
from fsframe.system import available_processors
from fsframe.table.columns_seen import copy_transposed
from fsframe.table.dataset import Dataset
from fsframe.table.kept_folders import (
    HashingWriter,
    kept_arrays,
    label_digest,
    made_whole,
    write_index,
)
from fsframe_infotheory.engine.bins import Bins, RawColumns
from fsframe_infotheory.engine.discretise import Discretiser
from fsframe_infotheory.engine.encode import MOST_CELLS, MOST_ROWS, Counter, Encoded, Partner, Sums
from fsframe_infotheory.engine.entropy import (
    Bytes,
    Layout,
    Terms,
    clogc_table,
    joint_cells,
    sum_clogc,
)
from fsframe_infotheory.engine.neighbours import Estimator
from fsframe_infotheory.engine.packing import (
    PACKED_LEVELS,
    Chunk,
    Coded,
    cell_sums,
    code_type,
    codes_in,
    dense_cells,
    empty_blocks,
    lanes_of,
    pack,
    write_levels,
)
from fsframe_infotheory.engine.sparse_table import EncodedSparse, SparseCounter

FORMAT = 1
SHARD_ROWS = 1 << 17
"""Most rows of a shard, so that the bit rows of a feature fit into the processor's cache."""

GROUP = 128
"""Columns that are packed together."""


@attrs.frozen(kw_only=True, eq=False)
class ShardFormat:
    """Layout of the files of shards, apart from the sizes of classes.

    Parameters
    ----------
    folder : Path
    n_levels : (n_features,) int64
    n_classes : int
    """

    folder: Path
    n_levels: NDArray[np.int64]
    n_classes: int

    @property
    def bounds(self) -> list[tuple[int, int]]:
        """Columns of each group."""
        m = len(self.n_levels)
        return [(start, min(start + GROUP, m)) for start in range(0, m, GROUP)]

    def chunk(
        self, bound: tuple[int, int], layout: Layout, following: Callable[[Any, int], NDArray[Any]]
    ) -> Chunk:
        """The codes of a group of columns, in arrays that follow each other in the file."""
        start, stop = bound
        levels = self.n_levels[start:stop]
        lanes, wide = lanes_of(levels)
        blocks = empty_blocks(levels, lanes, layout, following)
        codes = following(code_type(levels[wide]), len(wide) * layout.n)
        return Chunk(
            packed=np.where(lanes >= 0, lanes + start, -1),
            blocks=blocks,
            listed=wide + start,
            codes=codes.reshape(len(wide), layout.n),
        )

    def open(self, k: int, sizes: tuple[int, ...]) -> Encoded:
        """One shard as an encoded table of its own, without sums; its file is mapped."""
        layout = _layout(sizes)
        path = self.folder / _file_name(k)
        try:
            memory, at = np.memmap(path, dtype=np.uint8, mode="r"), 0

            def following(kind: Any, size: int) -> NDArray[Any]:
                """The next array of the file, of `size` entries."""
                nonlocal at
                first, size = at, size * np.dtype(kind).itemsize
                at += size + -size % 64
                return memory[first : first + size].view(kind)

            chunks = [self.chunk(bound, layout, following) for bound in self.bounds]
        except (OSError, ValueError) as error:
            raise DataError(
                f"{path} cannot be read ({error}): workers must see the folder of the table; "
                f"remove {self.folder.parent}, and it is made again"
            ) from error
        nothing = np.zeros(len(self.n_levels))
        return Encoded(
            layout=layout, weighted=False, n_levels=self.n_levels, class_sizes=layout.class_sizes,
            dropped=np.full(len(nothing), -1), bounds=self.bounds, chunks=list(chunks),
            lanes=[chunk.packed for chunk in chunks], rebuild=chunks.__getitem__,
            totals=nothing, sum_y=nothing, sum_j=nothing, sum_jy=nothing,
        )  # fmt: skip


@attrs.frozen(kw_only=True, eq=False)
class Shards:
    """All shards of a table.

    Parameters
    ----------
    form : ShardFormat
    sizes : (n_shards, n_classes) int64
        Rows of each class in each shard.
    bins : Bins
    counts : int64
        Counts of each level in each class, feature by feature.
    """

    form: ShardFormat
    sizes: NDArray[np.int64]
    bins: Bins
    counts: NDArray[np.int64]


@lru_cache(maxsize=4)
def _layout(sizes: tuple[int, ...]) -> Layout:
    return Layout.by_class(np.array(sizes))


def shards_of(data: Dataset, discretiser: Discretiser, run: Run) -> Shards:
    """The shards of a table in parts: those in its cache folder if they are intact, or new ones.

    Raises
    ------
    DataError
        If they cannot be written.
    """
    y, n_classes = discretiser.codes_of_target(data)
    key = [
        FORMAT, data.matrix.rows_sha256, label_digest(y), n_classes,
        np.flatnonzero(data.categorical).tolist(), attrs.astuple(discretiser),
    ]  # fmt: skip
    folder, arrays = kept_arrays(
        data.matrix.cache_folder,
        "codes",
        key,
        lambda folder, digest: _new_shards(folder, digest, data, y, n_classes, discretiser, run),
        lambda arrays, files: _sound(arrays, files, data, n_classes),
        most=run.memory,
        # Workers are still idle.
        threads=min(available_processors(), max(run.threads, getattr(run.executor, "workers", 1))),
        what="codes",
        table=data.name,
        size="about a byte per value",
    )
    binned = tuple(arrays["binned"].tolist())
    bins = attrs.evolve(Bins.from_tables(arrays), binned_by_default=binned)
    form = ShardFormat(folder=folder, n_levels=bins.n_levels, n_classes=n_classes)
    return Shards(form=form, sizes=arrays["sizes"], bins=bins, counts=arrays["counts"])


def _sound(
    arrays: dict[str, NDArray[Any]], files: list[str], data: Dataset, n_classes: int
) -> bool:
    """Whether kept arrays can be those of the shards of `data`."""
    bins, sizes, counts = Bins.from_tables(arrays), arrays["sizes"], arrays["counts"]
    p = data.n_features
    return bool(
        bins.as_levels.shape == bins.missing.shape == (p,)
        and bins.offsets.shape == (p + 1,)
        and bins.offsets[0] == 0
        and (np.diff(bins.offsets) >= 0).all()
        and bins.thresholds.shape == (bins.offsets[-1],)
        and set(arrays["binned"].tolist()) <= set(range(p))
        and sizes.dtype == counts.dtype == np.int64
        and sizes.shape == (len(files), n_classes)
        and min(sizes.min(initial=0), counts.min(initial=0)) >= 0
        and int(sizes.sum()) == data.n_samples
        and counts.max(initial=0) <= data.n_samples
        and counts.shape == (int(bins.n_levels.sum()) * n_classes,)
        and files == [_file_name(k) for k in range(len(files))]
    )


def _file_name(k: int) -> str:
    return f"{k:06}.shard"


def _new_shards(
    folder: Path,
    digest: str,
    data: Dataset,
    y: NDArray[np.int64],
    n_classes: int,
    discretiser: Discretiser,
    run: Run,
) -> dict[str, NDArray[Any]]:
    """Write the shards of a table, and the arrays of `Shards`."""
    bins = discretiser.learn_columns(data, 0, data.n_features)
    form = ShardFormat(folder=folder, n_levels=bins.n_levels, n_classes=n_classes)
    m = data.n_features
    # Bytes per row: a block of rows as read, the one read meanwhile, the rest of the one before,
    # and the reader's buffers; bytes, codes and bit rows of the current groups.
    codes = code_type(bins.n_levels)().itemsize
    blocks = 3.25 if run.threads > 1 else 2.25
    ahead = run.threads + 1
    each = m * data.matrix.dtype.itemsize * blocks + min(m, GROUP * (ahead + 1)) * (3 + codes)
    most = max(64, min(SHARD_ROWS, int(run.memory // 2 / max(1, each))))
    rows = equal_parts(len(y), most)
    starts = np.concatenate([[0], np.cumsum(bins.n_levels * n_classes)])
    counts = np.zeros(starts[-1], np.int64)
    sizes: list[NDArray[np.int64]] = []
    marks: dict[str, tuple[int, str]] = {}
    # One pool for all blocks: memory that a thread has freed is not reused by new threads.
    with made_whole(folder) as made, ThreadPoolExecutor(run.threads) as pool:
        first = 0
        for k, block in enumerate(read_ahead(data.matrix.blocks(rows, most), run.threads)):
            labels = y[first : first + len(block)]
            first += len(block)
            layout = Layout.of(labels, n_classes)
            pack_group = partial(_packed, block, bins, layout)
            with HashingWriter(made / _file_name(k)) as file:
                for chunk in in_order(pool, pack_group, form.bounds, ahead):
                    _write(file, chunk)
                    _add_counts(chunk, form, layout, starts, counts)
            marks[_file_name(k)] = file.mark
            sizes.append(np.diff(layout.starts))
            run.progress(first, data.n_samples, "rows taken in")
            # Freed before the next rows are read.
            del block, chunk, pack_group
        arrays = {
            **bins.tables(),
            "binned": np.array(bins.binned_by_default, dtype=np.int64),
            "sizes": np.array(sizes, dtype=np.int64).reshape(-1, n_classes),
            "counts": counts,
        }
        write_index(made, digest, arrays, marks)
    return arrays


def _packed(block: NDArray[Any], bins: Bins, layout: Layout, bound: tuple[int, int]) -> Chunk:
    """The codes of a group of columns of some rows, by the bins of the whole table."""
    start, stop = bound
    part_bins = bins.part(start, stop)
    group = RawColumns(start=start, source=block, first=start)
    levels = part_bins.n_levels
    # Bytes that are levels are packed directly; features that are not packed need no bytes.
    as_read = part_bins.as_levels & (block.dtype == np.uint8)
    few = np.flatnonzero(~as_read & (levels <= PACKED_LEVELS))
    raw = _transposed(block[:, start:stop]) if as_read.any() else None
    if few.size:
        raw = np.empty((stop - start, len(block)), np.uint8) if raw is None else raw.copy()
        write_levels(group, few, part_bins, np.arange(len(block)), few, raw)
    if raw is None:
        raw = np.empty((stop - start, 0), np.uint8)
    raw = raw.view()
    raw.setflags(write=False)
    starts = np.concatenate([[0], np.cumsum(levels)])
    bytes_of = np.arange(starts[-1]) - np.repeat(starts[:-1], levels)
    known = np.repeat(as_read, levels)
    bytes_of[known] = part_bins.thresholds[np.repeat(as_read, np.diff(part_bins.offsets))]
    columns = Bytes(raw, starts, (bytes_of & 255).astype(np.uint8))
    coded = Coded(columns=columns, sums=np.empty((2, 0)))
    return pack(group, part_bins, layout, coded)


def _transposed(rows: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Rows of bytes transposed; not copied if columns are contiguous."""
    if rows.T.flags.c_contiguous:
        return rows.T
    columns = np.empty(rows.shape[::-1], np.uint8)
    copy_transposed(rows, columns)
    return columns


def _write(file: HashingWriter, chunk: Chunk) -> None:
    """Append the codes of a group of columns."""
    for array in (chunk.blocks.planes, chunk.blocks.margins, chunk.codes):
        if array.size:
            file.write(array.data.cast("B"))
            file.write(bytes(-array.nbytes % 64))


def _add_counts(
    chunk: Chunk,
    form: ShardFormat,
    layout: Layout,
    starts: NDArray[np.int64],
    counts: NDArray[np.int64],
) -> None:
    """Add the counts of each level in each class."""
    n_classes = form.n_classes
    for lane, column in enumerate(chunk.packed.tolist()):
        if column < 0:
            continue
        block, within = divmod(lane, LANES)
        levels = int(form.n_levels[column])
        at = chunk.blocks.margin_offsets[block] + within
        packed_counts = chunk.blocks.margins[at : at + levels * n_classes * LANES : LANES]
        counts[starts[column] : starts[column + 1]] += packed_counts
    labels = layout.labels
    for column, codes in zip(chunk.listed.tolist(), chunk.codes, strict=True):
        size = int(form.n_levels[column]) * n_classes
        listed_counts = np.bincount(codes.astype(np.int64) * n_classes + labels, minlength=size)
        counts[starts[column] : starts[column + 1]] += listed_counts


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
