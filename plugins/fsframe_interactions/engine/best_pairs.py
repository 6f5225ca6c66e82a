"""The best of all pairs: tiles in bands, with a rising threshold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import attrs
import numpy as np
import scipy
from numpy.typing import NDArray

from fsframe.kernels.bit_counts import LANES
from fsframe.kernels.threads import in_threads
from fsframe.method.run import Run
from fsframe_interactions.engine.bit_rows import BitRows, Tile
from fsframe_interactions.engine.log_tails import log_chi2_tail
from fsframe_interactions.engine.screen import screen_tile

__all__ = ["Found", "TestedPairs", "best_pairs", "smallest"]

TILE = 256
"""Blocks of eight columns that a tile pairs with one block."""

BAND = 256
"""Tiles after which surplus pairs are dropped."""


Found = tuple[NDArray[np.int64], NDArray[np.float64]]
"""Pairs (m, 2), and of each its statistic, degrees of freedom, least expected count and log p."""

_PER_PAIR = ("pairs", "statistic", "freedom", "log_p", "least_expected")


@attrs.frozen(kw_only=True, eq=False)
class TestedPairs:
    """Tested pairs, the smallest p first, ties by column.

    Parameters
    ----------
    pairs : (m, 2) int64
        Columns a < b.
    statistic : (m,) float64
        G², or F.
    freedom : (m,) int64
        Its degrees of freedom.
    log_p : (m,) float64
        Natural logarithm of p.
    least_expected : (m,) float64
        Least expected count of the table.
    best_log_p : (n_columns,) float64
        The least log p of each column's pairs that were reported, 0 where none was.
    """

    pairs: NDArray[np.int64]
    statistic: NDArray[np.float64]
    freedom: NDArray[np.int64]
    log_p: NDArray[np.float64]
    least_expected: NDArray[np.float64]
    best_log_p: NDArray[np.float64]

    @classmethod
    def of(cls, found: Found, best_log_p: NDArray[np.float64]) -> TestedPairs:
        """The pairs from `smallest`."""
        statistic, freedom, least_expected, log_p = np.ascontiguousarray(found[1].T)
        return cls(
            pairs=found[0],
            statistic=statistic,
            freedom=freedom.astype(np.int64),
            log_p=log_p,
            least_expected=least_expected,
            best_log_p=best_log_p,
        )

    def taken(self, order: NDArray[np.intp]) -> TestedPairs:
        """These pairs, in this order."""
        return attrs.evolve(self, **{name: getattr(self, name)[order] for name in _PER_PAIR})

    def order(self) -> NDArray[np.intp]:
        """Places of the pairs by p, then by column."""
        return np.lexsort((self.pairs[:, 1], self.pairs[:, 0], self.log_p))

    def joined(self, other: TestedPairs) -> TestedPairs:
        """These pairs, then those of `other`; the best p of columns are those of this one."""
        own = {name: (getattr(self, name), getattr(other, name)) for name in _PER_PAIR}
        return attrs.evolve(self, **{name: np.concatenate(parts) for name, parts in own.items()})


def smallest(parts: Sequence[Found], keep: int) -> Found:
    """The `keep` pairs of the smallest p in some groups of pairs, ties by column."""
    pairs = np.concatenate([np.empty((0, 2), np.int64), *(part[0] for part in parts)])
    values = np.concatenate([np.empty((0, 4)), *(part[1] for part in parts)])
    order = np.lexsort((pairs[:, 1], pairs[:, 0], values[:, 3]))[:keep]
    return pairs[order], values[order]


def _tiles(n_blocks: int) -> Iterator[Tile]:
    for row in range(n_blocks):
        for first in range(row, n_blocks, TILE):
            yield row, first, min(first + TILE, n_blocks)


def _portions(bit_rows: BitRows, tiles: list[Tile], room: int) -> Iterator[list[Tile]]:
    """The same tiles, or narrower ones, in lists whose counts fit into `room`, or of one tile."""
    total = 0
    portion: list[Tile] = []
    for row, first, last in tiles:
        while first < last:
            stop = last
            while stop - first > 1 and bit_rows.n_counts((row, first, stop)) > room:
                stop = (first + stop) // 2
            size = bit_rows.n_counts((row, first, stop))
            if portion and total + size > room:
                yield portion
                total, portion = 0, []
            portion.append((row, first, stop))
            total, first = total + size, stop
    yield portion


def best_pairs(bit_rows: BitRows, keep: int, largest_p: float, run: Run) -> TestedPairs:
    """Test all pairs of columns; the `keep` of the smallest p, none above `largest_p`.

    p is by χ² of the degrees of freedom; with `largest_p` 1 every pair that has any is reported.

    Notes
    -----
    O(p² n L² K / 64) for counting; pairs that pass the screen take O(L² K) per round of fitting.
    """
    counts = np.arange(bit_rows.n_rows + 1, dtype=np.float64)
    xlogx = counts * np.log(np.maximum(counts, 1.0))
    # Σ n_i log n_i − Σ n_ik log n_ik and n_ik / n_i of each column, for those without gaps.
    of_level = bit_rows.margins.sum(axis=2)
    alone = xlogx[of_level].sum(axis=1) - xlogx[bit_rows.margins].sum(axis=(1, 2))
    shares = bit_rows.margins / np.maximum(of_level, 1)[:, :, None]
    top_level = int(bit_rows.levels.max(initial=1))
    most = max(1, (top_level - 1) ** 2 * (len(bit_rows.words) - 2))
    freedom = np.arange(1, most + 1)

    def threshold(p: float) -> NDArray[np.float64]:
        # A pair at the threshold itself is kept: rounding of the quantile must not lose it.
        limit = scipy.stats.chi2.isf(p, freedom) * (1 - 1e-9) if 0.0 < p < 1.0 else 0.0 * freedom
        return np.concatenate([[0.0], limit])

    least = threshold(largest_p)
    kept: list[Found] = []
    best = np.zeros(bit_rows.n_columns)

    def work(unit: tuple[Tile, NDArray[np.uint64]]) -> Found:
        (row, first, last), counted = unit
        pairs = np.empty(((last - first) * LANES * LANES, 2), np.int64)
        found = np.empty((len(pairs), 3))
        written = screen_tile(
            bit_rows.lanes, bit_rows.offsets, bit_rows.depth, bit_rows.words, bit_rows.stored,
            bit_rows.levels, bit_rows.margins, bit_rows.class_sizes, xlogx, shares, alone, least,
            counted, row, first, last, pairs, found,
        )  # fmt: skip
        found = found[:written]
        log_p = log_chi2_tail(found[:, 0], found[:, 1])
        return pairs[:written].copy(), np.column_stack([found, log_p])

    def screened(tiles: list[Tile]) -> Iterator[Found]:
        # A few portions are in memory at a time, with workers also a few in transit.
        for portion in _portions(bit_rows, tiles, run.memory // 256):
            units = list(zip(portion, bit_rows.counted(portion, run), strict=True))
            yield from in_threads(run.threads, work, units)

    tiles = list(_tiles(bit_rows.n_blocks))
    for start in range(0, len(tiles), BAND):
        for pairs, found in screened(tiles[start : start + BAND]):
            np.minimum.at(best, pairs.ravel(), np.repeat(found[:, 3], 2))
            kept.append((pairs, found))
        if sum(len(pairs) for pairs, _ in kept) > 2 * keep:
            kept = [smallest(kept, keep)]
            least = np.maximum(least, threshold(float(np.exp(kept[0][1][-1, 3]))))
        run.progress(min(start + BAND, len(tiles)), len(tiles), "tiles of pairs")
    return TestedPairs.of(smallest(kept, keep), best)
