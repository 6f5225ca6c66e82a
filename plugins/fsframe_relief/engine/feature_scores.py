"""Distances between instances, and scores of features: weights of neighbours times differences."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fsframe_relief.engine.columns import Columns
from fsframe_relief.engine.neighbours import Nearest, Radius, Rule, Target
from fsframe_relief.engine.pair_sums import PairSums
from fsframe_relief.engine.screening import (
    NearestBytes,
    bytes_suffice,
    screening_pays,
)
from fsframe_relief.engine.table_values import row_block, run_blocks


def distance_rows(
    columns: Columns, rows: NDArray[np.int64], out: NDArray[np.float64], first: int = 0
) -> NDArray[np.float64]:
    """Distances from the instances `rows` to those from `first` on, written into `out`.

    Parameters
    ----------
    rows : (b,) int64
        Target instances.
    out : (b, n) float64, C order
        Columns before `first` are left as they are.

    Returns
    -------
    (b, n) float64
        `out`: sums of diffs over all columns (Manhattan); where values are missing, the mean over
        the columns known in both times the number of columns, NaN if they share none.

    Notes
    -----
    O(b n p) time, `out` and as much again where values are missing.
    """
    from fsframe_relief.engine.distance_kernels import (
        mismatch_distances,
        plain_distances,
        probability_distances,
        special_distances,
    )

    out[:, first:] = 0.0
    shared = np.zeros_like(out) if columns.shares else np.empty((0, 0))
    if columns.plain.size:
        plain_distances(columns.scaled, rows, first, out)
    if columns.levelled.size:
        mismatch_distances(
            columns.planes, columns.known, columns.segments, rows, first, out, shared
        )
    if columns.special.size:
        special_distances(
            columns.values, columns.n_real, columns.weight, columns.floor, columns.slope,
            rows, first, out, shared,
        )  # fmt: skip
    chance = columns.probability
    if chance is not None:
        probability_distances(
            chance.values, chance.state, chance.first_state, chance.n_real, columns.floor,
            columns.slope, chance.level, chance.chance, chance.y, rows, first, out,
        )  # fmt: skip
    if columns.shares:
        always = columns.plain.size + columns.constant_weight
        if not columns.known.shape[1]:
            always += columns.levelled.size
        if chance is not None:
            always += chance.columns.size
        known = shared[:, first:] + float(always)
        with np.errstate(divide="ignore", invalid="ignore"):
            # 0 / 0 is NaN: no shared column, no neighbour
            out[:, first:] /= known
        out[:, first:] *= columns.n_features
    return out


def full_distances(columns: Columns, threads: int = 1) -> NDArray[np.float64]:
    """The (n, n) matrix of distances, each pair computed once; 8 n^2 bytes."""
    n = columns.n
    D = np.empty((n, n))
    width = row_block(n, columns.n_features)

    def block(i0: int) -> None:
        i1 = min(n, i0 + width)
        distance_rows(columns, np.arange(i0, i1), D[i0:i1], i0)
        D[i1:, i0:i1] = D[i0:i1, i1:].T

    for _ in run_blocks(block, range(0, n, width), threads):
        pass
    return D


def feature_scores(
    columns: Columns,
    rule: Rule,
    target: Target,
    *,
    rows: NDArray[np.int64] | None = None,
    memory: int = 1 << 31,
    route: int | None = None,
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
    route : int, optional
        The bound by which the way is chosen, where `memory` is one worker's share of it.
    threads : int
        The result does not depend on it.
    distances : (n, n) float64, optional
        The matrix of distances where it is at hand and `rows` are all; it is overwritten.
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
    route = memory if route is None else route
    metric = columns if metric is None else metric
    every = rows is None
    if distances is not None and not every:
        raise ValueError("distances at hand are for all rows as targets")
    targets = np.arange(n) if rows is None else rows
    same = distances is None and metric is columns
    pays = same and screening_pays(columns, rule, target, route)
    if pays and isinstance(rule, Nearest) and bytes_suffice(columns, rule, target, route):
        source = NearestBytes(columns, rule, target, route)
        return _listed_scores(source, columns, rule, target, targets, threads)
    # With few neighbours, pairs that are mutual are too rare to look for: each block of targets is
    # weighed and summed while it is in the cache.
    folds = not isinstance(rule, Nearest)
    width = row_block(n, columns.n_features)
    full = distances is not None or (every and 8 * n * n <= route // 2)
    if full:
        D = full_distances(metric, threads) if distances is None else distances
        mean = mean_of(D, target) if rule.needs_mean else 0.0

        def weigh_block(i0: int) -> None:
            block = np.arange(i0, min(n, i0 + width))
            rule.weigh(D[i0 : i0 + width], block, target, mean)

        for _ in run_blocks(weigh_block, range(0, n if folds else 0, width), threads):
            pass
    else:
        D = None
        # A block holds distances, shared weights, and lists of neighbours: about 32 bytes a pair.
        width = int(np.clip(route // (8 * 32 * n), 1, width))
        threads = int(np.clip(memory // (32 * width * n), 1, threads))
        mean = mean_distance(metric, target, width, threads) if rule.needs_mean else 0.0

    sums = PairSums(columns, target, rule)
    if (
        isinstance(rule, Radius)
        and D is None
        and metric is columns
        and sums.whole_distances_suffice
    ):
        wide = width * _blocks_together(n, len(target.prior), width, memory // threads)

        def parts(start: int) -> list[NDArray[np.float64]]:
            return sums.of_radius(targets[start : start + wide], rule, mean, width)

        total = sums.empty()
        for several in run_blocks(parts, range(0, len(targets), wide), threads):
            for found in several:
                total += found
        return sums.finish(total)

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
    return sums.finish(total)


def _blocks_together(n: int, n_classes: int, width: int, memory: int) -> int:
    """Blocks of `width` targets whose distances and masks are made together: at most four."""
    each = width * (2 * n + n // 4 * n_classes)
    return int(np.clip(memory // (8 * max(1, each)), 1, 4))


def _listed_scores(
    source: NearestBytes,
    columns: Columns,
    rule: Rule,
    target: Target,
    targets: NDArray[np.int64],
    threads: int,
) -> NDArray[np.float64]:
    """Scores from lists of neighbours; blocks left unsettled look at all distances."""
    sums = PairSums(columns, target, rule)

    def part(start: int) -> list[NDArray[np.float64]]:
        wide = targets[start : start + source.wide]
        index, weights, length, settled = source.listed(wide)
        found = []
        for k in range(0, len(wide), source.block):
            some = slice(k, k + source.block)
            if settled[k]:
                found.append(sums.of_lists(index[some], weights[some], length[some], wide[some]))
                continue
            C = distance_rows(columns, wide[some], np.empty((len(wide[some]), columns.n)))
            rule.weigh(C, wide[some], target, 0.0)
            found.append(sums.of_block(C, wide[some], whole=None))
        return found

    total = sums.empty()
    threads = min(threads, source.threads)
    for found in run_blocks(part, range(0, len(targets), source.wide), threads):
        for each in found:
            total += each
    return sums.finish(total)


def mean_distance(columns: Columns, target: Target, width: int, threads: int) -> float:
    """The mean distance over all pairs of different instances, by blocks of rows."""
    n = columns.n

    def part(start: int) -> tuple[float, float]:
        block = np.arange(start, min(n, start + width))
        D = distance_rows(columns, block, np.empty((len(block), n)))
        return _sum_and_pairs(D, block, target)

    total = pairs = 0.0
    for t, w in run_blocks(part, range(0, n, width), threads):
        total += t
        pairs += w
    return total / pairs if pairs > 0 else 0.0


def mean_of(D: NDArray[np.float64], target: Target) -> float:
    """The mean over all pairs of different instances of a whole matrix of distances."""
    total, pairs = _sum_and_pairs(D, np.arange(len(D)), target)
    return total / pairs if pairs > 0 else 0.0


def _sum_and_pairs(
    D: NDArray[np.float64], rows: NDArray[np.int64], target: Target
) -> tuple[float, float]:
    """Sum of the distances of `rows` to other instances, copies counted, and number of pairs."""
    from fsframe_relief.engine.neighbour_kernels import row_moments

    total, weight, *_ = row_moments(D, rows, target.counts)
    counts = target.counts[rows]
    return float(counts @ total), float(counts @ weight)
