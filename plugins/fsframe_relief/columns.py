"""A table made ready for differences: columns sorted by the arithmetic they need."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.errors import DataError

__all__ = [
    "Columns",
    "Probability",
    "distance_rows",
    "full_distances",
    "prepare_columns",
    "run_blocks",
]

ROW_BLOCK = 64
"""Target rows per unit of work; fixed, so that sums do not depend on the number of threads."""

SLICE = 1 << 22
"""Values converted at a time: bounds the temporaries of preparation to some 100 MB."""


@attrs.frozen(kw_only=True, eq=False)
class Probability:
    """Columns with gaps under the probability rule, continuous ones first.

    A value's state is its code (continuous: one of five equal bins), a gap's the number of codes
    plus its class; states of column a are numbered from ``first_state[a]``. `chance` holds
    P(value | class), column by column, class by class.
    """

    columns: NDArray[np.intp]
    values: NDArray[np.float64]
    n_real: int
    level: NDArray[np.int64]
    state: NDArray[np.int32]
    first_state: NDArray[np.int64]
    chance: NDArray[np.float64]
    y: NDArray[np.int64]


@attrs.frozen(kw_only=True, eq=False)
class Columns:
    """The columns of a table by kind; every array has the rows in the same order.

    Attributes
    ----------
    plain, scaled : column numbers, (n, n_plain) float64
        Complete continuous columns, scaled to 0 … 1.
    levelled, codes, planes, known : column numbers, (n, n_levelled) codes, bit planes
        Discrete columns, complete ones first; `gap` is the code of a missing value.
    special, values, n_real, weight : column numbers, (n, n_special) float64
        Continuous columns with gaps or under a ramp, then weighted discrete ones.
    probability : Probability or None
        Columns whose gaps follow the probability rule.
    constant, blank : column numbers
        Complete columns of one value, and columns without any value.
    """

    n: int
    n_features: int
    plain: NDArray[np.intp]
    scaled: NDArray[np.float64]
    levelled: NDArray[np.intp]
    codes: NDArray[Any]
    n_levels: NDArray[np.int64]
    gaps: NDArray[np.bool_]
    planes: NDArray[np.uint64]
    known: NDArray[np.uint64]
    segments: NDArray[np.int64]
    special: NDArray[np.intp]
    values: NDArray[np.float64]
    n_real: int
    weight: NDArray[np.float64]
    floor: float
    slope: float
    probability: Probability | None
    constant: NDArray[np.intp]
    constant_weight: float
    blank: NDArray[np.intp]

    @property
    def gap(self) -> int:
        """The code of a missing discrete value."""
        return int(np.iinfo(self.codes.dtype).max)

    def take(self, rows: NDArray[np.intp]) -> Columns:
        """The same columns with the rows in another order; scales and codes stay."""
        if self.probability is not None:
            raise ValueError("probabilities of missing values are tied to the order of the labels")
        return attrs.evolve(
            self,
            **{
                name: np.ascontiguousarray(getattr(self, name)[rows])
                for name in ("scaled", "codes", "planes", "known", "values")
            },
        )

    @property
    def shares(self) -> bool:
        """Whether distances have to be means over shared columns."""
        return bool(self.special.size or self.known.shape[1])


def prepare_columns(
    X: NDArray[np.float64],
    discrete: NDArray[np.bool_],
    *,
    order: NDArray[np.intp] | None = None,
    ramp: tuple[float, float] | None = None,
    weight: NDArray[np.float64] | None = None,
    classes: NDArray[np.int64] | None = None,
    counts: NDArray[np.float64] | None = None,
    names: tuple[str, ...] | None = None,
) -> Columns:
    """The columns of `X` sorted by kind, scaled or coded, and their rows put in `order`.

    Parameters
    ----------
    X : (n_samples, n_features) float64
        NaN is a missing value.
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
        Class codes in row order of `X`; given, gaps follow the probability rule
        diff = 1 - P(v | class), else they are left out of distance and score.
    counts : (n_samples,) float64, optional
        Multiplicities for those probabilities.

    Raises
    ------
    DataError
        If a column holds an infinite value.

    Notes
    -----
    O(n p) time. Memory: 8 bytes per continuous, 1 + bits/8 per discrete value.
    """
    from fsframe_relief.distance_kernels import column_summary

    X = np.ascontiguousarray(X, dtype=np.float64)
    n, p = X.shape
    order = np.arange(n) if order is None else order
    low, high = np.empty(p), np.empty(p)
    missing = np.empty(p, dtype=np.int64)
    whole, infinite = np.empty(p, dtype=bool), np.empty(p, dtype=bool)
    column_summary(X, low, high, missing, whole, infinite)
    if infinite.any():
        first = int(np.flatnonzero(infinite)[0])
        name = repr(names[first]) if names else str(first)
        raise DataError(
            f"{int(infinite.sum())} columns hold infinite values, the first is {name}; "
            "replace them by finite values or leave them empty"
        )
    blank = missing == n
    flat = ~blank & (low == high)
    constant = flat & (missing == 0)
    live = ~blank & ~constant
    chance = live & (missing > 0) if classes is not None else np.zeros(p, dtype=bool)
    weighted = weight is not None
    slow = ramp is not None or weighted
    continuous = ~discrete | flat
    special_real = live & ~chance & continuous & ((missing > 0) | slow)
    special_codes = live & ~chance & ~continuous & np.full(p, weighted)
    plain = np.flatnonzero(live & ~chance & continuous & (missing == 0) & ~np.full(p, slow))
    levelled = np.flatnonzero(live & ~chance & ~continuous & ~np.full(p, weighted))
    levelled = levelled[np.argsort(missing[levelled] > 0, kind="stable")]

    real = np.flatnonzero(special_real)
    special = np.concatenate([real, np.flatnonzero(special_codes)])
    values = np.empty((n, special.size))
    values[:, : real.size] = _scaled(X, real, low, high, order)
    values[:, real.size :] = X[np.ix_(order, special[real.size :])]
    equal, different = ramp if ramp is not None else (0.0, 1.0)
    weights = np.ones(p) if weight is None else np.asarray(weight, dtype=np.float64)

    codes, n_levels = _codes(X, levelled, low, high, whole, order)
    gaps = missing[levelled] > 0
    planes, known, segments = _planes(codes, n_levels, bool(gaps.any()))
    return Columns(
        n=n,
        n_features=p,
        plain=plain,
        scaled=_scaled(X, plain, low, high, order),
        levelled=levelled,
        codes=codes,
        n_levels=n_levels,
        gaps=gaps,
        planes=planes,
        known=known,
        segments=segments,
        special=special,
        values=values,
        n_real=int(real.size),
        weight=weights[special],
        floor=float(equal),
        slope=1.0 / (different - equal),
        probability=_probability(
            X, np.flatnonzero(chance), discrete, low, high, order, classes, counts
        ),
        constant=np.flatnonzero(constant),
        constant_weight=float(weights[constant].sum()),
        blank=np.flatnonzero(blank),
    )


def _scaled(
    X: NDArray[np.float64],
    columns: NDArray[np.intp],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    order: NDArray[np.intp],
) -> NDArray[np.float64]:
    """(x - low) / (high - low) of some columns; a column of one value gives zeros."""
    n = X.shape[0]
    if columns.size == X.shape[1]:
        Z = X[order]
    else:
        Z = np.empty((n, columns.size))
        step = max(1, SLICE // max(1, columns.size))
        for r in range(0, n, step):
            Z[r : r + step] = X[np.ix_(order[r : r + step], columns)]
    lo, hi = low[columns], high[columns]
    with np.errstate(over="ignore"):
        width = hi - lo
    # Values near the largest double: the range overflows, half of everything does not.
    huge = np.isinf(width)
    if huge.any():
        Z[:, huge] /= 2
        lo, width = np.where(huge, lo / 2, lo), np.where(huge, hi / 2 - lo / 2, width)
    width = np.where(width > 0, width, 1.0)
    Z -= lo
    Z /= width
    return Z


def _codes(
    X: NDArray[np.float64],
    columns: NDArray[np.intp],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    whole: NDArray[np.bool_],
    order: NDArray[np.intp],
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Codes 0 … of discrete columns (the type's largest value: missing), and levels per column."""
    from fsframe_relief.packing_kernels import short_codes

    n = X.shape[0]
    with np.errstate(over="ignore", invalid="ignore"):
        span = high[columns] - low[columns]
    # Whole numbers in a short range are their own codes; anything else is looked up.
    direct = whole[columns] & (span < 255)
    n_levels = np.where(direct, span + 1, 0).astype(np.int64)
    looked_up = {}
    for k in np.flatnonzero(~direct):
        column = X[order, columns[k]]
        known = ~np.isnan(column)
        found, inverse = np.unique(column[known], return_inverse=True)
        coded = np.full(n, -1, dtype=np.int64)
        coded[known] = inverse
        looked_up[int(k)] = coded
        n_levels[k] = found.size
    kind: Any = np.uint8 if n_levels.max(initial=0) < 256 else np.uint32
    gap = np.iinfo(kind).max
    codes = np.empty((n, columns.size), dtype=kind)
    if direct.all():
        short_codes(X, order, columns, low, gap, codes)
    elif direct.any():
        part = np.empty((n, int(direct.sum())), dtype=kind)
        short_codes(X, order, columns[direct], low, gap, part)
        codes[:, direct] = part
    for k, coded in looked_up.items():
        codes[:, k] = np.where(coded < 0, gap, coded)
    return codes, n_levels


