"""Scales of columns, learned from training rows only, and nominal columns as indicators.

Loops over pairs compute |x_i − x_j| of numbers. For them a nominal column is expanded into a block
of columns, one per level, which hold half a step for rows of that level: two rows of different
levels differ by half a step in two columns, that is, by one step in the block. All columns of a
block share one weight, so that the block acts as a single column with that difference.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.kernels.threads import in_threads
from fsframe.table.dataset import Dataset
from fsframe.table.standardising import level_places, unequal_share

Floats = NDArray[np.float64]

MANHATTAN, SQUARES = 0.5, 0.5**0.5
"""Share of the step in each of two columns, for sums of differences and of squares."""


def nominal_steps(
    X: Floats, nominal: NDArray[np.bool_], counts: Floats, standardize: bool
) -> Floats:
    """The step between different levels of every nominal column; 0 for columns of numbers.

    Parameters
    ----------
    X : (n, A) float64
        Nominal columns hold codes of levels, and none is constant.
    nominal : (A,) bool
    counts : (n,) float64
        How often each row was drawn.
    standardize : bool
        If false, the step is 1.

    Returns
    -------
    (A,) float64

    Notes
    -----
    In a column of mean 0 and standard deviation 1 the mean squared difference of two rows is 2, as
    it is in a nominal one with the step √(2 (n − 1) / (n (1 − Σ p²))), p the shares of its levels;
    for two levels this is the difference in the standardised column of numbers.

    Examples
    --------
    >>> X = np.array([[3.0], [7.0], [7.0], [7.0]])
    >>> step = nominal_steps(X, np.array([True]), np.ones(4), True)
    >>> bool(np.isclose(step[0], np.ptp(X) / X.std(ddof=1)))
    True
    """
    steps = np.zeros(X.shape[1])
    total = float(counts.sum())
    for a in np.flatnonzero(nominal):
        sizes = np.bincount(level_places(X[:, a])[0], weights=counts).astype(np.float64)
        steps[a] = step_of_levels(sizes, total) if standardize else 1.0
    return steps


def step_of_levels(sizes: Floats, total: float) -> float:
    """The step of a nominal column whose levels have `sizes` rows, of `total` rows.

    >>> round(step_of_levels(np.array([2.0, 2.0]), 4.0), 9)
    1.732050808
    """
    return float(np.sqrt(2.0 * max(total - 1.0, 1.0) / (total * unequal_share(sizes))))


def differences(X: Floats, Y: Floats, steps: Floats) -> Floats:
    """X − Y, (n, A) each, with the step where levels differ.

    >>> differences(np.array([[1.0, 4.0]]), np.array([[3.0, 9.0]]), np.array([0.0, 1.5]))
    array([[-2. ,  1.5]])
    """
    D = X - Y
    for a in np.flatnonzero(steps):
        D[:, a] = np.where(D[:, a] != 0.0, steps[a], 0.0)
    return D


@attrs.frozen(eq=False)
class Indicators:
    """The expansion of columns into blocks: one column for numbers, one per level for nominal ones.

    Parameters
    ----------
    steps : (A,) float64
        Steps of nominal columns; 0 for numbers.
    levels : tuple of A arrays
        Levels of nominal columns in the training rows; empty for numbers.
    block : (B,) int
        The original column of each expanded column, ascending.
    share : float
        `MANHATTAN` or `SQUARES`.
    """

    steps: Floats
    levels: tuple[Floats, ...]
    block: NDArray[np.intp]
    share: float = MANHATTAN

    @classmethod
    def of(cls, X: Floats, steps: Floats | None, share: float = MANHATTAN) -> Indicators | None:
        """The expansion for training rows `X`, (n, A); None if no column is nominal."""
        if steps is None or not steps.any():
            return None
        none = np.empty(0)
        levels = tuple(
            level_places(X[:, a])[1] if step > 0 else none for a, step in enumerate(steps.tolist())
        )
        sizes = [max(1, len(of_column)) for of_column in levels]
        return cls(steps, levels, np.repeat(np.arange(len(sizes)), sizes), share)

    def expand(self, X: Floats) -> Floats:
        """Rows (m, A) as (m, B). A level that is not in the training rows is one step from all."""
        out = np.zeros((len(X), len(self.block)))
        first = np.searchsorted(self.block, np.arange(len(self.steps)))
        for a, levels in enumerate(self.levels):
            place, k = first[a], len(levels)
            if not k:
                out[:, place] = X[:, a]
                continue
            has = X[:, a, None] == levels
            out[:, place : place + k] = np.where(has, self.share * self.steps[a], 0.0)
            # The same value u in every column of the block, with |u − ½| + (k − 1) u = 1 step.
            unseen = 1.5 / k if k < 4 else 0.5 / (k - 2)
            out[~has.any(axis=1), place : place + k] = unseen * self.steps[a]
        return out

    def expand_weights(self, weights: Floats) -> Floats:
        """Weights (A,) or (A, A) as those of the expanded columns."""
        return weights[np.ix_(*[self.block] * weights.ndim)]

    def sum_blocks(self, values: Floats, axes: tuple[int, ...]) -> Floats:
        """Sums over the columns of each block, along the given axes."""
        first = np.searchsorted(self.block, np.arange(len(self.steps)))
        for axis in axes:
            values = np.add.reduceat(values, first, axis=axis)
        return values


_BLOCK_BYTES, _BLOCK_COLUMNS, _LEAST_COLUMNS = 1 << 25, 64, 16
_ROWS = 256
"""Rows of a table in parts that are processed at a time, to stay in the processor's cache."""


