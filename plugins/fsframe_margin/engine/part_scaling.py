"""The scale of the columns of a table in parts, learned in one pass over its rows."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsframe.contracts.compiled import njit
from fsframe.contracts.dataset import Dataset
from fsframe.contracts.side_by_side import in_threads
from fsframe_margin.engine.indicators import step_of_levels
from fsframe_margin.engine.standardise import Scaling

__all__ = ["scaling_over_parts"]

Floats = NDArray[np.float64]

_ROWS = 256
"""Rows at a time, so that they stay in the processor's cache."""


def scaling_over_parts(
    data: Dataset, standardize: bool, memory: int, threads: int
) -> tuple[Scaling, Floats]:
    """The results of `learn_scaling` and `nominal_steps` for all rows of a table in parts.

    Parameters
    ----------
    data : Dataset
        In parts, without missing values.
    standardize : bool
        Otherwise centre 0 and scale 1, and 0 for constant columns.
    memory : int
        Bytes for the rows that are read at a time.
    threads : int

    Returns
    -------
    Scaling
        Scaling of all columns; nominal ones are unchanged.
    (n_features,) float64
        The steps of nominal columns, 0 for numbers.

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
    # As in `learn_scaling`: a spread within rounding of the values is only rounding noise.
    constant = (facts.low == facts.high) | (spread <= 4 * np.finfo(float).eps)
    if standardize:
        scaling = Scaling(mean * size, np.where(constant, 0.0, spread * size))
    else:
        scaling = Scaling(np.zeros(p), np.where(constant, 0.0, 1.0))
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


@njit()
def add_rows(rows: NDArray[Any], size: Floats, done: int, mean: Floats, squares: Floats) -> None:
    """Update mean and sum of squared deviations of `done` rows with rows (r, p) over `size`."""
    for i in range(rows.shape[0]):
        share = 1.0 / (done + i + 1)
        for a in range(rows.shape[1]):
            x = rows[i, a] / size[a]
            off = x - mean[a]
            mean[a] += off * share
            squares[a] += off * (x - mean[a])
