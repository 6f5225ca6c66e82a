"""Columns of levels as bit rows, 64 table rows per word: codes of values, and the rows of bits.

Next to a table in parts the bit rows are stored in a file.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.errors import DataError, RequestError
from fsframe.kernels import in_threads
from fsframe.kernels.bit_counts import LANES
from fsframe.kernels.compiled import njit
from fsframe.method.run import Run, size_text
from fsframe.resampling.dispatch import equal_parts, over_parts
from fsframe.table.dataset import Dataset
from fsframe.table.kept_folders import (
    HashingWriter,
    kept_arrays,
    label_digest,
    made_whole,
    write_index,
)
from fsframe_interactions.engine.contingency_tables import (
    complete_tables,
    count_pairs,
    tile_cells,
    tile_counts,
)

Tile = tuple[int, int, int]
"""A block of eight columns, and the range (first, end) of the blocks it is paired with."""

_NOTHING = np.empty(0, np.uint64)

MISSING = 255
"""Code of a missing value."""


@attrs.frozen(kw_only=True, eq=False)
class BitRows:
    """All columns as bit rows, eight interleaved.

    Parameters
    ----------
    words : (n_classes + 1,) int64
        First word of each class, and the end.
    levels : (n_columns,) int64
        Number of levels that occur in each column.
    stored : (n_columns,) int64
        Number of levels that have a bit row: all but the last, or all if values are missing.
    offsets : (n_blocks + 1,) int64
        First word of each block of eight columns in `lanes`, and the end.
    depth : (n_blocks,) int64
        Bit rows per column in each block: the largest number of its columns.
    lanes : uint64
        The bit rows, block by block, as (depth, n_words, 8).
    margins : (n_columns, most levels, n_classes) int64
        How often each level occurs in each class.
    class_sizes : (n_classes,) int64
        Rows of each class, counts included.
    """

    words: NDArray[np.int64]
    levels: NDArray[np.int64]
    stored: NDArray[np.int64]
    offsets: NDArray[np.int64]
    depth: NDArray[np.int64]
    lanes: NDArray[np.uint64]
    margins: NDArray[np.int64]
    class_sizes: NDArray[np.int64]

    @property
    def n_rows(self) -> int:
        """Rows of the table, counts included."""
        return int(self.class_sizes.sum())

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.words) - 1

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return len(self.levels)

    @property
    def n_blocks(self) -> int:
        """Number of blocks of eight columns."""
        return len(self.depth)

    def n_counts(self, tile: Tile) -> int:
        """Number of counts of a tile from `counted`: none, as pairs are screened while counting.

        Only a table in parts is counted first, part by part, and then screened.
        """
        return 0

    def counted(self, tiles: Sequence[Tile], run: Run) -> list[NDArray[np.uint64]]:
        """The counts of each tile for `screen_tile`; empty, so that it counts them itself."""
        return [_NOTHING] * len(tiles)

    def tables(
        self, pairs: NDArray[np.int64], run: Run
    ) -> Callable[[NDArray[np.intp]], NDArray[np.int64]]:
        """Return a function from places in `pairs` to the contingency tables of these pairs.

        Tables are (m, most levels, most levels, n_classes); cells beyond a column's levels are
        undefined.
        """

        def of(places: NDArray[np.intp]) -> NDArray[np.int64]:
            most = self.margins.shape[1]
            tables = np.zeros((len(places), most, most, self.n_classes), np.int64)
            count_pairs(
                self.lanes, self.offsets, self.words, self.stored, pairs[places], tables
            )  # fmt: skip
            complete_tables(self.levels, self.stored, self.margins, pairs[places], tables)
            return tables

        return of


def class_words(class_sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """First word of each class, and the end; each class starts on a new word.

    >>> class_words(np.array([65, 64])).tolist()
    [0, 2, 3]
    """
    return np.concatenate([[0], np.cumsum(-(-class_sizes // 64))]).astype(np.int64)


class BitRowWriter:
    """Bit rows of columns from their codes, a block of eight columns at a time.

    Parameters
    ----------
    y : (n,) int64
        Classes of the rows, in the order of the codes.
    n_classes : int
    shard_rows : int
        Rows of a shard; in each, rows are sorted by class.
    write : callable
        Given the bit rows of each block and shard, (depth, n_words, 8).
    """

    def __init__(
        self,
        y: NDArray[np.int64],
        n_classes: int,
        shard_rows: int,
        write: Callable[[NDArray[np.uint64]], Any],
    ) -> None:
        shards = [slice(first, first + shard_rows) for first in range(0, len(y), shard_rows)]
        self.orders = [some.start + np.argsort(y[some], kind="stable") for some in shards]
        self.sizes = np.array([np.bincount(y[some], minlength=n_classes) for some in shards])
        self.words = np.array([class_words(of_shard) for of_shard in self.sizes])
        self.write = write
        self.depth: list[int] = []
        self.levels: list[NDArray[np.int64]] = []
        self.stored: list[NDArray[np.int64]] = []
        self.margins: list[NDArray[np.int64]] = []
        self.n_bytes = 0

    def add(self, codes: NDArray[np.uint8]) -> None:
        """Add columns as (m, n) codes 0 … levels − 1 or MISSING; m = 8 except for the last."""
        known = np.where(codes == MISSING, -1, codes.astype(np.int16))
        levels = (known.max(axis=1, initial=-1) + 1).astype(np.int64)
        missing = (codes == MISSING).any(axis=1)
        stored = np.where(missing, levels, np.maximum(levels - 1, 0))
        depth = max(1, int(stored.max(initial=0)))
        n_classes = self.sizes.shape[1]
        margins = np.zeros((len(codes), int(levels.max(initial=0)), n_classes), np.int64)
        for order, sizes, words in zip(self.orders, self.sizes, self.words, strict=True):
            lanes = np.zeros((depth, int(words[-1]), LANES), np.uint64)
            starts = np.concatenate([[0], np.cumsum(sizes)])
            write_bit_rows(
                np.ascontiguousarray(codes[:, order]), stored, starts, words, lanes, margins
            )
            self.write(lanes)
            self.n_bytes += lanes.nbytes
        self.n_bytes += margins.nbytes
        self.depth.append(depth)
        self.levels.append(levels)
        self.stored.append(stored)
        self.margins.append(margins)

    def arrays(self) -> dict[str, NDArray[np.int64]]:
        """The arrays of `BitRows` besides the bit rows and where they are."""
        levels = np.concatenate(self.levels)
        most = int(levels.max(initial=1))
        margins = np.zeros((len(levels), most, self.sizes.shape[1]), np.int64)
        for block, part in enumerate(self.margins):
            first = block * LANES
            margins[first : first + len(part), : part.shape[1]] = part
        return {
            "levels": levels,
            "stored": np.concatenate(self.stored),
            "depth": np.array(self.depth, np.int64),
            "margins": margins,
            "class_sizes": self.sizes.sum(axis=0),
        }


@njit()
def write_bit_rows(codes, stored, starts, words, lanes, margins):
    """Set the bits of (m, n) codes, rows sorted by class, and count their levels by class."""
    for column in range(len(codes)):
        for k in range(starts.size - 1):
            for row in range(starts[k], starts[k + 1]):
                code = codes[column, row]
                if code == MISSING:
                    continue
                margins[column, code, k] += 1
                if code < stored[column]:
                    place = row - starts[k]
                    bit = np.uint64(1) << np.uint64(place & 63)
                    lanes[code, words[k] + (place >> 6), column] |= bit


_Opened = tuple[NDArray[np.uint64], NDArray[np.int64]]


@attrs.frozen(kw_only=True, eq=False)
class ShardFile:
    """Layout of the file of bit rows: by block of columns, and within it by shard.

    Parameters
    ----------
    path : Path
    words : (n_shards, n_classes + 1) int64
        First word of each class in each shard, and the end.
    stored : (n_columns,) int64
        Number of bit rows of each column.
    depth : (n_blocks,) int64
        Bit rows per column in each block.
    """

    path: Path
    words: NDArray[np.int64]
    stored: NDArray[np.int64]
    depth: NDArray[np.int64]

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """Offset of every shard in a whole bit row, and the end."""
        return np.concatenate([[0], np.cumsum(self.words[:, -1])])

    def open(self, k: int) -> _Opened:
        """The mapped file, and the offsets of the blocks of shard k.

        Raises
        ------
        DataError
            If the file cannot be read.
        """
        try:
            lanes = np.asarray(np.memmap(self.path, dtype=np.uint64, mode="r"))
        except (OSError, ValueError) as error:
            raise DataError(
                f"{self.path} cannot be read ({error}): workers need access to the folder of "
                f"the table; if you remove {self.path.parent}, it is made again"
            ) from error
        before = np.concatenate([[0], np.cumsum(self.depth)])[:-1] * self.starts[-1]
        return lanes, LANES * (before + self.depth * self.starts[k])


@attrs.frozen(kw_only=True, eq=False)
class ShardedBitRows(BitRows):
    """`BitRows` of a table in parts: the bit rows are in a file.

    Parameters
    ----------
    file : ShardFile
    """

    file: ShardFile

    def n_counts(self, tile: Tile) -> int:
        """Number of counts of a tile, which stay in memory until all shards have been counted."""
        return int(tile_cells(self.depth, self.stored, self.n_classes, *tile))

    def counted(self, tiles: Sequence[Tile], run: Run) -> list[NDArray[np.uint64]]:
        """The counts of each tile, summed over all shards."""
        sizes = [self.n_counts(tile) for tile in tiles]
        total = self._summed(_count_tiles, (self.file, list(tiles), sizes), run)
        return np.split(total, np.cumsum(sizes)[:-1])

    def tables(
        self, pairs: NDArray[np.int64], run: Run
    ) -> Callable[[NDArray[np.intp]], NDArray[np.int64]]:
        """As `BitRows.tables`; all pairs are counted at once, in one pass over the shards."""
        most = self.margins.shape[1]
        tables = self._summed(_count_pairs, (self.file, pairs, most), run)
        complete_tables(self.levels, self.stored, self.margins, pairs, tables)
        return lambda places: tables[places]

    def _summed(self, work: Any, request: Any, run: Run) -> NDArray[Any]:
        total = None
        for part in over_parts(run, work, request, range(len(self.file.words)), run.threads):
            total = part if total is None else np.add(total, part, out=total)
        assert total is not None
        return total


def _count_tiles(
    request: tuple[ShardFile, list[Tile], list[int]], shards: list[int], threads: int
) -> NDArray[np.uint64]:
    """Counts of the tiles over the given shards, tile after tile."""
    file, tiles, sizes = request
    total = np.zeros(sum(sizes), np.uint64)
    units = list(zip(tiles, np.split(total, np.cumsum(sizes)[:-1]), strict=True))

    def count(k: int, opened: _Opened, unit: tuple[Tile, NDArray[np.uint64]]) -> None:
        tile, into = unit
        tile_counts(*opened, file.depth, file.words[k], file.stored, *tile, into)

    for k in shards:
        in_threads(threads, partial(count, k, file.open(k)), units)
    return total


def _count_pairs(
    request: tuple[ShardFile, NDArray[np.int64], int], shards: list[int], threads: int
) -> NDArray[np.int64]:
    """Tables of the pairs over the given shards, without the levels that have no bit row."""
    file, pairs, most = request
    total = np.zeros((len(pairs), most, most, file.words.shape[1] - 1), np.int64)
    cuts = np.linspace(0, len(pairs), threads + 1).astype(int).tolist()

    def count(k: int, opened: _Opened, bound: tuple[int, int]) -> None:
        some = slice(*bound)
        count_pairs(*opened, file.words[k], file.stored, pairs[some], total[some])

    for k in shards:
        in_threads(threads, partial(count, k, file.open(k)), pairwise(cuts))
    return total


BLOCK = 512
"""Columns that are read together, if memory allows."""


def column_codes(
    values: NDArray[np.float64], bins: int, max_levels: int, categorical: bool
) -> tuple[NDArray[np.uint8], NDArray[np.float64]]:
    """Codes 0 … of one column's rows, and the levels or edges of these codes.

    Parameters
    ----------
    values : (n,) float64
        NaN is missing.
    bins : int
        Number of quantile bins for numbers.
    max_levels : int
        A column of whole numbers with at most this many distinct values keeps them as levels. A
        categorical column always does; if it has more, its rarest are merged into the last level.
    categorical : bool

    Returns
    -------
    codes : (n,) uint8
        Codes 0, 1, …, each of which occurs; 255 for a missing value.
    bounds : float64
        The levels, or the inner edges of bins: the code of x is the number of edges below x.

    Examples
    --------
    >>> column_codes(np.array([0.1, 0.2, 0.7, 0.9]), 2, 5, False)
    (array([0, 0, 1, 1], dtype=uint8), array([0.2]))
    >>> column_codes(np.array([3.0, 1.0, np.nan]), 2, 5, False)[0].tolist()
    [1, 0, 255]
    """
    known = ~np.isnan(values)
    present = np.sort(values[known])
    codes = np.full(len(values), MISSING, np.uint8)
    if not present.size:
        return codes, present
    changes = np.flatnonzero(np.diff(present) > 0)
    if categorical or (len(changes) < max_levels and (present == np.floor(present)).all()):
        levels = present[np.concatenate([[0], changes + 1])] + 0.0
        if len(levels) > max_levels:
            sizes = np.diff(np.concatenate([[0], changes + 1, [len(present)]]))
            common = np.sort(np.argsort(-sizes, kind="stable")[: max_levels - 1])
            levels = levels[common]
        place = np.minimum(np.searchsorted(levels, values[known]), len(levels) - 1)
        # Merged levels are not listed.
        codes[known] = np.where(levels[place] == values[known], place, len(levels))
        return codes, levels
    # The k/bins quantiles, defined such that repeating every row does not change them.
    n = len(present)
    edges = np.unique(present[[-(-n * k // bins) - 1 for k in range(1, bins)]])
    if edges[-1] == present[-1]:
        # The largest value has more than the share of a bin: the edge moves below it.
        below = present[changes[-1:]]
        edges = np.unique(np.concatenate([edges[:-1], below]))
    codes[known] = np.searchsorted(edges, values[known], side="left")
    return codes, edges


def rows_by_class(data: Dataset) -> NDArray[np.intp]:
    """Rows sorted by class, repeated by their counts."""
    order = np.argsort(data.y, kind="stable")
    return np.repeat(order, data.row_counts[order])


@attrs.frozen(eq=False)
class _Coding:
    """How the columns of a table become codes: their rows in order, and the rules of levels."""

    data: Dataset
    rows: NDArray[np.intp]
    bins: int
    max_levels: int

    def into(
        self, writer: BitRowWriter, width: int, threads: int, done: Callable[[int], None]
    ) -> list[NDArray[np.float64]]:
        """Add all columns to `writer`, reading `width` at a time; return their levels or edges.

        `width` is 1 or a multiple of eight; `done` is called with the number of columns after each
        group.
        """
        data, p = self.data, self.data.n_features
        codes = np.empty((LANES, len(self.rows)), np.uint8)
        bounds: list[NDArray[np.float64]] = []
        for start in range(0, p, width):
            stop = min(start + width, p)
            block = np.ascontiguousarray(np.asarray(data.columns(start, stop)).T)

            def code(
                column: int, start: int = start, block: NDArray[np.generic] = block
            ) -> NDArray[np.float64]:
                codes[column % LANES], column_bounds = column_codes(
                    block[column - start].astype(np.float64)[self.rows],
                    self.bins, self.max_levels, bool(data.categorical[column]),
                )  # fmt: skip
                return column_bounds

            for first in range(start, stop, LANES):
                # With little memory a block of eight columns takes several reads.
                some = range(first, min(first - first % LANES + LANES, stop))
                bounds += in_threads(threads, code, some)
                if len(bounds) % LANES == 0 or len(bounds) == p:
                    writer.add(codes[: (len(bounds) - 1) % LANES + 1])
            done(stop)
        return bounds


def bit_rows_of(
    data: Dataset, bins: int, max_levels: int, memory: int
) -> tuple[BitRows, list[NDArray[np.float64]]]:
    """Make the bit rows of all columns in memory; return them and each column's levels or edges.

    Raises
    ------
    RequestError
        If they would take more than half of `memory` bytes.
    """
    rows = rows_by_class(data)
    # Classes without rows are left out: they would only add empty cells.
    _, y = np.unique(data.y[rows], return_inverse=True)
    parts: list[NDArray[np.uint64]] = []
    writer = BitRowWriter(y, int(y.max(initial=0)) + 1, max(1, len(rows)), parts.append)

    def check(done: int) -> None:
        if writer.n_bytes > memory // 2:
            raise RequestError(
                f"interactions: bit rows of {data.n_features} columns take "
                f"{size_text(writer.n_bytes * data.n_features / done)}, more than half of the "
                f"{size_text(memory)} allowed; allow more memory, or put a filter before, such "
                "as mim:top=10000"
            )

    # Values as read, transposed and as doubles: 17 bytes per value, in groups of whole blocks.
    width = max(8, min(BLOCK, memory // 8 // (17 * max(1, len(rows))) // 8 * 8))
    bounds = _Coding(data, rows, bins, max_levels).into(writer, width, 1, check)
    if not bounds:
        # Without columns there are no bits, and no pairs.
        writer.add(np.empty((0, len(rows)), np.uint8))
    bit_rows = BitRows(
        words=writer.words[0],
        offsets=np.cumsum([0, *(part.size for part in parts)]),
        lanes=np.concatenate([part.ravel() for part in parts]),
        **writer.arrays(),
    )
    return bit_rows, bounds


FORMAT = 1
SHARD_ROWS = 1 << 17
"""Most rows of a shard: the bit rows of eight columns then fit into the processor's cache."""

