"""The order in which samples are counted, and features of few levels as rows of bits in it.

Samples are sorted by class; rows that are drawn repeatedly are repeated. A feature with L levels
takes L−1 rows of bits, 64 samples per word and 8 features interleaved, one row per level except the
last; every class starts on a new word, so that a count within a class is a population count over a
range of words. The last level of each row and column of a table follows by subtraction from the
margins. All counts are exact integers.
"""

from __future__ import annotations

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.kernels.bit_counts import LANES, equal_bits, popcount
from fsframe.kernels.compiled import njit
from fsframe_infotheory.engine.entropy import clogc_table, sum_clogc

MOST_REPEATED = 4
"""Most samples per row up to which drawn rows are repeated, which keeps counts whole."""


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
        Weight of each sample; None where each counts once.
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
    def short_order(self) -> NDArray[np.uint32]:
        """`order`, for kernels: unsigned indices avoid the test for negative ones."""
        return self.order.astype(np.uint32)

    @property
    def table(self) -> NDArray[np.float64]:
        """c·log₂c for every count that can occur; for whole counts only."""
        return clogc_table(self.n)

    @property
    def whole_table(self) -> NDArray[np.float64]:
        """`table`, or of length 1 where samples have weights and counts are not whole."""
        return self.table if self.weights is None else np.zeros(1)

    @property
    def sum_y(self) -> float:
        """Σ c·log₂c over the class sizes."""
        return sum_clogc(self.class_sizes)


@njit()
def pack_blocks(
    raw,
    lanes,
    level_starts,
    level_bytes,
    order,
    starts,
    words,
    block_levels,
    offsets,
    margin_offsets,
    planes,
    margins,
):
    """Write the bit rows and the margins of all blocks.

    Parameters
    ----------
    raw : (n_columns, n_rows) uint8
        Columns of bytes, in the order of the table's rows.
    lanes : (n_blocks · 8,) int64
        Row of `raw` for each lane; −1 where a block is short of features.
    level_starts, level_bytes : (n_columns + 1,) int64, uint8
        Level a of row k is the byte ``level_bytes[level_starts[k] + a]``.
    order : (n,) uint32
        Row of the table behind each sample, sorted by class.
    starts, words : (n_classes + 1,) int64
        First sample of each class, and first word of each class.
    block_levels, offsets, margin_offsets, planes, margins
        As in `joint_counts.joint_sums`; planes and margins are given as zeros.
    """
    n_words = words[words.size - 1]
    n_classes = words.size - 1
    # Padding after each class stays 255, which is no level's byte.
    turned = np.full(n_words * 64, 255, np.uint8)
    for k in range(lanes.size):
        row = lanes[k]
        if row < 0:
            continue
        column = raw[row]
        for c in range(n_classes):
            size = starts[c + 1] - starts[c]
            rows = order[starts[c] : starts[c + 1]]
            into = turned[64 * words[c] : 64 * words[c] + size]
            for i in range(size):
                into[i] = column[rows[i]]
        block, lane = k // LANES, k % LANES
        for level in range(level_starts[row + 1] - level_starts[row]):
            byte = level_bytes[level_starts[row] + level]
            at_plane = offsets[block] + level * n_words * LANES + lane
            at_margin = margin_offsets[block] + level * n_classes * LANES + lane
            stored = level < block_levels[block] - 1
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
    """Write bit rows of one feature's levels but the last into ``rows[(level, word)]``, zeros."""
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
