"""Entropies from whole counts, and joint counts of features of few levels with a partner.

Features of few levels are rows of bits (`layout`): a cell of a joint table is the population
count of two rows' common bits over the words of a class. All counts are exact integers.
"""

from __future__ import annotations

import math
from functools import lru_cache

import attrs
import numpy as np
from numpy.typing import ArrayLike, NDArray

from fsframe.kernels.bit_counts import LANES, at, count_rows, shifted
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
        """I(X_j, X_s; Y) / H(X_j, X_s, Y), zero where all three are constant."""
        entropy = self.joint_entropy
        live = entropy > 1e-12
        return np.divide(self.joint_relevance, entropy, out=np.zeros_like(entropy), where=live)


@njit()
def joint_scratch(n_classes, partner_levels):
    """Scratch memory of `joint_block`, for partners of so many levels."""
    return (
        np.empty((n_classes, partner_levels, LANES), np.int64),
        np.empty((partner_levels, LANES), np.int64),
        np.empty(LANES, np.int64),
        np.empty(max(4, partner_levels) * LANES, np.uint64),
    )


@njit()
def joint_block(
    planes, levels, margins, rows, row_margins, words, n_words, n_classes, table, scratch, js, jsy
):
    """`joint_sums` of one block, within classes too; its bit rows begin at `planes`.

    Bit rows are read in the order in which they are stored, class by class within a level, so that
    large tables are read at the speed of memory.
    """
    left, totals, rest, cells = scratch
    partner_levels = row_margins.shape[0]
    js[:] = 0.0
    jsy[:] = 0.0
    for c in range(n_classes):
        for b in range(partner_levels):
            left[c, b] = row_margins[b, c]
    for a in range(levels - 1):
        totals[:partner_levels] = 0
        for c in range(n_classes):
            first = words[c]
            length = words[c + 1] - first
            for lane in range(LANES):
                rest[lane] = margins[(a * n_classes + c) * LANES + lane]
            mine = shifted(planes, (a * n_words + first) * LANES)
            count_rows(mine, rows, partner_levels - 1, n_words, first, length, at(cells, 0))
            for b in range(partner_levels):
                for lane in range(LANES):
                    if b < partner_levels - 1:
                        size = np.int64(cells[b * LANES + lane])
                        rest[lane] -= size
                    else:
                        size = rest[lane]
                    left[c, b, lane] -= size
                    totals[b, lane] += size
                    jsy[lane] += table[np.uintp(size)]
        for b in range(partner_levels):
            for lane in range(LANES):
                js[lane] += table[np.uintp(totals[b, lane])]
    for b in range(partner_levels):
        for lane in range(LANES):
            total = np.int64(0)
            for c in range(n_classes):
                size = left[c, b, lane]
                jsy[lane] += table[np.uintp(size)]
                total += size
            js[lane] += table[np.uintp(total)]


@njit()
def plain_block(planes, levels, margins, rows, row_margins, n_words, n_classes, table, scratch, js):
    """`joint_block` without classes."""
    left, _, rest, cells = scratch
    column = left[0]
    partner_levels = row_margins.shape[0]
    js[:] = 0.0
    for b in range(partner_levels):
        column[b] = row_margins[b].sum()
    for a in range(levels - 1):
        for lane in range(LANES):
            size = np.int64(0)
            for c in range(n_classes):
                size += margins[(a * n_classes + c) * LANES + lane]
            rest[lane] = size
        mine = shifted(planes, a * n_words * LANES)
        count_rows(mine, rows, partner_levels - 1, n_words, 0, n_words, at(cells, 0))
        for b in range(partner_levels):
            for lane in range(LANES):
                if b < partner_levels - 1:
                    size = np.int64(cells[b * LANES + lane])
                    rest[lane] -= size
                else:
                    size = rest[lane]
                column[b, lane] -= size
                js[lane] += table[np.uintp(size)]
    for b in range(partner_levels):
        for lane in range(LANES):
            js[lane] += table[np.uintp(column[b, lane])]


