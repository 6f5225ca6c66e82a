"""An order of the rows that depends on their content only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsframe.table.dataset import RowSource
from fsframe_relief.engine.table_values import ByteTable

__all__ = ["content_groups", "content_order", "content_order_over_parts"]


def content_order(X: NDArray[Any] | ByteTable, *labels: NDArray[np.generic]) -> NDArray[np.intp]:
    """Row numbers in an order that is the same however the rows of the table were shuffled.

    Parameters
    ----------
    X : (n_samples, n_features) float64
        NaN allowed.
    *labels : (n_samples,) arrays
        Further keys: target, counts, weights.

    Returns
    -------
    (n_samples,) int
        Rows that are equal in every column and label keep their order; they are interchangeable.

    Notes
    -----
    Sums of floating-point numbers depend on their order, so a method that needs the same bits for
    shuffled rows has to fix one. Rows are compared byte by byte on 16 columns; those that
    tie on four times as many, and so on: O(n log n) comparisons, and a copy of the tied rows'
    columns only.

    Examples
    --------
    >>> X = np.array([[2.0, 0.0], [1.0, 0.0], [2.0, 5.0]])
    >>> X[content_order(X)].tolist() == X[::-1][content_order(X[::-1])].tolist()
    True
    """
    n, p = X.shape
    return _ordered(_reader(X), n, p, labels)[0]


def content_order_over_parts(
    matrix: RowSource, memory: int, *labels: NDArray[np.generic]
) -> NDArray[np.intp]:
    """`content_order` of a table in parts, of which a few columns are read at a time.

    Takes some 100 bytes per row, and beyond them at most `memory` where many rows are tied.
    """
    n, p = matrix.shape
    widest = max(1, memory // (16 * n))
    return _ordered(lambda rows, a, b: matrix.read(a, b)[rows], n, p, labels, widest)[0]


def content_groups(X: NDArray[Any] | ByteTable) -> NDArray[np.intp]:
    """The place of every row's content in the order of `content_order`; equal rows share one.

    Examples
    --------
    >>> content_groups(np.array([[2.0, 0.0], [1.0, 0.0], [2.0, 0.0]])).tolist()
    [1, 0, 1]
    """
    n, p = X.shape
    order, group = _ordered(_reader(X), n, p, ())
    places = np.empty(len(order), dtype=np.intp)
    places[order] = group
    return places


def _reader(
    X: NDArray[Any] | ByteTable,
) -> Callable[[NDArray[np.intp], int, int], NDArray[Any]]:
    if isinstance(X, ByteTable):
        return lambda rows, a, b: X.numbers[X.codes[:, a:b][rows]]
    return lambda rows, a, b: X[:, a:b][rows]


def _ordered(
    read: Callable[[NDArray[np.intp], int, int], NDArray[Any]],
    n: int,
    p: int,
    labels: tuple[NDArray[np.generic], ...],
    widest: int | None = None,
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The order, and for each place in it the number of its group of equal rows.

    At most `widest` columns are compared at a time, which does not change the order.
    """
    order = np.arange(n)
    group = np.zeros(n, dtype=np.intp)
    start, width = 0, 16 if widest is None else min(16, widest)
    parts: list[NDArray[np.generic]] = list(labels)
    while start < p or parts:
        # Only rows that still share their group with another one are compared further.
        tied = np.flatnonzero(np.bincount(group)[group] > 1)
        if not tied.size:
            break
        rows = order[tied]
        if start < p:
            block = np.array(read(rows, start, min(p, start + width)), dtype=np.float64)
            block += 0.0  # -0.0 becomes 0.0
            block[np.isnan(block)] = np.nan
            start += width
            width = 4 * width if widest is None else min(4 * width, widest)
        else:
            block = np.array(parts.pop(0)[rows], dtype=np.float64)[:, None] + 0.0
        block = np.ascontiguousarray(block).byteswap()
        key = block.view(np.dtype((np.void, block.shape[1] * 8)))[:, 0]
        distinct, rank = np.unique(key, return_inverse=True)
        combined = group[tied] * np.intp(distinct.size) + rank
        local = np.argsort(combined, kind="stable")
        order[tied] = rows[local]
        sorted_keys = combined[local]
        fresh = np.ones(tied.size, dtype=bool)
        fresh[1:] = sorted_keys[1:] != sorted_keys[:-1]
        refined = np.zeros(n, dtype=bool)
        refined[tied] = fresh
        singles = np.ones(n, dtype=bool)
        singles[tied] = False
        group = np.cumsum(refined | singles) - 1
    return order, group
