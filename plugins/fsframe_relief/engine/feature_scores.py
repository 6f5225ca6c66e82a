"""Distances between instances, and scores of features: weights of neighbours times differences,
summed over pairs by kind of column.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fsframe.kernels import in_threads
from fsframe_relief.engine.columns import CACHED, ROW_BLOCK, Columns, row_block, run_blocks
from fsframe_relief.engine.neighbours import Nearest, Rule, Target

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
        complete = levelled.columns[: 0 if self.by_masks else levelled.n_whole]
        listed: list[tuple[NDArray[np.intp], Any, Any]] = [
            (columns.plain.columns, columns.plain, kernels.plain_scores),
            (complete, levelled, kernels.level_scores),
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
    O(b n p) time; if values are missing, as much memory as `out` in addition.
    """
    from fsframe_relief.engine.distance_kernels import (
        mismatch_distances,
        plain_distances,
        probability_distances,
        special_distances,
    )

    out[:, first:] = 0.0
    shared = np.zeros_like(out) if columns.shares else np.empty((0, 0))
    if columns.plain.columns.size:
        plain_distances(columns.plain.values, rows, first, out)
    if columns.levelled.columns.size:
        mismatch_distances(columns.levelled, rows, first, out, shared)
    if columns.special.columns.size:
        special_distances(columns.special, rows, first, out, shared)
    chance = columns.probability
    if chance is not None:
        probability_distances(chance, rows, first, out)
    if columns.shares:
        always = columns.plain.columns.size + columns.constant_weight
        if not columns.levelled.known.shape[1]:
            always += columns.levelled.columns.size
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

    in_threads(threads, block, range(0, n, width))
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
        Bound by which the algorithm is chosen, if `memory` is only one worker's share of it.
    threads : int
        The result does not depend on it.
    distances : (n, n) float64, optional
        The matrix of distances, if it is known and all rows are targets; it is overwritten.
    metric : Columns, optional
        The columns over which distances are computed, if not those that are scored.

    Returns
    -------
    (n_features,) float64
        NaN for a column without any known value, 0 for a constant one.

    Notes
    -----
    Classification: W_a = sum_i omega_i (mean miss diff - mean hit diff), misses by class with
    P(c) / (1 - P(y_i)). Regression: W_a = N_CA / N_C - (N_A - N_CA) / (1 - N_C).
    With all instances as targets and 8 n^2 bytes within half of `route`, distances are computed
    once per pair; otherwise rows of distances are computed in blocks of at most 64 targets and
    discarded. O(n^2 p) time; the sums are split by blocks of targets and added in order.
    """
    n = columns.n
    route = memory if route is None else route
    metric = columns if metric is None else metric
    every = rows is None
    targets = np.arange(n) if rows is None else rows
    same = distances is None and metric is columns
    if same and isinstance(rule, Nearest) and screening_pays(columns, rule, target, route):
        source = NearestBytes(columns, rule, target, route)
        if source.suffices():
            return _listed_scores(source, columns, rule, target, targets, threads)
    # With few neighbours, mutual ones are too rare to be worth searching for: each block of targets
    # is weighted and summed while it is in the cache.
    folds = not isinstance(rule, Nearest)
    width = row_block(n, columns.n_features)
    full = distances is not None or (every and 8 * n * n <= route // 2)
    if full:
        D = full_distances(metric, threads) if distances is None else distances
        mean = mean_of(D, target) if rule.needs_mean else 0.0

        def weigh_block(i0: int) -> None:
            block = np.arange(i0, min(n, i0 + width))
            rule.weigh(D[i0 : i0 + width], block, target, mean)

        if folds:
            in_threads(threads, weigh_block, range(0, n, width))
    else:
        D = None
        # A block holds distances, shared weights, and lists of neighbours: about 32 bytes a pair.
        width = int(np.clip(route // (8 * 32 * n), 1, width))
        threads = int(np.clip(memory // (32 * width * n), 1, threads))
        mean = mean_distance(metric, target, width, threads) if rule.needs_mean else 0.0

    sums = PairSums(columns, target, rule)

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
    for block_sums in run_blocks(part, range(0, len(targets), width), threads):
        total += block_sums
    return sums.finish(total)


def _listed_scores(
    source: NearestBytes,
    columns: Columns,
    rule: Rule,
    target: Target,
    targets: NDArray[np.int64],
    threads: int,
) -> NDArray[np.float64]:
    """Scores from lists of neighbours; for blocks that are not settled, from all distances."""
    sums = PairSums(columns, target, rule)

    def part(start: int) -> list[NDArray[np.float64]]:
        wide = targets[start : start + source.wide]
        lists, settled = source.listed(wide)
        block_sums = []
        for k in range(0, len(wide), source.block):
            some = slice(k, k + source.block)
            if settled[k]:
                block_sums.append(sums.of_lists(lists.of(some), wide[some]))
                continue
            C = distance_rows(columns, wide[some], np.empty((len(wide[some]), columns.n)))
            rule.weigh(C, wide[some], target, 0.0)
            block_sums.append(sums.of_block(C, wide[some], whole=None))
        return block_sums

    total = sums.empty()
    threads = min(threads, source.threads)
    for block_sums in run_blocks(part, range(0, len(targets), source.wide), threads):
        for each in block_sums:
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


LEVELS = 255
LEAST_ROWS = 2048
"""With fewer rows screening saves less than its lists cost."""
ROWS_PER_NEIGHBOUR = 20
"""With fewer rows, so many of them are neighbours that screening costs more than it saves."""
MOST_COLUMNS = 1024
"""With more columns the lists of candidates get long: rounding errors grow with the number of
columns, differences between distances with its square root."""
MOST_CANDIDATES = 1 / 16
"""Largest share of the rows whose exact distances are computed."""
BYTES = 24
"""Bytes per pair of a block, for row numbers, exact distances, and spare room."""

WIDE = 64
"""Minimum number of targets that are compared with all rows in one pass over the table."""
_PILOTS = 32


def screening_pays(columns: Columns, rule: Nearest, target: Target, memory: int) -> bool:
    """Whether exact distances only to instances that can be neighbours are faster than to all.

    Notes
    -----
    Measured on normal data with k = 10, in processor time: as fast as all exact distances with 2000
    rows, 1.6 times with 3000 rows of 300 columns, 2.3 to 3 times with 8192 rows of 64 to 600
    columns, 8 times with 100,000 rows of 30.
    """
    return bool(
        columns.n >= max(LEAST_ROWS, ROWS_PER_NEIGHBOUR * rule.k * len(target.prior))
        and 0 < columns.plain.columns.size <= MOST_COLUMNS
        and not columns.levelled.columns.size
        and not columns.special.columns.size
        and columns.probability is None
        and 2 * columns.n * columns.plain.columns.size <= memory // 4
    )


def _rounded(Z: NDArray[np.float64], out: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Write the bytes q = round(255 z) into `out` (n, p); return 2 (e_i + max e) for each row.

    e_i = sum_a |255 z_ia - q_ia|.
    """
    n, p = Z.shape
    error = np.empty(n)
    step = max(1, CACHED // p)
    for r in range(0, n, step):
        exact = Z[r : r + step] * LEVELS
        out[r : r + step] = rounded = np.rint(exact)
        exact -= rounded
        error[r : r + step] = np.abs(exact, out=exact).sum(axis=1)
    # one more for the rounding of all this
    return np.ceil(2 * (error + error.max())).astype(np.int64) + 1


class NearestBytes:
    """Exact nearest neighbours, from candidates found by distances of bytes.

    Notes
    -----
    With q = round(255 z) and e_i = sum_a |255 z_ia − q_ia|: from
    |255 |x − y| − |q_x − q_y|| <= |255 x − q_x| + |255 y − q_y| for every column, 255 d_ij is
    within e_i + e_j of the distance D_ij of bytes. If t is the k-th smallest D of some rows of a
    class, the k-th smallest 255 d is at most t + e_i + max e, and a row that near has
    D <= t + 2 (e_i + max e): all those are listed, ties included, and measured in doubles. So the
    limit may be taken from the rows seen so far, and only falls.

    One instruction takes 64 differences with AVX-512BW, 32 with AVX2. Memory: n p bytes twice, and
    lists of candidates. If more rows of a class may be near than a list holds (mostly equal rows),
    exact distances to all rows are computed for the targets of that block.
    """

    def __init__(self, columns: Columns, rule: Nearest, target: Target, memory: int) -> None:
        self.columns, self.rule, self.target = columns, rule, target
        n, p = columns.plain.values.shape
        self.words = -(-p // 8)
        codes = np.zeros((n, 8 * self.words), np.uint8)
        self.slack = _rounded(columns.plain.values, codes[:, :p])
        self.mine = codes.view(np.uint64)
        self.first = np.zeros(len(target.prior), np.int64)
        packed = []
        at = 0
        for c, (begin, end) in enumerate(zip(target.bounds[:-1], target.bounds[1:], strict=True)):
            blocks = -(-(end - begin) // 8)
            padded = np.zeros((blocks * 8, self.words), np.uint64)
            padded[: end - begin] = self.mine[begin:end]
            packed.append(padded.reshape(blocks, 8, self.words).transpose(0, 2, 1).ravel())
            self.first[c] = at
            at += packed[-1].size
        self.rows = np.concatenate(packed)
        # Number of targets whose contributions are summed before they are added to the others.
        self.block = int(np.clip(memory // (8 * BYTES * n), 1, ROW_BLOCK))
        self.wide = self.block * -(-WIDE // self.block)
        self.capacity = max(1024, 8 * rule.k)
        each = 24 * self.wide * self.capacity * len(target.prior)
        self.threads = max(1, memory // 4 // each)

    def suffices(self) -> bool:
        """Whether few enough rows are candidates, tested on some targets."""
        n = self.columns.n
        some = np.unique(np.linspace(0, n - 1, _PILOTS).astype(np.int64))
        starts, settled = self.candidates(some)[1:]
        return bool(settled.all() and starts[:, -1].mean() <= n * MOST_CANDIDATES)

    def candidates(
        self, rows: NDArray[np.int64]
    ) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.bool_]]:
        """Candidates of the targets `rows` by class, where classes begin, which are settled."""
        from fsframe_relief.engine import neighbour_kernels as kernels
        from fsframe_relief.engine.neighbour_kernels import TOGETHER

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

    def listed(self, rows: NDArray[np.int64]) -> tuple[Lists, NDArray[np.bool_]]:
        """Neighbours of the targets `rows`, and which of these are settled."""
        from fsframe_relief.engine import neighbour_kernels as kernels

        index, starts, settled = self.candidates(rows)
        lists = Lists(index, np.empty(index.shape), np.empty(len(rows), dtype=np.int64))
        kernels.listed_distances(self.columns.plain.values, rows, index, starts, lists.weight)
        self.rule.weigh_listed(lists.weight, index, rows, self.target, starts)
        kernels.keep_weighted(lists, starts)
        for first in range(0, len(rows), self.block):
            # The targets of a block are summed in one way, and so settled all together or not.
            some = slice(first, first + self.block)
            settled[some] = settled[some].all()
        return lists, settled
