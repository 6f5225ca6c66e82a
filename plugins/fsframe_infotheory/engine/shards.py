"""Packed codes of a table in parts, stored in its cache folder: one file per shard of rows.

A shard has some of the rows in the form that `encode` gives a table in memory: bit rows of features
of few levels, integers for the others, rows sorted by class. Levels are those of the whole table.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.errors import DataError
from fsframe.kernels.bit_counts import LANES
from fsframe.kernels.threads import in_order, read_ahead
from fsframe.method.run import Run
from fsframe.resampling.dispatch import equal_parts
from fsframe.system import available_processors
from fsframe.table.columns_seen import copy_transposed
from fsframe.table.dataset import Dataset
from fsframe.table.kept_folders import (
    HashingWriter,
    Unsound,
    made_whole,
    note_unsound,
    read_index,
    write_index,
)
from fsframe_infotheory.engine.bins import Bins
from fsframe_infotheory.engine.byte_columns import RawColumns
from fsframe_infotheory.engine.discretise import Discretiser
from fsframe_infotheory.engine.encode import Encoded
from fsframe_infotheory.engine.entropy import Bytes, Layout
from fsframe_infotheory.engine.packing import (
    PACKED_LEVELS,
    Chunk,
    Coded,
    code_type,
    empty_blocks,
    lanes_of,
    pack,
    write_levels,
)

FORMAT = 1
SHARD_ROWS = 1 << 17
"""Most rows of a shard, so that the bit rows of a feature fit into the processor's cache."""

GROUP = 128
"""Columns that are packed together."""


@attrs.frozen(kw_only=True, eq=False)
class ShardFormat:
    """Layout of a shard's file, apart from the sizes of classes.

    Parameters
    ----------
    n_levels : (n_features,) int64
    n_classes : int
    """

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


@attrs.frozen(kw_only=True, eq=False)
class Shards:
    """All shards of a table.

    Parameters
    ----------
    folder : Path
    form : ShardFormat
    sizes : (n_shards, n_classes) int64
        Rows of each class in each shard.
    bins : Bins
    counts : int64
        Counts of each level in each class, feature by feature.
    """

    folder: Path
    form: ShardFormat
    sizes: NDArray[np.int64]
    bins: Bins
    counts: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.sizes)

    def open(self, k: int) -> Encoded:
        """Shard k; its file stays mapped as long as it is in use."""
        return open_shard(self.folder, self.form, k, tuple(self.sizes[k].tolist()))


def open_shard(folder: Path, form: ShardFormat, k: int, sizes: tuple[int, ...]) -> Encoded:
    """One shard as an encoded table of its own, without sums."""
    layout = _layout(sizes)
    path = folder / _file_name(k)
    try:
        memory, at = np.memmap(path, dtype=np.uint8, mode="r"), 0

        def following(kind: Any, size: int) -> NDArray[Any]:
            """The next array of the file, of `size` entries."""
            nonlocal at
            first, size = at, size * np.dtype(kind).itemsize
            at += size + -size % 64
            return memory[first : first + size].view(kind)

        chunks = [form.chunk(bound, layout, following) for bound in form.bounds]
    except (OSError, ValueError) as error:
        raise DataError(
            f"{path} cannot be read ({error}): workers must see the folder of the table; remove "
            f"{folder.parent}, and it is made again"
        ) from error
    m = len(form.n_levels)
    nothing = np.zeros(m)

    def rebuild(k: int) -> Chunk:
        return chunks[k]

    return Encoded(
        layout=layout,
        weighted=False,
        n_levels=form.n_levels,
        class_sizes=layout.class_sizes,
        dropped=np.full(m, -1),
        bounds=form.bounds,
        chunks=list(chunks),
        lanes=[chunk.packed for chunk in chunks],
        rebuild=rebuild,
        totals=nothing,
        sum_y=nothing,
        sum_j=nothing,
        sum_jy=nothing,
    )


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
    key = json.dumps(
        [
            FORMAT,
            data.matrix.rows_sha256,
            hashlib.sha256(np.ascontiguousarray(y, dtype="<i8").tobytes()).hexdigest(),
            n_classes,
            np.flatnonzero(data.categorical).tolist(),
            attrs.astuple(discretiser),
        ],
        default=str,
    )
    digest = hashlib.sha256(key.encode()).hexdigest()
    folder = data.matrix.cache_folder / f"codes-{digest[:24]}"
    # Workers are still idle.
    threads = min(available_processors(), max(run.threads, getattr(run.executor, "workers", 1)))
    stored = _stored_shards(folder, digest, data, n_classes, run.memory, threads)
    if stored is not None:
        return stored
    try:
        return _new_shards(folder, digest, data, y, n_classes, discretiser, run)
    except OSError as error:
        raise DataError(
            f"codes of {data.name} cannot be kept in {folder.parent}: {error.strerror or error}; "
            "they need about a byte per value"
        ) from error


