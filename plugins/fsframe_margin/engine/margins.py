"""Expected margins over all pairs of rows: the cost of eq. 3.5 after step 1, and its gradient.

After step 1 (eq. 3.6) the cost is G(W) = σ Σ_n o_n [LSE_m(−q/σ) − LSE_h(−q/σ)], whose gradient
is the Σ of Theorem 3.1. `PairSpace` holds everything that does not depend on W;
`row_margins` are the expected margins of single rows (IM4E, LOGO).
"""

from __future__ import annotations

from functools import cached_property, partial
from typing import Any, NamedTuple

import attrs
import numpy as np
import scipy
from numpy.typing import NDArray
from scipy.special import expit, logsumexp, xlogy

from fsframe.errors import DataError
from fsframe.kernels.compiled import njit
from fsframe.method.run import Run
from fsframe_margin.engine import linear_kernels, neighbour_shares, pair_blocks
from fsframe_margin.engine.linear_kernels import Measure, add_weighted, weighted_difference
from fsframe_margin.engine.neighbour_shares import (
    ELEMENTWISE,
    SMALLEST_SUM,
    ClassRanges,
    Shares,
    exp_nonpositive,
)
from fsframe_margin.engine.pair_blocks import upper_tiles
from fsframe_margin.engine.training import STORED_ROWS, Indicators, RowChunks, Training

Floats = NDArray[np.float64]

_CHUNK, _LEAST_CHUNK, _CHUNK_WORK = 1 << 16, 1 << 12, 1 << 25
"""Maximum and minimum number of pairs per unit of work, and pairs × features² in between."""

_COPIED = 256
"""Number of columns that are copied at a time."""

_KEPT_DIFFERENCES = 1 << 22
"""Maximum size in bytes of differences that are kept; reading more takes longer than computing.

Measured at 50 × 150 to 300 × 10: up to 3.6 MB both passes take 0.66 to 0.96 of the time, at 6.4 MB
(200 × 40) 1.11.
"""

_STREAMED_CHUNKS = 64
"""Maximum number of units of work if distances are not stored: each returns (n,) arrays."""

_SHIFTED_PAIRS = 1 << 18
"""Pairs per unit of work if sums are shifted."""

_EPSILON = float(np.finfo(float).eps)
_PROBED = 16
"""Number of rows tested to decide whether sums without a shift are accurate."""


def _keeps_pairs(n: int, memory: int) -> bool:
    """Whether the distances of all pairs of n rows, 48 n² bytes with temporaries, are stored."""
    return n <= STORED_ROWS and 48 * n * n <= memory


def pair_memory(run: Run, n: int) -> int:
    """The memory bound for a `PairSpace` over n rows, the same for any number of workers.

    Raises
    ------
    RequestError
        If the space would then take more than this fit's share of memory.
    """
    if _keeps_pairs(n, run.route):
        run.must_hold(48 * n * n, f"distances between all pairs of {n} rows", "use fewer rows")
    return run.route


@attrs.define
class Point:
    """A point of a descent: the weights, their cost G, and the log-sums of every row.

    `measured` holds q over all pairs, or None if it is recomputed in every pass.
    """

    weights: Any
    measured: Floats | None
    cost: float
    log_hits: Floats
    log_misses: Floats


