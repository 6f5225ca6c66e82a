"""Sums over pairs by kind of column: contributions of a block of targets, and final scores."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fsframe_relief.engine.columns import Columns
from fsframe_relief.engine.neighbours import Rule, Target

MAX_LEVELS = 16
"""Discrete columns with more levels are compared code by code, not by masks of instances."""


class Groups(NamedTuple):
    """Neighbours of b targets in groups, two for each class.

    Bit j of ``mask[r, g]`` is set for the member j; `total` and `size` (b, 2 n_classes) are the sum
    of their weights, and their number.
    """

    mask: NDArray[np.uint64]
    total: NDArray[np.float64]
    size: NDArray[np.float64]


class Masks(NamedTuple):
    """Instances with each code of each discrete column, as bits."""

    levels: NDArray[np.uint64]
    start: NDArray[np.int64]
    known: NDArray[np.uint64]

    def groups(self, b: int, n_classes: int) -> Groups:
        """Zeros for the groups of neighbours of b targets."""
        shape = (b, 2 * n_classes)
        return Groups(_aligned((*shape, self.levels.shape[1])), np.zeros(shape), np.zeros(shape))


class PairSums:
    """Sums over pairs by kind of column, block by block, and scores from them.

    Regression has four sums per feature (N_A, N_CA, N_C and N, the last two per feature because
    missing values leave targets out); classification has one.
    """

    def __init__(self, columns: Columns, target: Target, rule: Rule) -> None:
        self.columns = columns
        self.target = target
        ones = bool((target.counts == 1).all())
        levelled = columns.levelled.size
        self.by_masks = bool(
            levelled
            and target.value is None
            and rule.uniform
            and ones
            and columns.n_levels.max(initial=0) <= MAX_LEVELS
        )
        self.masks = _level_masks(columns) if self.by_masks else None
        self.n_whole = int((~columns.gaps).sum())

    def empty(self) -> NDArray[np.float64]:
        """The sums before the first block."""
        return np.zeros((1 if self.target.signed else 4, self.columns.n_features))

    def of_block(
        self, C: NDArray[np.float64], rows: NDArray[np.int64], whole: NDArray[np.float64] | None
    ) -> NDArray[np.float64]:
        """The contribution of the targets `rows` with weights `C`.

        If all weights are given as `whole`, the two directions of a pair are summed together.
        """
        columns = self.columns
        out = self.empty()
        listed = columns.plain.size or columns.probability is not None
        listed = listed or (columns.levelled.size and not self.by_masks and self.n_whole)
        if listed:
            self._listed(C, rows, whole, out)
        if self.target.signed:
            self._by_target(C, rows, out[0])
        else:
            self._regression_gaps(C, rows, out)
        return out

    def _listed(
        self,
        C: NDArray[np.float64],
        rows: NDArray[np.int64],
        whole: NDArray[np.float64] | None,
        out: NDArray[np.float64],
    ) -> None:
        """Add columns without gaps by lists of pairs; with `whole`, each pair is listed once."""
        from fsframe_relief.engine import score_kernels as kernels

        b, n = C.shape
        # Not filled: lists of few neighbours touch few of these pages.
        index, weight = np.empty((b, n), dtype=np.int32), np.empty((b, n))
        length = np.zeros(b, dtype=np.int64)
        if whole is None:
            kernels.row_lists(C, index, weight, length)
        else:
            kernels.folded_lists(whole, int(rows[0]), int(rows[-1]) + 1, index, weight, length)
        self._pairs(index, weight, length, rows, out)

    def of_lists(
        self,
        index: NDArray[np.int32],
        weight: NDArray[np.float64],
        length: NDArray[np.int64],
        rows: NDArray[np.int64],
    ) -> NDArray[np.float64]:
        """The contribution of targets with lists of neighbours; columns without gaps only."""
        out = self.empty()
        self._pairs(index, weight, length, rows, out)
        return out

    def _pairs(
        self,
        index: NDArray[np.int32],
        weight: NDArray[np.float64],
        length: NDArray[np.int64],
        rows: NDArray[np.int64],
        out: NDArray[np.float64],
    ) -> None:
        """Write the sums over listed pairs of the columns without gaps."""
        from fsframe_relief.engine import score_kernels as kernels

        columns = self.columns
        weights = [weight]
        if not self.target.signed:
            value = self.target.value
            assert value is not None
            m = int(length.max(initial=0))
            listed = np.arange(m) < length[:, None]
            index = np.where(listed, index[:, :m], 0)
            weight = np.where(listed, weight[:, :m], 0.0)
            weights = [weight]
            weights.append(weight * self.target.unlike(value[rows][:, None], value[index]))
        for place, w in enumerate(weights):
            if columns.plain.size:
                part = np.zeros(columns.plain.size)
                kernels.plain_scores(columns.scaled, rows, index, w, length, part)
                out[place, columns.plain] = part
            if columns.levelled.size and not self.by_masks:
                part = np.zeros(columns.levelled.size)
                kernels.level_scores(columns.codes, self.n_whole, rows, index, w, length, part)
                out[place, columns.levelled] = part
            chance = columns.probability
            if chance is not None:
                part = np.zeros(chance.columns.size)
                kernels.probability_scores(
                    chance, columns.floor, columns.slope, rows, index, w, length, part
                )
                out[place, chance.columns] = part
        if not self.target.signed:
            # columns with gaps have sums of their own
            complete = [columns.plain, columns.levelled[: self.n_whole]]
            if columns.probability is not None:
                complete.append(columns.probability.columns)
            for numbers in complete:
                out[2, numbers] = weights[1].sum()
                out[3, numbers] = weights[0].sum()

    def _by_target(
        self, C: NDArray[np.float64], rows: NDArray[np.int64], out: NDArray[np.float64]
    ) -> None:
        """Write columns with means per target: those with gaps, and levels compared by masks."""
        from fsframe_relief.engine import score_kernels as kernels

        columns, target = self.columns, self.target
        if target.alike is not None:
            self._alike_gaps(C, rows, out)
            return
        n_classes = len(target.prior)
        if columns.special.size:
            part = np.zeros(columns.special.size)
            kernels.gap_scores(
                columns.values, False, 0, columns.floor, columns.slope, 0, rows, C, target.y,
                n_classes, part,
            )  # fmt: skip
            out[columns.special] = part
        if self.masks is not None:
            part = np.zeros(columns.levelled.size)
            groups = self.masks.groups(len(rows), n_classes)
            kernels.weight_groups(C, rows, target.y, target.bounds, groups)
            kernels.count_scores(
                columns.codes, columns.gap, self.masks, self.n_whole, rows, target.y, target.bounds,
                groups, part,
            )  # fmt: skip
            out[columns.levelled] = part
        elif self.n_whole < columns.levelled.size:
            part = np.zeros(columns.levelled.size)
            kernels.gap_scores(
                columns.codes, True, columns.gap, 0.0, 1.0, self.n_whole, rows, C, target.y,
                n_classes, part,
            )  # fmt: skip
            out[columns.levelled[self.n_whole :]] = part[self.n_whole :]

    def _regression_gaps(
        self, C: NDArray[np.float64], rows: NDArray[np.int64], out: NDArray[np.float64]
    ) -> None:
        """Add columns with gaps or a ramp in regression: known neighbours' weights sum to omega."""
        columns, value = self.columns, self.target.value
        assert value is not None
        gapped = columns.levelled[self.n_whole :]
        if not columns.special.size and not gapped.size:
            return
        for r, i in enumerate(rows):
            near = np.flatnonzero(C[r])
            w, dy = C[r, near], self.target.unlike(value[near], value[i])
            for numbers, diff, known in self._gap_diffs(int(i), near):
                weights = np.where(known, w[:, None], 0.0)
                base = weights.sum(axis=0)
                weights *= np.divide(w.sum(), base, out=np.zeros_like(base), where=base > 0)
                out[0, numbers] += (weights * diff).sum(axis=0)
                out[1, numbers] += dy @ (weights * diff)
                out[2, numbers] += dy @ weights
                out[3, numbers] += weights.sum(axis=0)

    def _alike_gaps(
        self, C: NDArray[np.float64], rows: NDArray[np.int64], out: NDArray[np.float64]
    ) -> None:
        """Add columns with gaps or a ramp, with hits by value: means over known neighbours."""
        for r, i in enumerate(rows):
            near = np.flatnonzero(C[r])
            w, hit = C[r, near], self.target.hits(rows[r : r + 1], near)[0]
            for numbers, diff, known in self._gap_diffs(int(i), near):
                # Near and far ones of each kind have opposite signs.
                for group in (hit & (w > 0), hit & (w < 0), ~hit & (w > 0), ~hit & (w < 0)):
                    weights = np.where(known[group], w[group][:, None], 0.0)
                    base = weights.sum(axis=0)
                    means = (weights * diff[group]).sum(axis=0)
                    means = np.divide(means, base, out=np.zeros_like(base), where=base != 0)
                    out[numbers] += w[group].sum() * means

    def _gap_diffs(self, i: int, near: NDArray[np.intp]) -> Any:
        """(column numbers, diffs, known) of target i to `near`; diffs are 0 where not known."""
        columns = self.columns
        if columns.special.size:
            d = np.abs(columns.values[near] - columns.values[i])
            known = ~np.isnan(d)
            diff = np.clip((d - columns.floor) * columns.slope, 0.0, 1.0)
            yield columns.special, np.where(known, diff, 0.0), known
        if self.n_whole < columns.levelled.size:
            mine, theirs = columns.codes[i, self.n_whole :], columns.codes[near, self.n_whole :]
            known = (theirs != columns.gap) & (mine != columns.gap)
            yield columns.levelled[self.n_whole :], known & (mine != theirs), known

    def finish(self, total: NDArray[np.float64]) -> NDArray[np.float64]:
        """Scores from the sums of all blocks."""
        scores = total[0] if self.target.signed else relevance(*total)
        scores[self.columns.constant] = 0.0
        scores[self.columns.blank] = np.nan
        return scores


