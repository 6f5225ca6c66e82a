"""Scores from drawn instances and all rows of a table in parts, equal for any division."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.kernels import in_threads
from fsframe.method.run import Run
from fsframe_relief.engine.columns import scaled
from fsframe_relief.engine.neighbours import Nearest, Target, class_factors

if TYPE_CHECKING:
    from fsframe.table.columns_seen import ColumnsSeen

SPARE = 8
"""Empty places after the k-th distance: they fix the order in which weights are summed."""

MOST_LISTED = 4096
"""Length of the list of near rows of a target and class, or 8 k; longer where many are tied."""

LISTED = 20
"""Bytes per row in a list; five times as many where all rows of long lists have weights."""

_ROWS = 1 << 14

Floats = NDArray[np.float64]
Places = NDArray[np.int64]
Values = NDArray[np.float64] | NDArray[np.uint8]


@attrs.frozen(kw_only=True, eq=False)
class _Rows:
    """The rows of a table, block by block, scaled and transposed for the kernels.

    Parameters
    ----------
    matrix : RowSource
    real, codes : int arrays
        Continuous columns, and discrete ones; constant ones are in neither.
    summary : ColumnsSeen
    n_rows, n_read : int
        Rows of a block, and rows read at a time: small reads are slow in files that are compressed
        in large chunks.
    """

    matrix: Any
    real: NDArray[np.intp]
    codes: NDArray[np.intp]
    summary: ColumnsSeen
    n_rows: int
    n_read: int

    @property
    def as_bytes(self) -> bool:
        """Whether all columns are codes of a byte, which are compared faster."""
        low, high = self.summary.low[self.codes], self.summary.high[self.codes]
        fits = self.summary.whole[self.codes] & (high - low <= 255)
        return not self.real.size and bool(fits.all())

    def ready(self, block: NDArray[Any]) -> Values:
        """A block of rows, scaled and transposed to (n_real + n_codes, r)."""
        if self.as_bytes:
            low = self.summary.low[self.codes]
            coded = block.T[self.codes] - low.astype(block.dtype)[:, None]
            return np.ascontiguousarray(coded, dtype=np.uint8)
        values = np.asarray(block, dtype=np.float64)
        prepared = np.empty((self.real.size + self.codes.size, len(block)))
        every = np.arange(len(block))
        prepared[: self.real.size] = scaled(values, self.real, self.summary, every).T
        prepared[self.real.size :] = values[:, self.codes].T
        return prepared

    def blocks(self) -> Iterator[tuple[int, NDArray[Any]]]:
        """Yield the number of a block's first row, and its rows as stored."""
        at = 0
        for block in self.matrix.blocks(self.n_read):
            for first in range(0, len(block), self.n_rows):
                part = block[first : first + self.n_rows]
                yield at, part
                at += len(part)

    def some(self, numbers: Places) -> Iterator[tuple[slice, Values]]:
        """Yield slices of ascending row `numbers`, and these rows as (r, n_real + n_codes)."""
        for at, block in self.blocks():
            first, last = np.searchsorted(numbers, [at, at + len(block)])
            if last > first:
                yield slice(first, last), self.ready(block[numbers[first:last] - at]).T.copy()
            if last == len(numbers):
                return


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
        The table; it has no missing values.
    discrete : (n_features,) bool
    rule : Nearest
        Its ties share their places.
    target : Target
        Classes; its rows are in `order`.
    order : (n,) int
        The row of the table in each place of `target`.
    drawn : (m,) int64
        Places of the targets.
    run : Run
        Targets are processed in batches that fit into memory, in two or three passes each.

    Notes
    -----
    One pass lists the rows that are at most as far as the k-th nearest of each target and class,
    ties included (`near_rows`), from which the weight of every neighbour follows. Targets with more
    such rows than fit into a list are processed again with longer lists. A second pass adds weight
    times difference of each neighbour, rounded to 2^−60, as integers. So results do not depend on
    the division of the rows, on threads, on the size of a batch or on the method, and the error of
    a score is below 2^−61 for each pair of target and neighbour.
    """
    summary = matrix.facts
    constant = summary.low == summary.high
    real, codes = np.flatnonzero(~discrete & ~constant), np.flatnonzero(discrete & ~constant)
    p = real.size + codes.size
    n_groups = 2 if rule.pooled else len(target.prior)
    k = int(min(rule.k, len(target.y)))
    # Blocks as read, as doubles and transposed; targets with their lists.
    n_rows = int(np.clip(run.memory // 8 // (32 * max(1, len(summary.low))), 64, _ROWS))
    size = 3 * matrix.dtype.itemsize * max(1, len(summary.low))
    n_read = n_rows * max(1, run.memory // 8 // size // n_rows)
    rows = _Rows(
        matrix=matrix, real=real, codes=codes, summary=summary, n_rows=n_rows, n_read=n_read
    )
    room = run.memory // 4 // (LISTED * n_groups * max(1, len(drawn)))
    capacity = max(8 * k, min(MOST_LISTED, room))
    y = np.empty(len(order), np.int64)
    y[order] = target.y
    search = _Search(
        rows=rows, rule=rule, target=target, order=order, y=y, n_groups=n_groups, k=k, run=run
    )
    total = np.zeros(p, np.int64)
    waiting, done, listed = drawn, 0, LISTED
    while waiting.size:
        each = 9 * p + n_groups * (56 * (k + SPARE) + listed * capacity)
        size = int(max(1, run.memory // 2 // each))
        left = []
        for first in range(0, len(waiting), size):
            some = waiting[first : first + size]
            sums, lost = search.sums(some, capacity)
            total += sums
            left.append(some[lost])
            done += int((~lost).sum())
            run.progress(done, len(drawn), "targets compared with all rows")
        waiting = np.concatenate(left)
        capacity, listed = min(8 * capacity, len(y)), 5 * LISTED
    from fsframe_relief.engine.distance_kernels import UNIT

    scores = np.zeros(len(summary.low))
    scores[np.concatenate([real, codes])] = total / UNIT
    return scores


@attrs.frozen(kw_only=True, eq=False)
class _Search:
    """Targets that are compared with all rows, a batch at a time.

    Parameters
    ----------
    rows : _Rows
    rule, target, order, run
        As for `scores_over_parts`; threads divide the targets among them, which changes no bit.
    y : (n,) int64
        Class of every row.
    n_groups : int
        Classes; or two, hits and misses.
    k : int
        Number of neighbours in each group.
    """

    rows: _Rows
    rule: Nearest
    target: Target
    order: NDArray[np.intp]
    y: Places
    n_groups: int
    k: int
    run: Run

    def sums(self, places: Places, capacity: int) -> tuple[Places, NDArray[np.bool_]]:
        """The targets' contribution to every column, as integers, and whose lists are too short.

        `places` are those of the targets in `target`, `capacity` is the length of the lists.
        """
        own = self.order[places].astype(np.int64)
        targets = self._targets(own)
        near = near_rows(self, targets, own, self.target.y[places], capacity)
        kept = np.flatnonzero(~near.lost)
        lists = near.of(kept)
        best, edge, tied = lists.nearest(self.k + SPARE)
        weight, at_edge = self._weights(places[kept], best, edge, tied)
        return lists.sums(self.rows, targets[kept], best, edge, weight, at_edge), near.lost

    def _targets(self, own: Places) -> Values:
        """The targets' own values, (m, p), from the numbers of their rows."""
        kind: Any = np.uint8 if self.rows.as_bytes else np.float64
        targets = np.empty((len(own), self.rows.real.size + self.rows.codes.size), kind)
        order = np.argsort(own)
        for which, values in self.rows.some(own[order]):
            targets[order[which]] = values
        return targets

    def _weights(
        self, places: Places, best: Floats, edge: Floats, tied: NDArray[np.int64]
    ) -> tuple[Floats, Floats]:
        """Weights of rows nearer than the k-th, by place in `best`, and of ties with it.

        As `fsframe_relief.engine.neighbour_kernels.nearest_weights`, which has all rows.
        """
        from fsframe_relief.engine.distance_kernels import TIE

        nearer = best < (edge * (1 - TIE))[:, :, None]
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
        mine = np.zeros(len(best), np.int64) if self.rule.pooled else self.target.y[places]
        prior = np.array([0.5, 0.5]) if self.rule.pooled else self.target.prior
        is_own = np.arange(self.n_groups)[None] == mine[:, None]
        factor = class_factors(size, is_own, prior)
        factor *= self.target.omega[places][:, None]
        return weight * factor[:, :, None], at_edge * factor

    def _by_distance(self, best: Floats, d: Floats) -> Floats:
        """The weight of a neighbour at distance d among those of `best`, before ties share."""
        from fsframe_relief.engine.distance_kernels import TIE

        if self.rule.weighting == "equal":
            return np.ones_like(d)
        if self.rule.weighting == "distance":
            with np.errstate(divide="ignore"):
                return np.where(np.isfinite(d), 1.0 / d, 0.0)
        rank = np.empty_like(d)
        for t, g in np.ndindex(d.shape[:2]):
            rank[t, g] = np.searchsorted(best[t, g], d[t, g] * (1 - TIE), side="left")
        return np.asarray(np.exp(-((rank / self.rule.decay) ** 2)))


