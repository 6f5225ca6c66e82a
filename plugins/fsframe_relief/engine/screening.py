"""Nearest neighbours, screened by distances in integers of 12 or 8 bits and decided in doubles."""

from __future__ import annotations

from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsframe_relief.engine.blocks import ROW_BLOCK
from fsframe_relief.engine.columns import Columns
from fsframe_relief.engine.neighbours import Nearest, Target
from fsframe_relief.engine.scaling import CACHED

__all__ = ["NearestBytes", "NearestScreen", "bytes_suffice", "screening_pays"]

LEVELS = 4095
"""Largest whole number: eight differences sum to less than 2^15."""
ROWS_PER_NEIGHBOUR = 20
"""With fewer rows, so many of them are neighbours that screening costs more than it saves."""
BYTES = 24
"""Per pair of a block: whole and exact distances, numbers of instances, and room."""

BYTE_LEVELS = 255
MOST_BYTE_COLUMNS = 256
"""With more columns the lists of candidates get long: rounding errors grow with the number of
columns, differences between distances with its square root."""
LEAST_BYTE_ROWS = 8192
WIDE = 64
"""Minimum number of targets that are compared with all rows in one pass over the table."""
_PILOTS = 32


def screening_pays(columns: Columns, rule: Any, target: Target, memory: int) -> bool:
    """Whether so few instances can be neighbours that exact distances to only those are faster.

    Notes
    -----
    Measured on normal data of 200 to 2000 rows and 100 to 10,000 columns with k = 10: 1.3 to 3
    times as fast as all exact distances.
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


def _block_of(n: int, memory: int) -> int:
    """Number of targets whose contributions are summed first, for any screen."""
    return int(np.clip(memory // (8 * BYTES * n), 1, ROW_BLOCK))


def _rounded(Z: NDArray[np.float64], levels: int, out: NDArray[Any]) -> NDArray[np.int64]:
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
    """Nearest neighbours among candidates by distances in whole numbers; the result is exact.

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
        self.slack = _rounded(columns.scaled, LEVELS, self.across[:p].T)
        self.block = self.wide = _block_of(n, memory)
        self.threads = max(1, memory // (2 * BYTES * self.block * n))

    def listed(
        self, rows: NDArray[np.int64]
    ) -> tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.int64], NDArray[np.bool_]]:
        """Neighbours (b, m) of some targets, weights, list lengths, and which are settled."""
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
        """The neighbours among candidates, by exact distances, their weights and numbers."""
        from fsframe_relief.engine import screen_kernels as kernels

        kernels.listed_distances(self.columns.scaled, rows, index, starts, weight)
        self.rule.weigh_listed(weight, index, rows, self.target, starts)
        length = np.empty(len(rows), dtype=np.int64)
        kernels.keep_weighted(index, weight, starts, length)
        return index, weight, length


