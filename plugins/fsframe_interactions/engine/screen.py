"""Tests of all pairs of columns: count, screen by an upper bound of G², fit, keep the best."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import attrs
import numpy as np
import scipy
from numpy.typing import NDArray

from fsframe.kernels import in_threads
from fsframe.kernels.bit_counts import LANES
from fsframe.kernels.compiled import njit
from fsframe.method.run import Run
from fsframe_interactions.engine.bit_rows import BitRows, Tile
from fsframe_interactions.engine.contingency_tables import (
    FIT_ROUNDS,
    FIT_TOLERANCE,
    count_block,
    deviance,
    fit,
    freedom,
    gather_rows,
    kirkwood,
    log_chi2_tail,
    row_starts,
)


@njit()
def _margins_with_gaps(counts, both, levels_a, levels_b, classes, xlogx, of_a, of_b):
    """The margins' part of the bound, the norm and the number of rows, if values are missing."""
    of_a[: levels_a * classes] = 0.0
    of_b[: levels_b * classes] = 0.0
    for i in range(levels_a):
        for j in range(levels_b):
            for k in range(classes):
                count = counts[(i * levels_b + j) * classes + k]
                of_a[i * classes + k] += count
                of_b[j * classes + k] += count
    added, total = 0.0, 0.0
    for k in range(classes):
        size = 0.0
        for i in range(levels_a):
            size += of_a[i * classes + k]
        added += xlogx[np.uintp(np.int64(size))]
        total += size
        for j in range(levels_b):
            added -= xlogx[np.uintp(np.int64(of_b[j * classes + k]))]
        for i in range(levels_a):
            count = of_a[i * classes + k]
            added -= xlogx[np.uintp(np.int64(count))]
            # n_ik over the size of the class.
            of_a[i * classes + k] = count / size if size > 0.0 else 0.0
    added -= xlogx[np.uintp(np.int64(total))]
    norm = 0.0
    for j in range(levels_b):
        of_j = 0.0
        for k in range(classes):
            of_j += of_b[j * classes + k]
        added += xlogx[np.uintp(np.int64(of_j))]
        if of_j > 0.0:
            for k in range(classes):
                of_b[j * classes + k] /= of_j
    for i in range(levels_a):
        of_i = 0.0
        for j in range(levels_b):
            of_i += both[i * levels_b + j]
        added += xlogx[np.uintp(np.int64(of_i))]
        if of_i > 0.0:
            for j in range(levels_b):
                share = 0.0
                for k in range(classes):
                    share += of_a[i * classes + k] * of_b[j * classes + k]
                norm += both[i * levels_b + j] / of_i * share
    return added, norm, total


