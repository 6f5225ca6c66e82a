"""Pairs among a few features, main effects of all others: q = |d|ᵀ W |d| + Σ_r v_r d_r²."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from fsframe_margin.engine import linear_kernels
from fsframe_margin.engine.indicators import SQUARES, Indicators
from fsframe_margin.engine.margins import PairSpace, Point

__all__ = ["DiagonalRestSpace"]

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
        inner = None if steps is None else steps[0]
        super().__init__(kept, y, outer, count, threads=threads, memory=memory, steps=inner)
        self.stored = True
        self.rest = None if steps is None else Indicators.of(rest, steps[1], SQUARES)
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
