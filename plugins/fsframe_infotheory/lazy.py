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
from fsframe_infotheory.ranking import TIE, first_best

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


class LazyMinimum:
    """The engine for min(I(X_j; Y), min_s I(X_j; Y | X_s)).

    The score of a candidate can only fall as features are selected, so one whose bound lies below
    the best finished candidate needs no more counting (Fleuret's idea). Blocks of 8 features are
    finished together, because they are counted together. All candidates within the tolerance
    of the best are finished whatever the order, so the result does not depend on threads.
    """

    def __init__(self, counter: Counter, relevance: NDArray[np.float64]) -> None:
        self.counter = counter
        self.relevance = relevance
        self.partners: list[Partner] = []
        self.chunks = [chunk for chunk in counter.encoded.chunks if chunk is not None]
        self.bounds = []
        self.seen = []
        for chunk in self.chunks:
            bound = np.full(len(chunk.packed), -np.inf)
            live = chunk.packed >= 0
            bound[live] = relevance[chunk.packed[live]]
            self.bounds.append(bound)
            self.seen.append(np.zeros(len(chunk.block_levels), np.int64))
        self.scratch = [np.empty((2, len(chunk.packed))) for chunk in self.chunks]
        self.rows = np.empty(0, np.uint64)
        self.margins = np.empty((0, counter.encoded.layout.n_classes), np.int64)
        self.row_starts = [0]
        self.margin_starts = [0]

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
        self.row_starts.append(self.row_starts[-1] + new.n_levels - 1)
        self.margin_starts.append(self.margin_starts[-1] + new.n_levels)

    def best(self, open_: NDArray[np.bool_]) -> tuple[int, float]:
        """The best of the open candidates, and its score."""
        layout = self.counter.encoded.layout
        sums_s = np.array([partner.sum_s for partner in self.partners])
        sums_sy = np.array([partner.sum_sy for partner in self.partners])
        row_starts, margin_starts = np.array(self.row_starts), np.array(self.margin_starts)
        open_lanes = []
        for chunk in self.chunks:
            lanes = np.zeros(len(chunk.packed), dtype=bool)
            live = chunk.packed >= 0
            lanes[live] = open_[chunk.packed[live]]
            open_lanes.append(lanes)

        def settle(k: int, start: int, stop: int, best: float) -> float:
            chunk = self.chunks[k]
            mark = _settle(
                chunk.planes, chunk.offsets, chunk.block_levels, chunk.margins,
                chunk.margin_offsets, self.rows, row_starts, self.margins, margin_starts,
                layout.words, layout.table, sums_s, sums_sy, len(self.partners), layout.total,
                open_lanes[k], self.seen[k], self.bounds[k], best, TIE, start, stop,
                self.scratch[k][0], self.scratch[k][1],
            )  # fmt: skip
            return float(mark)

        # The most promising block first: a high mark early spares the others much counting.
        tops = [
            np.where(lanes, bound, -np.inf).max(initial=-np.inf)
            for lanes, bound in zip(open_lanes, self.bounds, strict=True)
        ]
        k = int(np.argmax(tops))
        block = int(np.argmax(np.where(open_lanes[k], self.bounds[k], -np.inf))) // LANES
        mark = settle(k, block, block + 1, -np.inf)
        units = []
        for k, chunk in enumerate(self.chunks):
            if tops[k] >= mark - TIE:
                n_blocks = len(chunk.block_levels)
                parts = self.counter.threads if n_blocks * layout.n_words > 2000 else 1
                cuts = np.linspace(0, n_blocks, parts + 1).astype(int)
                units += [
                    (k, int(a), int(b), mark) for a, b in pairwise(cuts) if a < b
                ]
        self.counter.map(settle, units)
        bits = np.full(self.counter.encoded.n_features, -np.inf)
        for chunk, bound, lanes in zip(self.chunks, self.bounds, open_lanes, strict=True):
            bits[chunk.packed[lanes]] = bound[lanes]
        feature = first_best(bits)
        return feature, float(bits[feature])