@njit()
def screen_tile(
    lanes,
    offsets,
    depth,
    words,
    stored,
    levels,
    margins,
    class_sizes,
    xlogx,
    shares,
    alone,
    least,
    counted,
    row_block,
    first_block,
    last_block,
    pairs,
    statistics,
):
    """Test the columns of one block with those of a range of blocks, each pair a < b once.

    Parameters
    ----------
    lanes, offsets, depth, words, stored, levels, margins
        As in `fsframe_interactions.engine.bit_rows.BitRows`.
    class_sizes : (n_classes,) int64
    xlogx : (n + 1,) float64
        x log x of every possible count.
    shares, alone : (n_columns, most levels, n_classes), (n_columns,) float64
        For columns without missing values: the share n_ik / n_i of each class in each level, and
        Σ n_i log n_i − Σ n_ik log n_ik.
    least : (most degrees of freedom + 1,) float64
        G² below which a pair with this many degrees of freedom is not reported; ascending.
    counted : uint64
        The counts of the tile from `contingency_tables.tile_counts`, or empty: then they are
        counted here from `lanes`, which is not used otherwise.
    row_block, first_block, last_block : int
        Block `row_block` of columns is paired with the blocks first_block … last_block − 1.
    pairs : (capacity, 2) int64
        Written: a and b of the pairs reported.
    statistics : (capacity, 3) float64
        Written: G², degrees of freedom, least expected count among cells that are not empty under
        the model.

    Returns
    -------
    int
        How many pairs were written.
    """
    n_columns = levels.size
    n_words = words[words.size - 1]
    classes = words.size - 1
    most_levels = max(2, margins.shape[1])
    first = row_block * LANES
    last = min(first + LANES, n_columns)
    rows = np.empty((max(1, depth[row_block] * LANES), n_words), np.uint64)
    starts = np.empty(LANES + 1, np.int64)
    n_rows = row_starts(first, last, stored, starts)
    if not counted.size:
        gather_rows(lanes, offsets[row_block], n_words, first, last, stored, rows)
    largest = 1
    for block in range(first_block, last_block):
        largest = max(largest, depth[block])
    cells = np.empty(max(1, largest * classes * n_rows * LANES), np.uint64)
    most = most_levels * most_levels * classes
    counts, fitted = np.empty(most), np.empty(most)
    both = np.empty(most_levels * most_levels)
    of_a, of_b = np.empty(most_levels * classes), np.empty(most_levels * classes)
    sizes = np.empty(classes)
    of_classes, total = 0.0, 0.0
    for k in range(classes):
        # For columns without missing values; pairs with missing values count their own rows.
        sizes[k] = class_sizes[k]
        of_classes += xlogx[class_sizes[k]]
        total += sizes[k]
    of_classes -= xlogx[np.int64(total)]
    written, given = 0, 0
    for block in range(first_block, last_block):
        if counted.size:
            size = depth[block] * classes * n_rows * LANES
            cells = counted[given : given + size]
            given += size
        elif n_rows:
            count_block(rows, n_rows, lanes, offsets[block], depth[block], words, n_words, cells)
        for a in range(first, last):
            levels_a, stored_a = levels[a], stored[a]
            if levels_a < 2:
                continue
            at_row = starts[a - first]
            for b in range(max(a + 1, block * LANES), min((block + 1) * LANES, n_columns)):
                levels_b, stored_b = levels[b], stored[b]
                if levels_b < 2:
                    continue
                lane = b - block * LANES
                row = levels_b * classes
                for i in range(stored_a):
                    for k in range(classes):
                        rest = np.int64(margins[a, i, k])
                        for j in range(stored_b):
                            place = ((j * classes + k) * n_rows + at_row + i) * LANES + lane
                            count = np.int64(cells[place])
                            counts[i * row + j * classes + k] = count
                            rest -= count
                        if stored_b < levels_b:
                            counts[i * row + stored_b * classes + k] = rest
                if stored_a < levels_a:
                    for j in range(levels_b):
                        for k in range(classes):
                            left = np.float64(margins[b, j, k])
                            for i in range(stored_a):
                                left -= counts[i * row + j * classes + k]
                            counts[stored_a * row + j * classes + k] = left

                # Sums of x log x over the table and the margins of both columns.
                bound = 0.0
                for cell in range(levels_a * levels_b):
                    size = 0.0
                    for k in range(classes):
                        count = counts[cell * classes + k]
                        bound += xlogx[np.uintp(np.int64(count))]
                        size += count
                    both[cell] = size
                    bound -= xlogx[np.uintp(np.int64(size))]
                norm = 0.0
                if stored_a < levels_a and stored_b < levels_b:
                    rows_known = total
                    bound += alone[a] + alone[b] + of_classes
                    for i in range(levels_a):
                        for j in range(levels_b):
                            share = 0.0
                            for k in range(classes):
                                share += shares[a, i, k] * shares[b, j, k] / sizes[k]
                            norm += both[i * levels_b + j] * share
                else:
                    bound_more, norm, rows_known = _margins_with_gaps(
                        counts, both, levels_a, levels_b, classes, xlogx, of_a, of_b
                    )
                    bound += bound_more
                if not rows_known > 0.0:
                    continue
                # Tolerance for rounding: no pair at the threshold may be left out.
                bound = 2.0 * (bound + rows_known * np.log(norm)) + 1e-9 * rows_known
                if bound < least[1]:
                    continue

                shape = (levels_a, levels_b, classes)
                table = counts[: levels_a * row].reshape(shape)
                expected = fitted[: levels_a * row].reshape(shape)
                of_ij = both[: levels_a * levels_b].reshape((levels_a, levels_b))
                of_ik = of_a[: levels_a * classes].reshape((levels_a, classes))
                of_jk = of_b[:row].reshape((levels_b, classes))
                kirkwood(table, of_ij, of_ik, of_jk, expected)
                free = freedom(of_ij, of_ik, of_jk)
                if free == 0 or bound < least[free]:
                    continue
                fit(of_ij, of_ik, of_jk, expected, FIT_TOLERANCE, np.int64(FIT_ROUNDS))
                g2 = deviance(table, expected)
                if g2 < least[free]:
                    continue
                smallest = np.inf
                for i in range(levels_a):
                    for j in range(levels_b):
                        for k in range(classes):
                            if of_ij[i, j] > 0.0 and of_ik[i, k] > 0.0 and of_jk[j, k] > 0.0:
                                smallest = min(smallest, expected[i, j, k])
                pairs[written, 0] = a
                pairs[written, 1] = b
                statistics[written, 0] = g2
                statistics[written, 1] = free
                statistics[written, 2] = smallest
                written += 1
    return written


