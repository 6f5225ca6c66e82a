"""Log-sums of every row if the distances between rows are not stored."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fsframe_margin.engine import streamed_kernels
from fsframe_margin.engine.neighbour_shares import SMALLEST_SUM
from fsframe_margin.engine.pair_blocks import Quadratic

__all__ = ["streamed_log_sums"]

Floats = NDArray[np.float64]

_PROBED = 16
"""Number of rows tested to decide whether sums without a shift are accurate."""

_PART = 1 << 18
"""Pairs per unit of work of the shifted algorithm."""


class Pairs(Protocol):
    """Pairs of rows, sorted by class: a `fsframe_margin.engine.margins.PairSpace`."""

    XT: Floats
    begin: NDArray[np.intp]
    end: NDArray[np.intp]
    count: Floats
    alone: NDArray[np.bool_]
    linear: bool

    @property
    def n_rows(self) -> int: ...

    def each(self, work: Callable[[int], None], items: Sequence[int]) -> None: ...

    def measured_by(self, weights: Floats) -> tuple[Floats, Quadratic]: ...

    def summed(self, shape: tuple[int, ...], add: Callable[[Floats, int, int], None]) -> Floats: ...

    def tiles(self, weights: Floats) -> Floats: ...


def streamed_log_sums(space: Pairs, weights: Floats, sigma: float) -> tuple[Floats, Floats]:
    """log Σ count·exp(−q/σ) over hits and over misses of every row, eq. 3.5 after step 1.

    Parameters
    ----------
    space : Pairs
        Pairs of n rows, sorted by class.
    weights : (A, A) or (A,) float64
        W, or w if distances are linear in the weights.
    sigma : float
        σ > 0.

    Returns
    -------
    (n,) float64, (n,) float64
        −inf for the hits of a row without any.

    Notes
    -----
    The distance of each pair is computed once, and its exponential is used for both rows. Rows
    whose sums are too small to be accurate are computed again with a shift; if this applies to any
    of a few tested rows, all rows are computed with a shift at once. N²/2 distances and
    exponentials, or twice as many; each thread holds a few rows of length n.
    """
    n = space.n_rows
    hits, misses = np.empty(n), np.empty(n)
    probed = np.unique(np.linspace(0, n - 1, _PROBED).astype(np.intp))
    _shifted(space, weights, sigma, probed, hits, misses)
    least = np.minimum(np.where(space.alone, np.inf, hits), misses)[probed].min()
    if not least >= np.log(SMALLEST_SUM):
        _shifted(space, weights, sigma, np.arange(n), hits, misses)
        return hits, misses
    both = _direct(space, weights, sigma)
    both[0, space.alone] = 1.0
    small = np.flatnonzero(both.min(axis=0) < SMALLEST_SUM)
    hits, misses = np.log(np.maximum(both, SMALLEST_SUM))
    hits[space.alone] = -np.inf
    _shifted(space, weights, sigma, small, hits, misses)
    return hits, misses


def _direct(space: Pairs, weights: Floats, sigma: float) -> Floats:
    """The sums over hits and over misses of every row, (2, n), without a shift."""
    XT, form = space.measured_by(weights)
    return space.summed(
        (2, space.n_rows),
        lambda out, a, b: streamed_kernels.streamed_sums(
            XT, form, space.linear, 1.0 / sigma, space.count, space.end, out[0], out[1], a, b
        ),
    )


def _shifted(
    space: Pairs,
    weights: Floats,
    sigma: float,
    rows: NDArray[np.intp],
    hits: Floats,
    misses: Floats,
) -> None:
    """Write the log-sums of `rows`, each shifted by its smallest distance."""
    tiles, size = space.tiles(weights), max(1, _PART // space.n_rows)

    def part(first: int) -> None:
        streamed_kernels.streamed_rows(
            space.XT, tiles, space.linear, 1.0 / sigma, space.count, space.begin, space.end,
            hits, misses, rows[first : first + size],
        )  # fmt: skip

    space.each(part, range(0, len(rows), size))