def relevance(
    a: NDArray[np.float64],
    ca: NDArray[np.float64],
    c: NDArray[np.float64],
    m: NDArray[np.float64],
) -> NDArray[np.float64]:
    """N_CA / N_C − (N_A − N_CA) / (m − N_C), the score for a numeric target."""
    # If all targets are equal, or maximally different, one term carries no information.
    unlike = np.divide(ca, c, out=np.zeros_like(ca), where=c > 0)
    rest = m - c
    return unlike - np.divide(a - ca, rest, out=np.zeros_like(ca), where=rest > 1e-15)


def _level_masks(columns: Columns) -> Masks:
    """Bit masks over the instances of every code of every discrete column."""
    from fsframe_relief.engine.score_kernels import level_masks

    n, p = columns.codes.shape
    # Whole registers of words: the last ones stay empty.
    words = -(-n // 512) * 8
    start = np.concatenate([[0], np.cumsum(columns.n_levels)])[:-1].astype(np.int64)
    levels = _aligned((int(columns.n_levels.sum()), words))
    n_whole = int((~columns.gaps).sum())
    known = np.zeros((p - n_whole, words), dtype=np.uint64)
    level_masks(columns.codes, columns.gap, start, levels, n_whole, known)
    return Masks(levels=levels, start=start, known=known)


def _aligned(shape: tuple[int, ...]) -> NDArray[np.uint64]:
    """Zeros aligned such that no register of eight words lies across two lines of the cache."""
    size = int(np.prod(shape))
    room = np.zeros(size + 8, dtype=np.uint64)
    first = -room.ctypes.data % 64 // 8
    return room[first : first + size].reshape(shape)