def _planes(
    codes: NDArray[Any], n_levels: NDArray[np.int64], gaps: bool
) -> tuple[NDArray[np.uint64], NDArray[np.uint64], NDArray[np.int64]]:
    """The bits of the codes, 64 columns to a word, columns of equal width together.

    Returns planes (n, words), known (n, words or 0), and segments (bits, first word, words, first
    word of known) as rows.
    """
    from fsframe_relief.packing_kernels import pack_planes

    n = codes.shape[0]
    bits = np.array([max(1, int(m - 1).bit_length()) for m in n_levels], dtype=np.int64)
    segments = []
    first = at = 0
    for width in np.unique(bits):
        words = -(-int((bits == width).sum()) // 64)
        segments.append((int(width), first, words, at))
        first += int(width) * words
        at += words if gaps else 0
    planes = np.empty((n, first), dtype=np.uint64)
    known = np.empty((n, at), dtype=np.uint64)
    gap = np.iinfo(codes.dtype).max
    for width, begin, words, place in segments:
        members = np.flatnonzero(bits == width)
        pack_planes(codes, members, width, gap, planes, begin, words, known, place)
    return planes, known, np.array(segments, dtype=np.int64).reshape(-1, 4)


def _probability(
    X: NDArray[np.float64],
    columns: NDArray[np.intp],
    discrete: NDArray[np.bool_],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    order: NDArray[np.intp],
    classes: NDArray[np.int64] | None,
    counts: NDArray[np.float64] | None,
) -> Probability | None:
    """Chances of values in each class, Laplace-corrected; continuous columns in five equal bins."""
    if classes is None or not columns.size:
        return None
    y = classes[order]
    n_classes = int(y.max()) + 1
    rows = np.ones(len(y)) if counts is None else counts[order]
    columns = columns[np.argsort(discrete[columns], kind="stable")]
    n_real = int((~discrete[columns]).sum())
    values = X[np.ix_(order, columns)]
    values[:, :n_real] = _scaled(X, columns[:n_real], low, high, order)
    level = np.full(values.shape, -1, dtype=np.int64)
    chances, first_state = [], [0]
    for k in range(columns.size):
        known = ~np.isnan(values[:, k])
        if k < n_real:
            level[known, k] = np.minimum((values[known, k] * 5).astype(np.int64), 4)
            n_levels = 5
        else:
            found, inverse = np.unique(values[known, k], return_inverse=True)
            level[known, k] = inverse
            n_levels = found.size
        place = y[known] * n_levels + level[known, k]
        seen = np.bincount(place, weights=rows[known], minlength=n_classes * n_levels)
        seen = seen.reshape(n_classes, n_levels)
        chance = (seen + 1) / (seen.sum(axis=1, keepdims=True) + n_levels)
        # room for a gap's states too, so that chances and states are numbered alike
        chances.append(np.append(chance.ravel(), np.zeros(n_classes * n_classes)))
        first_state.append(first_state[-1] + n_levels + n_classes)
    starts = np.array(first_state, dtype=np.int64)
    gap_state = np.diff(starts) - n_classes + y[:, None]
    state = np.where(level >= 0, level, gap_state) + starts[:-1]
    return Probability(
        columns=columns,
        values=values,
        n_real=n_real,
        level=level,
        state=state.astype(np.int32),
        first_state=starts,
        chance=np.concatenate(chances),
        y=y.astype(np.int64),
    )


def distance_rows(
    columns: Columns, rows: NDArray[np.int64], out: NDArray[np.float64], first: int = 0
) -> NDArray[np.float64]:
    """Distances from the instances `rows` to those from `first` on, written into `out`.

    Parameters
    ----------
    rows : (b,) int64
        Target instances.
    out : (b, n) float64, C order
        Columns before `first` are left as they are.

    Returns
    -------
    (b, n) float64
        `out`: sums of diffs over all columns (Manhattan); where values are missing, the mean over
        the columns known in both times the number of columns, NaN if they share none.

    Notes
    -----
    O(b n p) time, `out` and as much again where values are missing.
    """
    from fsframe_relief.distance_kernels import (
        mismatch_distances,
        plain_distances,
        probability_distances,
        share_distances,
        special_distances,
    )

    out[:, first:] = 0.0
    shared = np.zeros_like(out) if columns.shares else np.empty((0, 0))
    if columns.plain.size:
        plain_distances(columns.scaled, rows, first, out)
    if columns.levelled.size:
        mismatch_distances(
            columns.planes, columns.known, columns.segments, rows, first, out, shared
        )
    if columns.special.size:
        special_distances(
            columns.values, columns.n_real, columns.weight, columns.floor, columns.slope,
            rows, first, out, shared,
        )  # fmt: skip
    chance = columns.probability
    if chance is not None:
        probability_distances(
            chance.values, chance.state, chance.first_state, chance.n_real, chance.level,
            chance.chance, chance.y, rows, first, out,
        )  # fmt: skip
    if columns.shares:
        always = columns.plain.size + columns.constant_weight
        if not columns.known.shape[1]:
            always += columns.levelled.size
        if chance is not None:
            always += chance.columns.size
        share_distances(out, shared, float(always), float(columns.n_features), first)
    return out


def full_distances(columns: Columns, threads: int = 1) -> NDArray[np.float64]:
    """The (n, n) matrix of distances, each pair computed once; 8 n^2 bytes."""
    from fsframe_relief.distance_kernels import mirror

    n = columns.n
    D = np.empty((n, n))

    def block(i0: int) -> None:
        i1 = min(n, i0 + ROW_BLOCK)
        distance_rows(columns, np.arange(i0, i1), D[i0:i1], i0)
        mirror(D, i0, i1)

    for _ in run_blocks(block, range(0, n, ROW_BLOCK), threads):
        pass
    return D


def run_blocks(work: Callable[[int], Any], starts: range, threads: int) -> Any:
    """Results of ``work(start)`` in order, computed by up to `threads` threads.

    At most four results per thread are held back, so that memory stays bounded.
    """
    if threads <= 1 or len(starts) <= 1:
        yield from map(work, starts)
        return
    with ThreadPoolExecutor(threads) as pool:
        pending: list[Any] = []
        for start in starts:
            pending.append(pool.submit(work, start))
            if len(pending) >= 4 * threads:
                yield pending.pop(0).result()
        for future in pending:
            yield future.result()
