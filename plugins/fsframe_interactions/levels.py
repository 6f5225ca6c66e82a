"""Which level of a column a row has: categories as they are, numbers by quantile bins."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fsframe.contracts.dataset import Dataset
from fsframe.errors import RequestError
from fsframe_interactions.engine.planes import MISSING, Planes, PlaneWriter

__all__ = ["column_codes", "planes_of", "rows_by_class"]

BLOCK = 512
"""Columns that are read together, where memory allows."""


def column_codes(
    values: NDArray[np.float64], bins: int, max_levels: int, categorical: bool
) -> tuple[NDArray[np.uint8], NDArray[np.float64]]:
    """Codes 0 … of one column's rows, and what they stand for.

    Parameters
    ----------
    values : (n,) float64
        NaN is missing.
    bins : int
        Number of quantile bins for numbers.
    max_levels : int
        A column of whole numbers with at most so many distinct values keeps them as levels. A
        categorical column always does; beyond so many levels, the rarest share the last.
    categorical : bool

    Returns
    -------
    codes : (n,) uint8
        255 for a missing value; every code below occurs.
    bounds : float64
        The levels, or the inner edges of bins: the code of x is the number of edges below x.

    Examples
    --------
    >>> column_codes(np.array([0.1, 0.2, 0.7, 0.9]), 2, 5, False)
    (array([0, 0, 1, 1], dtype=uint8), array([0.2]))
    >>> column_codes(np.array([3.0, 1.0, np.nan]), 2, 5, False)[0].tolist()
    [1, 0, 255]
    """
    quick = _few_whole_numbers(values, max_levels)
    if quick is not None:
        return quick
    known = ~np.isnan(values)
    present = np.sort(values[known])
    codes = np.full(len(values), MISSING, np.uint8)
    if not present.size:
        return codes, present
    changes = np.flatnonzero(np.diff(present) > 0)
    if categorical or (len(changes) < max_levels and (present == np.floor(present)).all()):
        levels = present[np.concatenate([[0], changes + 1])] + 0.0
        if len(levels) > max_levels:
            sizes = np.diff(np.concatenate([[0], changes + 1, [len(present)]]))
            common = np.sort(np.argsort(-sizes, kind="stable")[: max_levels - 1])
            levels = levels[common]
        place = np.minimum(np.searchsorted(levels, values[known]), len(levels) - 1)
        # A level that was pooled is none of those listed.
        codes[known] = np.where(levels[place] == values[known], place, len(levels))
        return codes, levels
    # The value that a share k/bins of the rows does not exceed: equal for rows and for counts.
    n = len(present)
    edges = np.unique(present[[-(-n * k // bins) - 1 for k in range(1, bins)]])
    if edges[-1] == present[-1]:
        # More than a bin's share has the greatest value: the edge goes below it.
        below = present[changes[-1:]]
        edges = np.unique(np.concatenate([edges[:-1], below]))
    codes[known] = np.searchsorted(edges, values[known], side="left")
    return codes, edges


def _few_whole_numbers(
    values: NDArray[np.float64], max_levels: int
) -> tuple[NDArray[np.uint8], NDArray[np.float64]] | None:
    """`column_codes` of the usual genotype: small whole numbers, none missing; else None."""
    low, high = (values.min(), values.max()) if len(values) else (np.nan, np.nan)
    # NaN makes every comparison false.
    if not (low >= 0 and high < MISSING):
        return None
    whole = values.astype(np.uint8)
    if not np.array_equal(whole, values):
        return None
    levels = np.flatnonzero(np.bincount(whole, minlength=1))
    if len(levels) > max_levels:
        return None
    places = np.zeros(MISSING, np.uint8)
    places[levels] = np.arange(len(levels))
    return places[whole], levels.astype(np.float64)


def rows_by_class(data: Dataset) -> NDArray[np.intp]:
    """Rows sorted by class, each as often as its count says."""
    order = np.argsort(data.y, kind="stable")
    return order if data.counts is None else np.repeat(order, data.counts[order])


def planes_of(
    data: Dataset, bins: int, max_levels: int, memory: int
) -> tuple[Planes, list[NDArray[np.float64]]]:
    """The bit planes of all columns, and what each column's codes stand for.

    Raises
    ------
    RequestError
        If they would take more than half of `memory` bytes.
    """
    rows = rows_by_class(data)
    # A class without rows is none: it would only cost empty cells.
    _, y = np.unique(data.y[rows], return_inverse=True)
    writer = PlaneWriter(y, int(y.max(initial=0)) + 1)
    # Codes, values as read and as doubles: 17 bytes per value, in groups of whole blocks.
    width = max(8, min(BLOCK, memory // 8 // (17 * max(1, len(rows))) // 8 * 8))
    bounds = []
    for start in range(0, data.n_features, width):
        stop = min(start + width, data.n_features)
        block = np.ascontiguousarray(np.asarray(data.columns(start, stop)).T)
        codes = np.empty((stop - start, len(rows)), np.uint8)
        for k in range(stop - start):
            values = block[k].astype(np.float64)[rows]
            codes[k], held = column_codes(
                values, bins, max_levels, bool(data.categorical[start + k])
            )
            bounds.append(held)
        for first in range(0, stop - start, 8):
            writer.add(codes[first : first + 8])
        if writer.n_bytes > memory // 2:
            raise RequestError(
                f"interactions: bit rows of {data.n_features} columns take "
                f"{writer.n_bytes * data.n_features / stop / 1e9:.1f} GB, more than half of the "
                f"{memory / 1e9:.1f} GB allowed; allow more memory, or put a filter before, such "
                "as mim:top=10000"
            )
    return writer.planes(), bounds
