"""Nearest neighbours of many rows, screened by distances of bytes and decided in doubles."""

from __future__ import annotations

from threading import Lock

import numpy as np
from numpy.typing import NDArray

from fsframe_relief.engine.byte_distances import TOGETHER
from fsframe_relief.engine.columns import Columns
from fsframe_relief.engine.neighbours import Nearest, Target
from fsframe_relief.engine.screening import NearestScreen, block_of, rounded

__all__ = ["NearestBytes", "bytes_suffice"]

LEVELS = 255
MOST_COLUMNS = 256
"""Rounding grows as the columns do, and distances differ as their square root: the list of who may
be near gets long."""

LEAST_ROWS = 8192
WIDE = 64
"""Targets that are looked at together at least: the table passes by once for all of them."""

_PILOTS = 32


def bytes_suffice(columns: Columns, rule: Nearest, target: Target, memory: int) -> bool:
    """Whether bytes separate neighbours well enough, tried on some targets."""
    n, p = columns.scaled.shape
    if n < LEAST_ROWS or p > MOST_COLUMNS:
        return False
    some = np.unique(np.linspace(0, n - 1, _PILOTS).astype(np.int64))
    trial = NearestBytes(columns, rule, target, memory)
    starts, settled = trial.candidates(some)[1:]
    # A second look takes as long as some thousands of first ones.
    return bool(settled.all() and starts[:, -1].mean() * p <= n * p // 64)


class NearestBytes(NearestScreen):
    """Candidates by distances of bytes; exact.

    Notes
    -----
    As `NearestScreen`, with 255 in place of 4095: q = round(255 z), e_i = sum_a |255 z_ia − q_ia|.
    From |255 |x − y| − |q_x − q_y|| <= |255 x − q_x| + |255 y − q_y| for every column, 255 d_ij is
    within e_i + e_j of the distance D_ij of bytes. If t is the k-th smallest D of any of the rows
    of a class, the k-th smallest 255 d is at most t + e_i + max e, and whoever is that near has
    D <= t + 2 (e_i + max e). So the limit may be taken from the rows seen so far, and only falls.

    One instruction takes 64 differences where the processor has one (AVX-512BW; 32 with AVX2).
    O(n p) bytes twice, and lists of candidates; where more of a class may be near than these hold,
    equal rows above all, `NearestScreen` looks at the target.
    """

    def __init__(self, columns: Columns, rule: Nearest, target: Target, memory: int) -> None:
        self.columns, self.rule, self.target = columns, rule, target
        self._memory, self._making = memory, Lock()
        self._finer: NearestScreen | None = None
        n, p = columns.scaled.shape
        self.words = -(-p // 8)
        codes = np.zeros((n, 8 * self.words), np.uint8)
        self.slack = rounded(columns.scaled, LEVELS, codes[:, :p])
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
        self.block = block_of(n, memory)
        self.wide = self.block * -(-WIDE // self.block)
        self.capacity = max(1024, 8 * rule.k)
        each = 24 * self.wide * self.capacity * len(target.prior)
        self.threads = max(1, memory // 4 // each)

    def candidates(
        self, rows: NDArray[np.int64]
    ) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.bool_]]:
        """Who may be near some targets, class by class, where each class begins, who is settled."""
        from fsframe_relief.engine import screen_kernels as kernels

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
        """`NearestScreen` of the same table, made when it is wanted first."""
        with self._making:
            if self._finer is None:
                self._finer = NearestScreen(self.columns, self.rule, self.target, self._memory)
            return self._finer
