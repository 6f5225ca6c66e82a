"""Expected margin of each row, and the entropies of its hits and misses."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray
from scipy.special import logsumexp, xlogy

from fsframe_margin.engine.training import Training

__all__ = ["RowMargins", "row_margins"]

Floats = NDArray[np.float64]

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
    n, found = len(training.y), np.full((3, len(training.y)), np.nan)
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
        found[:, rows[live]] = far - near, hit_entropy, miss_entropy
    return RowMargins(*found)
