"""Scores from drawn instances and all rows of a table in parts; exact for any division.

Candidate neighbours are screened by distances of bytes and decided in doubles. A continuous column
is a byte q = round(255 z), a discrete one a code, whose difference counts 255. With D_ij the sum
over columns and e_i the sum of |255 z − q| of row i, 255 d_ij is within e_i + e_j of D_ij. So a row
is among the k nearest of a class only if D_ij − e_j is at most the k-th smallest D_ij + e_j of that
class, plus 2 e_i: of the rows seen so far, too, and that limit only falls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.kernels.threads import in_threads
from fsframe.method.run import Run
from fsframe_relief.engine.neighbours import Nearest, Target, class_factors
from fsframe_relief.engine.table_values import ColumnSummary, scaled

SPARE = 8
"""Distances kept beyond the k-th, to detect ties at the k-th that are not in the list."""

MOST_REAL = 2048
"""Most continuous columns that are screened as bytes: rounding errors grow with their number, and
differences of distances with its square root."""

MOST_LISTED = 4096
"""Length of the list of candidate neighbours of a target and class; or 8 k."""

LISTED = 20
"""Bytes per candidate."""

_ROWS = 1 << 14

Floats = NDArray[np.float64]
Places = NDArray[np.int64]


def few_levels_over_parts(matrix: Any, limit: int) -> NDArray[np.bool_]:
    """Columns with at most `limit` distinct values, as `few_levels` of the table in memory."""
    p = len(matrix.names)
    distinct: dict[int, NDArray[Any]] = {}
    few = np.zeros(p, dtype=bool)
    for column in range(p):
        levels = matrix.facts.levels(column)
        if levels is None:
            distinct[column] = np.empty(0)
        else:
            few[column] = 0 < levels.size <= limit

    def update(block: NDArray[Any]) -> None:
        for column in list(distinct):
            values = block[:, column]
            distinct[column] = np.unique(np.append(distinct[column], values[~np.isnan(values)]))
            if distinct[column].size > limit:
                del distinct[column]

    if distinct:
        # A few rows decide for nearly all continuous columns.
        update(next(matrix.blocks(16 * limit)))
    for block in matrix.blocks() if distinct else ():
        update(block)
    few[[column for column, values in distinct.items() if values.size]] = True
    return few


@attrs.frozen(kw_only=True, eq=False)
class _Rows:
    """The rows of a table, block by block, scaled and transposed for the kernels.

    Parameters
    ----------
    matrix : RowSource
    real, codes : int arrays
        Continuous columns, and discrete ones; constant ones are in neither.
    summary : ColumnSummary
    n_rows, n_read : int
        Rows of a block, and rows read at a time: small reads are slow in files that are compressed
        in large chunks.
    use_bytes : bool
        Whether to screen rows by distances of bytes, where possible.
    """

    matrix: Any
    real: NDArray[np.intp]
    codes: NDArray[np.intp]
    summary: ColumnSummary
    n_rows: int
    n_read: int
    use_bytes: bool = True

    def ready(self, block: NDArray[Any]) -> Floats:
        """Some rows as (n_real + n_codes, r)."""
        low, high = self.summary.low, self.summary.high
        values = np.asarray(block, dtype=np.float64)
        prepared = np.empty((self.real.size + self.codes.size, len(block)))
        prepared[: self.real.size] = scaled(values, self.real, low, high, np.arange(len(block))).T
        prepared[self.real.size :] = values[:, self.codes].T
        return prepared

    def blocks(self) -> Iterator[tuple[int, NDArray[Any]]]:
        """Rows as stored, and the number of the first of them."""
        at = 0
        for block in self.matrix.blocks(self.n_read):
            for first in range(0, len(block), self.n_rows):
                part = block[first : first + self.n_rows]
                yield at, part
                at += len(part)

    def __iter__(self) -> Iterator[tuple[int, Floats]]:
        for at, block in self.blocks():
            yield at, self.ready(block)

    def some(self, numbers: Places) -> Iterator[tuple[slice, Floats]]:
        """Rows of ascending `numbers`: slices of them, and values (r, n_real + n_codes)."""
        for at, block in self.blocks():
            first, last = np.searchsorted(numbers, [at, at + len(block)])
            if last > first:
                yield slice(first, last), self.ready(block[numbers[first:last] - at]).T.copy()
            if last == len(numbers):
                return

    @property
    def as_bytes(self) -> bool:
        """Whether `coded` can screen rows: codes are bytes, rounding errors small."""
        low, high = self.summary.low[self.codes], self.summary.high[self.codes]
        fits = self.summary.whole[self.codes] & (high - low <= 255)
        return self.use_bytes and self.real.size <= MOST_REAL and bool(fits.all())

    def coded(self, block: NDArray[Any]) -> tuple[NDArray[np.uint8], Floats]:
        """Some rows as bytes, (n_real + n_codes, r), and the sum of their rounding errors."""
        low, high = self.summary.low, self.summary.high
        coded = np.empty((self.real.size + self.codes.size, len(block)), np.uint8)
        lost = np.zeros(len(block))
        if self.real.size:
            values = np.asarray(block, dtype=np.float64)
            exact = scaled(values, self.real, low, high, np.arange(len(block)))
            exact *= 255
            whole = np.rint(exact)
            coded[: self.real.size] = whole.T
            exact -= whole
            lost = np.abs(exact, out=exact).sum(axis=1)
        least = low[self.codes].astype(block.dtype)
        coded[self.real.size :] = block.T[self.codes] - least[:, None]
        return coded, lost


def scores_over_parts(
    matrix: Any,
    discrete: NDArray[np.bool_],
    rule: Nearest,
    target: Target,
    order: NDArray[np.intp],
    drawn: Places,
    run: Run,
) -> Floats:
    """The score of every column, from drawn targets and all rows of a table in parts.

    Parameters
    ----------
    matrix : RowSource
        Without missing values.
    discrete : (n_features,) bool
    rule : Nearest
        Ties share their places.
    target : Target
        Of classes; rows in `order`.
    order : (n,) int
        The row of the table in each place of `target`.
    drawn : (m,) int64
        Places of the targets.
    run : Run
        Targets are processed in batches that fit into memory, in two or three passes each.

    Notes
    -----
    Distances of bytes, whose error is bounded, screen the candidates for the k nearest of each
    target and class (`near_rows`), and distances in doubles decide, in one pass. Where bytes
    do not suffice (codes beyond 255, very many columns or equal rows), a pass keeps the k + 8
    smallest distances; they give the k-th, the rows nearer than it, and mostly the number of ties
    (otherwise a pass counts them), hence the weight of every neighbour. The last pass adds weight
    times difference of each neighbour, rounded to 2^−60, as integers. So results do not depend on
    the division of the rows, on threads, on the size of a batch or on the method, and the error of
    a score is below 2^−61 for each pair of target and neighbour.
    """
    facts = matrix.facts
    summary = ColumnSummary(facts.low, facts.high, facts.missing, facts.whole)
    constant = summary.low == summary.high
    real, codes = np.flatnonzero(~discrete & ~constant), np.flatnonzero(discrete & ~constant)
    p = real.size + codes.size
    n_groups = 2 if rule.pooled else len(target.prior)
    k = int(min(rule.k, len(target.y)))
    # Blocks as read, as doubles and transposed; targets with their lists.
    n_rows = int(np.clip(run.memory // 8 // (32 * max(1, len(facts.low))), 64, _ROWS))
    size = 3 * matrix.dtype.itemsize * max(1, len(facts.low))
    n_read = n_rows * max(1, run.memory // 8 // size // n_rows)
    rows = _Rows(
        matrix=matrix, real=real, codes=codes, summary=summary, n_rows=n_rows, n_read=n_read
    )
    room = run.memory // 4 // (LISTED * n_groups * max(1, len(drawn)))
    listed = max(8 * k, min(MOST_LISTED, room))
    each = 9 * p + n_groups * (48 * (k + SPARE) + LISTED * listed)
    batch = int(max(1, run.memory // 2 // each))
    y = np.empty(len(order), np.int64)
    y[order] = target.y
    total = np.zeros(p, np.int64)
    for first in range(0, len(drawn), batch):
        some = drawn[first : first + batch]
        total += _Batch(
            rows=rows, rule=rule, target=target, places=some, own=order[some].astype(np.int64),
            y=y, n_groups=n_groups, k=k, listed=listed, run=run,
        ).sums()  # fmt: skip
        run.progress(min(first + batch, len(drawn)), len(drawn), "targets compared with all rows")
    from fsframe_relief.engine.part_kernels import UNIT

    scores = np.zeros(len(facts.low))
    scores[np.concatenate([real, codes])] = total / UNIT
    return scores


@attrs.frozen(kw_only=True, eq=False)
class _Batch:
    """A batch of targets, compared with all rows."""

    rows: _Rows
    rule: Nearest
    target: Target
    places: Places
    own: Places
    y: Places
    n_groups: int
    k: int
    listed: int
    run: Run

    def sums(self) -> Places:
        """The contribution of these targets to every column, as integers."""
        from fsframe_relief.engine import part_kernels

        kernels: Any = part_kernels
        targets = self._targets()
        if self.rows.as_bytes:
            return self._screened(targets)
        m = len(self.own)
        best = np.full((m, self.n_groups, self.k + SPARE), np.inf)
        self._pass(targets, lambda t, *rows: kernels.keep_nearest(*rows, best[t]))
        filled = np.isfinite(best).sum(axis=2)
        last = np.clip(np.minimum(filled, self.k) - 1, 0, None)
        edge = np.take_along_axis(best, last[:, :, None], axis=2)[:, :, 0]
        edge[filled == 0] = -1.0
        low, high = edge * (1 - kernels.TIE), edge * (1 + kernels.TIE)
        tied = ((best >= low[:, :, None]) & (best <= high[:, :, None])).sum(axis=2)
        crowded = (filled == best.shape[2]) & (best[:, :, -1] <= high)
        if crowded.any():
            counted = np.zeros((m, self.n_groups), np.int64)
            self._pass(targets, lambda t, *rows: kernels.count_tied(*rows, edge[t], counted[t]))
            tied = counted
        weight, at_edge = self._weights(best, edge, low, tied)
        parts: list[Places] = []

        def add(t: slice, *rows: Any) -> None:
            part = np.zeros(targets.shape[1], np.int64)
            kernels.add_differences(*rows, edge[t], best[t], weight[t], at_edge[t], part)
            parts.append(part)

        total = np.zeros(targets.shape[1], np.int64)
        for _ in self._blocks(targets, add):
            total += sum(parts)
            parts.clear()
        return total

    def _screened(self, targets: Floats) -> Places:
        """`sums` after screening by distances of bytes, for targets whose lists are long enough."""
        from fsframe_relief.engine import part_kernels as kernels

        mine, groups = self.target.y[self.places], self.n_groups
        near = near_rows(
            self.rows, targets, self.own, self.y, mine, self.rule.pooled, groups, self.k,
            self.listed, self.run.threads,
        )  # fmt: skip
        total = np.zeros(targets.shape[1], np.int64)
        if near.lost.any():
            rows = attrs.evolve(self.rows, use_bytes=False)
            total += self._of(np.flatnonzero(near.lost), rows).sums()
        kept = np.flatnonzero(~near.lost)
        if not kept.size:
            return total
        part = self._of(kept, self.rows)
        best, edge, tied = near.nearest(kept, self.k + SPARE)
        weight, at_edge = part._weights(best, edge, edge * (1 - kernels.TIE), tied)
        return total + near.sums(kept, self.rows, targets[kept], best, edge, weight, at_edge)

    def _of(self, some: NDArray[np.intp], rows: _Rows) -> _Batch:
        """The batch of some of the targets."""
        return attrs.evolve(self, places=self.places[some], own=self.own[some], rows=rows)

    def _targets(self) -> Floats:
        """The targets' own values, (m, p)."""
        targets = np.empty((len(self.own), self.rows.real.size + self.rows.codes.size))
        order = np.argsort(self.own)
        for which, values in self.rows.some(self.own[order]):
            targets[order[which]] = values
        return targets

    def _pass(self, targets: Floats, work: Callable[..., None]) -> None:
        for _ in self._blocks(targets, work):
            pass

    def _blocks(self, targets: Floats, work: Callable[..., None]) -> Iterator[None]:
        """Do `work` with all rows, block by block, targets divided among threads."""
        mine = self.target.y[self.places]
        threads = max(1, min(self.run.threads, len(targets)))
        cuts = np.linspace(0, len(targets), threads + 1).astype(int)
        shares = [slice(*bound) for bound in pairwise(cuts)]
        for at, across in self.rows:
            numbers = np.arange(at, at + across.shape[1])

            def share(t: slice, across: Floats = across, numbers: Places = numbers) -> None:
                work(
                    t, targets[t], self.own[t], across, self.rows.real.size, numbers,
                    self.y[numbers], mine[t], self.rule.pooled,
                )  # fmt: skip

            in_threads(threads, share, shares)
            yield

    def _weights(
        self, best: Floats, edge: Floats, low: Floats, tied: NDArray[np.int64]
    ) -> tuple[Floats, Floats]:
        """Weights of rows nearer than the k-th, by place in `best`, and of ties with it.

        As `fsframe_relief.engine.neighbour_kernels.nearest_weights`, which has all rows.
        """
        nearer = best < low[:, :, None]
        left = self.k - nearer.sum(axis=2)
        share = np.where(tied > 0, np.minimum(1.0, left / np.maximum(tied, 1)), 0.0)
        weight = np.where(nearer, self._by_distance(best, best), 0.0)
        at_edge = share * self._by_distance(best, edge[:, :, None])[:, :, 0]
        if self.rule.weighting == "distance":
            # Neighbours at distance zero take all the weight.
            zero = best[:, :, 0] <= 0.0
            weight = np.where(zero[:, :, None], np.where(nearer, best <= 0.0, 0.0), weight)
            at_edge = np.where(zero, share * (edge <= 0.0), at_edge)
        size = weight.sum(axis=2) + tied * at_edge
        mine = np.zeros(len(best), np.int64) if self.rule.pooled else self.target.y[self.places]
        prior = np.array([0.5, 0.5]) if self.rule.pooled else self.target.prior
        is_own = np.arange(self.n_groups)[None] == mine[:, None]
        factor = class_factors(size, is_own, prior)
        factor *= self.target.omega[self.places][:, None]
        return weight * factor[:, :, None], at_edge * factor

    def _by_distance(self, best: Floats, d: Floats) -> Floats:
        """The weight of a neighbour at distance d among those of `best`, before ties share."""
        from fsframe_relief.engine.part_kernels import TIE

        if self.rule.weighting == "equal":
            return np.ones_like(d)
        if self.rule.weighting == "distance":
            with np.errstate(divide="ignore"):
                return np.where(np.isfinite(d), 1.0 / d, 0.0)
        rank = np.empty_like(d)
        for t, g in np.ndindex(d.shape[:2]):
            rank[t, g] = np.searchsorted(best[t, g], d[t, g] * (1 - TIE), side="left")
        return np.asarray(np.exp(-((rank / self.rule.decay) ** 2)))


