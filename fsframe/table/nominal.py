"""Nominal columns: their levels, and sums of squares."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["level_places", "sums_of_squares", "unequal_share"]


def level_places(
    values: NDArray[np.float64],
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """The levels in order of first occurrence, and the level of each row.

    That order does not depend on the names of levels, so neither does the rounding of sums over
    them.

    Parameters
    ----------
    values : (n,) float64
        Codes of levels, NaN where missing.

    Returns
    -------
    place : (n,) int
        Position of each row's level, −1 where missing.
    levels : (K,) float64
        Their codes.

    Examples
    --------
    >>> level_places(np.array([7.0, 2.0, np.nan, 7.0]))
    (array([ 0,  1, -1,  0]), array([7., 2.]))
    """
    known = ~np.isnan(values)
    found, first, place = np.unique(values[known], return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(found), dtype=np.intp)
    rank[order] = np.arange(len(found))
    out = np.full(len(values), -1, dtype=np.intp)
    out[known] = rank[place.ravel()]
    return out, found[order]


def unequal_share(sizes: NDArray[np.float64]) -> float:
    """The probability 1 − Σ p² that two rows drawn with replacement differ in level.

    Half of it is the analogue of the variance: for two levels it is that of 0 and 1.

    Parameters
    ----------
    sizes : (K,) float64
        Rows of each level.

    Examples
    --------
    >>> unequal_share(np.array([1.0, 1.0]))
    0.5
    """
    total = float(sizes.sum())
    return 1.0 - float((sizes / total) @ (sizes / total)) if total > 0 else 0.0


def sums_of_squares(
    place: NDArray[np.intp],
    many: int,
    y: NDArray[np.float64] | NDArray[np.integer],
    weights: NDArray[np.float64],
    n_classes: int,
) -> tuple[float, float]:
    """Sums of squares of a label and a nominal column: between groups, and total.

    Parameters
    ----------
    place : (n,) int
        The level of each row, 0 … many − 1.
    many : int
    y : (n,)
        Class codes, or numbers where `n_classes` is 0.
    weights : (n,) float64
    n_classes : int

    Returns
    -------
    between, total : float
        For a numeric target over the levels; for classes those of the levels over the classes, with
        half the probability that two rows differ in level as the variance.

    References
    ----------
    R. Light, B. Margolin 1971, An analysis of variance for categorical data, JASA 66:534–544.

    Examples
    --------
    >>> place, w = np.array([0, 0, 1, 1]), np.ones(4)
    >>> sums_of_squares(place, 2, np.array([1.0, 1.0, 3.0, 3.0]), w, 0)
    (4.0, 4.0)
    >>> sums_of_squares(place, 2, np.array([0, 1, 0, 1]), w, 2)
    (0.0, 1.0)
    """
    n = float(weights.sum())
    if not n:
        return 0.0, 0.0
    if not n_classes:
        off = y - float(weights @ y) / n
        size = np.bincount(place, weights=weights, minlength=many)
        total = np.bincount(place, weights=weights * off, minlength=many)
        between = np.divide(total**2, size, out=np.zeros(many), where=size > 0).sum()
        return float(between), float(weights @ off**2)
    cells = np.bincount(place * n_classes + y, weights=weights, minlength=many * n_classes)
    table = cells.reshape(many, n_classes)
    of_class = table.sum(axis=0)
    live = of_class > 0
    squares = (table[:, live] ** 2).sum(axis=0) / of_class[live]
    overall = float((table.sum(axis=1) ** 2).sum()) / n
    return (float(squares.sum()) - overall) / 2, (n - overall) / 2
