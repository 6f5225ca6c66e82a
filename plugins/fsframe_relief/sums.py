"""Scores of all features: neighbour weights times differences, summed over blocks of targets."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe_relief.blocks import ROW_BLOCK, run_blocks
from fsframe_relief.columns import Columns
from fsframe_relief.distances import distance_rows, full_distances
from fsframe_relief.neighbours import Nearest, Rule, Target
from fsframe_relief.trees import NearestTrees, tree_pays

__all__ = ["feature_scores", "mean_distance", "mean_of"]

TREE_BLOCK = 2048
MAX_LEVELS = 16
"""Discrete columns with more levels are compared code by code, not by masks of instances."""


@attrs.frozen(kw_only=True, eq=False)
class _Masks:
    """Instances with each code of each discrete column, as bits."""

    levels: NDArray[np.uint64]
    start: NDArray[np.int64]
    known: NDArray[np.uint64]


def feature_scores(
    columns: Columns,
    rule: Rule,
    target: Target,
    *,
    rows: NDArray[np.int64] | None = None,
    memory: int = 1 << 31,
    threads: int = 1,
    distances: NDArray[np.float64] | None = None,
    metric: Columns | None = None,
) -> NDArray[np.float64]:
    """The score of every feature, larger for more relevant.

    Parameters
    ----------
    columns : Columns
        The table, prepared.
    rule : Rule
        Neighbours and their weights.
    target : Target
        Classes or numeric target, counts, weights of the targets.
    rows : (m,) int64, optional
        The targets to use; all by default.
    memory : int
        Bound on temporaries in bytes.
    threads : int
        The result does not depend on it.
    distances : (n, n) float64, optional
        The matrix of distances where it is at hand; it is overwritten.
    metric : Columns, optional
        The columns that distances are taken over, where they are not those that are scored.

    Returns
    -------
    (n_features,) float64
        NaN for a column without any known value, 0 for a constant one.

    Notes
    -----
    Classification: W_a = sum_i omega_i (mean miss diff - mean hit diff), misses by class with
    P(c) / (1 - P(y_i)). Regression: W_a = N_CA / N_C - (N_A - N_CA) / (1 - N_C).
    With all instances as targets and 8 n^2 bytes within half of `memory`, distances are computed
    once per pair; otherwise rows of distances are made in blocks of at most 64 targets and thrown
    away. O(n^2 p) time; the sums are split by blocks of targets and added in order.
    """
    n = columns.n
    metric = columns if metric is None else metric
    every = rows is None
    targets = np.arange(n) if rows is None else rows
    if distances is None and metric is columns and tree_pays(columns, rule, target):
        return _tree_scores(columns, rule, target, targets, threads)
    # With few neighbours, pairs that are mutual are too rare to look for: each block of targets is
    # weighed and summed while it is in the cache.
    folds = not isinstance(rule, Nearest)
    full = distances is not None or (every and 8 * n * n <= memory // 2)
    if full:
        D = full_distances(metric, threads) if distances is None else distances
        mean = mean_of(D, target) if rule.needs_mean else 0.0
        width = ROW_BLOCK

        def settle(i0: int) -> None:
            block = np.arange(i0, min(n, i0 + ROW_BLOCK))
            rule.weigh(D[i0 : i0 + ROW_BLOCK], block, target, mean)

        for _ in run_blocks(settle, range(0, n if folds else 0, ROW_BLOCK), threads):
            pass
    else:
        D = None
        # A block holds distances, shared weights, and lists of neighbours: about 32 bytes a pair.
        width = int(np.clip(memory // (8 * 32 * n), 1, ROW_BLOCK))
        threads = int(np.clip(memory // (32 * width * n), 1, threads))
        mean = mean_distance(metric, target, width, threads) if rule.needs_mean else 0.0

    sums = _Sums(columns, target, rule)

    def part(start: int) -> NDArray[np.float64]:
        block = targets[start : start + width]
        if D is not None:
            C = D[start : start + width]
            if not folds:
                rule.weigh(C, block, target, mean)
            return sums.of_block(C, block, D if folds else None)
        C = np.empty((len(block), n))
        distance_rows(metric, block, C)
        rule.weigh(C, block, target, mean)
        return sums.of_block(C, block, whole=None)

    total = sums.empty()
    for found in run_blocks(part, range(0, len(targets), width), threads):
        total += found
    return sums.finish(total, float(target.omega[targets].sum()))


def _tree_scores(
    columns: Columns,
    rule: Any,
    target: Target,
    targets: NDArray[np.int64],
    threads: int,
) -> NDArray[np.float64]:
    """Scores with neighbours from trees; targets with too many ties look at all distances."""
    sums = _Sums(columns, target, rule)
    trees = NearestTrees(columns, rule, target)

    def part(start: int) -> NDArray[np.float64]:
        block = targets[start : start + TREE_BLOCK]
        index, weights, settled = trees.listed(block)
        out = sums.of_lists(index[settled], weights[settled], block[settled])
        for r in np.array_split(block[~settled], max(1, (~settled).sum() // ROW_BLOCK)):
            C = distance_rows(columns, r, np.empty((len(r), columns.n)))
            rule.weigh(C, r, target, 0.0)
            out += sums.of_block(C, r, whole=None)
        return out

    total = sums.empty()
    for found in run_blocks(part, range(0, len(targets), TREE_BLOCK), threads):
        total += found
    return sums.finish(total, float(target.omega[targets].sum()))


def mean_distance(columns: Columns, target: Target, width: int, threads: int) -> float:
    """The mean distance over all pairs of different instances, by blocks of rows."""
    from fsframe_relief.neighbour_kernels import row_moments

    n = columns.n

    def part(start: int) -> tuple[float, float]:
        block = np.arange(start, min(n, start + width))
        D = distance_rows(columns, block, np.empty((len(block), n)))
        total, weight = np.empty(len(block)), np.empty(len(block))
        row_moments(
            D, block, target.counts, total, np.empty(len(block)), np.empty(len(block)), weight
        )
        c = target.counts[block]
        return float(c @ total), float(c @ weight)

    total = pairs = 0.0
    for t, w in run_blocks(part, range(0, n, width), threads):
        total += t
        pairs += w
    return total / pairs if pairs > 0 else 0.0


def mean_of(D: NDArray[np.float64], target: Target) -> float:
    """The mean over all pairs of different instances of a whole matrix of distances."""
    from fsframe_relief.neighbour_kernels import row_moments

    n = len(D)
    total, weight = np.empty(n), np.empty(n)
    row_moments(D, np.arange(n), target.counts, total, np.empty(n), np.empty(n), weight)
    pairs = float(target.counts @ weight)
    return float(target.counts @ total) / pairs if pairs > 0 else 0.0


class _Sums:
    """Parts of the sums over pairs, by kind of column, and how they end as scores.

    Regression carries four sums per feature (N_A, N_CA, N_C and N, the last two per feature because
    missing values leave targets out); classification carries one.
    """

    def __init__(self, columns: Columns, target: Target, rule: Rule) -> None:
        self.columns = columns
        self.target = target
        ones = bool((target.counts == 1).all())
        levelled = columns.levelled.size
        self.by_masks = bool(
            levelled
            and target.signed
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
        """The part of the targets `rows`, weights `C`; `whole`, all weights, lets pairs fold."""
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
        """Columns without gaps: lists of pairs, each taken once where all weights are at hand."""
        from fsframe_relief import score_kernels as kernels

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
        self, index: NDArray[np.int32], weight: NDArray[np.float64], rows: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """The part of targets whose neighbours are given as lists; columns without gaps only."""
        out = self.empty()
        length = np.full(len(rows), index.shape[1], dtype=np.int64)
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
        """Sums over listed pairs, of the columns without gaps."""
        from fsframe_relief import score_kernels as kernels

        columns = self.columns
        weights = [weight]
        if self.target.value is not None:
            value = self.target.value
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
                    chance.values, chance.state, chance.first_state, chance.n_real, chance.level,
                    chance.chance, chance.y, rows, index, w, length, part,
                )  # fmt: skip
                out[place, chance.columns] = part
        if self.target.value is not None:
            out[2] = weights[1].sum()
            out[3] = weights[0].sum()

    def _by_target(
        self, C: NDArray[np.float64], rows: NDArray[np.int64], out: NDArray[np.float64]
    ) -> None:
        """Columns whose means are taken target by target: those with gaps, and masks of levels."""
        from fsframe_relief import score_kernels as kernels

        columns, target = self.columns, self.target
        n_classes = len(target.prior)
        if columns.special.size:
            part = np.zeros(columns.special.size)
            kernels.special_scores(
                columns.values, columns.n_real, columns.floor, columns.slope, rows, C, target.y,
                n_classes, part,
            )  # fmt: skip
            out[columns.special] = part
        if self.masks is not None:
            part = np.zeros(columns.levelled.size)
            kernels.count_scores(
                columns.codes, columns.gap, self.masks.levels, self.masks.start, self.masks.known,
                self.n_whole, rows, C, target.y, n_classes, part,
            )  # fmt: skip
            out[columns.levelled] = part
        elif self.n_whole < columns.levelled.size:
            part = np.zeros(columns.levelled.size)
            kernels.gap_scores(
                columns.codes, columns.gap, self.n_whole, rows, C, target.y, n_classes, part
            )
            out[columns.levelled[self.n_whole :]] = part[self.n_whole :]

    def _regression_gaps(
        self, C: NDArray[np.float64], rows: NDArray[np.int64], out: NDArray[np.float64]
    ) -> None:
        """Columns with gaps or a ramp in regression: weights of known neighbours sum to omega."""
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

    def _gap_diffs(self, i: int, near: NDArray[np.intp]) -> Any:
        """(column numbers, diffs, known) of target i to `near`; diffs are 0 where not known."""
        columns = self.columns
        if columns.special.size:
            d = np.abs(columns.values[near] - columns.values[i])
            known = ~np.isnan(d)
            diff = np.clip((d - columns.floor) * columns.slope, 0.0, 1.0)
            diff[:, columns.n_real :] = d[:, columns.n_real :] != 0
            yield columns.special, np.where(known, diff, 0.0), known
        if self.n_whole < columns.levelled.size:
            mine, theirs = columns.codes[i, self.n_whole :], columns.codes[near, self.n_whole :]
            known = (theirs != columns.gap) & (mine != columns.gap)
            yield columns.levelled[self.n_whole :], known & (mine != theirs), known

    def finish(self, total: NDArray[np.float64], omega: float) -> NDArray[np.float64]:
        """Scores from the sums of all blocks; `omega` is the whole weight of the targets."""
        if self.target.signed:
            scores = total[0]
        else:
            a, ca, c, m = total
            # All targets equal, or all as different as can be: that term has nothing to tell.
            unlike = np.divide(ca, c, out=np.zeros_like(ca), where=c > 0)
            rest = m - c
            alike = np.divide(a - ca, rest, out=np.zeros_like(ca), where=rest > 1e-15)
            scores = unlike - alike
        scores[self.columns.constant] = 0.0
        scores[self.columns.blank] = np.nan
        return scores


def _level_masks(columns: Columns) -> _Masks:
    """Bit masks over the instances of every code of every discrete column."""
    from fsframe_relief.mask_kernels import level_masks

    n, p = columns.codes.shape
    words = -(-n // 64)
    start = np.concatenate([[0], np.cumsum(columns.n_levels)])[:-1].astype(np.int64)
    levels = np.zeros((int(columns.n_levels.sum()), words), dtype=np.uint64)
    n_whole = int((~columns.gaps).sum())
    known = np.zeros((p - n_whole, words), dtype=np.uint64)
    level_masks(columns.codes, columns.gap, start, levels, n_whole, known)
    return _Masks(levels=levels, start=start, known=known)
