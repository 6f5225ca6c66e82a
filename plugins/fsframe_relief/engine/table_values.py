"""The values of a table: bytes that stand for numbers, ranges, scaling, an order of the rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.kernels.threads import in_order, in_threads
from fsframe.table.dataset import RowSource

if TYPE_CHECKING:
    from fsframe.table.columns_seen import ColumnsSeen

ROW_BLOCK = 64
"""Most target rows per unit of work."""
SMALL = 2e7
"""Pairs times columns below which starting threads costs more than they save."""


def row_block(n: int, p: int) -> int:
    """Number of target rows per unit of work, set by the table so that threads change no sums.

    About ten units divide the work evenly, and process only half of a symmetric matrix; for small
    tables fewer and larger ones cost less to start.

    >>> row_block(30, 5), row_block(100, 10_000), row_block(200, 1000), row_block(2000, 100)
    (64, 8, 24, 64)
    """
    if n * n * p < SMALL:
        return ROW_BLOCK
    return min(max(n // 8 // 8 * 8, 8), ROW_BLOCK)


def run_blocks(work: Callable[[int], Any], starts: range, threads: int) -> Iterator[Any]:
    """Results of ``work(start)`` in order, computed by up to `threads` threads.

    At most sixteen results per thread are kept, so that memory stays bounded.
    """
    if threads <= 1 or len(starts) <= 1:
        yield from map(work, starts)
        return
    with ThreadPoolExecutor(min(threads, len(starts))) as pool:
        yield from in_order(pool, work, starts, 16 * threads)


@attrs.frozen(eq=False)
class ByteTable:
    """Codes of a byte each, indexed like an array of the numbers that they stand for.

    Parameters
    ----------
    codes : (n_samples, n_features) uint8
    numbers : (256,) float64
        Whole numbers, NaN for a missing value.

    Examples
    --------
    >>> numbers = np.append([0.0, 1.0, np.nan], np.zeros(253))
    >>> ByteTable(np.array([[0, 2], [1, 1]], dtype=np.uint8), numbers)[:, 1].tolist()
    [nan, 1.0]
    """

    codes: NDArray[np.uint8]
    numbers: NDArray[np.float64]

    @property
    def shape(self) -> tuple[int, int]:
        """Samples, features."""
        return self.codes.shape[0], self.codes.shape[1]

    @property
    def dtype(self) -> np.dtype[Any]:
        """Data type of the numbers."""
        return self.numbers.dtype

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, place: Any) -> NDArray[np.float64]:
        return self.numbers[self.codes[place]]


SLICE = 1 << 20
"""Values processed at a time: bounds temporaries to some 10 MB."""


def summarise(X: NDArray[Any] | ByteTable, threads: int = 1) -> ColumnsSeen:
    """Range, missing values, wholeness and levels of columns, in O(n p) time.

    Parameters
    ----------
    X : array of shape (n_samples, n_features), float64 or uint8, or a ByteTable
        Values, NaN where missing; copied if its rows are not contiguous.
    threads : int
        Number of threads among which columns are divided; the summary does not depend on it.

    Examples
    --------
    >>> summary = summarise(np.array([[0.0, 0.5], [2.0, np.nan]]))
    >>> summary.low.tolist(), summary.high.tolist()
    ([0.0, 0.5], [2.0, 0.5])
    >>> summary.missing.tolist(), summary.whole.tolist()
    ([0, 1], [True, False])
    """
    # Imports numba, which help texts do not need.
    from fsframe.table.columns_seen import ColumnsSeen

    if not isinstance(X, ByteTable):
        return ColumnsSeen.of(X, threads)
    n, p = X.shape
    seen = ColumnsSeen(p, False)
    step = max(1, SLICE // p)
    for start in range(0, n, step):
        seen.add(X[start : start + step])
    return seen


def few_levels(
    blocks: Iterable[NDArray[Any]], summary: ColumnsSeen, limit: int
) -> NDArray[np.bool_]:
    """Columns with at most `limit` distinct known values, as (n_features,) bool.

    Parameters
    ----------
    blocks : iterable of (r, n_features) arrays
        The rows of the table, best preceded by a few of them, which rule out nearly all continuous
        columns. Not read if the summary lists the values of all columns.
    summary : ColumnsSeen
    limit : int

    Examples
    --------
    >>> X = np.array([[0.0, 0.1], [1.0, 0.2], [0.0, 0.3]])
    >>> few_levels([X], summarise(X), 2).tolist()
    [True, False]
    """
    sizes = summary.n_levels_of(np.arange(len(summary.low)))
    few = (sizes > 0) & (sizes <= limit)
    open_ = np.flatnonzero(sizes < 0)
    known = np.empty((0, open_.size))
    for block in blocks if open_.size else ():
        values = np.sort(np.concatenate([known, block[:, open_]]), axis=0)
        values[1:][np.diff(values, axis=0) == 0] = np.nan
        values = np.sort(values, axis=0)[: limit + 1]
        left = np.isnan(values[limit:]).all(axis=0)
        open_, known = open_[left], values[:limit, left]
        if not open_.size:
            break
    few[open_] = ~np.isnan(known).all(axis=0)
    return few


def row_blocks(table: NDArray[Any] | ByteTable | RowSource, few: int) -> Iterator[NDArray[Any]]:
    """The first `few` rows of a table in memory or in parts, then all rows, some at a time."""
    if not isinstance(table, (np.ndarray, ByteTable)):
        yield next(table.blocks(few))
        yield from table.blocks()
        return
    yield table[:few]
    step = max(1, SLICE // table.shape[1])
    for start in range(0, len(table), step):
        yield table[start : start + step]


CACHED = 1 << 16
"""Values converted at a time: several passes find them in the cache."""


def scaled(
    X: NDArray[Any] | ByteTable,
    columns: NDArray[np.intp],
    summary: ColumnsSeen,
    order: NDArray[np.intp],
    threads: int = 1,
) -> NDArray[np.float64]:
    """(x - low) / (high - low) of some columns; a column of one value gives zeros."""
    n = X.shape[0]
    lo, hi = summary.low[columns], summary.high[columns]
    width = np.where(hi > lo, hi - lo, 1.0)
    every = np.array_equal(columns, np.arange(X.shape[1]))
    Z = np.empty((n, columns.size))
    step = max(1, CACHED // max(1, columns.size))

    def convert(r: int) -> None:
        rows = order[r : r + step]
        part = Z[r : r + step]
        part[:] = X[rows] if every else X[np.ix_(rows, columns)]
        part -= lo
        part /= width

    in_threads(threads, convert, range(0, n, step))
    return Z


def content_order(
    X: NDArray[Any] | ByteTable,
    *labels: NDArray[np.generic],
    drawn: NDArray[np.intp] | None = None,
) -> NDArray[np.intp]:
    """Row numbers in an order that is the same however the rows of the table were shuffled.

    Parameters
    ----------
    X : (n_samples, n_features) float64
        NaN allowed.
    *labels : (n_samples,) arrays
        Further keys: target, counts, weights.
    drawn : (n_samples,) int, optional
        The rows of `X` to be ordered, if not all; the result and `labels` refer to these.

    Returns
    -------
    (n_samples,) int
        Rows that are equal in every column and label keep their order; they are interchangeable.

    Notes
    -----
    Sums of floating-point numbers depend on their order, so a method that needs the same bits for
    shuffled rows has to fix one. Rows are compared byte by byte on 16 columns, those that tie on
    the next 64, and so on: O(n log n) comparisons, and copies of those columns of tied rows only.

    Examples
    --------
    >>> X = np.array([[2.0, 0.0], [1.0, 0.0], [2.0, 5.0]])
    >>> X[content_order(X)].tolist() == X[::-1][content_order(X[::-1])].tolist()
    True
    """
    numbers = np.arange(len(X)) if drawn is None else drawn
    return _ordered(
        lambda rows, a, b: X[np.ix_(numbers[rows], np.arange(a, b))],
        len(numbers),
        X.shape[1],
        labels,
    )


def content_order_over_parts(
    matrix: RowSource, memory: int, *labels: NDArray[np.generic]
) -> NDArray[np.intp]:
    """`content_order` of a table in parts, of which a few columns are read at a time.

    Takes some 100 bytes per row, and in addition at most `memory` if many rows are tied.
    """
    n, p = matrix.shape
    widest = max(1, memory // (16 * n))
    return _ordered(lambda rows, a, b: matrix.read(a, b)[rows], n, p, labels, widest)


def _ordered(
    read: Callable[[NDArray[np.intp], int, int], NDArray[Any]],
    n: int,
    p: int,
    labels: tuple[NDArray[np.generic], ...],
    widest: int | None = None,
) -> NDArray[np.intp]:
    """The order; at most `widest` columns are compared at a time, which does not change it."""
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
    return order
