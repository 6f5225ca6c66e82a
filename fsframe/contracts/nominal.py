"""Nominal columns: their levels, sums of squares over them, and methods that cannot take them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from fsframe.contracts.dataset import Dataset

__all__ = ["level_places", "nominal_problems", "sums_of_squares", "unequal_share"]

_NAMED = 5


def nominal_problems(name: str, takes_nominal: bool, data: Dataset) -> Iterator[str]:
    """Why the method `name` refuses `data`, if it has nominal columns that the method cannot take.

    Yields
    ------
    str
        One sentence with all the columns, and what to do.
    """
    places = () if takes_nominal else np.flatnonzero(data.categorical)
    if len(places):
        named = ", ".join(repr(data.feature_names[place]) for place in places[:_NAMED])
        more = f" and {len(places) - _NAMED} more" if len(places) > _NAMED else ""
        hold = "holds" if len(places) == 1 else "hold"
        yield (
            f"{name} reads columns as numbers, and {named}{more} {hold} names of categories: "
            "make a column of each level (--encode onehot, encode='onehot'), leave them out "
            "(--drop), or take a method that compares levels (mim, relieff, immigrate, …)"
        )


def level_places(
    values: NDArray[np.float64],
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """The levels in the order in which rows have them, and which of them each row has.

    That order does not depend on what levels are called, so neither do roundings of sums over them.

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
    """The chance 1 − Σ p² that two rows drawn with replacement differ in level.

    Half of it is to levels what the variance is to numbers: for two levels it is that of 0 and 1.

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
    """How far a label and a nominal column go together: between groups, and in all.

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
        Of a numeric target over the levels; of classes those of the levels over the classes, in
        which half the chance that two rows differ in level stands for a variance.

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