@attrs.frozen(kw_only=True, eq=False)
class NearRows:
    """All rows at most as far as the k-th nearest of a group, and some more.

    Parameters
    ----------
    numbers, distances : (b, n_groups, capacity)
        Numbers of the rows, and their exact distances.
    sizes : (b, n_groups) int64
    lost : (b,) bool
        Targets with more candidates than the lists can take.
    k : int
        Number of neighbours in each group.
    """

    numbers: Places
    distances: Floats
    sizes: Places
    lost: NDArray[np.bool_]
    k: int

    def nearest(self, targets: NDArray[np.intp], most: int) -> tuple[Floats, Floats, Places]:
        """The smallest distances of some targets, (b, n_groups, most), ascending, ∞ at the end.

        Then the k-th smallest (or the last; −1 without any), and how many rows are as far as that.
        """
        from fsframe_relief.engine import part_kernels as kernels

        groups = self.sizes.shape[1]
        best = np.full((len(targets), groups, most), np.inf)
        edge, tied = np.full(best.shape[:2], -1.0), np.zeros(best.shape[:2], np.int64)
        for t, g in np.ndindex(*best.shape[:2]):
            size = int(self.sizes[targets[t], g])
            if not size:
                continue
            ascending = np.sort(self.distances[targets[t], g, :size])
            best[t, g, : min(size, most)] = ascending[:most]
            e = edge[t, g] = ascending[min(size, self.k) - 1]
            tied[t, g] = (
                (ascending >= e * (1 - kernels.TIE)) & (ascending <= e * (1 + kernels.TIE))
            ).sum()
        return best, edge, tied

    def sums(
        self,
        kept: NDArray[np.intp],
        rows: Any,
        targets: Floats,
        best: Floats,
        edge: Floats,
        weight: Floats,
        at_edge: Floats,
    ) -> Places:
        """What the neighbours of the targets `kept` give every column, in whole numbers."""
        from fsframe_relief.engine import part_kernels as kernels

        owners, numbers, weights = kernels.listed_weights(
            self.numbers[kept], self.distances[kept], self.sizes[kept], best, edge, weight, at_edge
        )
        order = np.argsort(numbers, kind="stable")
        owners, numbers, weights = owners[order], numbers[order], weights[order]
        wanted, place = np.unique(numbers, return_inverse=True)
        total = np.zeros(targets.shape[1], np.int64)
        for which, values in rows.some(wanted):
            first, last = np.searchsorted(place, [which.start, which.stop])
            kernels.add_listed(
                targets, owners[first:last], values, place[first:last] - which.start,
                weights[first:last], rows.real.size, total,
            )  # fmt: skip
        return total


