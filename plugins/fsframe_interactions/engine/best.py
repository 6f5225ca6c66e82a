"""The best pairs of all: tiles in bands, a threshold that rises, the same whatever the threads."""

from __future__ import annotations

from collections.abc import Iterator

import attrs
import numpy as np
from numpy.typing import NDArray
from scipy import stats

from fsframe.contracts.bit_counts import LANES
from fsframe.contracts.run import Run
from fsframe.contracts.side_by_side import in_threads
from fsframe_interactions.engine.planes import Planes, Tile
from fsframe_interactions.engine.screen import screen_tile
from fsframe_interactions.engine.tail import log_chi2_tail

__all__ = ["Found", "best_pairs"]

TILE = 256
"""Blocks of eight columns that one tile sets against one block."""

BAND = 256
"""Tiles between two looks at how many pairs are held."""


@attrs.frozen(kw_only=True, eq=False)
class Found:
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

    def first(self, count: int) -> Found:
        """The first so many pairs."""
        return self.taken(np.arange(min(count, len(self.log_p))))

    def taken(self, order: NDArray[np.intp]) -> Found:
        """These pairs, in this order."""
        return attrs.evolve(
            self,
            pairs=self.pairs[order],
            statistic=self.statistic[order],
            freedom=self.freedom[order],
            log_p=self.log_p[order],
            least_expected=self.least_expected[order],
        )

    def order(self) -> NDArray[np.intp]:
        """Places of the pairs by p, then by column."""
        return np.lexsort((self.pairs[:, 1], self.pairs[:, 0], self.log_p))

    def in_order(self) -> Found:
        """The same pairs by p, then by column."""
        return self.taken(self.order())

    def joined(self, other: Found) -> Found:
        """These pairs, then those of `other`; what is known of columns stays as it is here."""
        return attrs.evolve(
            self,
            **{
                name: np.concatenate([getattr(self, name), getattr(other, name)])
                for name in ("pairs", "statistic", "freedom", "log_p", "least_expected")
            },
        )


def _tiles(n_blocks: int) -> Iterator[Tile]:
    for row in range(n_blocks):
        for first in range(row, n_blocks, TILE):
            yield row, first, min(first + TILE, n_blocks)


def _portions(planes: Planes, tiles: list[Tile], room: int) -> Iterator[list[Tile]]:
    """The same tiles, or narrower ones, in lists whose counts fit into `room`, or of one tile."""
    held = 0
    portion: list[Tile] = []
    for row, first, last in tiles:
        while first < last:
            stop = last
            while stop - first > 1 and planes.counts_held((row, first, stop)) > room:
                stop = (first + stop) // 2
            size = planes.counts_held((row, first, stop))
            if portion and held + size > room:
                yield portion
                held, portion = 0, []
            portion.append((row, first, stop))
            held, first = held + size, stop
    yield portion


def best_pairs(planes: Planes, keep: int, largest_p: float, run: Run) -> Found:
    """Test all pairs of columns; the `keep` of the smallest p, none above `largest_p`.

    Parameters
    ----------
    planes : Planes
    keep : int
    largest_p : float
        By χ² of the degrees of freedom; 1 reports every pair that has any.
    run : Run
        Threads and progress.

    Returns
    -------
    Found

    Notes
    -----
    O(p² n L² K / 64) for counting; what passes the screen is fitted, O(L² K) per round of fitting.
    """
    counts = np.arange(planes.n_rows + 1, dtype=np.float64)
    xlogx = counts * np.log(np.maximum(counts, 1.0))
    # Σ n_i log n_i − Σ n_ik log n_ik and n_ik / n_i of each column, for those without gaps.
    of_level = planes.margins.sum(axis=2)
    alone = xlogx[of_level].sum(axis=1) - xlogx[planes.margins].sum(axis=(1, 2))
    shares = planes.margins / np.maximum(of_level, 1)[:, :, None]
    top_level = int(planes.levels.max(initial=1))
    most = max(1, (top_level - 1) ** 2 * (len(planes.words) - 2))
    freedom = np.arange(1, most + 1)

    def threshold(p: float) -> NDArray[np.float64]:
        # A pair at the threshold itself is kept: rounding of the quantile must not lose it.
        limit = stats.chi2.isf(p, freedom) * (1 - 1e-9) if 0.0 < p < 1.0 else 0.0 * freedom
        return np.concatenate([[0.0], limit])

    least = threshold(largest_p)
    held: list[tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]] = []
    best = np.zeros(planes.n_columns)

    def work(
        unit: tuple[Tile, NDArray[np.uint64]],
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        (row, first, last), counted = unit
        pairs = np.empty(((last - first) * LANES * LANES, 2), np.int64)
        found = np.empty((len(pairs), 3))
        written = screen_tile(
            planes.lanes, planes.offsets, planes.depth, planes.words, planes.stored,
            planes.levels, planes.margins, planes.class_sizes, xlogx, shares, alone, least,
            counted, row, first, last, pairs, found,
        )  # fmt: skip
        return pairs[:written].copy(), found[:written].copy()

    def gathered() -> Found:
        pairs = np.concatenate([np.empty((0, 2), np.int64), *(part[0] for part in held)])
        found = np.concatenate([np.empty((0, 3)), *(part[1] for part in held)])
        log_p = np.concatenate([np.empty(0), *(part[2] for part in held)])
        return Found(
            pairs=pairs,
            statistic=found[:, 0],
            freedom=found[:, 1].astype(np.int64),
            log_p=log_p,
            least_expected=found[:, 2],
            best_log_p=best,
        ).in_order()

    def screened(
        tiles: list[Tile],
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float64]]]:
        # A few portions are in memory at a time, and with workers a few on their way.
        for portion in _portions(planes, tiles, run.memory // 256):
            units = list(zip(portion, planes.counted(portion, run), strict=True))
            yield from in_threads(run.threads, work, units)

    tiles = list(_tiles(planes.n_blocks))
    for start in range(0, len(tiles), BAND):
        for pairs, found in screened(tiles[start : start + BAND]):
            log_p = log_chi2_tail(found[:, 0], found[:, 1])
            np.minimum.at(best, pairs.ravel(), np.repeat(log_p, 2))
            held.append((pairs, found, log_p))
        if sum(len(part[2]) for part in held) > 2 * keep:
            kept = gathered().first(keep)
            columns = np.column_stack([kept.statistic, kept.freedom, kept.least_expected])
            held[:] = [(kept.pairs, columns, kept.log_p)]
            least = np.maximum(least, threshold(float(np.exp(kept.log_p[-1]))))
        run.progress(min(start + BAND, len(tiles)), len(tiles), "tiles of pairs")
    return gathered().first(keep)
