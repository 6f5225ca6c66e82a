"""Sums over pairs by kind of column: contributions of a block of targets, and final scores."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fsframe_relief.engine.columns import Columns
from fsframe_relief.engine.neighbours import Rule, Target

MAX_LEVELS = 16
"""Discrete columns with more levels are compared code by code, not by masks of instances."""


class Lists(NamedTuple):
    """Neighbours of b targets: the first ``length[r]`` of ``numbers[r]``, with their weights."""

    numbers: NDArray[np.int32]
    weight: NDArray[np.float64]
    length: NDArray[np.int64]

    def of(self, targets: slice) -> Lists:
        """The lists of some targets."""
        return Lists._make(part[targets] for part in self)


class Gapped(NamedTuple):
    """Columns with gaps or a ramp from `first` on, for `score_kernels.gap_scores`.

    `values` are continuous, NaN where missing, or if `coded`, codes of discrete columns, `gap`
    where missing.
    """

    values: NDArray[Any]
    coded: bool
    gap: int
    floor: float
    slope: float
    first: int


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
        from fsframe_relief.engine import score_kernels as kernels

        self.columns = columns
        self.target = target
        levelled = columns.levelled
        self.by_masks = bool(
            levelled.columns.size
            and target.value is None
            and rule.uniform
            and (target.counts == 1).all()
            and columns.n_levels.max(initial=0) <= MAX_LEVELS
        )
        self.masks = _level_masks(columns) if self.by_masks else None
        self.gapped = levelled.columns[levelled.n_whole :]
        whole = levelled.columns[: 0 if self.by_masks else levelled.n_whole]
        listed: list[tuple[NDArray[np.intp], Any, Any]] = [
            (columns.plain.columns, columns.plain, kernels.plain_scores),
            (whole, levelled, kernels.level_scores),
        ]
        if columns.probability is not None:
            gapped = columns.probability
            listed.append((gapped.columns, gapped, kernels.probability_scores))
        self.listed = [kind for kind in listed if kind[0].size]
        """Columns summed over lists of pairs: their numbers, arrays and kernel."""

    def empty(self) -> NDArray[np.float64]:
        """The sums before the first block."""
        return np.zeros((1 if self.target.signed else 4, self.columns.n_features))

    def of_block(
        self, C: NDArray[np.float64], rows: NDArray[np.int64], whole: NDArray[np.float64] | None
    ) -> NDArray[np.float64]:
        """The contribution of the targets `rows` with weights `C`.

        If all weights are given as `whole`, the two directions of a pair are summed together, each
        pair listed once.
        """
        from fsframe_relief.engine import score_kernels as kernels

        out = self.empty()
        if self.listed:
            # Not filled: lists of few neighbours touch few of these pages.
            lists = Lists(
                np.empty(C.shape, dtype=np.int32), np.empty(C.shape), np.zeros(len(C), np.int64)
            )
            if whole is None:
                kernels.row_lists(C, lists)
            else:
                kernels.folded_lists(whole, int(rows[0]), int(rows[-1]) + 1, lists)
            out = self.of_lists(lists, rows)
        if self.target.signed:
            self._by_target(C, rows, out[0])
        else:
            self._regression_gaps(C, rows, out)
        return out

    def of_lists(self, lists: Lists, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """The contribution of targets with lists of neighbours; columns without gaps only."""
        out = self.empty()
        parts = [lists]
        if not self.target.signed:
            value = self.target.value
            assert value is not None
            m = int(lists.length.max(initial=0))
            live = np.arange(m) < lists.length[:, None]
            index = np.where(live, lists.numbers[:, :m], 0)
            weight = np.where(live, lists.weight[:, :m], 0.0)
            unlike = self.target.unlike(value[rows][:, None], value[index])
            parts = [Lists(index, w, lists.length) for w in (weight, weight * unlike)]
        for numbers, kind, kernel in self.listed:
            for place, some in enumerate(parts):
                part = np.zeros(numbers.size)
                kernel(kind, rows, some, part)
                out[place, numbers] = part
            if not self.target.signed:
                # columns with gaps have sums of their own
                out[2, numbers] = parts[1].weight.sum()
                out[3, numbers] = parts[0].weight.sum()
        return out

    def _by_target(
        self, C: NDArray[np.float64], rows: NDArray[np.int64], out: NDArray[np.float64]
    ) -> None:
        """Write columns with means per target: those with gaps, and levels compared by masks."""
        from fsframe_relief.engine import score_kernels as kernels

        columns, target = self.columns, self.target
        if target.alike is not None:
            self._alike_gaps(C, rows, out)
            return
        n_classes, levelled, special = len(target.prior), columns.levelled, columns.special
        if self.masks is not None:
            part = np.zeros(levelled.columns.size)
            groups = self.masks.groups(len(rows), n_classes)
            kernels.weight_groups(C, rows, target.y, target.bounds, groups)
            kernels.count_scores(levelled, self.masks, rows, target.y, target.bounds, groups, part)
            out[levelled.columns] = part
        gapped = [
            (special.columns, Gapped(special.values, False, 0, special.floor, special.slope, 0))
        ]
        if self.masks is None:
            codes = Gapped(levelled.codes, True, levelled.gap, 0.0, 1.0, levelled.n_whole)
            gapped.append((levelled.columns, codes))
        for numbers, kind in gapped:
            if kind.first < numbers.size:
                part = np.zeros(numbers.size)
                kernels.gap_scores(kind, rows, C, target.y, n_classes, part)
                out[numbers[kind.first :]] = part[kind.first :]

    def _regression_gaps(
        self, C: NDArray[np.float64], rows: NDArray[np.int64], out: NDArray[np.float64]
    ) -> None:
        """Add columns with gaps or a ramp in regression: known neighbours' weights sum to omega."""
        columns, value = self.columns, self.target.value
        assert value is not None
        if not columns.special.columns.size and not self.gapped.size:
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
        special, levelled = self.columns.special, self.columns.levelled
        if special.columns.size:
            d = np.abs(special.values[near] - special.values[i])
            known = ~np.isnan(d)
            diff = np.clip((d - special.floor) * special.slope, 0.0, 1.0)
            yield special.columns, np.where(known, diff, 0.0), known
        if self.gapped.size:
            codes = levelled.codes[:, levelled.n_whole :]
            known = (codes[near] != levelled.gap) & (codes[i] != levelled.gap)
            yield self.gapped, known & (codes[i] != codes[near]), known

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

    n, p = columns.levelled.codes.shape
    # Whole registers of words: the last ones stay empty.
    words = -(-n // 512) * 8
    start = np.concatenate([[0], np.cumsum(columns.n_levels)])[:-1].astype(np.int64)
    levels = _aligned((int(columns.n_levels.sum()), words))
    known = np.zeros((p - columns.levelled.n_whole, words), dtype=np.uint64)
    masks = Masks(levels=levels, start=start, known=known)
    level_masks(columns.levelled, masks)
    return masks


def _aligned(shape: tuple[int, ...]) -> NDArray[np.uint64]:
    """Zeros aligned such that no register of eight words lies across two lines of the cache."""
    size = int(np.prod(shape))
    room = np.zeros(size + 8, dtype=np.uint64)
    first = -room.ctypes.data % 64 // 8
    return room[first : first + size].reshape(shape)