@attrs.frozen(eq=False)
class Scaling:
    """Centre and scale of every column; constant columns have scale zero.

    Parameters
    ----------
    centre, scale : (A,) float64
        A scaled value is (x − centre) / scale.
    """

    centre: Floats
    scale: Floats

    @property
    def varying(self) -> NDArray[np.intp]:
        """Columns that are not constant."""
        return np.flatnonzero(self.scale > 0)

    def leaving(self, columns: NDArray[np.bool_]) -> Scaling:
        """The same scaling, except that these columns stay as they are."""
        kept = columns & (self.scale > 0)
        return Scaling(np.where(columns, 0.0, self.centre), np.where(kept, 1.0, self.scale))

    def apply_to_varying(self, X: Floats | Dataset) -> Floats:
        """The columns that are not constant in the learned scale, in row-major order.

        A Dataset is read some columns at a time.
        """
        varying = self.varying
        if isinstance(X, Dataset):
            out = np.empty((X.n_samples, varying.size))
            for a, b in X.column_blocks(_BLOCK_BYTES):
                i, j = np.searchsorted(varying, [a, b])
                out[:, i:j] = X.columns(a, b)[:, varying[i:j] - a]
        else:
            out = np.take(X, varying, axis=1)
        out -= self.centre[varying]
        out /= self.scale[varying]
        return out


def learn_scaling(
    X: Floats | Dataset, counts: Floats | None = None, standardize: bool = True
) -> Scaling:
    """The scaling of the columns of `X`; a row drawn c times counts c times.

    Parameters
    ----------
    X : (n, A) float64, finite, or a Dataset, which is read some columns at a time
    counts : (n,) float64, optional
        Bootstrap counts; 1 by default.
    standardize : bool
        If false, centre 0 and scale 1, or scale 0 for constant columns.

    Notes
    -----
    The denominator of the variance is Σc − 1, as in the papers' programs. A column whose spread is
    within rounding of its values is constant: its differences are rounding noise. Temporaries hold
    64 columns, or more if 32 MB allow it.

    Examples
    --------
    >>> learn_scaling(np.array([[1.0, 5.0], [3.0, 5.0]])).scale.round(3)
    array([1.414, 0.   ])
    """
    read = X.columns if isinstance(X, Dataset) else lambda a, b: X[:, a:b]
    n, features = X.matrix.shape if isinstance(X, Dataset) else X.shape
    weight = np.ones(n) if counts is None else np.asarray(counts, dtype=float)
    total = weight.sum()
    size, centre, spread = np.empty(features), np.empty(features), np.empty(features)
    constant = np.empty(features, dtype=bool)
    for a, b in _column_blocks(n, features):
        block = np.ascontiguousarray(read(a, b), dtype=np.float64)
        # Columns of the order 1e200 are scaled to 1 first, since their squares would overflow.
        size[a:b] = np.maximum(block.max(axis=0), -block.min(axis=0))
        size[a:b][size[a:b] == 0] = 1.0
        scaled = block / size[a:b]
        centre[a:b] = weight @ scaled / total
        scaled -= centre[a:b]
        scaled *= scaled
        spread[a:b] = np.sqrt(weight @ scaled / max(total - 1, 1.0))
        constant[a:b] = (block[0] == block).all(axis=0)
    return _scaling(size, centre, spread, constant, standardize)