def _stored_shards(
    folder: Path, digest: str, data: Dataset, n_classes: int, memory: int, threads: int
) -> Shards | None:
    """The shards of an earlier run; None if anything is inconsistent."""
    index = read_index(folder, digest, memory, threads)
    if index is None:
        return None
    arrays, files = index
    try:
        bins = _stored_bins(arrays, data.n_features)
        sizes, counts = _counts_in(arrays, "sizes", 2), _counts_in(arrays, "counts", 1)
        form = ShardFormat(n_levels=bins.n_levels, n_classes=n_classes)
        if (
            sizes.shape[1] != n_classes
            or int(sizes.sum()) != data.n_samples
            or counts.max(initial=0) > data.n_samples
            or len(counts) != int(bins.n_levels.sum()) * n_classes
            or files != [_file_name(k) for k in range(len(sizes))]
        ):
            raise Unsound("holds codes of another table")
    except Unsound as error:
        note_unsound(folder, error)
        return None
    return Shards(folder=folder, form=form, sizes=sizes, bins=bins, counts=counts)


def _stored_bins(arrays: dict[str, NDArray[Any]], n_features: int) -> Bins:
    try:
        bins = Bins.from_tables(arrays)
        binned = tuple(arrays["binned"].tolist())
        sound = (
            bins.as_levels.shape == bins.missing.shape == (n_features,)
            and bins.offsets.shape == (n_features + 1,)
            and bins.offsets[0] == 0
            and bool((np.diff(bins.offsets) >= 0).all())
            and bins.thresholds.shape == (bins.offsets[-1],)
            and set(binned) <= set(range(n_features))
        )
    except (ValueError, KeyError, TypeError, IndexError):
        sound = False
    if not sound:
        raise Unsound("holds no bins of the table")
    return attrs.evolve(bins, binned_by_default=binned)


def _counts_in(arrays: dict[str, NDArray[Any]], name: str, rank: int) -> NDArray[np.int64]:
    """The stored counts called `name`; Unsound if they are missing or invalid."""
    counts = arrays.get(name)
    if (
        counts is None
        or counts.dtype != np.int64
        or counts.ndim != rank
        or counts.min(initial=0) < 0
    ):
        raise Unsound(f"holds no {name}")
    return counts


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
) -> Shards:
    bins = discretiser.learn_columns(data, 0, data.n_features)
    form = ShardFormat(n_levels=bins.n_levels, n_classes=n_classes)
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
    return Shards(folder=folder, form=form, sizes=arrays["sizes"], bins=bins, counts=counts)


def _packed(block: NDArray[Any], bins: Bins, layout: Layout, bound: tuple[int, int]) -> Chunk:
    """The codes of a group of columns of some rows, by the bins of the whole table."""
    start, stop = bound
    part_bins = bins.part(start, stop)
    group = RawColumns(
        start=start, source=block, first=start, raw=np.empty((0, 0), np.uint8), seen=None,
        sums=np.empty((2, 0)),
    )  # fmt: skip
    levels = part_bins.n_levels
    # Bytes that are levels are packed directly; features that are not packed need no bytes.
    as_read = part_bins.as_levels & (block.dtype == np.uint8)
    few = np.flatnonzero(~as_read & (levels <= PACKED_LEVELS))
    raw = _transposed(block[:, start:stop]) if as_read.any() else None
    if few.size:
        raw = np.empty((stop - start, len(block)), np.uint8) if raw is None else raw.copy()
        every = np.arange(len(block))
        write_levels(group, few, part_bins, every, every, few, raw)
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
    labels = np.repeat(np.arange(n_classes), np.diff(layout.starts))
    for column, codes in zip(chunk.listed.tolist(), chunk.codes, strict=True):
        size = int(form.n_levels[column]) * n_classes
        listed_counts = np.bincount(codes.astype(np.int64) * n_classes + labels, minlength=size)
        counts[starts[column] : starts[column + 1]] += listed_counts