def near_rows(
    rows: Any,
    targets: Floats,
    own_numbers: Places,
    y: Places,
    mine: Places,
    pooled: bool,
    n_groups: int,
    k: int,
    capacity: int,
    threads: int,
) -> NearRows:
    """The rows that may be near targets, after one pass over all rows.

    Parameters
    ----------
    rows : iterable of blocks
        With `blocks`, `coded` and `ready`.
    targets : (b, p) float64
        Continuous columns scaled to 0 … 1, then codes of discrete ones.
    own_numbers : (b,) int64
        Numbers of the targets' rows, which are no neighbours of themselves.
    y : (n,) int64
        Class of every row.
    mine : (b,) int64
        Classes of the targets.
    pooled : bool
        Whether there are two groups, hits and misses, in place of one for each class.
    k : int
    capacity : int
        Of the lists; above k.
    threads : int
        Each has targets of its own; they change no bit.

    Returns
    -------
    NearRows

    Notes
    -----
    O(b n p) differences of bytes, and of doubles only for rows that bytes do not rule out. Memory:
    20 bytes for each place of a list, and a block of rows as bytes and as it was read.
    """
    from fsframe_relief.engine import part_kernels as kernels

    b, n_real = len(targets), rows.real.size
    exact = targets[:, :n_real] * 255
    codes = np.empty(targets.shape, np.uint8)
    codes[:, :n_real] = np.rint(exact)
    codes[:, n_real:] = targets[:, n_real:] - rows.summary.low[rows.codes]
    # One more for the rounding of all this and for ties.
    slack = 2 * np.ceil(np.abs(exact - np.rint(exact)).sum(axis=1)).astype(np.int32) + 2
    top = np.full((b, n_groups, k), kernels.FAR, np.int32)
    listed = np.empty((b, n_groups * capacity), np.int32)
    near = NearRows(
        numbers=np.empty((b, n_groups, capacity), np.int64),
        distances=np.empty((b, n_groups, capacity)),
        sizes=np.zeros((b, n_groups), np.int64),
        lost=np.zeros(b, bool),
        k=k,
    )
    threads = max(1, min(threads, b))
    shares = [slice(*cut) for cut in pairwise(np.linspace(0, b, threads + 1).astype(int).tolist())]
    for at, block in rows.blocks():
        theirs, error = rows.coded(block)
        classes = y[at : at + len(block)]
        lost = np.ceil(error).astype(np.int32)
        counts = np.zeros(b, np.int64)

        def screen(t: slice, at: int = at, theirs: Any = theirs, classes: Any = classes,
                   lost: Any = lost, counts: Any = counts) -> None:  # fmt: skip
            kernels.screen(
                codes[t], own_numbers[t], theirs, n_real, at, classes, mine[t], pooled, slack[t],
                lost, top[t], near.lost[t], listed[t], counts[t],
            )  # fmt: skip

        in_threads(threads, screen, shares)
        wanted = np.unique(np.concatenate([listed[t, :size] for t, size in enumerate(counts)]))
        if not wanted.size:
            continue
        values = rows.ready(block[wanted]).T.copy()
        place = np.empty(len(block), np.int64)
        place[wanted] = np.arange(len(wanted))

        def add_found(t: slice, at: int = at, values: Any = values, place: Any = place,
                    classes: Any = classes, counts: Any = counts) -> None:  # fmt: skip
            kernels.add_exact_distances(
                targets[t], n_real, at, classes, mine[t], pooled, k, listed[t], counts[t], place,
                values, near.numbers[t], near.distances[t], near.sizes[t], near.lost[t],
            )  # fmt: skip

        in_threads(threads, add_found, shares)
    return near
