"""What a method does with the parts that columns and rows play: honoured, or refused by name."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from fsframe.contracts.dataset import Dataset

__all__ = ["level_places", "nominal_problems", "unequal_share"]

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


def level_places(values: NDArray[np.float64]) -> tuple[NDArray[np.intp], int]:
    """The level of each row, numbered in the order in which rows have them, and how many there are.

    That order does not depend on what levels are called, so neither do roundings of sums over them.
    A missing value has the place −1.

    >>> level_places(np.array([7.0, 2.0, np.nan, 7.0]))
    (array([ 0,  1, -1,  0]), 2)
    """
    known = ~np.isnan(values)
    found, first, place = np.unique(values[known], return_index=True, return_inverse=True)
    rank = np.empty(len(found), dtype=np.intp)
    rank[np.argsort(first)] = np.arange(len(found))
    out = np.full(len(values), -1, dtype=np.intp)
    out[known] = rank[place.ravel()]
    return out, len(found)


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
