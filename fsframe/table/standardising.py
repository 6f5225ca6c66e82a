"""Scale of columns, learned from training rows: mean and deviation of numbers, spread of levels."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsframe.table.arrays import column_block
from fsframe.table.frozen_table import ColumnSource

Floats = NDArray[np.float64]

_BLOCK_VALUES = 1 << 19


def learn_scale(
    table: NDArray[Any] | ColumnSource, counts: Floats | None = None, *, standardize: bool = True
) -> tuple[Floats, Floats]:
    """Centre and scale of every column; (x − centre) / scale has mean 0 and deviation 1.

    Parameters
    ----------
    table : (n, p) float64, uint8 or int8, or a ColumnSource
        NaN where a value is missing.
    counts : (n,) float64, optional
        How often each row was drawn; 1 by default.
    standardize : bool
        If not, columns stay as they are: zeros and ones are returned.

    Returns
    -------
    centre, scale : (p,) float64
        The scale of a column that is constant here, or entirely missing, is infinite: its values in
        new rows become 0.

    Notes
    -----
    A column is constant if its deviation is within rounding error: the mean of forty 0.1 is not
    exactly 0.1, and a new value divided by the remaining 1e-17 would dominate all other columns.
    Columns are taken in blocks of 4 MB as float64, which does not change the result.

    Examples
    --------
    >>> learn_scale(np.array([[1.0, 0.1], [3.0, 0.1]]))
    (array([2. , 0.1]), array([ 1., inf]))
    """
    centre, scale = np.zeros(table.shape[1]), np.ones(table.shape[1])
    if not standardize:
        return centre, scale
    for start, stop in even_blocks(*table.shape):
        X = np.asarray(column_block(table, start, stop), dtype=np.float64)
        centre[start:stop], scale[start:stop] = _learned(X, counts)
    return centre, scale


def standardised(table: NDArray[Any] | ColumnSource, centre: Floats, scale: Floats) -> Floats:
    """(x − centre) / scale of every column: one new array, and no other of its size.

    Parameters
    ----------
    table : (n, p) float64, uint8 or int8, or a ColumnSource
    centre, scale : (p,) float64

    Returns
    -------
    (n, p) float64

    Examples
    --------
    >>> X = np.array([[1, 4], [3, 4]], dtype=np.uint8)
    >>> standardised(X, *learn_scale(X)).tolist()
    [[-1.0, 0.0], [1.0, 0.0]]
    """
    scaled = np.empty(table.shape)
    for start, stop in even_blocks(*table.shape):
        block = scaled[:, start:stop]
        np.subtract(column_block(table, start, stop), centre[start:stop], out=block)
        block /= scale[start:stop]
    return scaled


def unit_columns(X: Floats) -> Floats:
    """Columns centred and of length 1, so that products of two are correlations.

    Parameters
    ----------
    X : (n, m) float64
        NaN where a value is missing; the mean replaces it.

    Returns
    -------
    (n, m) float64
        Constant columns are 0 everywhere.

    Notes
    -----
    O(nm); three arrays of the size of X.

    Examples
    --------
    >>> unit_columns(np.array([[1.0, 5.0, 2.0], [3.0, 5.0, np.nan]])).round(3).tolist()
    [[-0.707, 0.0, 0.0], [0.707, 0.0, 0.0]]
    """
    known = ~np.isnan(X)
    filled = np.where(known, X, 0.0)
    # Squares of 1e200 overflow; scaling by powers of two changes no bit of the result.
    filled = np.ldexp(filled, -np.frexp(np.abs(filled).max(axis=0, initial=0.0))[1])
    members = np.maximum(known.sum(axis=0), 1)
    centred = np.where(known, filled - filled.sum(axis=0) / members, 0.0)
    length = np.sqrt((centred**2).sum(axis=0))
    # Rounding may leave a constant column with a tiny length, by which it must not be divided.
    live = length > 1e-12 * np.abs(filled).max(axis=0, initial=0.0) * np.sqrt(len(X))
    return np.where(live, centred / np.where(live, length, 1.0), 0.0)


def even_blocks(n: int, p: int) -> Iterator[tuple[int, int]]:
    """Bounds of blocks of columns of 4 MB as float64, none of a single column unless p is 1.

    NumPy sums a single column in another order than several columns.

    Examples
    --------
    >>> list(even_blocks(1 << 18, 5))
    [(0, 2), (2, 5)]
    """
    width = max(2, _BLOCK_VALUES // max(1, n))
    starts = list(range(0, p, width))
    if len(starts) > 1 and p - starts[-1] == 1:
        starts.pop()
    yield from pairwise([*starts, p])


def _learned(X: Floats, counts: Floats | None) -> tuple[Floats, Floats]:
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
    levels, first, place = np.unique(values[known], return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(levels), dtype=np.intp)
    rank[order] = np.arange(len(levels))
    out = np.full(len(values), -1, dtype=np.intp)
    out[known] = rank[place.ravel()]
    return out, levels[order]


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
        For a numeric target, those of the target over the levels; for classes, those of the levels
        over the classes, where the variance is half the probability that two rows differ in level.

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
