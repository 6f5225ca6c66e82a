"""Nearest neighbours without all exact distances: screened by distances of bytes; exact."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsframe_relief.engine.columns import Columns
from fsframe_relief.engine.neighbours import Nearest, Target
from fsframe_relief.engine.table_values import CACHED, ROW_BLOCK

LEVELS = 255
LEAST_ROWS = 2048
"""With fewer rows screening saves less than its lists cost."""
ROWS_PER_NEIGHBOUR = 20
"""With fewer rows, so many of them are neighbours that screening costs more than it saves."""
MOST_COLUMNS = 1024
"""With more columns the lists of candidates get long: rounding errors grow with the number of
columns, differences between distances with its square root."""
MOST_CANDIDATES = 1 / 16
"""Share of the rows whose exact distances are computed, at most."""
BYTES = 24
"""Per pair of a block: numbers of instances, exact distances, and room."""

WIDE = 64
"""Minimum number of targets that are compared with all rows in one pass over the table."""
_PILOTS = 32


def screening_pays(columns: Columns, rule: Any, target: Target, memory: int) -> bool:
    """Whether so few instances can be neighbours that exact distances to only those are faster.

    Notes
    -----
    Measured on normal data with k = 10, in processor time: as fast as all exact distances with 2000
    rows, 1.6 times with 3000 rows of 300 columns, 2.3 to 3 times with 8192 rows of 64 to 600
    columns, 8 times with 100,000 rows of 30.
    """
    return bool(
        isinstance(rule, Nearest)
        and columns.n >= max(LEAST_ROWS, ROWS_PER_NEIGHBOUR * rule.k * len(target.prior))
        and 0 < columns.plain.size <= MOST_COLUMNS
        and not columns.levelled.size
        and not columns.special.size
        and columns.probability is None
        and 2 * columns.n * columns.plain.size <= memory // 4
    )


def _block_of(n: int, memory: int) -> int:
    """Number of targets whose contributions are summed first."""
    return int(np.clip(memory // (8 * BYTES * n), 1, ROW_BLOCK))


def _rounded(Z: NDArray[np.float64], out: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Write the bytes q = round(255 z) into `out` (n, p); 2 (e_i + max e) of each row.

    e_i = sum_a |255 z_ia - q_ia|.
    """
    n, p = Z.shape
    error = np.empty(n)
    step = max(1, CACHED // p)
    for r in range(0, n, step):
        exact = Z[r : r + step] * LEVELS
        out[r : r + step] = whole = np.rint(exact)
        exact -= whole
        error[r : r + step] = np.abs(exact, out=exact).sum(axis=1)
    # one more for the rounding of all this
    return np.ceil(2 * (error + error.max())).astype(np.int64) + 1


def bytes_suffice(columns: Columns, rule: Nearest, target: Target, memory: int) -> bool:
    """Whether few enough rows are candidates by distances of bytes, tested on some targets."""
    n = columns.n
    some = np.unique(np.linspace(0, n - 1, _PILOTS).astype(np.int64))
    trial = NearestBytes(columns, rule, target, memory)
    starts, settled = trial.candidates(some)[1:]
    return bool(settled.all() and starts[:, -1].mean() <= n * MOST_CANDIDATES)


class NearestBytes:
    """Nearest neighbours among candidates by distances of bytes; the result is exact.

    Notes
    -----
    With q = round(255 z) and e_i = sum_a |255 z_ia − q_ia|: from
    |255 |x − y| − |q_x − q_y|| <= |255 x − q_x| + |255 y − q_y| for every column, 255 d_ij is
    within e_i + e_j of the distance D_ij of bytes. If t is the k-th smallest D of some rows of a
    class, the k-th smallest 255 d is at most t + e_i + max e, and a row that near has
    D <= t + 2 (e_i + max e): all those are listed, ties included, and measured in doubles. So the
    limit may be taken from the rows seen so far, and only falls.

    One instruction takes 64 differences where the processor has one (AVX-512BW; 32 with AVX2).
    O(n p) bytes twice, and lists of candidates. If more rows of a class may be near than a list
    holds (mostly equal rows), the targets of that block are left to all exact distances.
    """

    def __init__(self, columns: Columns, rule: Nearest, target: Target, memory: int) -> None:
        self.columns, self.rule, self.target = columns, rule, target
        n, p = columns.scaled.shape
        self.words = -(-p // 8)
        codes = np.zeros((n, 8 * self.words), np.uint8)
        self.slack = _rounded(columns.scaled, codes[:, :p])
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
        from fsframe_relief.engine.screen_kernels import TOGETHER

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
        """Neighbours (b, m) of some targets, weights, list lengths, and which are settled."""
        from fsframe_relief.engine import screen_kernels as kernels

        index, starts, settled = self.candidates(rows)
        weight = np.empty(index.shape)
        kernels.listed_distances(self.columns.scaled, rows, index, starts, weight)
        self.rule.weigh_listed(weight, index, rows, self.target, starts)
        length = np.empty(len(rows), dtype=np.int64)
        kernels.keep_weighted(index, weight, starts, length)
        for first in range(0, len(rows), self.block):
            # The sums of a block are added in the order of its targets, in one way for all.
            some = slice(first, first + self.block)
            settled[some] = settled[some].all()
        return index, weight, length, settled
