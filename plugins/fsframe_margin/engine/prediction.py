"""Classification by expected distance (eq. 3.18): the class with the smallest is predicted."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fsframe_margin.engine import streamed_kernels
from fsframe_margin.engine.margins import PairSpace

__all__ = ["class_distances", "nearest_class", "relative_scores", "training_distances"]

Floats = NDArray[np.float64]

_ROWS = 256
_MOST_BYTES = 1 << 25
"""Bytes of the distances between a block of rows and all training rows."""


def class_distances(
    space: PairSpace, weights: Floats, sigma: float, rows: Floats, n_classes: int
) -> Floats:
    """Ψ_c(x′) = Σ_n α_n^c(x′) q(x′, x_n) of eq. 3.18 for new rows.

    Parameters
    ----------
    space : PairSpace
        The training rows.
    weights : (A, A) or (A,) float64
        W of the quadratic measurement, or w of the linear one.
    sigma : float
        σ > 0.
    rows : (m, A) float64
        New rows in the same scale.
    n_classes : int
        Number of classes.

    Returns
    -------
    (m, n_classes) float64
        Smaller is nearer; inf for a class without training rows.

    Notes
    -----
    m · n pairs, in blocks of at most 256 rows and 32 MiB.
    """
    nobody = np.full(len(rows), -1)
    return _distances(space, weights, sigma, space.new_rows(rows), nobody, n_classes)


def training_distances(space: PairSpace, weights: Floats, sigma: float, n_classes: int) -> Floats:
    """Ψ_c of eq. 3.18 for the training rows, each left out of its own neighbours.

    Returns
    -------
    (n, n_classes) float64
        In the order of the table; inf for a class that has no other member.
    """
    sorted_rows, themselves = np.ascontiguousarray(space.XT.T), np.arange(space.n_rows)
    unsorted = np.empty((space.n_rows, n_classes))
    unsorted[space.order] = _distances(space, weights, sigma, sorted_rows, themselves, n_classes)
    return unsorted


def _distances(
    space: PairSpace,
    weights: Floats,
    sigma: float,
    rows: Floats,
    skip: NDArray[np.intp],
    n_classes: int,
) -> Floats:
    """Ψ_c of rows (m, len(XT)), without the training row `skip` of each (−1: with all)."""
    out = np.empty((len(rows), n_classes))
    tiles = space.tiles(weights)
    bounds = np.searchsorted(space.labels, np.arange(n_classes + 1), side="left")
    # No bit depends on how many rows are processed at a time.
    step = min(_ROWS, max(1, _MOST_BYTES // (8 * max(1, space.n_rows))))
    for start in range(0, len(rows), step):
        some = slice(start, start + step)
        q = np.empty((len(rows[some]), space.n_rows))
        streamed_kernels.cross_measures(rows[some], space.XT, tiles, space.linear, q)
        streamed_kernels.expectations(q, 1.0 / sigma, space.count, bounds, skip[some], out[some])
    return out


def nearest_class(distances: Floats) -> NDArray[np.int64]:
    """The class of the smallest distance in each row, ties to the first class.

    >>> nearest_class(np.array([[2.0, 1.0], [3.0, 3.0]])).tolist()
    [1, 0]
    """
    return np.argmin(distances, axis=1).astype(np.int64)


def relative_scores(distances: Floats) -> Floats:
    """Minus each row's distances as shares of their sum: larger is nearer, comparable across rows.

    A class without training rows has the score −1, the lowest possible.

    >>> relative_scores(np.array([[1.0, 3.0], [0.0, 0.0]]))
    array([[-0.25, -0.75],
           [-0.5 , -0.5 ]])
    """
    finite = np.isfinite(distances)
    held = np.where(finite, distances, 0.0)
    total = held.sum(axis=1, keepdims=True)
    # If a row coincides with members of every class, all distances are zero.
    shares = np.divide(held, total, out=np.full_like(held, 1.0 / held.shape[1]), where=total > 0)
    return -np.where(finite, shares, 1.0)
