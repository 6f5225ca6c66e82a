"""Columns of levels as bit rows, 64 table rows per word; for tables in parts they are in a file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.errors import DataError
from fsframe.kernels.bit_counts import LANES
from fsframe.kernels.compiled import njit
from fsframe.kernels.threads import in_threads
from fsframe.method.run import Run
from fsframe.resampling.dispatch import over_parts
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
