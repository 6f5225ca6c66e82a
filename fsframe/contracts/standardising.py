"""Columns scaled to mean 0 and standard deviation 1, learned from training rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["learn_scale"]

Floats = NDArray[np.float64]


def learn_scale(X: Floats, counts: Floats | None = None) -> tuple[Floats, Floats]:
    """Centre and scale of every column; (x − centre) / scale has mean 0 and deviation 1.

    Parameters
    ----------
    X : (n, p) float64
        NaN where a value is missing.
    counts : (n,) float64, optional
        How often each row was drawn; 1 by default.

    Returns
    -------
    centre, scale : (p,) float64
        The scale of a column that is constant here, or entirely missing, is infinite: its values in
        new rows become 0.

    Notes
    -----
    A column is constant if its deviation is within rounding error: the mean of forty 0.1 is not
    exactly 0.1, and a new value divided by the remaining 1e-17 would dominate all other columns.

    Examples
    --------
    >>> learn_scale(np.array([[1.0, 0.1], [3.0, 0.1]]))
    (array([2. , 0.1]), array([ 1., inf]))
    """
    known = ~np.isnan(X)
    weight = known if counts is None else known * counts[:, None]
    total = np.maximum(weight.sum(axis=0), 1.0)
    filled = np.where(known, X, 0.0)
    # Values of the order 1e200 must not overflow when squared.
    size = np.abs(filled).max(axis=0)
    size[size == 0] = 1.0
    filled = filled / size
    centre = (weight * filled).sum(axis=0) / total
    spread = np.sqrt((weight * (filled - centre) ** 2).sum(axis=0) / total)
    return centre * size, np.where(spread > 1e-14, spread * size, np.inf)
