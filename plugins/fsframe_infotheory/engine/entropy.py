"""Entropies from whole counts, and joint counts of features of few levels with a partner.

Samples are sorted by class; rows that are drawn repeatedly are repeated. A feature with L levels
takes L−1 rows of bits, 64 samples per word and 8 features interleaved, one row per level except the
last; every class starts on a new word, so that a count within a class is a population count over a
range of words: of the common bits of two rows for a cell of a joint table. The last level of each
row and column of a table follows by subtraction from the margins. All counts are exact integers.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import attrs
import numpy as np
from numpy.typing import ArrayLike, NDArray

from fsframe.kernels.bit_counts import LANES, at, count_rows, equal_bits, popcount, shifted
from fsframe.kernels.compiled import njit


@lru_cache(maxsize=2)
def clogc_table(n: int) -> NDArray[np.float64]:
    """c·log₂c for c = 0 … n, with 0·log₂0 = 0.

    Notes
    -----
    H = log₂N − (1/N) Σ c·log₂c, so that an entropy takes one look-up per cell. 8 (n + 1) bytes.

    >>> clogc_table(4).tolist()[:3]
    [0.0, 0.0, 2.0]
    """
    table = clogc(np.arange(n + 1))
    table.setflags(write=False)
    return table


def clogc(counts: ArrayLike) -> NDArray[np.float64]:
    """c·log₂c of each count, 0 for 0; counts need not be whole.

    >>> clogc([0, 1, 8]).tolist()
    [0.0, 0.0, 24.0]
    """
    c = np.asarray(counts, dtype=np.float64)
    return c * np.log2(c, out=np.zeros_like(c), where=c > 0)


def sum_clogc(counts: ArrayLike) -> float:
    """Σ c·log₂c, rounded once, so that it does not depend on the order of the counts."""
    return math.fsum(clogc(counts).ravel())


Sums = NDArray[np.float64] | float


@attrs.frozen(kw_only=True, eq=False)
class Terms:
    """Σ c·log₂c of features X_j with one partner X_s and the class Y, and informations from them.

    Parameters
    ----------
    total : float or (n_features,)
        Weight n of the samples counted.
    j, jy, js, jsy : (n_features,) float64
        Sums over the levels of X_j, and over those of X_j with Y, X_s, or both.
    s, sy, y : float or (n_features,)
        Sums over the levels of X_s, of X_s with Y, and of Y.

    Notes
    -----
    H = log₂n − Σ/n, so that log₂n cancels wherever as many entropies are added as subtracted.
    All properties are (n_features,) in bits.
    """

    total: Sums
    j: Sums
    jy: Sums
    s: Sums
    sy: Sums
    y: Sums
    js: NDArray[np.float64]
    jsy: NDArray[np.float64]

    @property
    def redundancy(self) -> NDArray[np.float64]:
        """I(X_j; X_s)."""
        return np.log2(self.total) + (self.js - self.j - self.s) / self.total

    @property
    def conditional_redundancy(self) -> NDArray[np.float64]:
        """I(X_j; X_s | Y)."""
        return (self.jsy - self.jy - self.sy + self.y) / self.total

    @property
    def joint_relevance(self) -> NDArray[np.float64]:
        """I(X_j, X_s; Y)."""
        return np.log2(self.total) + (self.jsy - self.js - self.y) / self.total

    @property
    def conditional_relevance(self) -> NDArray[np.float64]:
        """I(X_j; Y | X_s)."""
        return (self.jsy - self.js - self.sy + self.s) / self.total

    @property
    def joint_entropy(self) -> NDArray[np.float64]:
        """H(X_j, X_s, Y)."""
        return np.log2(self.total) - self.jsy / self.total

    @property
    def relative_joint_relevance(self) -> NDArray[np.float64]:
        """I(X_j, X_s; Y) / H(X_j, X_s, Y), zero if all three are constant."""
        entropy = self.joint_entropy
        live = entropy > 1e-12
        return np.divide(self.joint_relevance, entropy, out=np.zeros_like(entropy), where=live)


class Blocks(NamedTuple):
    """Features of few levels for kernels, 8 to a block, one in each lane.

    `planes` are the bit rows of all blocks: block k has (levels[k] − 1, n_words, 8) from
    ``offsets[k]`` on. `margins` are their counts: (levels[k], n_classes, 8) from
    ``margin_offsets[k]`` on.
    """

    planes: NDArray[np.uint64]
    offsets: NDArray[np.int64]
    levels: NDArray[np.int64]
    margins: NDArray[np.int64]
    margin_offsets: NDArray[np.int64]


class Samples(NamedTuple):
    """The samples of a `Layout` for kernels; `order` is unsigned, which saves a sign test."""

    order: NDArray[np.uint32]
    starts: NDArray[np.int64]
    words: NDArray[np.int64]


class Weighted(NamedTuple):
    """Class and weight of each sample, and c·log₂c for whole weights (of length 1 for others)."""

    labels: NDArray[np.int64]
    n_classes: int
    weights: NDArray[np.float64]
    table: NDArray[np.float64]


class Bytes(NamedTuple):
    """Columns as bytes: level a of column k is the byte ``levels[starts[k] + a]`` in ``raw[k]``."""

    raw: NDArray[np.uint8]
    starts: NDArray[np.int64]
    levels: NDArray[np.uint8]


@njit()
def block_scratch(levels, groups, partner_levels):
    """Scratch memory of `block_counts`, for features and partners of at most so many levels."""
    return (
        np.empty(levels * groups * partner_levels * LANES, np.int64),
        np.empty(LANES, np.int64),
        np.empty(max(4, partner_levels) * LANES, np.uint64),
    )


@njit()
def block_counts(blocks, block, rows, row_margins, words, n_classes, scratch):
    """Joint counts of one block with one partner.

    Parameters as in `joint_sums`. Returns (levels, groups, partner levels, 8), a part of `scratch`.
    Bit rows are read in the order in which they are stored, class by class within a level, so that
    large tables are read at the speed of memory.
    """
    room, rest, row_counts = scratch
    planes, levels = at(blocks.planes, blocks.offsets[block]), blocks.levels[block]
    margins = blocks.margins[blocks.margin_offsets[block] :]
    groups, partner_levels = words.size - 1, row_margins.shape[0]
    n_words = words[groups]
    # A column without any value has no level; its samples count as one.
    last = max(levels - 1, 0)
    shape = (last + 1, groups, partner_levels, LANES)
    cells = room[: (last + 1) * groups * partner_levels * LANES].reshape(shape)
    for c in range(groups):
        for b in range(partner_levels):
            cells[last, c, b] = row_margins[b, c]
    for a in range(last):
        for c in range(groups):
            first = words[c]
            mine = shifted(planes, (a * n_words + first) * LANES)
            length = words[c + 1] - first
            count_rows(mine, rows, partner_levels - 1, n_words, first, length, at(row_counts, 0))
            rest[:] = 0
            for label in range(c, c + 1 if groups > 1 else n_classes):
                for lane in range(LANES):
                    rest[lane] += margins[(a * n_classes + label) * LANES + lane]
            for b in range(partner_levels):
                for lane in range(LANES):
                    if b < partner_levels - 1:
                        size = np.int64(row_counts[b * LANES + lane])
                        rest[lane] -= size
                    else:
                        size = rest[lane]
                    cells[a, c, b, lane] = size
                    cells[last, c, b, lane] -= size
    return cells


@njit()
def block_terms(cells, table, js, jsy):
    """Write Σ table[count] of each lane over levels of both, and with classes if there are any."""
    levels, groups, partner_levels, _ = cells.shape
    js[:] = 0.0
    jsy[:] = 0.0
    for a in range(levels):
        for b in range(partner_levels):
            for lane in range(LANES):
                total = np.int64(0)
                for c in range(groups):
                    total += cells[a, c, b, lane]
                js[lane] += table[np.uintp(total)]
    if groups == 1:
        return
    for a in range(levels - 1):
        for c in range(groups):
            for b in range(partner_levels):
                for lane in range(LANES):
                    jsy[lane] += table[np.uintp(cells[a, c, b, lane])]
    for b in range(partner_levels):
        for c in range(groups):
            for lane in range(LANES):
                jsy[lane] += table[np.uintp(cells[levels - 1, c, b, lane])]


@njit()
def joint_sums(blocks, rows, row_margins, words, n_classes, table, start, stop, sums_js, sums_jsy):
    """Write Σ c·log₂c over the joint counts with one partner, for blocks of 8 features.

    Parameters
    ----------
    blocks : Blocks
    rows : (partner levels − 1, n_words) uint64
        Bit rows of the partner.
    row_margins : (partner levels, n_groups) int64
        Counts of the partner in each class, or in all of them as one group.
    words : (n_groups + 1,) int64
        First word of each class, or of the one group.
    n_classes : int
        Of the counts in `blocks`.
    table : (n + 1,) float64
        c·log₂c for c = 0 … n.
    start, stop : int
        Blocks to count.
    sums_js, sums_jsy : (n_blocks · 8,) float64
        Results: over (feature, partner) and over (feature, partner, class); the second is 0 for
        one group.

    Notes
    -----
    (L_j − 1)(L_s − 1)·n/64 words per pair; every block writes its own results, in an
    order that does not depend on the thread.
    """
    most = np.int64(1)
    for block in range(start, stop):
        most = max(most, blocks.levels[block])
    scratch = block_scratch(most, words.size - 1, row_margins.shape[0])
    for block in range(start, stop):
        cells = block_counts(blocks, block, rows, row_margins, words, n_classes, scratch)
        part = slice(block * LANES, (block + 1) * LANES)
        block_terms(cells, table, sums_js[part], sums_jsy[part])


@njit()
def joint_cells(blocks, rows, row_margins, words, n_classes, features, n_levels, starts, cells):
    """Add the joint counts with one partner to those of earlier parts of the same table.

    `joint_sums` for tables counted part by part, where Σ c·log₂c, which is not additive over rows,
    is computed at the end (`packing.cell_sums`).

    Parameters
    ----------
    blocks, rows, row_margins, words, n_classes
        As in `joint_sums`.
    features : (n_blocks · 8,) int64
        Index of each lane's feature in `starts`; −1 if there is none.
    n_levels, starts : (n_features,) int64
    cells : int64
        Feature j has its counts (n_levels[j], partner levels, n_groups) from ``starts[j]`` on.
    """
    groups, partner_levels = words.size - 1, row_margins.shape[0]
    scratch = block_scratch(max(1, blocks.levels.max()), groups, partner_levels)
    for block in range(blocks.levels.size):
        of_block = block_counts(blocks, block, rows, row_margins, words, n_classes, scratch)
        for lane in range(LANES):
            j = features[block * LANES + lane]
            if j < 0:
                continue
            for a in range(n_levels[j]):
                for b in range(partner_levels):
                    into = starts[j] + (a * partner_levels + b) * groups
                    for c in range(groups):
                        cells[into + c] += of_block[a, c, b, lane]


MOST_REPEATED = 4
"""Mean number of samples per row up to which drawn rows are repeated, to keep counts whole."""


@attrs.frozen(kw_only=True, eq=False)
class Layout:
    """The samples of one table in the order in which they are counted.

    Parameters
    ----------
    order : (n,) int64
        Row of the table of each sample; sorted by class, stable.
    starts : (n_classes + 1,) int64
        First sample of each class.
    words : (n_classes + 1,) int64
        First 64-bit word of each class.
    places : (n,) int64
        Bit position of each sample: ``64 · word + bit``.
    weights : (n,) float64, or None
        Weight of each sample; None if each counts once.
    total : float
        Sum of the weights.
    class_sizes : (n_classes,) float64
        Weight of each class.
    """

    order: NDArray[np.int64]
    starts: NDArray[np.int64]
    words: NDArray[np.int64]
    places: NDArray[np.int64]
    weights: NDArray[np.float64] | None
    total: float
    class_sizes: NDArray[np.float64]

    @classmethod
    def of(
        cls,
        y: NDArray[np.int64],
        n_classes: int,
        counts: NDArray[np.int64] | None = None,
        weights: NDArray[np.float64] | None = None,
    ) -> Layout:
        """The layout of rows with classes `y`, bootstrap counts and importance weights.

        Notes
        -----
        A row drawn c times becomes c samples, so that counts are whole and equal those of a table
        with copied rows exactly. With importance weights, or counts that sum to more than four
        samples per row, each row is one weighted sample.
        """
        rows = np.argsort(y, kind="stable")
        repeated = counts is not None and counts.sum() <= MOST_REPEATED * len(y) + 1024
        carried: NDArray[np.float64] | None = None
        if weights is not None or (counts is not None and not repeated):
            carried = np.ones(len(y)) if weights is None else np.asarray(weights, dtype=np.float64)
            if counts is not None:
                carried = carried * counts
            rows = rows[carried[rows] > 0]
            carried = carried[rows]
        elif counts is not None:
            rows = np.repeat(rows, counts[rows])
        sizes = np.bincount(y[rows], minlength=n_classes)
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        words = np.concatenate([[0], np.cumsum((sizes + 63) // 64)]).astype(np.int64)
        within = np.arange(len(rows)) - np.repeat(starts[:-1], sizes)
        class_sizes = np.bincount(y[rows], weights=carried, minlength=n_classes)
        return cls(
            order=rows.astype(np.int64),
            starts=starts,
            words=words,
            places=np.repeat(words[:-1] * 64, sizes) + within,
            weights=carried,
            total=float(class_sizes.sum()),
            class_sizes=np.asarray(class_sizes, dtype=np.float64),
        )

    @classmethod
    def by_class(cls, sizes: NDArray[np.int64]) -> Layout:
        """The layout of samples that are sorted by class already, from the sizes of the classes."""
        return cls.of(np.repeat(np.arange(len(sizes)), sizes), len(sizes))

    @property
    def n(self) -> int:
        """Number of samples, repeated ones included."""
        return len(self.order)

    @property
    def n_classes(self) -> int:
        """Number of classes, empty ones included."""
        return len(self.starts) - 1

    @property
    def n_words(self) -> int:
        """Length of a bit row."""
        return int(self.words[-1])

    @property
    def labels(self) -> NDArray[np.int64]:
        """Class of each sample."""
        return np.repeat(np.arange(self.n_classes), np.diff(self.starts))

    @property
    def masses(self) -> NDArray[np.float64]:
        """Weight of each sample; ones if each counts once."""
        return np.ones(self.n) if self.weights is None else self.weights

    @property
    def samples(self) -> Samples:
        """The samples, for kernels."""
        return Samples(self.order.astype(np.uint32), self.starts, self.words)

    @property
    def table(self) -> NDArray[np.float64]:
        """c·log₂c for every count that can occur; for whole counts only."""
        return clogc_table(self.n)

    @property
    def weighted(self) -> Weighted:
        """The samples with their weights, for kernels."""
        table = self.table if self.weights is None else np.zeros(1)
        return Weighted(self.labels, self.n_classes, self.masses, table)

    @property
    def sum_y(self) -> float:
        """Σ c·log₂c over the class sizes."""
        return sum_clogc(self.class_sizes)


@njit()
def pack_blocks(columns, lanes, samples, blocks, start, stop):
    """Write the bit rows and the margins of blocks ``start … stop−1``, which are given as zeros.

    Parameters
    ----------
    columns : Bytes
        Rows in the order of the table.
    lanes : (n_blocks · 8,) int64
        Column of each lane; −1 where a block is short of features.
    samples : Samples
    blocks : Blocks
    start, stop : int
    """
    order, starts, words = samples
    planes, margins = blocks.planes, blocks.margins
    n_words = words[words.size - 1]
    n_classes = words.size - 1
    # Padding after each class stays 255, which is no level's byte.
    turned = np.full(n_words * 64, 255, np.uint8)
    for k in range(start * LANES, stop * LANES):
        row = lanes[k]
        if row < 0:
            continue
        column, first_level = columns.raw[row], columns.starts[row]
        for c in range(n_classes):
            size = starts[c + 1] - starts[c]
            rows = order[starts[c] : starts[c + 1]]
            into = turned[64 * words[c] : 64 * words[c] + size]
            for i in range(size):
                into[i] = column[rows[i]]
        block, lane = k // LANES, k % LANES
        for level in range(columns.starts[row + 1] - first_level):
            byte = columns.levels[first_level + level]
            at_plane = blocks.offsets[block] + level * n_words * LANES + lane
            at_margin = blocks.margin_offsets[block] + level * n_classes * LANES + lane
            stored = level < blocks.levels[block] - 1
            for c in range(n_classes):
                size = np.int64(0)
                for word in range(words[c], words[c + 1]):
                    bits = equal_bits(turned, word * 64, byte)
                    size += np.int64(popcount(bits))
                    if stored:
                        planes[at_plane + word * LANES] = bits
                margins[at_margin + c * LANES] = size


@njit()
def unpack_feature(planes, lane, levels, starts, words, out):
    """Write the levels of one packed feature, samples sorted by class, into `out`."""
    one = np.uint64(1)
    out[:] = levels - 1
    for level in range(levels - 1):
        for c in range(starts.size - 1):
            word = words[c]
            for first in range(starts[c], starts[c + 1], 64):
                bits = planes[level, word, lane]
                if bits:
                    last = min(first + 64, starts[c + 1])
                    for sample in range(first, last):
                        if bits & one:
                            out[sample] = level
                        bits >>= one
                word += 1


@njit()
def level_rows(codes, starts, words, rows):
    """Write bit rows of one feature's levels but the last into `rows` (level, word), all zeros."""
    one = np.uint64(1)
    for c in range(starts.size - 1):
        word = words[c]
        for first in range(starts[c], starts[c + 1], 64):
            last = min(first + 64, starts[c + 1])
            bit = one
            for sample in range(first, last):
                level = codes[sample]
                if level < rows.shape[0]:
                    rows[level, word] |= bit
                bit <<= one
            word += 1
