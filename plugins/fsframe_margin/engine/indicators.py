"""Nominal columns as indicators: rows differ by one step if their levels differ, else by zero.

Loops over pairs compute |x_i − x_j| of numbers. For them a nominal column is expanded into a block
of columns, one per level, which hold half a step for rows of that level: two rows of different
levels differ by half a step in two columns, that is, by one step in the block. All columns of a
block share one weight, so that the block acts as a single column with that difference.
"""

from __future__ import annotations

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.table.nominal import level_places, unequal_share

__all__ = ["Indicators", "differences", "nominal_steps", "step_of_levels"]

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
        Otherwise the step is 1.

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


def differences(X: Floats, Y: Floats, steps: Floats | None) -> Floats:
    """X − Y, (n, A) each, with the step where levels differ.

    >>> differences(np.array([[1.0, 4.0]]), np.array([[3.0, 9.0]]), np.array([0.0, 1.5]))
    array([[-2. ,  1.5]])
    """
    D = X - Y
    if steps is not None:
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
    def of(cls, X: Floats, steps: Floats, share: float = MANHATTAN) -> Indicators:
        """The expansion for training rows `X`, (n, A)."""
        none = np.empty(0)
        levels = tuple(
            level_places(X[:, a])[1] if step > 0 else none for a, step in enumerate(steps.tolist())
        )
        sizes = [max(1, len(found)) for found in levels]
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
