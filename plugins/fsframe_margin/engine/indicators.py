"""Nominal columns in differences between rows: one step where levels differ, else zero.

Loops over pairs form |x_i − x_j| of numbers. A nominal column enters them as a block of columns,
one for each level, that holds half a step where a row has the level: two rows of different levels
then differ by half a step in two columns, by one step in the block. All columns of a block share
one weight, so that a block means what a single column with that difference would.
"""

from __future__ import annotations

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.contracts.nominal import level_places, unequal_share

__all__ = ["Indicators", "differ", "nominal_steps", "step_of_levels"]

Floats = NDArray[np.float64]

MANHATTAN, SQUARES = 0.5, 0.5**0.5
"""Share of a step in each of two columns: for sums of differences, and of their squares."""


def nominal_steps(
    X: Floats, nominal: NDArray[np.bool_], counts: Floats, standardize: bool
) -> Floats:
    """What a difference of levels counts in every column; 0 in columns of numbers.

    Parameters
    ----------
    X : (n, A) float64
        Codes of levels in nominal columns, of which no one is constant.
    nominal : (A,) bool
    counts : (n,) float64
        How often each row was drawn.
    standardize : bool
        Otherwise a difference of levels is 1.

    Returns
    -------
    (A,) float64

    Notes
    -----
    A column of mean 0 and standard deviation 1 has 2 as the mean squared difference of two rows.
    So has a nominal one with the step √(2 (n − 1) / (n (1 − Σ p²))), p the shares of its levels;
    for two levels that is the difference of the standardised column of numbers.

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
    """The step of a nominal column with so many rows of each level, of `total` rows.

    >>> round(step_of_levels(np.array([2.0, 2.0]), 4.0), 9)
    1.732050808
    """
    return float(np.sqrt(2.0 * max(total - 1.0, 1.0) / (total * unequal_share(sizes))))


def differ(X: Floats, Y: Floats, steps: Floats | None) -> Floats:
    """X − Y, (n, A) each, with the step in place of any difference of levels.

    >>> differ(np.array([[1.0, 4.0]]), np.array([[3.0, 9.0]]), np.array([0.0, 1.5]))
    array([[-2. ,  1.5]])
    """
    D = X - Y
    if steps is not None:
        for a in np.flatnonzero(steps):
            D[:, a] = np.where(D[:, a] != 0.0, steps[a], 0.0)
    return D


@attrs.frozen(eq=False)
class Indicators:
    """How columns are laid out as blocks: one column for a column of numbers, else one a level.

    Parameters
    ----------
    steps : (A,) float64
        Of nominal columns; 0 for numbers.
    levels : tuple of A arrays
        Levels of nominal columns as training rows have them; empty for numbers.
    block : (B,) int
        Which column each of the laid out ones belongs to, ascending.
    share : float
        `MANHATTAN` or `SQUARES`.
    """

    steps: Floats
    levels: tuple[Floats, ...]
    block: NDArray[np.intp]
    share: float = MANHATTAN

    @classmethod
    def of(cls, X: Floats, steps: Floats, share: float = MANHATTAN) -> Indicators:
        """The layout of training rows `X`, (n, A)."""
        none = np.empty(0)
        levels = tuple(
            level_places(X[:, a])[1] if step > 0 else none for a, step in enumerate(steps.tolist())
        )
        sizes = [max(1, len(found)) for found in levels]
        return cls(steps, levels, np.repeat(np.arange(len(sizes)), sizes), share)

    def lay_out(self, X: Floats) -> Floats:
        """Rows (m, A) as (m, B). A level that no training row has is one step from each of them."""
        out = np.zeros((len(X), len(self.block)))
        first = np.searchsorted(self.block, np.arange(len(self.steps)))
        for a, levels in enumerate(self.levels):
            place, k = first[a], len(levels)
            if not k:
                out[:, place] = X[:, a]
                continue
            has = X[:, a, None] == levels
            out[:, place : place + k] = np.where(has, self.share * self.steps[a], 0.0)
            # In every column of the block, so that |u − ½| + (k − 1) u = 1 in steps.
            unseen = 1.5 / k if k < 4 else 0.5 / (k - 2)
            out[~has.any(axis=1), place : place + k] = unseen * self.steps[a]
        return out

    def spread(self, weights: Floats) -> Floats:
        """Weights (A,) or (A, A) as those of the laid out columns."""
        return weights[np.ix_(*[self.block] * weights.ndim)]

    def gather(self, values: Floats, axes: tuple[int, ...]) -> Floats:
        """Sums over the columns of each block, along these axes."""
        first = np.searchsorted(self.block, np.arange(len(self.steps)))
        for axis in axes:
            values = np.add.reduceat(values, first, axis=axis)
        return values