ROW_BYTES = 192
"""Bytes per row for reading and sorting a column, with labels and tables of logarithms."""


def stored_bit_rows(
    data: Dataset, bins: int, max_levels: int, run: Run
) -> tuple[ShardedBitRows, list[NDArray[np.float64]]]:
    """The bit rows of a table in parts, and the levels or edges of each column.

    They are read from the table's cache folder, or made and stored there. Levels and bins are those
    of `bit_rows_of`, because whole columns are read, as many at a time as fit into memory.

    Raises
    ------
    RequestError
        If one column does not fit into memory.
    DataError
        If the file cannot be written.
    """
    run.must_hold(
        ROW_BYTES * data.n_samples,
        f"interactions: {ROW_BYTES} bytes for each of {data.n_samples} rows, to bin a column,",
        "put a filter such as mim:top=1000 before",
    )
    _, y = np.unique(data.y, return_inverse=True)
    key = [
        FORMAT, equal_parts(data.n_samples, SHARD_ROWS), data.matrix.rows_sha256, label_digest(y),
        np.flatnonzero(data.categorical).tolist(), bins, max_levels,
    ]  # fmt: skip
    coding = _Coding(data, np.arange(data.n_samples), bins, max_levels)
    folder, arrays = kept_arrays(
        data.matrix.cache_folder,
        "pairs",
        key,
        lambda folder, digest: _write_new(folder, digest, coding, y, run),
        lambda arrays, files: files == ["planes"] and _sound(arrays, data),
        most=run.memory,
        threads=run.threads,
        what="bit rows",
        table=data.name,
        size=f"up to {max(bins, max_levels) - 1} bits per value",
    )
    starts, bounds, words = (arrays.pop(name) for name in ("starts", "bounds", "words"))
    file = ShardFile(
        path=folder / "planes", words=words, stored=arrays["stored"], depth=arrays["depth"]
    )
    bit_rows = ShardedBitRows(
        words=np.zeros(len(arrays["class_sizes"]) + 1, np.int64),
        offsets=np.zeros(len(arrays["depth"]) + 1, np.int64),
        lanes=np.empty(0, np.uint64),
        file=file,
        **arrays,
    )
    return bit_rows, np.split(bounds, starts[1:-1])


