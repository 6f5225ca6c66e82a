"""Bit rows of a table in parts, in a file of its cache folder; a shard is a block of rows.

`screen_tile` and the calibration need counts only, and counts are additive over rows: each shard
adds integers to the same tables, so that results do not depend on the borders of parts, on the
workers, or on their order.
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

from fsframe.errors import DataError
from fsframe.kernels.bit_counts import LANES
from fsframe.kernels.threads import in_threads
from fsframe.method.run import Run
from fsframe.resampling.dispatch import over_parts
from fsframe_interactions.engine.bit_rows import BitRows, Tile
from fsframe_interactions.engine.contingency_tables import (
    complete_tables,
    count_pairs,
    tile_cells,
    tile_counts,
)

__all__ = ["ShardFile", "ShardedBitRows"]

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
        How many bit rows each column has.
    depth : (n_blocks,) int64
        The most of eight columns.
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
            If it cannot be read.
        """
        try:
            lanes = np.asarray(np.memmap(self.path, dtype=np.uint64, mode="r"))
        except (OSError, ValueError) as error:
            raise DataError(
                f"{self.path} cannot be read ({error}): workers must see the folder of the "
                f"table; remove {self.path.parent}, and it is made again"
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
        """Number of counts of a tile in memory until all shards have been counted."""
        return int(tile_cells(self.depth, self.stored, self.n_classes, *tile))

    def counted(self, tiles: Sequence[Tile], run: Run) -> list[NDArray[np.uint64]]:
        """The counts of each tile, summed over all shards."""
        sizes = [self.n_counts(tile) for tile in tiles]
        total = self._summed(_count_tiles, (self.file, list(tiles), sizes), run)
        return np.split(total, np.cumsum(sizes)[:-1])

    def tables(
        self, pairs: NDArray[np.int64], run: Run
    ) -> Callable[[NDArray[np.intp]], NDArray[np.int64]]:
        """A function that gives the tables of some of the `pairs`, all counted at once."""
        most = self.margins.shape[1]
        found = self._summed(_count_pairs, (self.file, pairs, most), run)
        complete_tables(self.levels, self.stored, self.margins, pairs, found)
        return lambda places: found[places]

    def _summed(self, work: Any, request: Any, run: Run) -> NDArray[Any]:
        total = None
        for found in over_parts(run, work, request, range(len(self.file.words)), run.threads):
            total = found if total is None else np.add(total, found, out=total)
        assert total is not None
        return total


def _count_tiles(
    request: tuple[ShardFile, list[Tile], list[int]], shards: list[int], threads: int
) -> NDArray[np.uint64]:
    """Counts of some tiles in some shards, tile after tile."""
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
    """Tables of some pairs in some shards, without the levels that have no bit row."""
    file, pairs, most = request
    total = np.zeros((len(pairs), most, most, file.words.shape[1] - 1), np.int64)
    cuts = np.linspace(0, len(pairs), threads + 1).astype(int).tolist()

    def count(k: int, opened: _Opened, bound: tuple[int, int]) -> None:
        some = slice(*bound)
        count_pairs(*opened, file.words[k], file.stored, pairs[some], total[some])

    for k in shards:
        in_threads(threads, partial(count, k, file.open(k)), pairwise(cuts))
    return total
