"""A table prepared for differences: its values, and columns grouped by the arithmetic they need.

Values are bytes that stand for numbers, ranges, scaled numbers, and an order of the rows that
depends on their contents alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.kernels import in_order, in_threads
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


class Plain(NamedTuple):
    """Complete continuous columns, (n, m) values scaled to 0 … 1."""

    columns: NDArray[np.intp]
    values: NDArray[np.float64]


class Levelled(NamedTuple):
    """Discrete columns as (n, m) codes, `gap` where missing; the first `n_whole` are complete.

    The bits of the codes are in `planes` (n, words), 64 columns to a word, and `known` (n, words)
    has the bits of values that are not missing; without gaps it has no words. A segment is the
    columns of equal width: (bits, first word, words, first word in `known`).
    """

    columns: NDArray[np.intp]
    codes: NDArray[Any]
    gap: int
    n_whole: int
    planes: NDArray[np.uint64]
    known: NDArray[np.uint64]
    segments: NDArray[np.int64]


class Special(NamedTuple):
    """Columns with gaps or a ramp, `n_real` continuous ones first, then weighted discrete ones.

    Continuous values differ by clip((|d| − floor) · slope, 0, 1), codes by 0 or 1; NaN is missing.
    `weight` is that of a column in the distance.
    """

    columns: NDArray[np.intp]
    values: NDArray[np.float64]
    n_real: int
    weight: NDArray[np.float64]
    floor: float
    slope: float


class Probability(NamedTuple):
    """Columns with gaps under the probability rule, continuous ones first, as kernels take them.

    The state of a value is its code (continuous: one of five equal bins), that of a gap the number
    of codes plus its class; states of column a are numbered from ``first_state[a]``. `chance` holds
    P(value | class), column by column, class by class. Known continuous values differ as in
    `Special`.
    """

    columns: NDArray[np.intp]
    values: NDArray[np.float64]
    n_real: int
    level: NDArray[np.int64]
    state: NDArray[np.int32]
    first_state: NDArray[np.int64]
    chance: NDArray[np.float64]
    y: NDArray[np.int64]
    floor: float
    slope: float


@attrs.frozen(kw_only=True, eq=False)
class Columns:
    """The columns of a table by kind, in arrays for kernels; each has the rows in the same order.

    Attributes
    ----------
    plain, levelled, special, probability
        The columns of each kind; `probability` is None unless gaps follow that rule.
    n_levels : (n_levelled,) int64
        Number of levels of the discrete columns.
    constant, blank : column numbers
        Complete columns of one value, and columns without any value.
    """

    n: int
    n_features: int
    plain: Plain
    levelled: Levelled
    n_levels: NDArray[np.int64]
    special: Special
    probability: Probability | None
    constant: NDArray[np.intp]
    constant_weight: float
    blank: NDArray[np.intp]

    def take(self, rows: NDArray[np.intp]) -> Columns:
        """The same columns with some rows, or all in another order; scales and codes stay.

        Not with probabilities of missing values, which are tied to the order of the labels.
        """

        def moved(kind: Any, *names: str) -> Any:
            return kind._replace(**{k: np.ascontiguousarray(getattr(kind, k)[rows]) for k in names})

        return attrs.evolve(
            self,
            n=len(rows),
            plain=moved(self.plain, "values"),
            levelled=moved(self.levelled, "codes", "planes", "known"),
            special=moved(self.special, "values"),
        )

    def weighted(self, weight: NDArray[np.float64]) -> Columns:
        """These columns, prepared with weights, with other weights (n_features,)."""
        return attrs.evolve(
            self,
            special=self.special._replace(weight=weight[self.special.columns]),
            constant_weight=float(weight[self.constant].sum()),
        )

    @property
    def shares(self) -> bool:
        """Whether distances have to be means over the columns known in both rows."""
        return bool(self.special.columns.size or self.levelled.known.shape[1])


def prepare_columns(
    X: NDArray[Any] | ByteTable,
    discrete: NDArray[np.bool_],
    *,
    order: NDArray[np.intp] | None = None,
    ramp: tuple[float, ...] | None = None,
    weight: NDArray[np.float64] | None = None,
    classes: NDArray[np.int64] | None = None,
    counts: NDArray[np.float64] | None = None,
    summary: ColumnsSeen | None = None,
    threads: int = 1,
    like: Columns | None = None,
) -> Columns:
    """The columns of `X` sorted by kind, scaled or coded, and their rows put in `order`.

    Parameters
    ----------
    X : (n_samples, n_features) float64 or uint8, or a ByteTable
        NaN is a missing value. Bytes give the same results, to the bit, as the same numbers.
    discrete : (n_features,) bool
        Columns with diff 0 or 1; the others have diff |x - x'| / range.
    order : (n_samples,) int, optional
        Order of the rows in the result.
    ramp : (equal, different), optional
        Fractions of the range up to which values count as equal, and from which as wholly
        different.
    weight : (n_features,) float64 >= 0, optional
        Weights of the diffs in the distance (scores are not weighted).
    classes : (n_samples,) int, optional
        Class codes in row order of `X`. If given, gaps follow the probability rule
        diff = 1 - P(v | class), otherwise they are left out of distance and score.
    counts : (n_samples,) float64, optional
        Multiplicities for those probabilities.
    summary : ColumnsSeen, optional
        That of `X`, if known.
    threads : int
        The result does not depend on it.
    like : Columns, optional
        The same table in the same order without weights: shared arrays are reused.

    Notes
    -----
    O(n p) time. Memory: 8 bytes per continuous, 1 + bits/8 per discrete value.
    """
    if not isinstance(X, ByteTable):
        X = np.ascontiguousarray(X, dtype=None if X.dtype == np.uint8 else np.float64)
    n, p = X.shape
    order = np.arange(n) if order is None else order
    summary = summarise(X) if summary is None else summary
    missing = summary.missing
    blank = missing == n
    flat = ~blank & (summary.low == summary.high)
    constant = flat & (missing == 0)
    live = ~blank & ~constant
    chance = live & (missing > 0) if classes is not None else np.zeros(p, dtype=bool)
    weighted = weight is not None
    slow = ramp is not None or weighted
    continuous = ~discrete | flat
    special_real = live & ~chance & continuous & ((missing > 0) | slow)
    special_codes = live & ~chance & ~continuous & weighted
    plain = np.flatnonzero(live & ~chance & continuous & (missing == 0) & (not slow))
    levelled = np.flatnonzero(live & ~chance & ~continuous & (not weighted))
    levelled = levelled[np.argsort(missing[levelled] > 0, kind="stable")]

    real = np.flatnonzero(special_real)
    special = np.concatenate([real, np.flatnonzero(special_codes)])
    if like is not None and np.array_equal(special, like.plain.columns):
        values = like.plain.values
    elif real.size == special.size:
        values = scaled(X, real, summary, order)
    else:
        values = np.empty((n, special.size))
        values[:, : real.size] = scaled(X, real, summary, order)
        step = max(1, SLICE // special.size)
        for r in range(0, n, step):
            rows = order[r : r + step]
            values[r : r + step, real.size :] = X[np.ix_(rows, special[real.size :])]
    equal, different = (0.0, 1.0) if ramp is None else ramp
    ramped = float(equal), 1.0 / (different - equal)
    weights = np.ones(p) if weight is None else np.asarray(weight, dtype=np.float64)
    n_whole = int((missing[levelled] == 0).sum())
    codes, n_levels = _level_codes(X, levelled, summary, order)
    probability = None
    if classes is not None and chance.any():
        drawn = np.ones(n) if counts is None else counts[order]
        columns = np.flatnonzero(chance)
        probability = _gap_chances(X, columns, discrete, summary, order, classes, drawn, ramped)
    return Columns(
        n=n,
        n_features=p,
        plain=Plain(plain, scaled(X, plain, summary, order, threads)),
        levelled=Levelled(
            levelled,
            codes,
            int(np.iinfo(codes.dtype).max),
            n_whole,
            *_bit_planes(codes, n_levels, n_whole < levelled.size),
        ),
        n_levels=n_levels,
        special=Special(special, values, int(real.size), weights[special], *ramped),
        probability=probability,
        constant=np.flatnonzero(constant),
        constant_weight=float(weights[constant].sum()),
        blank=np.flatnonzero(blank),
    )


def _level_codes(
    X: NDArray[Any] | ByteTable,
    columns: NDArray[np.intp],
    summary: ColumnsSeen,
    order: NDArray[np.intp],
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Codes 0 … of discrete columns (the type's largest value: missing), and levels per column."""
    n, low = X.shape[0], summary.low
    span = summary.high[columns] - low[columns]
    # Whole numbers in a short range are their own codes; anything else is looked up.
    direct = summary.whole[columns] & (span < 255)
    n_levels = np.where(direct, span + 1, 0).astype(np.int64)
    looked_up = {}
    for k in np.flatnonzero(~direct):
        column = X[order, columns[k]]
        known = ~np.isnan(column)
        distinct, inverse = np.unique(column[known], return_inverse=True)
        coded = np.full(n, -1, dtype=np.int64)
        coded[known] = inverse
        looked_up[int(k)] = coded
        n_levels[k] = distinct.size
    kind: Any = np.uint8 if n_levels.max(initial=0) < 256 else np.uint32
    gap: Any = np.iinfo(kind).max
    codes = np.empty((n, columns.size), dtype=kind)
    short = np.flatnonzero(direct)
    every = np.array_equal(columns[short], np.arange(X.shape[1]))
    step = max(1, SLICE // max(1, short.size))
    for r in range(0, n, step):
        block = X[order[r : r + step]] if every else X[np.ix_(order[r : r + step], columns[short])]
        block = np.subtract(block, low[columns[short]])
        if summary.missing[columns].any():
            np.copyto(block, gap, where=np.isnan(block))
        codes[r : r + step, short if short.size < columns.size else slice(None)] = block
    for place, coded in looked_up.items():
        codes[:, place] = np.where(coded < 0, gap, coded)
    return codes, n_levels


def _bit_planes(
    codes: NDArray[Any], n_levels: NDArray[np.int64], gaps: bool
) -> tuple[NDArray[np.uint64], NDArray[np.uint64], NDArray[np.int64]]:
    """The bits of the codes, 64 columns to a word, columns of equal width together.

    Returns planes (n, words), known (n, words or 0), and segments (bits, first word, words, first
    word of known) as rows.
    """
    n = codes.shape[0]
    bits = np.array([max(1, int(m - 1).bit_length()) for m in n_levels], dtype=np.int64)
    segments = []
    first = at = 0
    for width in np.unique(bits):
        words = -(-int((bits == width).sum()) // 64)
        segments.append((int(width), first, words, at))
        first += int(width) * words
        at += words if gaps else 0
    planes, known = np.zeros((n, 8 * first), np.uint8), np.zeros((n, 8 * at), np.uint8)
    gap = np.iinfo(codes.dtype).max
    for width, begin, words, place in segments:
        members = np.flatnonzero(bits == width)
        every = members.size == codes.shape[1]
        step = max(1, SLICE // members.size)
        used = -(-members.size // 8)
        for r in range(0, n, step):
            rows = slice(r, r + step)
            block = codes[rows] if every else codes[rows][:, members]
            for b in range(width):
                left = 8 * (begin + b * words)
                bit = np.packbits(block & codes.dtype.type(1 << b), axis=1, bitorder="little")
                planes[rows, left : left + used] = bit
            if gaps:
                bit = np.packbits(block != gap, axis=1, bitorder="little")
                known[rows, 8 * place : 8 * place + used] = bit
    return (
        planes.view(np.uint64),
        known.view(np.uint64),
        np.array(segments, dtype=np.int64).reshape(-1, 4),
    )


def _gap_chances(
    X: NDArray[Any] | ByteTable,
    columns: NDArray[np.intp],
    discrete: NDArray[np.bool_],
    summary: ColumnsSeen,
    order: NDArray[np.intp],
    classes: NDArray[np.int64],
    counts: NDArray[np.float64],
    ramp: tuple[float, float],
) -> Probability:
    """Laplace-corrected P(value | class); continuous columns are cut into five equal bins.

    `counts` are in the order of the result.
    """
    y = classes[order]
    n_classes = int(y.max()) + 1
    columns = columns[np.argsort(discrete[columns], kind="stable")]
    n_real = int((~discrete[columns]).sum())
    values = X[np.ix_(order, columns)]
    values[:, :n_real] = scaled(X, columns[:n_real], summary, order)
    level = np.full(values.shape, -1, dtype=np.int64)
    chances, first_state = [], [0]
    for k in range(columns.size):
        known = ~np.isnan(values[:, k])
        if k < n_real:
            level[known, k] = np.minimum((values[known, k] * 5).astype(np.int64), 4)
            n_levels = 5
        else:
            distinct, inverse = np.unique(values[known, k], return_inverse=True)
            level[known, k] = inverse
            n_levels = distinct.size
        place = y[known] * n_levels + level[known, k]
        seen = np.bincount(place, weights=counts[known], minlength=n_classes * n_levels)
        seen = seen.reshape(n_classes, n_levels)
        chance = (seen + 1) / (seen.sum(axis=1, keepdims=True) + n_levels)
        # room for a gap's states too, so that chances and states are numbered alike
        chances.append(np.append(chance.ravel(), np.zeros(n_classes * n_classes)))
        first_state.append(first_state[-1] + n_levels + n_classes)
    starts = np.array(first_state, dtype=np.int64)
    state = np.empty(level.shape, dtype=np.int32)
    for k in range(columns.size):
        gap_state = starts[k + 1] - starts[k] - n_classes + y
        state[:, k] = np.where(level[:, k] >= 0, level[:, k], gap_state) + starts[k]
    return Probability(
        columns, values, n_real, level, state, starts, np.concatenate(chances),
        y.astype(np.int64), *ramp,
    )  # fmt: skip
