"""Set sizes and intersection sizes of a collection of feature sets: all that most metrics need."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs
import numpy as np
from numpy.typing import ArrayLike, NDArray

from fsframe.errors import RequestError
from fsframe_stability.products import whole_gram

__all__ = ["Overlap", "prefix_overlaps"]

_COLUMNS = 8192
"""Columns per block: its copy in single precision takes 32 MB for 1000 runs."""


@attrs.frozen(eq=False)
class Overlap:
    """Intersection sizes of m sets, and how many of the sets hold each of p features.

    Attributes
    ----------
    intersections : (m, m) int64
        ``|S_i ∩ S_j|``; the diagonal holds the sizes ``|S_i|``.
    frequencies : (p,) int64
        ``h_f``, the number of sets that hold feature f.
    spread : int
        ``Σ_f h_f (m − h_f)``; computed if not given.
    """

    intersections: NDArray[np.int64]
    frequencies: NDArray[np.int64]
    spread: int = attrs.field()

    @spread.default
    def _spread(self) -> int:
        return _spread(self.frequencies, self.n_runs)

    @classmethod
    def of(cls, matrix: ArrayLike) -> Overlap:
        """The overlap of the rows of a boolean matrix.

        Parameters
        ----------
        matrix : (m, p) bool
            One row per run, True where the run keeps the feature; m ≥ 2, p ≥ 1.

        Raises
        ------
        RequestError
            If the matrix is not two-dimensional, holds anything but 0 and 1, or has fewer than
            two rows or no column.

        Notes
        -----
        Z Zᵀ over the u ≤ p columns that some run keeps, in blocks: O(mp + m²u) time, O(mu + m²)
        memory besides the input.

        Examples
        --------
        >>> Overlap.of([[1, 1, 0, 0], [0, 1, 1, 1]]).intersections
        array([[2, 1],
               [1, 3]])
        """
        sets = np.asarray(matrix)
        if sets.ndim != 2 or sets.shape[0] < 2 or sets.shape[1] < 1:
            raise RequestError(
                "feature sets must come as a matrix of at least 2 runs × 1 feature, "
                f"not of shape {sets.shape}"
            )
        if sets.dtype != np.bool_:
            if not np.isin(sets, (0, 1)).all():
                raise RequestError(
                    "feature sets must come as a matrix of 0 and 1 (kept or not); "
                    "for scores or ranks choose a metric over ranks"
                )
            sets = sets.astype(np.bool_)
        frequencies = np.count_nonzero(sets, axis=0).astype(np.int64)
        kept = sets[:, frequencies > 0]
        intersections = whole_gram(kept, _COLUMNS, np.float32).astype(np.int64)
        return cls(intersections, frequencies)

    @property
    def n_runs(self) -> int:
        """m, the number of sets."""
        return len(self.intersections)

    @property
    def n_features(self) -> int:
        """p, the number of features that could be kept."""
        return len(self.frequencies)

    @property
    def sizes(self) -> NDArray[np.int64]:
        """``|S_i|``, (m,) int64."""
        return self.intersections.diagonal()

    def pairs(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Row numbers (i, j) of the m(m−1)/2 pairs with i < j, in row order."""
        first, second = np.triu_indices(self.n_runs, k=1)
        return first, second


def prefix_overlaps(orders: NDArray[np.integer[Any]], n_features: int) -> Iterator[Overlap]:
    """The overlaps of the best 1, 2, … features of every run, in one pass over the rankings.

    Parameters
    ----------
    orders : (m, K) int
        Feature numbers, best first, without repetition in a row.
    n_features : int
        p, the number of features that were ranked.

    Yields
    ------
    Overlap
        For set sizes 1 … K. `frequencies` is one array for all of them, which changes when the next
        is asked for.

    Notes
    -----
    When every run i takes in its feature f_i, |S_i ∩ S_j| grows by [f_i ∈ S_j] + [f_j ∈ S_i]
    + [f_i = f_j], and only the frequencies of these features change: O(m² + m log m) per size,
    against O(m²p) for a new product.

    Examples
    --------
    >>> orders = np.array([[0, 1, 2], [2, 1, 0]])
    >>> [int(overlap.intersections[0, 1]) for overlap in prefix_overlaps(orders, 4)]
    [0, 1, 3]
    """
    m = len(orders)
    kept = np.zeros((m, n_features), dtype=np.bool_)
    runs = np.arange(m)
    intersections = np.zeros((m, m), dtype=np.int64)
    frequencies = np.zeros(n_features, dtype=np.int64)
    spread = 0
    for new in orders.T:
        known = kept[:, new].astype(np.int64)  # [j, i]: run j already holds run i's new feature
        intersections += known + known.T + (new[:, None] == new[None, :])
        kept[runs, new] = True
        features, times = np.unique(new, return_counts=True)
        spread -= _spread(frequencies[features], m)
        frequencies[features] += times
        spread += _spread(frequencies[features], m)
        yield Overlap(intersections.copy(), frequencies, spread)


def _spread(frequencies: NDArray[np.int64], m: int) -> int:
    return int(np.sum(frequencies * (m - frequencies)))
