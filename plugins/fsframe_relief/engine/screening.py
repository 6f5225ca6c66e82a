"""Nearest neighbours, screened by distances in 12-bit integers and decided in doubles."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsframe_relief.engine.blocks import ROW_BLOCK
from fsframe_relief.engine.columns import Columns
from fsframe_relief.engine.neighbours import Nearest, Target
from fsframe_relief.engine.scaling import CACHED

__all__ = ["NearestScreen", "block_of", "rounded", "screening_pays"]

LEVELS = 4095
"""Largest whole number: eight differences sum to less than 2^15."""
ROWS_PER_NEIGHBOUR = 20
"""With fewer rows, so many of them are neighbours that the second look costs more than it saves."""
BYTES = 24
"""Per pair of a block: whole and exact distances, numbers of instances, and room."""


def screening_pays(columns: Columns, rule: Any, target: Target, memory: int) -> bool:
    """Whether few enough instances can be neighbours for a second, exact look at those.

    Notes
    -----
    Measured on normal data of 200 to 2000 rows and 100 to 10,000 columns with k = 10: 1.3 to 3
    times as fast as a look at all exact distances.
    """
    return bool(
        isinstance(rule, Nearest)
        and ROWS_PER_NEIGHBOUR * rule.k * len(target.prior) <= columns.n
        and 0 < columns.plain.size < 1 << 18
        and not columns.levelled.size
        and not columns.special.size
        and columns.probability is None
        and 2 * columns.n * columns.plain.size <= memory // 4
    )


def block_of(n: int, memory: int) -> int:
    """Targets whose sums are one addend of the whole, for any screen."""
    return int(np.clip(memory // (8 * BYTES * n), 1, ROW_BLOCK))


def rounded(Z: NDArray[np.float64], levels: int, out: NDArray[Any]) -> NDArray[np.int64]:
    """Write the whole numbers q = round(levels z) into `out` (n, p); 2 (e_i + max e) of each row.

    e_i = sum_a |levels z_ia - q_ia|.
    """
    n, p = Z.shape
    error = np.empty(n)
    step = max(1, CACHED // p)
    for r in range(0, n, step):
        exact = Z[r : r + step] * levels
        out[r : r + step] = whole = np.rint(exact)
        exact -= whole
        error[r : r + step] = np.abs(exact, out=exact).sum(axis=1)
    # one more for the rounding of all this
    return np.ceil(2 * (error + error.max())).astype(np.int64) + 1


class NearestScreen:
    """Candidates by distances in whole numbers; exact.

    Notes
    -----
    With q = round(4095 z) and e_i = sum_a |4095 z_ia - q_ia|, every distance is within e_i + e_j
    of its whole-number form D. If t is the k-th smallest D from target i to a class, its k-th
    smallest distance is at most t + e_i + max e, and an instance that near has
    D <= t + 2 (e_i + max e): all those are listed, ties included, and measured in doubles.

    O(n p) additions of 16-bit numbers per target; 2 n p bytes for the table of whole numbers and
    24 n per target of a block.
    """

    def __init__(self, columns: Columns, rule: Nearest, target: Target, memory: int) -> None:
        self.columns, self.rule, self.target = columns, rule, target
        n, p = columns.scaled.shape
        self.across = np.zeros((-(-p // 8) * 8, n), dtype=np.int16)
        self.slack = rounded(columns.scaled, LEVELS, self.across[:p].T)
        self.block = self.wide = block_of(n, memory)
        self.threads = max(1, memory // (2 * BYTES * self.block * n))

    def listed(
        self, rows: NDArray[np.int64]
    ) -> tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.int64], NDArray[np.bool_]]:
        """Neighbours (b, m) of some targets, their weights, list lengths, and who is settled."""
        from fsframe_relief.engine import screen_kernels as kernels

        b, n = len(rows), self.columns.n
        W = np.empty((b, n), dtype=np.int32)
        kernels.whole_distances(self.across, rows, W)
        # Not filled: lists of few neighbours touch few of these pages.
        index, weight = np.empty((b, n), dtype=np.int32), np.empty((b, n))
        starts = np.empty((b, len(self.target.bounds)), dtype=np.int64)
        kernels.likely_neighbours(
            W, rows, self.target.bounds, min(self.rule.k, n), self.slack[rows], index, starts
        )
        return (*self.weighed(rows, index, starts, weight), np.ones(b, dtype=bool))

    def weighed(
        self,
        rows: NDArray[np.int64],
        index: NDArray[np.int32],
        starts: NDArray[np.int64],
        weight: NDArray[np.float64],
    ) -> tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.int64]]:
        """Of candidates those that are neighbours, by exact distances, their weights, how many."""
        from fsframe_relief.engine import screen_kernels as kernels

        kernels.listed_distances(self.columns.scaled, rows, index, starts, weight)
        self.rule.weigh_listed(weight, index, rows, self.target, starts)
        length = np.empty(len(rows), dtype=np.int64)
        kernels.keep_weighted(index, weight, starts, length)
        return index, weight, length
