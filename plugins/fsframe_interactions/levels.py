"""Levels of columns: categories and few whole numbers directly, numbers by quantile bins."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fsframe.errors import RequestError
from fsframe.table.dataset import Dataset
from fsframe_interactions.engine.bit_rows import MISSING, BitRows, BitRowWriter

__all__ = ["bit_rows_of", "column_codes", "rows_by_class"]

BLOCK = 512
"""Columns read together, if memory allows."""


def column_codes(
    values: NDArray[np.float64], bins: int, max_levels: int, categorical: bool
) -> tuple[NDArray[np.uint8], NDArray[np.float64]]:
    """Codes 0 … of one column's rows, and the levels or edges of these codes.

    Parameters
    ----------
    values : (n,) float64
        NaN is missing.
    bins : int
        Number of quantile bins for numbers.
    max_levels : int
        A column of whole numbers with at most so many distinct values keeps them as levels, a
        categorical column always; above so many levels, the rarest are merged into the last.
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
        # Merged levels are not listed.
        codes[known] = np.where(levels[place] == values[known], place, len(levels))
        return codes, levels
    # The k/bins quantile, which is the same for repeated rows and for counts.
    n = len(present)
    edges = np.unique(present[[-(-n * k // bins) - 1 for k in range(1, bins)]])
    if edges[-1] == present[-1]:
        # The largest value has more than the share of a bin: the edge moves below it.
        below = present[changes[-1:]]
        edges = np.unique(np.concatenate([edges[:-1], below]))
    codes[known] = np.searchsorted(edges, values[known], side="left")
    return codes, edges


def _few_whole_numbers(
    values: NDArray[np.float64], max_levels: int
) -> tuple[NDArray[np.uint8], NDArray[np.float64]] | None:
    """`column_codes` of genotypes and the like (small whole numbers, none missing); else None."""
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
    """Rows sorted by class, repeated by their counts."""
    order = np.argsort(data.y, kind="stable")
    return order if data.counts is None else np.repeat(order, data.counts[order])


def bit_rows_of(
    data: Dataset, bins: int, max_levels: int, memory: int
) -> tuple[BitRows, list[NDArray[np.float64]]]:
    """The bit rows of all columns, and what each column's codes stand for.

    Raises
    ------
    RequestError
        If they would take more than half of `memory` bytes.
    """
    rows = rows_by_class(data)
    # Classes without rows are left out: they would only add empty cells.
    _, y = np.unique(data.y[rows], return_inverse=True)
    writer = BitRowWriter(y, int(y.max(initial=0)) + 1)
    # Codes, values as read and as doubles: 17 bytes per value, in groups of whole blocks.
    width = max(8, min(BLOCK, memory // 8 // (17 * max(1, len(rows))) // 8 * 8))
    bounds = []
    for start in range(0, data.n_features, width):
        stop = min(start + width, data.n_features)
        block = np.ascontiguousarray(np.asarray(data.columns(start, stop)).T)
        codes = np.empty((stop - start, len(rows)), np.uint8)
        for k in range(stop - start):
            values = block[k].astype(np.float64)[rows]
            codes[k], levels = column_codes(
                values, bins, max_levels, bool(data.categorical[start + k])
            )
            bounds.append(levels)
        for first in range(0, stop - start, 8):
            writer.add(codes[first : first + 8])
        if writer.n_bytes > memory // 2:
            raise RequestError(
                f"interactions: bit rows of {data.n_features} columns take "
                f"{writer.n_bytes * data.n_features / stop / 1e9:.1f} GB, more than half of the "
                f"{memory / 1e9:.1f} GB allowed; allow more memory, or put a filter before, such "
                "as mim:top=10000"
            )
    if not bounds:
        # No column was chosen: rows of no bits, and no pairs.
        writer.add(np.empty((0, len(rows)), np.uint8))
    return writer.bit_rows(), bounds