class PairSpace(RowChunks):
    """All pairs of rows of one table, sorted by class, with the weights of rows and neighbours.

    Parameters
    ----------
    X : (n, A) float64
        Scaled rows.
    y : (n,) int
        Class codes.
    outer : (n,) float64, optional
        Weight of each row in the outer sum, eq. 3.19's D times the bootstrap count; 1 by default.
    count : (n,) float64, optional
        Weight of each row as a neighbour, α ∝ count·exp(−q/σ); 1 by default.
    threads : int
        Threads within a pass; bits do not depend on it.
    memory : int
        Bound in bytes; decides whether q over all pairs is stored.
    linear : bool
        Weights are a vector w and q = wᵀ|x_i − x_j| (IM4E), not a matrix.
    steps : (A,) float64, optional
        The step between different levels of nominal columns, which hold codes; 0 elsewhere.

    Raises
    ------
    DataError
        If fewer than two classes are present, so that no row has a miss, or no row has a hit.

    Notes
    -----
    One pass costs N²/2 pairs × A(A+1)/2 products for q and the same for Σ, and N² exponentials.
    The only row of a class has no hit, hence no margin: it is left out of the outer sum but remains
    a neighbour of others. A row drawn twice is one row, and never its own hit.
    """

    def __init__(
        self,
        X: Floats,
        y: NDArray[np.integer],
        outer: Floats | None = None,
        count: Floats | None = None,
        *,
        threads: int = 1,
        memory: int = 1 << 31,
        linear: bool = False,
        steps: Floats | None = None,
    ) -> None:
        n, features = X.shape
        self.indicators = Indicators.of(X, steps)
        if self.indicators is not None:
            X = self.indicators.expand(X)
        self.order = np.argsort(y, kind="stable")
        labels = np.asarray(y)[self.order]
        begin = np.searchsorted(labels, labels, side="left")
        end = np.searchsorted(labels, labels, side="right")
        self.labels = labels
        present = np.unique(labels)
        if present.size < 2:
            raise DataError(
                "only one class is present, so no row has a miss and there is no margin; "
                "a margin-based method needs at least two classes"
            )
        ones = np.ones(n)
        self.count = np.ascontiguousarray((ones if count is None else count)[self.order], float)
        self.rows = ClassRanges(self.count, begin, end)
        self.outer = np.ascontiguousarray((ones if outer is None else outer)[self.order], float)
        self.alone = end - begin < 2
        self.outer = np.where(self.alone, 0.0, self.outer)
        if not self.outer.any():
            raise DataError(
                "no row has both a weight and another member of its class, so there is no margin"
            )
        self.total = float(self.outer.sum())
        self.features = features
        self.width = X.shape[1]
        padded = self.width if linear else self.width + self.width % 2
        self.XT = np.zeros((padded, n))
        for a in range(0, self.width, _COPIED):
            self.XT[a : min(a + _COPIED, self.width)] = X[self.order, a : a + _COPIED].T
        self.linear = linear
        self.stored = _keeps_pairs(n, memory)
        per_pair = 1 if linear else self.width**2
        pairs = min(_CHUNK, max(_LEAST_CHUNK, _CHUNK_WORK // per_pair))
        super().__init__(n, pairs, None if self.stored else _STREAMED_CHUNKS, threads)

    @classmethod
    def of(cls, training: Training, run: Run, *, linear: bool = False) -> PairSpace:
        """All pairs of the rows of `training`, with the threads and memory of `run`."""
        return cls(
            training.X, training.y, training.outer, training.count,
            threads=run.threads, memory=pair_memory(run, len(training.y)), linear=linear,
            steps=training.steps,
        )  # fmt: skip

    def expanded(self, weights: Floats) -> Floats:
        """Weights of features as those of the columns of `XT`."""
        return weights if self.indicators is None else self.indicators.expand_weights(weights)

    def new_rows(self, rows: Floats) -> Floats:
        """Rows (m, features) in the columns of `XT`, as (m, len(XT))."""
        if self.indicators is not None:
            rows = self.indicators.expand(rows)
        padded = np.zeros((len(rows), len(self.XT)))
        padded[:, : self.width] = rows
        return padded

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.XT.shape[1]

    def measure(self, weights: Floats) -> Floats:
        """q over all pairs i < j as (n, n), rows sorted by class; zero elsewhere."""
        q = np.zeros((self.n_rows, self.n_rows))
        if self.linear:
            w = self.expanded(weights)
            self.each_chunk(lambda a, b: linear_kernels.pair_manhattan(self.XT, w, q, a, b))
            return q
        by = self.measured_by(weights)
        if self.differences is None or by.XT is not self.XT:
            self.each_chunk(lambda a, b: pair_blocks.pair_quadratics(by.XT, by.U, q, a, b))
        else:
            pair_blocks.quadratics_of(self.differences, by.U, q)
        return q

    @cached_property
    def differences(self) -> Floats | None:
        """|x_i − x_j| of all pairs, or None if they are too large or are several chunks of work."""
        size = 4 * self.n_rows * (self.n_rows - 1) * len(self.XT)
        if self.linear or not self.stored or len(self.chunks) > 1 or size > _KEPT_DIFFERENCES:
            return None
        return pair_blocks.all_differences(self.XT)

    def measured_by(self, weights: Floats) -> Measure:
        """The measure by `weights`, of all columns unless at most half have any, as after pruning.

        Only for distances between the rows of this space.
        """
        if self.linear:
            return self.whole_measure(weights)
        W = np.ascontiguousarray(self.expanded(weights))
        used = pair_blocks.weighted_columns(W)
        if not used.size:
            return Measure(self.XT, upper_tiles(W, len(self.XT)), False)
        return Measure(self.XT[used], upper_tiles(W[np.ix_(used, used)], used.size), False)

    def point(self, weights: Floats, sigma: float) -> Point:
        """The cost at `weights`, with what the gradient needs."""
        if self.stored:
            return self.point_at(weights, self.measure(weights), sigma)
        hits, misses = self._streamed_log_sums(weights, sigma)
        cost = neighbour_shares.cost_of(hits, misses, self.alone, self.outer)
        return Point(weights, None, sigma * cost, hits, misses)

    def point_at(self, weights: Any, q: Floats, sigma: float) -> Point:
        """The point at `weights`, whose distances are q."""
        logs, cost = self.log_sums(q, q, 1.0 / sigma, 0.0)
        return Point(weights, q, sigma * cost, logs[0], logs[1])

    def log_sums(self, first: Floats, second: Floats, a: float, b: float) -> tuple[Floats, float]:
        """log Σ count·exp(−q/σ) over hits and misses of every row, and the cost over σ.

        q/σ = a·first + b·second.
        """
        rows = self.rows
        both = self.summed(
            (2, self.n_rows),
            lambda out, i, j: neighbour_shares.direct_sums(first, second, a, b, rows, out, i, j),
        )
        cost = neighbour_shares.settled(both, self.alone, self.outer)
        if cost == cost:
            return both, cost
        one, other = first + first.T, second + second.T
        self.each_chunk(lambda i, j: neighbour_shares.log_sums(one, other, a, b, rows, both, i, j))
        return both, neighbour_shares.cost_of(both[0], both[1], self.alone, self.outer)

    def _streamed_log_sums(self, weights: Floats, sigma: float) -> tuple[Floats, Floats]:
        """`log_sums` of distances that are not stored; each thread holds a few rows of them.

        The distance of each pair is computed once, and its exponential is used for both rows. Rows
        whose sums are too small to be accurate are computed again with a shift; if this applies to
        any of a few tested rows, all rows are computed with a shift at once.
        """
        n = self.n_rows
        logs = np.empty((2, n))
        probed = np.unique(np.linspace(0, n - 1, _PROBED).astype(np.intp))
        self._shifted_log_sums(weights, sigma, probed, logs)
        least = np.minimum(np.where(self.alone, np.inf, logs[0]), logs[1])[probed].min()
        if not least >= np.log(SMALLEST_SUM):
            self._shifted_log_sums(weights, sigma, np.arange(n), logs)
            return logs[0], logs[1]
        measure = self.measured_by(weights)

        def sums(out: Floats, i: int, j: int) -> None:
            linear_kernels.streamed_sums(measure, 1.0 / sigma, self.rows, out, i, j)

        both = self.summed((2, n), sums)
        both[0, self.alone] = 1.0
        small = np.flatnonzero(both.min(axis=0) < SMALLEST_SUM)
        logs = np.log(np.maximum(both, SMALLEST_SUM))
        logs[0, self.alone] = -np.inf
        self._shifted_log_sums(weights, sigma, small, logs)
        return logs[0], logs[1]

    def _shifted_log_sums(
        self, weights: Floats, sigma: float, some: NDArray[np.intp], logs: Floats
    ) -> None:
        """Write the log-sums of some rows, each shifted by its smallest distance."""
        measure, size = self.whole_measure(weights), max(1, _SHIFTED_PAIRS // self.n_rows)

        def part(first: int) -> None:
            linear_kernels.streamed_log_sums(
                measure, 1.0 / sigma, self.rows, logs, some[first : first + size]
            )

        self.each(part, range(0, len(some), size))

    def shares(self, point: Point, sigma: float, outer: Floats | None = None) -> Shares:
        """The quantities besides q that the coefficients c_ij of Σ = Σ_ij c_ij d_ij d_ijᵀ need."""
        outer = self.outer if outer is None else outer
        misses = point.log_misses
        hits, hit_rate, miss_rate = neighbour_shares.row_rates(
            point.log_hits, misses, self.alone, outer
        )
        ends, inverse = self.rows.end, 1.0 / sigma
        return Shares(outer, self.count, hits, misses, hit_rate, miss_rate, ends, inverse)

    @property
    def negligible(self) -> float:
        """Coefficients below this size may be neglected.

        Together they are less than one unit roundoff of Σ |c_ij| = 2 Σ_n o_n.
        """
        return _EPSILON * self.total / self.n_rows**2

    def gradient(self, point: Point, sigma: float, outer: Floats | None = None) -> Floats:
        """Σ of Theorem 3.1 at `point`: (A, A) symmetric, or the vector u for linear weights.

        `outer` (rows sorted by class) replaces the outer weights of the space.
        """
        XT, q, by = self.XT, point.measured, self.shares(point, sigma, outer)
        if q is None:
            if self.linear:
                w = self.expanded(point.weights)
                add = partial(linear_kernels.streamed_means, XT, w, by)
            else:
                measure = self.whole_measure(point.weights)
                add = partial(linear_kernels.streamed_scatter, measure, by, self.negligible)
        elif self.linear:
            add = partial(linear_kernels.pair_means, XT, q, by)
        elif self.differences is None:
            add = partial(pair_blocks.pair_scatter, XT, q, by, self.negligible)
        else:
            add = partial(pair_blocks.scatter_of, self.differences, XT, q, by, self.negligible)
        if self.linear:
            return self._summed_by_feature(self.summed((self.width,), add))
        total = self.summed((len(XT),) * 2, add)
        return self._summed_by_feature(pair_blocks.mirrored(total, self.width))

    def margin(self, point: Point, sigma: float, outer: Floats | None = None) -> float:
        """Expected margin per row at `point`: Σ_n o_n (Σ_m β_nm q_nm − Σ_h α_nh q_nh) / N.

        It is <W, −Σ>/N, with N the sum of the outer weights of the space; `outer` (rows sorted by
        class) replaces those in Σ. One exponential per pair if distances are stored, otherwise
        one pass.
        """
        if point.measured is None:
            along = float(np.vdot(self.gradient(point, sigma, outer), point.weights))
        else:
            q, by = point.measured, self.shares(point, sigma, outer)

            def add(out: Floats, i: int, j: int) -> None:
                neighbour_shares.distances_by_coefficients(q, by, out, i, j)

            along = float(self.summed((1,), add)[0])
        return -along / self.total

    def _summed_by_feature(self, values: Floats) -> Floats:
        """Values of the columns of `XT` summed by feature, along every axis."""
        if self.indicators is None:
            return values
        return self.indicators.sum_blocks(values, tuple(range(values.ndim)))

    def whole_measure(self, weights: Floats) -> Measure:
        """The measure by `weights` as kernels for new rows take it, of all columns."""
        weights = np.ascontiguousarray(self.expanded(weights))
        if self.linear:
            return Measure(self.XT, weights[None, :], True)
        return Measure(self.XT, upper_tiles(weights, self.XT.shape[0]), False)


_DISTANCES = 1 << 21
"""Maximum number of distances in memory."""


class RowMargins(NamedTuple):
    """Expected margin of each row (N,), and the entropies of its hits and misses, in nats."""

    margin: Floats
    hit_entropy: Floats
    miss_entropy: Floats


def row_margins(training: Training, w: Floats, sigma: float) -> RowMargins:
    """Expected margins and entropies of rows under q = wᵀ|x_i − x_j|.

    Parameters
    ----------
    training : Training
        N rows, A columns; a row with count c counts as c neighbours.
    w : (A,) float64, non-negative
    sigma : float > 0

    Returns
    -------
    RowMargins
        ρ̄_n = Σ_m β_nm q_nm − Σ_h α_nh q_nh, E_hit = −Σ_h α_nh log α_nh, and E_miss likewise; NaN
        if a row has no hit. e^E is the effective number of neighbours.

    Notes
    -----
    O(N² A) time, a chunk of rows at a time.

    References
    ----------
    Bei, Hong 2015, Maximizing margin quality and quantity, MLSP, §2.1–2.2.
    """
    n, measures = len(training.y), np.full((3, len(training.y)), np.nan)
    Z = training.X * w
    with np.errstate(divide="ignore"):
        log_count = np.log(training.count)
    chunk = max(1, _DISTANCES // max(n, 1))
    for start in range(0, n, chunk):
        rows = np.arange(start, min(n, start + chunk))
        q = scipy.spatial.distance.cdist(Z[rows], Z, "cityblock")
        same = np.equal.outer(training.y[rows], training.y)
        hits = same.copy()
        hits[np.arange(rows.size), rows] = False
        live = (hits & (training.count > 0)).any(axis=1)
        parts = []
        for members in (hits, ~same):
            z = np.where(members, log_count - q / sigma, -np.inf)[live]
            share = np.exp(z - logsumexp(z, axis=1, keepdims=True))
            one = np.divide(share, training.count, out=np.zeros_like(share), where=share > 0)
            parts.append(((share * q[live]).sum(axis=1), -xlogy(share, one).sum(axis=1)))
        (near, hit_entropy), (far, miss_entropy) = parts
        measures[:, rows[live]] = far - near, hit_entropy, miss_entropy
    return RowMargins(*measures)


def expected_margins(space: PairSpace, w: Floats, sigma: float) -> Floats:
    """z̄_n = E|x_n − miss| − E|x_n − hit| for every row, (n, A), rows sorted by class.

    Zero for a row without a hit. N² A operations; rows in chunks.
    """
    point = space.point(w, sigma)
    z = np.zeros((space.n_rows, space.width))
    hits = np.where(space.alone, np.inf, point.log_hits)
    for start, stop in space.chunks:
        _expected_margin_vectors(
            space.XT, np.ascontiguousarray(space.expanded(w)), space.rows, hits, point.log_misses,
            1.0 / sigma, z, start, stop,
        )  # fmt: skip
    z[space.alone] = 0.0
    return z if space.indicators is None else space.indicators.sum_blocks(z, (1,))


def solve_logistic(z: Floats, outer: Floats, penalty: float, start: Floats) -> tuple[Floats, float]:
    """argmin over w ≥ 0 of Σ_n o_n log(1 + exp(−wᵀz_n)) + λ Σ w, and the value there.

    Convex, with the penalty linear on w ≥ 0: solved by L-BFGS-B to a projected gradient of 1e-7
    per unit of weight.
    """

    def value(w: Floats) -> tuple[float, Floats]:
        margin = z @ w
        loss = outer @ np.logaddexp(0.0, -margin) + penalty * w.sum()
        return float(loss), penalty - (outer * expit(-margin)) @ z

    minimum = scipy.optimize.minimize(
        value,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.0, None)] * len(start),
        options={"gtol": 1e-7 * max(1.0, float(outer.sum())), "ftol": 1e-13, "maxiter": 1000},
    )
    return np.maximum(minimum.x, 0.0), float(minimum.fun)


@njit(fastmath=ELEMENTWISE)
def _shares(
    q: Floats, inverse: float, count: Floats, log_total: float, sign: float, c: Floats
) -> None:
    for p in range(c.size):
        c[p] = sign * count[p] * exp_nonpositive(-q[p] * inverse - log_total)


@njit()
def _expected_margin_vectors(
    XT: Floats, w: Floats, rows: ClassRanges, log_hits: Floats, log_misses: Floats, inverse: float,
    out: Floats, start: int, stop: int,
) -> None:  # fmt: skip
    """Write Σ_m β_m |x − x_m| − Σ_h α_h |x − x_h| of rows start ≤ i < stop into out (N, A)."""
    A, N = XT.shape
    count, begin, end = rows
    q, c = np.empty(N), np.empty(N)
    for i in range(start, stop):
        q[:] = 0.0
        for a in range(A):
            if w[a] != 0.0:
                add_weighted(XT[a, i], XT[a], w[a], q)
        b, e = begin[i], end[i]
        _shares(q[:b], inverse, count[:b], log_misses[i], 1.0, c[:b])
        _shares(q[b:e], inverse, count[b:e], log_hits[i], -1.0, c[b:e])
        _shares(q[e:], inverse, count[e:], log_misses[i], 1.0, c[e:])
        c[i] = 0.0  # a row is not its own hit
        for a in range(A):
            out[i, a] = weighted_difference(XT[a, i], XT[a], c)
