"""Standardisation of columns, learned from training rows only."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.kernels.threads import in_threads
from fsframe.table.dataset import Dataset
from fsframe_margin.engine.indicators import step_of_levels

__all__ = ["Scaling", "learn_scaling", "scaling_over_parts"]

Floats = NDArray[np.float64]

_BLOCK_BYTES, _BLOCK_COLUMNS, _LEAST_COLUMNS = 1 << 25, 64, 16
_ROWS = 256
"""Rows of a table in parts at a time, so that they stay in the processor's cache."""


@attrs.frozen(eq=False)
class Scaling:
    """Centre and scale of every column; constant columns have scale zero.

    Parameters
    ----------
    centre, scale : (A,) float64
        `apply` returns (x − centre) / scale, and zero where the scale is zero.
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

    def apply(self, X: Floats) -> Floats:
        """X in the learned scale; allocates only the result."""
        constant = ~(self.scale > 0)
        out = X - self.centre
        out /= np.where(constant, 1.0, self.scale)
        out[:, constant] = 0.0
        return out

    def apply_to_varying(self, X: Floats | Dataset) -> Floats:
        """As `apply`, but only the columns that are not constant, in row-major order."""
        varying = self.varying
        if isinstance(X, Dataset):
            return self._columns_of(X)
        if varying.size == X.shape[1]:
            return self.apply(X)
        out = np.take(X, varying, axis=1)
        out -= self.centre[varying]
        out /= self.scale[varying]
        return out

    def _columns_of(self, data: Dataset) -> Floats:
        """`apply_to_varying` for a table that is read some columns at a time."""
        varying = self.varying
        out = np.empty((data.n_samples, varying.size))
        for a, b in data.column_blocks(_BLOCK_BYTES):
            i, j = np.searchsorted(varying, [a, b])
            some = varying[i:j]
            np.subtract(data.columns(a, b)[:, some - a], self.centre[some], out=out[:, i:j])
            out[:, i:j] /= self.scale[some]
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
        Otherwise centre 0 and scale 1, and 0 for constant columns.

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

    Matrix products process four or more columns at once, and the remaining few with other rounding:
    so ranges begin at multiples of 64, and none of several has fewer than 16 columns.
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

    The table has no missing values, and nominal columns are not scaled. `memory` are the bytes for
    the rows that are read at a time.

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
    from fsframe_margin.engine.scaling_kernels import add_rows

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
    found, more = np.unique(values, return_counts=True)
    both, place = np.unique(np.concatenate([levels, found]), return_inverse=True)
    return both, np.bincount(place, weights=np.concatenate([sizes, more])).astype(np.float64)
