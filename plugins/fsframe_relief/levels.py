"""Which columns hold few distinct values: the fallback where nobody said which are discrete."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["few_levels"]


def few_levels(X: NDArray[np.float64], limit: int = 10) -> NDArray[np.bool_]:
    """Columns with at most `limit` distinct known values, as (n_features,) bool.

    Notes
    -----
    A look at the first rows settles nearly all continuous columns, and whole numbers in a short
    range need no look at all; only what is left is sorted, in blocks of columns. O(n p) for usual
    tables.

    Examples
    --------
    >>> few_levels(np.array([[0.0, 0.1], [1.0, 0.2], [0.0, 0.3]]), limit=2).tolist()
    [True, False]
    """
    from fsframe_relief.distance_kernels import column_summary

    n, p = X.shape
    head = np.sort(X[: 4 * limit], axis=0)
    with np.errstate(invalid="ignore"):
        many = (np.diff(head, axis=0) > 0).sum(axis=0) >= limit
    if many.all():
        return np.zeros(p, dtype=bool)
    low, high = np.empty(p), np.empty(p)
    missing = np.empty(p, dtype=np.int64)
    whole, infinite = np.empty(p, dtype=bool), np.empty(p, dtype=bool)
    column_summary(np.ascontiguousarray(X), low, high, missing, whole, infinite)
    few = whole & (high - low < limit)
    few[missing == n] = False
    open_ = np.flatnonzero(~many & ~few & (missing < n))
    step = max(1, (1 << 22) // n)
    for start in range(0, open_.size, step):
        part = open_[start : start + step]
        block = np.sort(X[:, part], axis=0)
        with np.errstate(invalid="ignore"):
            few[part] = (np.diff(block, axis=0) > 0).sum(axis=0) < limit
    return few & ~many
