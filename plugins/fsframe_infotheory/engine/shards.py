"""Packed codes of a table in parts, stored in its cache folder: one file per shard of rows.

A shard has some of the rows in the form that `encode` gives a table in memory: bit rows of features
of few levels, integers for the others, rows sorted by class. Levels are those of the whole table.
"""

from __future__ import annotations

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
    kept_arrays,
    label_digest,
    made_whole,
    write_index,
)
from fsframe_infotheory.engine.bins import Bins, RawColumns
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