def bytes_suffice(columns: Columns, rule: Nearest, target: Target, memory: int) -> bool:
    """Whether few enough rows are candidates by distances of bytes, tested on some targets."""
    n, p = columns.scaled.shape
    if n < LEAST_BYTE_ROWS or p > MOST_BYTE_COLUMNS:
        return False
    some = np.unique(np.linspace(0, n - 1, _PILOTS).astype(np.int64))
    trial = NearestBytes(columns, rule, target, memory)
    starts, settled = trial.candidates(some)[1:]
    # A second look takes as long as some thousands of first ones.
    return bool(settled.all() and starts[:, -1].mean() * p <= n * p // 64)


class NearestBytes(NearestScreen):
    """Nearest neighbours among candidates by distances of bytes; the result is exact.

    Notes
    -----
    As `NearestScreen`, with 255 in place of 4095: q = round(255 z), e_i = sum_a |255 z_ia − q_ia|.
    From |255 |x − y| − |q_x − q_y|| <= |255 x − q_x| + |255 y − q_y| for every column, 255 d_ij is
    within e_i + e_j of the distance D_ij of bytes. If t is the k-th smallest D of some rows of a
    class, the k-th smallest 255 d is at most t + e_i + max e, and a row that near has
    D <= t + 2 (e_i + max e). So the limit may be taken from the rows seen so far, and only falls.

    One instruction takes 64 differences where the processor has one (AVX-512BW; 32 with AVX2).
    O(n p) bytes twice, and lists of candidates. If more rows of a class may be near than a list
    holds (mostly equal rows), `NearestScreen` processes the target.
    """

    def __init__(self, columns: Columns, rule: Nearest, target: Target, memory: int) -> None:
        self.columns, self.rule, self.target = columns, rule, target
        self._memory, self._making = memory, Lock()
        self._finer: NearestScreen | None = None
        n, p = columns.scaled.shape
        self.words = -(-p // 8)
        codes = np.zeros((n, 8 * self.words), np.uint8)
        self.slack = _rounded(columns.scaled, BYTE_LEVELS, codes[:, :p])
        self.mine = codes.view(np.uint64)
        self.first = np.zeros(len(target.prior), np.int64)
        packed = []
        at = 0
        for c, (begin, end) in enumerate(zip(target.bounds[:-1], target.bounds[1:], strict=True)):
            blocks = -(-(end - begin) // 8)
            own = np.zeros((blocks * 8, self.words), np.uint64)
            own[: end - begin] = self.mine[begin:end]
            packed.append(own.reshape(blocks, 8, self.words).transpose(0, 2, 1).ravel())
            self.first[c] = at
            at += packed[-1].size
        self.rows = np.concatenate(packed)
        self.block = _block_of(n, memory)
        self.wide = self.block * -(-WIDE // self.block)
        self.capacity = max(1024, 8 * rule.k)
        each = 24 * self.wide * self.capacity * len(target.prior)
        self.threads = max(1, memory // 4 // each)

    def candidates(
        self, rows: NDArray[np.int64]
    ) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.bool_]]:
        """Candidates of some targets by class, where classes begin, and which are settled."""
        from fsframe_relief.engine import screen_kernels as kernels
        from fsframe_relief.engine.byte_distances import TOGETHER

        b, bounds = len(rows), self.target.bounds
        full = -(-b // TOGETHER) * TOGETHER
        mine = np.zeros((full, self.words), np.uint64)
        mine[:b] = self.mine[rows]
        index = np.empty((b, (len(bounds) - 1) * self.capacity), np.int32)
        starts = np.zeros((b, len(bounds)), np.int64)
        settled = np.ones(b, np.bool_)
        kernels.byte_neighbours(
            mine, self.rows, self.first, self.words, rows, bounds,
            int(min(self.rule.k, self.columns.n)), self.slack[rows], self.capacity, index, starts,
            settled,
        )  # fmt: skip
        return index, starts, settled

    def listed(
        self, rows: NDArray[np.int64]
    ) -> tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.int64], NDArray[np.bool_]]:
        index, starts, settled = self.candidates(rows)
        index, weight, length = self.weighed(rows, index, starts, np.empty(index.shape))
        for first in range(0, len(rows), self.block):
            some = slice(first, first + self.block)
            if settled[some].all():
                continue
            finer = self._finer_screen().listed(rows[some])
            most = int(finer[2].max())
            more = ((0, 0), (0, max(0, most - index.shape[1])))
            index, weight = np.pad(index, more), np.pad(weight, more)
            index[some, :most], weight[some, :most] = finer[0][:, :most], finer[1][:, :most]
            length[some] = finer[2]
        return index, weight, length, np.ones(len(rows), np.bool_)

    def _finer_screen(self) -> NearestScreen:
        """`NearestScreen` of the same table, made when it is first needed."""
        with self._making:
            if self._finer is None:
                self._finer = NearestScreen(self.columns, self.rule, self.target, self._memory)
            return self._finer
