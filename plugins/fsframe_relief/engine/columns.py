"""A table prepared for differences: columns grouped by the arithmetic they need."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.errors import DataError
from fsframe_relief.engine.byte_table import ByteTable
from fsframe_relief.engine.column_summary import ColumnSummary, summarise
from fsframe_relief.engine.level_codes import SLICE, bit_planes, level_codes
from fsframe_relief.engine.missing_values import Probability, gap_chances
from fsframe_relief.engine.scaling import scaled

__all__ = ["MOST_ACROSS", "Columns", "prepare_columns"]

MOST_ACROSS = 512
"""Rows longer than this are summed as fast along columns, without a second copy of the table."""


@attrs.frozen(kw_only=True, eq=False)
class Columns:
    """The columns of a table by kind; every array has the rows in the same order.

    Attributes
    ----------
    plain, scaled, across : column numbers, (n, n_plain) float64, (n_plain or more, n) float64
        Complete continuous columns, scaled to 0 … 1; up to 512 of them also column by column, with
        zeros up to a multiple of 8.
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
    across: NDArray[np.float64]
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
        """The same columns with some rows, or all in another order; scales and codes stay."""
        if self.probability is not None:
            raise ValueError("probabilities of missing values are tied to the order of the labels")
        names = ("scaled", "codes", "planes", "known", "values")
        moved: dict[str, Any] = {k: np.ascontiguousarray(getattr(self, k)[rows]) for k in names}
        across = np.ascontiguousarray(self.across[:, rows])
        return attrs.evolve(self, n=len(rows), across=across, **moved)

    def weighted(self, weight: NDArray[np.float64]) -> Columns:
        """The same columns, made for weighted distances, with other weights (n_features,)."""
        return attrs.evolve(
            self,
            weight=weight[self.special],
            constant_weight=float(weight[self.constant].sum()),
        )

    @property
    def shares(self) -> bool:
        """Whether distances have to be means over shared columns."""
        return bool(self.special.size or self.known.shape[1])


def prepare_columns(
    X: NDArray[Any] | ByteTable,
    discrete: NDArray[np.bool_],
    *,
    order: NDArray[np.intp] | None = None,
    ramp: tuple[float, float] | None = None,
    weight: NDArray[np.float64] | None = None,
    classes: NDArray[np.int64] | None = None,
    counts: NDArray[np.float64] | None = None,
    names: tuple[str, ...] | None = None,
    summary: ColumnSummary | None = None,
    threads: int = 1,
    like: Columns | None = None,
) -> Columns:
    """The columns of `X` sorted by kind, scaled or coded, and their rows put in `order`.

    Parameters
    ----------
    X : (n_samples, n_features) float64 or uint8, or a ByteTable
        NaN is a missing value. Bytes give the bits of the same numbers.
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
    names : tuple of str, optional
        What to call columns in messages.
    summary : ColumnSummary, optional
        Of `X`, where it is at hand.
    threads : int
        The result does not depend on it.
    like : Columns, optional
        The same table in the same order without weights: shared arrays are reused.

    Raises
    ------
    DataError
        If a column holds an infinite value.

    Notes
    -----
    O(n p) time. Memory: 8 bytes per continuous, 1 + bits/8 per discrete value.
    """
    if not isinstance(X, ByteTable):
        X = np.ascontiguousarray(X, dtype=None if X.dtype == np.uint8 else np.float64)
    n, p = X.shape
    order = np.arange(n) if order is None else order
    summary = summarise(X) if summary is None else summary
    low, high, missing, whole = summary.low, summary.high, summary.missing, summary.whole
    if summary.infinite.any():
        first = int(np.flatnonzero(summary.infinite)[0])
        name = repr(names[first]) if names else str(first)
        raise DataError(
            f"{int(summary.infinite.sum())} columns hold infinite values, the first is {name}; "
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
    if like is not None and np.array_equal(special, like.plain):
        values = like.scaled
    elif real.size == special.size:
        values = scaled(X, real, low, high, order)
    else:
        values = np.empty((n, special.size))
        values[:, : real.size] = scaled(X, real, low, high, order)
        step = max(1, SLICE // special.size)
        for r in range(0, n, step):
            rows = order[r : r + step]
            values[r : r + step, real.size :] = X[np.ix_(rows, special[real.size :])]
    equal, different = ramp if ramp is not None else (0.0, 1.0)
    weights = np.ones(p) if weight is None else np.asarray(weight, dtype=np.float64)

    gaps = missing[levelled] > 0
    codes, n_levels = level_codes(X, levelled, low, high, whole, bool(gaps.any()), order)
    planes, known, segments = bit_planes(codes, n_levels, bool(gaps.any()))
    plain_values = scaled(X, plain, low, high, order, threads)
    return Columns(
        n=n,
        n_features=p,
        plain=plain,
        scaled=plain_values,
        across=_across(plain_values),
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
        probability=gap_chances(
            X, np.flatnonzero(chance), discrete, low, high, order, classes, counts
        ),
        constant=np.flatnonzero(constant),
        constant_weight=float(weights[constant].sum()),
        blank=np.flatnonzero(blank),
    )


def _across(Z: NDArray[np.float64]) -> NDArray[np.float64]:
    """Column by column, with columns of zeros up to a multiple of 8; nothing if there are many."""
    n, p = Z.shape
    if p > MOST_ACROSS:
        return np.empty((0, n))
    found = np.zeros((-(-p // 8) * 8, n))
    found[:p] = Z.T
    return found
