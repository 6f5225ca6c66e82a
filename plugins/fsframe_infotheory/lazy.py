"""Least conditional relevance found lazily: a block is counted while it could still be the best."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from fsframe.compiled import njit
from fsframe_infotheory.counting import Counter
from fsframe_infotheory.encode import Encoded
from fsframe_infotheory.partner import Partner, partner_of
from fsframe_infotheory.planes import joint_sums
from fsframe_infotheory.popcount import LANES
from fsframe_infotheory.ranking import TIE

__all__ = ["LazyMinimum"]


@njit()
def _settle(  # type: ignore[no-untyped-def]
    planes,
    offsets,
    block_levels,
    margins,
    margin_offsets,
    rows,
    row_starts,
    row_margins,
    margin_starts,
    words,
    table,
    sums_s,
    sums_sy,
    n_partners,
    total,
    open_,
    seen,
    bound,
    best,
    tolerance,
    start,
    stop,
    js,
    jsy,
):
    """Lower the bounds of blocks start … stop−1 until none unfinished reaches the best.

    `bound` (per lane) starts as the relevance and becomes min over the partners counted so far,
    of which block k has had `seen[k]`. Returns the best finished score of an open lane.
    """
    n_words = words[words.size - 1]
    for block in range(start, stop):
        first = block * LANES
        while True:
            upper = -np.inf
            for lane in range(first, first + LANES):
                if open_[lane] and bound[lane] > upper:
                    upper = bound[lane]
            if upper < best - tolerance:
                break
            if seen[block] == n_partners:
                best = max(best, upper)
                break
            s = seen[block]
            n_rows = row_starts[s + 1] - row_starts[s]
            joint_sums(
                planes,
                offsets,
                block_levels,
                margins,
                margin_offsets,
                rows[row_starts[s] * n_words : row_starts[s + 1] * n_words].reshape(
                    (n_rows, n_words)
                ),
                row_margins[margin_starts[s] : margin_starts[s + 1]],
                words,
                table,
                True,
                block,
                block + 1,
                js,
                jsy,
            )
            for lane in range(first, first + LANES):
                value = (jsy[lane] - js[lane] - sums_sy[s] + sums_s[s]) / total
                if value < bound[lane]:
                    bound[lane] = value
            seen[block] += 1
    return best


@njit()
def _lowest(packed, open_, bound, least):  # type: ignore[no-untyped-def]
    """Lowest open column whose bound is at least `least`, and its lane; −1 if there is none."""
    column, found = np.int64(-1), np.int64(-1)
    for lane in range(packed.size):
        lower = found < 0 or packed[lane] < column
        if open_[lane] and bound[lane] >= least and lower:
            column, found = packed[lane], lane
    return column, found


@njit()
def _promising(open_, bound):  # type: ignore[no-untyped-def]
    """Lane of the largest bound among open lanes; −1 if none is open."""
    found = -1
    for lane in range(bound.size):
        if open_[lane] and (found < 0 or bound[lane] > bound[found]):
            found = lane
    return found


class LazyMinimum:
    """The engine for min(I(X_j; Y), min_s I(X_j; Y | X_s)).

    The score of a candidate can only fall as features are selected, so one whose bound lies below
    the best finished candidate needs no more counting (Fleuret's idea). Blocks of 8 features are
    finished together, because they are counted together. All candidates within the tolerance
    of the best are finished whatever the order, so the result does not depend on threads.
    """

    def __init__(self, counter: Counter, relevance: NDArray[np.float64]) -> None:
        encoded = counter.encoded
        self.counter = counter
        self.layout = encoded.layout
        self.partners: list[Partner] = []
        self.chunks = [chunk for chunk in encoded.chunks if chunk is not None]
        self.bounds, self.open, self.seen, self.scratch = [], [], [], []
        for chunk in self.chunks:
            live = chunk.packed >= 0
            bound = np.full(len(chunk.packed), -np.inf)
            bound[live] = relevance[chunk.packed[live]]
            self.bounds.append(bound)
            self.open.append(live.copy())
            self.seen.append(np.zeros(len(chunk.block_levels), np.int64))
            self.scratch.append(np.empty((2, len(chunk.packed))))
        self.rows = np.empty(0, np.uint64)
        self.margins = np.empty((0, self.layout.n_classes), np.int64)
        self.row_starts, self.margin_starts = np.zeros(1, np.int64), np.zeros(1, np.int64)
        self.sums_s, self.sums_sy = np.empty(0), np.empty(0)

    @staticmethod
    def fits(encoded: Encoded) -> bool:
        """Whether all features are held as bit rows and counts are whole."""
        return not encoded.weighted and all(
            chunk is not None and not chunk.listed.size for chunk in encoded.chunks
        )

    def absorb(self, feature: int) -> None:
        """Remember `feature` as a partner; nothing is counted yet."""
        new = partner_of(self.counter.encoded, feature)
        self.partners.append(new)
        self.rows = np.concatenate([self.rows, new.rows.ravel()])
        self.margins = np.concatenate([self.margins, new.margins])
        self.row_starts = np.append(self.row_starts, self.row_starts[-1] + new.n_levels - 1)
        self.margin_starts = np.append(self.margin_starts, self.margin_starts[-1] + new.n_levels)
        self.sums_s = np.append(self.sums_s, new.sum_s)
        self.sums_sy = np.append(self.sums_sy, new.sum_sy)

    def close(self, features: NDArray[np.intp]) -> None:
        """Take features out of the candidates."""
        for feature in features:
            k, lane = self.counter.encoded.place(int(feature))
            self.open[k][lane] = False

    def best(self) -> tuple[int, float]:
        """The best of the open candidates, and its score."""
        tops = [
            _promising(lanes, bound) for lanes, bound in zip(self.open, self.bounds, strict=True)
        ]
        live = [k for k, lane in enumerate(tops) if lane >= 0]
        # The most promising block first: a high mark early spares the others much counting.
        heights = {k: self.bounds[k][tops[k]] for k in live}
        k = max(live, key=lambda k: heights[k])
        block = tops[k] // LANES
        mark = self._settle(k, block, block + 1, -np.inf)
        units = [
            (k, start, stop, mark)
            for k in live
            if heights[k] >= mark - TIE
            for start, stop in self._shares(len(self.chunks[k].block_levels))
        ]
        mark = max(mark, *self.counter.map(self._settle, units), mark)
        found = [
            _lowest(self.chunks[k].packed, self.open[k], self.bounds[k], mark - TIE) for k in live
        ]
        feature, lane, k = min(
            (column, lane, k) for (column, lane), k in zip(found, live, strict=True) if column >= 0
        )
        return int(feature), float(self.bounds[k][lane])

    def _shares(self, n_blocks: int) -> list[tuple[int, int]]:
        parts = self.counter.threads if n_blocks * self.layout.n_words > 20_000 else 1
        cuts = [n_blocks * part // parts for part in range(parts + 1)]
        return [(a, b) for a, b in pairwise(cuts) if a < b]

    def _settle(self, k: int, start: int, stop: int, best: float) -> float:
        chunk = self.chunks[k]
        mark = _settle(
            chunk.planes, chunk.offsets, chunk.block_levels, chunk.margins, chunk.margin_offsets,
            self.rows, self.row_starts, self.margins, self.margin_starts, self.layout.words,
            self.layout.table, self.sums_s, self.sums_sy, len(self.partners), self.layout.total,
            self.open[k], self.seen[k], self.bounds[k], best, TIE, start, stop,
            self.scratch[k][0], self.scratch[k][1],
        )  # fmt: skip
        return float(mark)
