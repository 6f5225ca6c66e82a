"""Margin-based instance weights (MBIW): larger for rows with typical margin profiles."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fsframe_margin.engine import nearest_kernels

__all__ = ["instance_weights", "margin_profiles"]

Floats = NDArray[np.float64]

_ROWS = 256
_VALUES = 1 << 17
"""Maximum number of profile values in temporaries."""


def margin_profiles(
    XT: Floats, y: NDArray[np.integer], w: Floats, steps: Floats | None = None
) -> Floats:
    """Margin profiles x′ (text of eq. 2): |x − miss| − |x − hit| per feature, nearest by ‖·‖_w.

    XT is (A, n), ‖z‖_w² = Σ w² z², and `steps` are those of `Training`; the profiles are (n, A),
    zero for the only row of a class.
    """
    n = XT.shape[1]
    out = np.empty((n, XT.shape[0]))
    who = np.empty((2, n), dtype=np.intp)
    steps = np.zeros(len(XT)) if steps is None else steps
    nearest_kernels.margin_vectors(XT, steps, y, w, out, who[0], who[1])
    return out


def instance_weights(profiles: Floats, counts: Floats) -> Floats:
    """ω of eq. 2: proportional to one over the mean distance to the other profiles; sum one.

    Parameters
    ----------
    profiles : (n, A) float64
        Margin profiles x′.
    counts : (n,) float64
        How often each row was drawn.

    Returns
    -------
    (n,) float64
        Positive, Σ counts·ω = 1.

    Notes
    -----
    N² A operations in blocks of 256 rows. A profile equal to x′ adds distance zero, so leaving it
    out of the sum, as eq. 2 says, changes nothing; the divisor is N − 1 either way. If all profiles
    are equal, so are all weights; a mean distance of zero is replaced by the smallest positive one.
    """
    n = len(profiles)
    few = max(1, _VALUES // profiles.shape[1])
    square = np.concatenate(
        [(profiles[start : start + few] ** 2).sum(axis=1) for start in range(0, n, few)]
    )
    mean = np.empty(n)
    for start in range(0, n, _ROWS):
        block = slice(start, start + _ROWS)
        distance = square[block, None] + square[None, :] - 2.0 * profiles[block] @ profiles.T
        # The expanded square loses half the digits near zero: recompute nearly equal pairs.
        near_i, near_j = np.nonzero(distance < 1e-6 * (square[block, None] + square[None, :]))
        for first in range(0, near_i.size, few):
            i, j = near_i[first : first + few], near_j[first : first + few]
            exact = ((profiles[start + i] - profiles[j]) ** 2).sum(axis=1)
            distance[i, j] = exact
        mean[block] = np.sqrt(np.maximum(distance, 0.0)) @ counts
    mean /= max(counts.sum() - 1.0, 1.0)
    if not mean.any():
        return np.full(n, 1.0 / counts.sum())
    mean = np.maximum(mean, mean[mean > 0].min())
    weights = 1.0 / mean
    return weights / (weights @ counts)