def _scaling(
    size: Floats, centre: Floats, spread: Floats, constant: NDArray[np.bool_], standardize: bool
) -> Scaling:
    """The scaling of columns whose values divided by `size` have this centre and spread."""
    constant = constant | (spread <= 4 * np.finfo(float).eps)
    if standardize:
        return Scaling(centre * size, np.where(constant, 0.0, spread * size))
    return Scaling(np.zeros(len(size)), np.where(constant, 0.0, 1.0))


def _column_blocks(n: int, features: int) -> Iterator[tuple[int, int]]:
    """Ranges of columns of bounded size; results do not depend on the size.

    Matrix products process four or more columns at once, and the remaining few with other rounding.
    So ranges begin at multiples of 64, and if there are several, none has fewer than 16 columns.
    """
    width = max(1, _BLOCK_BYTES // (8 * n) // _BLOCK_COLUMNS) * _BLOCK_COLUMNS
    starts = list(range(0, features, width))
    if len(starts) > 1 and features - starts[-1] < _LEAST_COLUMNS:
        starts.pop()
    yield from pairwise([*starts, features])


def scaling_over_parts(
    data: Dataset, standardize: bool, memory: int, threads: int
) -> tuple[Scaling, Floats]:
    """The results of `learn_scaling` and `nominal_steps` for all rows of a table in parts.

    The table has no missing values, and nominal columns are not scaled. `memory` bounds the bytes
    of the rows that are read at a time.

    Notes
    -----
    Mean and variance are updated row by row (Welford), in the order of the rows: bits depend
    neither on how rows are divided, nor on memory or threads. They differ from those of a table in
    memory by rounding: less than 10⁻¹³ of a mean or of a standard deviation in the tests, 10⁻⁸ of
    that of a column whose spread is 10⁻⁹ of its values. O(n p) time; memory `memory`, and the
    levels of nominal columns.

    References
    ----------
    Welford 1962, Note on a method for calculating corrected sums of squares and products,
    Technometrics 4:419.
    """
    from fsframe_margin.engine.linear_kernels import add_rows

    n, p = data.n_samples, data.n_features
    facts = data.matrix.facts
    size = np.maximum(np.abs(facts.low), np.abs(facts.high))
    size[size == 0] = 1.0
    mean, squares = np.zeros(p), np.zeros(p)
    nominal = np.flatnonzero(data.categorical)
    levels: list[tuple[Floats, Floats]] = [(np.empty(0), np.empty(0))] * nominal.size
    cuts = np.linspace(0, p, min(threads, p) + 1).astype(int)
    shares = [slice(*bound) for bound in pairwise(cuts.tolist())]
    most = max(_ROWS, memory // (3 * data.matrix.dtype.itemsize * p))
    done = 0
    for block in data.matrix.blocks(most):

        def add(some: slice, block: NDArray[Any] = block, done: int = done) -> None:
            for first in range(0, len(block), _ROWS):
                rows = np.ascontiguousarray(block[first : first + _ROWS, some])
                add_rows(rows, size[some], done + first, mean[some], squares[some])

        in_threads(len(shares), add, shares)
        for k, column in enumerate(nominal):
            levels[k] = _with_levels(*levels[k], block[:, column])
        done += len(block)
    spread = np.sqrt(squares / max(n - 1, 1))
    scaling = _scaling(size, mean, spread, facts.low == facts.high, standardize)
    steps = np.zeros(p)
    for k, column in enumerate(nominal):
        if scaling.scale[column] > 0:
            steps[column] = step_of_levels(levels[k][1], float(n)) if standardize else 1.0
    return scaling.leaving(data.categorical), steps


def _with_levels(levels: Floats, sizes: Floats, values: NDArray[Any]) -> tuple[Floats, Floats]:
    """Levels in ascending order and their numbers of rows, updated with the values of more rows."""
    new_levels, more = np.unique(values, return_counts=True)
    both, place = np.unique(np.concatenate([levels, new_levels]), return_inverse=True)
    return both, np.bincount(place, weights=np.concatenate([sizes, more])).astype(np.float64)