def _sound(arrays: dict[str, NDArray[Any]], data: Dataset) -> bool:
    """Whether kept arrays can be those of the bit rows of `data`."""
    m, blocks = data.n_features, -(-data.n_features // LANES)
    expected = {"levels": (m,), "stored": (m,), "depth": (blocks,), "starts": (m + 1,)}
    return bool(
        set(arrays) == {*expected, "words", "margins", "class_sizes", "bounds"}
        and all(arrays[name].shape == shape for name, shape in expected.items())
        and all(v.dtype == np.int64 and v.min() >= 0 for k, v in arrays.items() if k != "bounds")
        and arrays["class_sizes"].sum() == data.n_samples
        and arrays["words"].shape[1:] == (len(arrays["class_sizes"]) + 1,)
    )


def _write_new(
    folder: Path, digest: str, coding: _Coding, y: NDArray[np.int64], run: Run
) -> dict[str, NDArray[Any]]:
    """Write the bit rows of a table in parts, and the arrays that are stored with them."""
    data, n, p = coding.data, coding.data.n_samples, coding.data.n_features
    room = run.memory // 2
    threads = int(np.clip(room // (ROW_BYTES * n), 1, run.threads))
    at_a_time = (room // (2 * data.matrix.dtype.itemsize * n)) // LANES * LANES
    width = int(np.clip(at_a_time, 1, BLOCK))
    with made_whole(folder) as made:
        with HashingWriter(made / "planes") as file:
            writer = BitRowWriter(
                y, int(y.max(initial=0)) + 1, equal_parts(n, SHARD_ROWS),
                lambda lanes: file.write(lanes.data),
            )  # fmt: skip
            bounds = coding.into(
                writer, width, threads, lambda done: run.progress(done, p, "columns taken in")
            )
        arrays = {
            "words": writer.words,
            **writer.arrays(),
            "starts": np.cumsum([0, *(len(each) for each in bounds)]),
            "bounds": np.concatenate([np.empty(0), *bounds]),
        }
        write_index(made, digest, arrays, {"planes": file.mark})
    return arrays
