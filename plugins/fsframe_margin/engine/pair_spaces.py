"""A pair space with pairs of some features only, and expected margins of rows (IM4E, LOGO)."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray
from scipy.special import expit, logsumexp, xlogy

from fsframe.kernels.compiled import njit
from fsframe_margin.engine import linear_kernels
from fsframe_margin.engine.linear_kernels import add_weighted, weighted_difference
from fsframe_margin.engine.margins import PairSpace, Point
from fsframe_margin.engine.neighbour_shares import ELEMENTWISE, Rows, exp_nonpositive
from fsframe_margin.engine.standardise import SQUARES, Indicators
from fsframe_margin.engine.training import Training

Floats = NDArray[np.float64]


_COPIED = 256
"""Number of columns that are copied at a time."""


class DiagonalRestSpace(PairSpace):
    """A `PairSpace` over W = blockdiag(W_kept, diag(v)), written as one vector (W_kept, v).

    Parameters
    ----------
    kept, rest : (n, m), (n, r) float64
        Columns that form pairs, and columns with only a main effect.
    y, outer, count, threads, memory
        As for `PairSpace`.
    steps : (m,) and (r,) float64, optional
        As for `PairSpace`, for `kept` and `rest`.

    Notes
    -----
    Norm, inner products and the element-wise minimiser of the full W are those of the vector, so
    the descent equals that over W with all other entries fixed at zero. One pass costs
    N²/2 (m²/2 + r) products instead of N² (m + r)²/4. q over all pairs is stored: 24 N² bytes.
    """

    def __init__(
        self,
        kept: Floats,
        rest: Floats,
        y: NDArray[np.integer],
        outer: Floats | None = None,
        count: Floats | None = None,
        *,
        threads: int = 1,
        memory: int = 1 << 31,
        steps: tuple[Floats, Floats] | None = None,
    ) -> None:
        inner, of_rest = (None, None) if steps is None else steps
        super().__init__(kept, y, outer, count, threads=threads, memory=memory, steps=inner)
        self.stored = True
        self.rest = Indicators.of(rest, of_rest, SQUARES)
        if self.rest is not None:
            rest = self.rest.expand(rest)
        self.restT = np.empty((rest.shape[1], rest.shape[0]))
        for a in range(0, rest.shape[1], _COPIED):
            self.restT[a : a + _COPIED] = rest[self.order, a : a + _COPIED].T

    def split(self, weights: Floats) -> tuple[Floats, Floats]:
        """W_kept (m, m) and v (r,) of the vector."""
        m = self.features
        return weights[: m * m].reshape(m, m), weights[m * m :]

    def measure(self, weights: Floats) -> Floats:
        W, v = self.split(weights)
        q = super().measure(W)
        v = v if self.rest is None else self.rest.expand_weights(v)
        squares = np.zeros_like(q)
        self.each_chunk(lambda a, b: linear_kernels.pair_squares(self.restT, v, squares, a, b))
        q += squares
        return q

    def gradient(self, point: Point, sigma: float, outer: Floats | None = None) -> Floats:
        pairs = super().gradient(point, sigma, outer)
        by = self.shares(point, sigma, outer)
        assert point.measured is not None
        squares = partial(linear_kernels.pair_square_means, self.restT, point.measured, by)
        u = self.summed((self.restT.shape[0],), squares)
        u = u if self.rest is None else self.rest.sum_blocks(u, (0,))
        return np.concatenate([pairs.ravel(), u])


_CHUNK = 1 << 21
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
    chunk = max(1, _CHUNK // max(n, 1))
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
    XT: Floats, w: Floats, rows: Rows, log_hits: Floats, log_misses: Floats, inverse: float,
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