TILE = 256
"""Blocks of eight columns that a tile pairs with one block."""

BAND = 256
"""Tiles after which surplus pairs are dropped."""


ScreenedPairs = tuple[NDArray[np.int64], NDArray[np.float64]]
"""Pairs (m, 2), and for each its statistic, degrees of freedom, least expected count and log p."""


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
        Least log p among the reported pairs of each column, 0 if there are none.
    plain : (m,) float64
        log p of the screen, before any correction.
    ratio : (m,) float64
        Mean of G² over its degrees of freedom; 1 where p is not corrected.
    fitted_freedom : (m,) float64
        Degrees of freedom f of the scaled distribution c·χ²_f.
    effect, error : (m,) float64
        Size of the interaction and its standard error; NaN where it is not a single number.
    """

    pairs: NDArray[np.int64]
    statistic: NDArray[np.float64]
    freedom: NDArray[np.int64]
    log_p: NDArray[np.float64]
    least_expected: NDArray[np.float64]
    plain: NDArray[np.float64]
    ratio: NDArray[np.float64]
    fitted_freedom: NDArray[np.float64]
    effect: NDArray[np.float64]
    error: NDArray[np.float64]
    best_log_p: NDArray[np.float64]

    @classmethod
    def of(cls, pairs_and_tests: ScreenedPairs, best_log_p: NDArray[np.float64]) -> TestedPairs:
        """Tested pairs from the result of `smallest`."""
        statistic, freedom, least_expected, log_p = np.ascontiguousarray(pairs_and_tests[1].T)
        unknown = np.full(len(log_p), np.nan)
        return cls(
            pairs=pairs_and_tests[0], statistic=statistic, freedom=freedom.astype(np.int64),
            log_p=log_p, least_expected=least_expected, plain=log_p, ratio=np.ones(len(log_p)),
            fitted_freedom=freedom, effect=unknown, error=unknown, best_log_p=best_log_p,
        )  # fmt: skip

    @property
    def tables(self) -> dict[str, NDArray[np.float64]]:
        """Further values of the pairs, by the names of their tables."""
        return {
            "mean_ratio": self.ratio,
            "fitted_freedom": self.fitted_freedom,
            "effect": self.effect,
            "standard_error": self.error,
        }

    def taken(self, places: NDArray[np.intp]) -> TestedPairs:
        """The pairs in these places, in this order; `best_log_p` stays as it is."""
        return attrs.evolve(self, **{name: getattr(self, name)[places] for name in _per_pair()})

    def places_of(self, pairs: Iterable[tuple[int, ...]]) -> NDArray[np.intp]:
        """Places of those of `pairs` that are here."""
        wanted = set(pairs)
        here = enumerate(map(tuple, self.pairs.tolist()))
        return np.array([place for place, pair in here if pair in wanted], dtype=np.intp)

    def ordered(self) -> TestedPairs:
        """These pairs sorted by p, then by column."""
        return self.taken(np.lexsort((self.pairs[:, 1], self.pairs[:, 0], self.log_p)))

    def joined(self, other: TestedPairs) -> TestedPairs:
        """These pairs followed by those of `other`; `best_log_p` stays as it is."""
        joined = {name: (getattr(self, name), getattr(other, name)) for name in _per_pair()}
        return attrs.evolve(self, **{name: np.concatenate(parts) for name, parts in joined.items()})


def _per_pair() -> Iterator[str]:
    return (field.name for field in attrs.fields(TestedPairs) if field.name != "best_log_p")


def best_of_columns(
    pairs: NDArray[np.int64], log_p: NDArray[np.float64], n_columns: int
) -> NDArray[np.float64]:
    """Least log p among the pairs of each column, (n_columns,); 0 if there are none."""
    best = np.zeros(n_columns)
    np.minimum.at(best, pairs.ravel(), np.repeat(log_p, 2))
    return best


def smallest(parts: Sequence[ScreenedPairs], keep: int) -> ScreenedPairs:
    """The `keep` pairs with the smallest p in all `parts`, ties by column."""
    pairs = np.concatenate([np.empty((0, 2), np.int64), *(part[0] for part in parts)])
    values = np.concatenate([np.empty((0, 4)), *(part[1] for part in parts)])
    order = np.lexsort((pairs[:, 1], pairs[:, 0], values[:, 3]))[:keep]
    return pairs[order], values[order]


def _tiles(n_blocks: int) -> Iterator[Tile]:
    for row in range(n_blocks):
        for first in range(row, n_blocks, TILE):
            yield row, first, min(first + TILE, n_blocks)


def _portions(bit_rows: BitRows, tiles: list[Tile], room: int) -> Iterator[list[Tile]]:
    """Lists of tiles whose counts fit into `room`; tiles that do not fit are halved.

    A tile of a single block that does not fit is a list by itself.
    """
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
    """Test all pairs of columns; return the `keep` with the smallest p, none above `largest_p`.

    p is that of χ²; with `largest_p` 1 every pair that has degrees of freedom is reported.

    Notes
    -----
    O(p² n L² K / 64) for counting; pairs that pass the screen take O(L² K) per round of fitting.
    """
    counts = np.arange(bit_rows.n_rows + 1, dtype=np.float64)
    xlogx = counts * np.log(np.maximum(counts, 1.0))
    # Σ n_i log n_i − Σ n_ik log n_ik and n_ik / n_i of each column, used for those without gaps.
    of_level = bit_rows.margins.sum(axis=2)
    alone = xlogx[of_level].sum(axis=1) - xlogx[bit_rows.margins].sum(axis=(1, 2))
    shares = bit_rows.margins / np.maximum(of_level, 1)[:, :, None]
    top_level = int(bit_rows.levels.max(initial=1))
    most = max(1, (top_level - 1) ** 2 * (len(bit_rows.words) - 2))
    freedom = np.arange(1, most + 1)

    def threshold(p: float) -> NDArray[np.float64]:
        # A pair at the threshold is kept: rounding of the quantile must not lose it.
        limit = scipy.stats.chi2.isf(p, freedom) * (1 - 1e-9) if 0.0 < p < 1.0 else 0.0 * freedom
        return np.concatenate([[0.0], limit])

    least = threshold(largest_p)
    kept: list[ScreenedPairs] = []
    best = np.zeros(bit_rows.n_columns)

    def work(unit: tuple[Tile, NDArray[np.uint64]]) -> ScreenedPairs:
        (row, first, last), counted = unit
        pairs = np.empty(((last - first) * LANES * LANES, 2), np.int64)
        statistics = np.empty((len(pairs), 3))
        written = screen_tile(
            bit_rows.lanes, bit_rows.offsets, bit_rows.depth, bit_rows.words, bit_rows.stored,
            bit_rows.levels, bit_rows.margins, bit_rows.class_sizes, xlogx, shares, alone, least,
            counted, row, first, last, pairs, statistics,
        )  # fmt: skip
        statistics = statistics[:written]
        log_p = log_chi2_tail(statistics[:, 0], statistics[:, 1])
        return pairs[:written].copy(), np.column_stack([statistics, log_p])

    def screened(tiles: list[Tile]) -> Iterator[ScreenedPairs]:
        # A few portions are in memory at a time, and with workers a few more in transit.
        for portion in _portions(bit_rows, tiles, run.memory // 256):
            units = list(zip(portion, bit_rows.counted(portion, run), strict=True))
            yield from in_threads(run.threads, work, units)

    tiles = list(_tiles(bit_rows.n_blocks))
    for start in range(0, len(tiles), BAND):
        for pairs, tests in screened(tiles[start : start + BAND]):
            np.minimum.at(best, pairs.ravel(), np.repeat(tests[:, 3], 2))
            kept.append((pairs, tests))
        if sum(len(pairs) for pairs, _ in kept) > 2 * keep:
            kept = [smallest(kept, keep)]
            least = np.maximum(least, threshold(float(np.exp(kept[0][1][-1, 3]))))
        run.progress(min(start + BAND, len(tiles)), len(tiles), "tiles of pairs")
    return TestedPairs.of(smallest(kept, keep), best)