@njit()
def joint_sums(
    planes,
    offsets,
    block_levels,
    margins,
    margin_offsets,
    rows,
    row_margins,
    words,
    table,
    per_class,
    start,
    stop,
    sums_js,
    sums_jsy,
):
    """Write Σ c·log₂c over the joint counts with one partner, for blocks of 8 features.

    Parameters
    ----------
    planes : (…,) uint64
        Bit rows of all blocks; block k has (block_levels[k] − 1, n_words, 8) from `offsets[k]`.
    margins : (…,) int64
        Counts of all blocks; block k has (block_levels[k], n_classes, 8) from `margin_offsets[k]`.
    rows : (partner levels − 1, n_words) uint64
        Bit rows of the partner.
    row_margins : (partner levels, n_classes) int64
        Counts of the partner.
    words : (n_classes + 1,) int64
        First word of each class.
    table : (n + 1,) float64
        c·log₂c for c = 0 … n.
    per_class : bool
        Whether to count within classes too; if not, `sums_jsy` is not written.
    start, stop : int
        Blocks to count.
    sums_js, sums_jsy : (n_blocks · 8,) float64
        Results: over (feature, partner) and over (feature, partner, class).

    Notes
    -----
    (L_j − 1)(L_s − 1)·n/64 words per pair; every block writes its own results, in an
    order that does not depend on the thread.
    """
    n_words = words[words.size - 1]
    n_classes = words.size - 1
    scratch = joint_scratch(n_classes, row_margins.shape[0])
    for block in range(start, stop):
        first = at(planes, offsets[block])
        counts = margins[margin_offsets[block] :]
        levels = block_levels[block]
        part = slice(block * LANES, (block + 1) * LANES)
        if per_class:
            joint_block(
                first, levels, counts, rows, row_margins, words, n_words, n_classes, table,
                scratch, sums_js[part], sums_jsy[part],
            )  # fmt: skip
        else:
            plain_block(
                first, levels, counts, rows, row_margins, n_words, n_classes, table, scratch,
                sums_js[part],
            )  # fmt: skip


@njit()
def joint_cells(
    planes,
    offsets,
    block_levels,
    margins,
    margin_offsets,
    rows,
    row_margins,
    words,
    n_classes,
    features,
    n_levels,
    starts,
    cells,
):
    """Add the joint counts with one partner to those of earlier parts of the same table.

    `joint_sums` for tables counted part by part, where Σ c·log₂c, which is not additive over rows,
    is computed at the end (`code_counts.cell_sums`). Separate passes make small tables a third
    slower, so `joint_sums` does both at once.

    Parameters
    ----------
    planes, offsets, block_levels, margins, margin_offsets, rows, row_margins
        As in `joint_sums`; `row_margins` is (partner levels, n_groups).
    words : (n_groups + 1,) int64
        First word of each class; of one group for counts without classes.
    n_classes : int
        Of `margins`.
    features : (n_blocks · 8,) int64
        Index of each lane's feature in `starts`; −1 if there is none.
    n_levels, starts : (n_features,) int64
    cells : int64
        Feature j has its counts (n_levels[j], partner levels, n_groups) from ``starts[j]`` on.
    """
    n_words = words[words.size - 1]
    groups = words.size - 1
    partner_levels = row_margins.shape[0]
    found = np.empty(max(4, partner_levels) * LANES, np.uint64)
    left = np.empty((groups, partner_levels, LANES), np.int64)
    rest = np.empty(LANES, np.int64)
    for block in range(block_levels.size):
        levels = block_levels[block]
        first_margin = margin_offsets[block]
        for c in range(groups):
            for b in range(partner_levels):
                left[c, b] = row_margins[b, c]
        for a in range(levels):
            for c in range(groups):
                if a < levels - 1:
                    at_plane = offsets[block] + (a * n_words + words[c]) * LANES
                    count_rows(
                        at(planes, at_plane), rows, partner_levels - 1, n_words, words[c],
                        words[c + 1] - words[c], at(found, 0),
                    )  # fmt: skip
                    rest[:] = 0
                    for own in range(c, c + 1 if groups > 1 else n_classes):
                        of_class = first_margin + (a * n_classes + own) * LANES
                        for lane in range(LANES):
                            rest[lane] += margins[of_class + lane]
                for lane in range(LANES):
                    j = features[block * LANES + lane]
                    if j < 0 or a >= n_levels[j]:
                        continue
                    into = starts[j] + a * partner_levels * groups + c
                    for b in range(partner_levels):
                        if a == levels - 1:
                            size = left[c, b, lane]
                        elif b < partner_levels - 1:
                            size = np.int64(found[b * LANES + lane])
                            rest[lane] -= size
                        else:
                            size = rest[lane]
                        left[c, b, lane] -= size
                        cells[into + b * groups] += size