class NearRows(NamedTuple):
    """All rows at most as far as the k-th nearest of a group, and some more.

    Parameters
    ----------
    numbers, distances : (b, n_groups, capacity) int64, float64
        Lists of the rows' numbers, and their exact distances.
    sizes : (b, n_groups) int64
        Lengths of the lists.
    smallest : (b, n_groups, k) float64
        The smallest distances, ascending; rows beyond the k-th are left out.
    lost : (b,) bool
        Targets with more near rows than the lists can take.
    """

    numbers: Places
    distances: Floats
    sizes: Places
    smallest: Floats
    lost: NDArray[np.bool_]

    @classmethod
    def empty(cls, b: int, n_groups: int, capacity: int, k: int) -> NearRows:
        """Empty lists of the given capacity."""
        return cls(
            np.empty((b, n_groups, capacity), np.int64),
            np.empty((b, n_groups, capacity)),
            np.zeros((b, n_groups), np.int64),
            np.full((b, n_groups, k), np.inf),
            np.zeros(b, bool),
        )

    def of(self, targets: slice | NDArray[np.intp]) -> NearRows:
        """The lists of some targets; those of a slice share their memory."""
        return NearRows._make(part[targets] for part in self)

    def nearest(self, most: int) -> tuple[Floats, Floats, Places]:
        """The smallest distances of all targets, (b, n_groups, most), ascending, ∞ at the end.

        Then the k-th smallest (or the last; −1 without any), and how many rows are as far as that.
        """
        from fsframe_relief.engine import distance_kernels as kernels

        k = self.smallest.shape[2]
        best = np.full((*self.sizes.shape, most), np.inf)
        edge, tied = np.full(best.shape[:2], -1.0), np.zeros(best.shape[:2], np.int64)
        for t, g in np.ndindex(*best.shape[:2]):
            size = int(self.sizes[t, g])
            if not size:
                continue
            ascending = np.sort(self.distances[t, g, :size])
            best[t, g, : min(size, most)] = ascending[:most]
            e = edge[t, g] = ascending[min(size, k) - 1]
            tied[t, g] = (
                (ascending >= e * (1 - kernels.TIE)) & (ascending <= e * (1 + kernels.TIE))
            ).sum()
        return best, edge, tied

    def sums(
        self,
        rows: _Rows,
        targets: Values,
        best: Floats,
        edge: Floats,
        weight: Floats,
        at_edge: Floats,
    ) -> Places:
        """The neighbours' contribution to every column, as integers."""
        from fsframe_relief.engine import distance_kernels as kernels

        owners, numbers, weights = kernels.listed_weights(self, best, edge, weight, at_edge)
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
    search: _Search, targets: Values, own: Places, mine: Places, capacity: int
) -> NearRows:
    """The rows that may be near the `targets` (b, p) of a batch, after one pass over all rows.

    `own` are the numbers of their rows, which are no neighbours of themselves, `mine` their
    classes. O(b n p) time. Memory: 16 bytes for each place of a list, and a block of rows.
    """
    from fsframe_relief.engine import distance_kernels as kernels

    rows, pooled = search.rows, search.rule.pooled
    near = NearRows.empty(len(targets), search.n_groups, capacity, search.k)
    threads = max(1, min(search.run.threads, len(targets)))
    cuts = np.linspace(0, len(targets), threads + 1).astype(int).tolist()

    def add(at: int, across: Values, classes: Places, t: slice) -> None:
        kernels.add_near_rows(
            targets[t], own[t], across, rows.real.size, at, classes, mine[t], pooled, near.of(t),
        )  # fmt: skip

    for at, block in rows.blocks():
        classes = search.y[at : at + len(block)]
        of_block = partial(add, at, rows.ready(block), classes)
        in_threads(threads, of_block, [slice(*cut) for cut in pairwise(cuts)])
    return near
