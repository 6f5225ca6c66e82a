"""Compiled summary of columns: least and greatest value, gaps, values that are not whole."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fsframe.kernels.compiled import njit

__all__ = ["summarise_columns"]

Floats = NDArray[np.float64]

CHUNK = 512
"""Columns whose four results stay in the first-level cache."""


@njit()
def summarise_columns(
    X: Floats,
    first: int,
    stop: int,
    low: Floats,
    high: Floats,
    missing: Floats,
    broken: Floats,
) -> None:
    """Update the results of columns `first` to `stop` of `X`; they start at inf, -inf, 0 and 0.

    `X` is (n_samples, n_features); `low` and `high`, `missing` and `broken` (how many values are
    NaN, how many not whole), are (n_features,) float64.
    """
    for a0 in range(first, stop, CHUNK):
        a1 = min(stop, a0 + CHUNK)
        lo, hi = low[a0:a1], high[a0:a1]
        gaps, parts = missing[a0:a1], broken[a0:a1]
        for i in range(X.shape[0]):
            x = X[i, a0:a1]
            for a in range(lo.shape[0]):
                v = x[a]
                # comparisons with a missing value are false, and so are those with inf - inf
                lo[a] = v if v < lo[a] else lo[a]
                hi[a] = v if v > hi[a] else hi[a]
                gaps[a] += 1.0 if v != v else 0.0
                parts[a] += 1.0 if v - np.floor(v) > 0.0 else 0.0
